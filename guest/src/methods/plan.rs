//! Plans a restore: the candidates from the ledger, what the boundary holds and what stands there now from the host, and
//! the table.

use super::{InFlight, open, settle};
use crate::{
    ids::Ids,
    ledger::{Attribution, Boundary, Ledger},
    plan::{Candidate, decide},
    ports::Host,
    state::{Action, Entry, Error, FileState, Irreversible, Observation, Target},
};

/// What a restore would do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "documented in wit/checkpoints.wit, field for field")]
pub struct PlanReceipt {
    pub session_id: String,
    pub boundary_id: String,
    pub entries: Vec<Entry>,
    pub irreversible: Vec<Irreversible>,
    pub closed_calls: Vec<String>,
}

/// What a restore of every attributed path to `boundary_id` would do.
pub fn plan<H: Host>(
    host: &mut H,
    session_id: &str,
    boundary_id: &str,
    in_flight: InFlight,
) -> Result<PlanReceipt, Error> {
    let ids = Ids::session(session_id)?;
    ids.boundary(boundary_id)?;
    let mut ledger = open(host, &ids)?;
    ledger.boundary(session_id, boundary_id)?;
    let closed_calls = settle(host, session_id, &mut ledger, in_flight)?;
    let boundary = ledger.boundary(session_id, boundary_id)?;
    let planned = planned(host, session_id, &ledger, boundary, |_| true)?;
    Ok(PlanReceipt {
        session_id: session_id.into(),
        boundary_id: boundary_id.into(),
        entries: planned.into_iter().map(|planned| planned.entry).collect(),
        irreversible: ledger.irreversible_since(boundary.key),
        closed_calls,
    })
}

/// A planned path, with what a restore needs beside the entry.
pub(super) struct Planned {
    pub(super) entry: Entry,
    pub(super) target: Target,
    pub(super) permissions: Option<u32>,
}

/// Plans the attributed paths that are wanted, sorted by path.
pub(super) fn planned<H: Host>(
    host: &mut H,
    session_id: &str,
    ledger: &Ledger,
    boundary: &Boundary,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Planned>, Error> {
    let attributions = ledger.attributions_since(boundary.key);
    let wanted_attributions = attributions.iter().filter(|(path, _)| wanted(path));
    let mut planned = decided(
        host,
        session_id,
        boundary,
        wanted_attributions.map(|(path, attribution)| (path.to_string(), attribution.clone())).unzip(),
    )?;

    // A folder that is gone with all that was in it: what was in it brings it back, unless the boundary had it empty.
    let is_implied = |folder: &str| {
        let below = format!("{folder}/");
        let from = planned.partition_point(|planned| planned.entry.path.as_str() < below.as_str());
        let in_it = planned.iter().skip(from).take_while(|planned| planned.entry.path.starts_with(&below));
        in_it.into_iter().any(|planned| matches!(planned.target, Target::Present(_)))
    };
    let folders = ledger
        .directories_removed_since(boundary.key)
        .into_iter()
        .filter(|folder| wanted(folder) && !attributions.contains_key(folder.as_str()) && !is_implied(folder))
        .map(|folder| (folder, Attribution::gone()))
        .unzip();
    let folders = decided(host, session_id, boundary, folders)?;
    planned.extend(folders.into_iter().filter(|folder| folder.target != Target::Absent));
    planned.sort_by(|a, b| a.entry.path.cmp(&b.entry.path));
    Ok(planned)
}

/// Plans each of the paths, which are sorted.
fn decided<H: Host>(
    host: &mut H,
    session_id: &str,
    boundary: &Boundary,
    (paths, attributions): (Vec<String>, Vec<Attribution>),
) -> Result<Vec<Planned>, Error> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let targets = host.targets(session_id, boundary.key, &paths)?;
    let observed = host.observe(&paths);
    if targets.len() != paths.len() || observed.len() != paths.len() {
        return Err(Error::Other("the host answered for another number of paths than it was asked".to_string()));
    }
    let mut planned: Vec<Planned> = Vec::with_capacity(paths.len());
    for (((path, attribution), target), observed) in paths.into_iter().zip(attributions).zip(targets).zip(observed) {
        let found = match observed {
            Observation::Seen(state) => Ok(state),
            Observation::Unreadable(why) => Err(why),
            // Nothing was left there, and nothing was there: what took the folder's place does not matter.
            Observation::Blocked(_) if attribution.last == FileState::Absent && target == Target::Absent => {
                Ok(FileState::Absent)
            }
            Observation::Blocked(above) if is_as_planned(&planned, &above) => Ok(FileState::Absent),
            Observation::Blocked(above) => Err(format!("the way to it meets a link or file at {above}")),
        };
        let permissions = attribution.permissions;
        let entry = decide(candidate(path, attribution, target.clone(), found));
        planned.push(Planned { entry, target, permissions });
    }
    Ok(planned)
}

/// Whether what stands at the path is the boundary's or the session's: then it is known that nothing is below it. What is
/// below a path comes after it in a plan.
fn is_as_planned(planned: &[Planned], path: &str) -> bool {
    let above = planned.binary_search_by(|planned| planned.entry.path.as_str().cmp(path)).ok();
    let action = above.and_then(|at| planned.get(at)).map(|above| above.entry.action);
    action.is_some_and(|action| action.changes() || action == Action::Skip)
}

fn candidate(path: String, attribution: Attribution, target: Target, found: Result<FileState, String>) -> Candidate {
    let incomplete = attribution.incomplete.or_else(|| {
        // Absent at the boundary, and yet no call created it: somebody else did, in between.
        (target == Target::Absent && !attribution.created).then(|| {
            "it was not there at the boundary, and it was not a call that created it: it is not the session's to delete"
                .to_string()
        })
    });
    Candidate { path, target, expected: attribution.last, found, incomplete }
}
