//! Carries a plan out.
//!
//! Invariant: each considered path is in exactly one list of the receipt. Later boundaries are discarded only by a
//! restore of everything that left nothing undone; otherwise only restored paths leave the attribution, so that a retry
//! keeps its guard.

use super::{
    InFlight, open,
    plan::{Planned, planned},
    record, settle,
};
use crate::{
    event::{Event, Extent, Restored},
    ids::Ids,
    ledger::Ledger,
    plan::divergence,
    ports::Host,
    selection::Selection,
    state::{Action, Applied, Entry, Error, FileState, Irreversible, Outcome, Step, Target},
};

/// What a restore did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "documented in wit/checkpoints.wit, field for field")]
pub struct RestoreReceipt {
    pub boundary_id: String,
    pub restored: Vec<Entry>,
    pub refused: Vec<Entry>,
    pub skipped: Vec<Entry>,
    pub failed: Vec<Entry>,
    pub irreversible: Vec<Irreversible>,
    pub removed_directories: Vec<String>,
    pub closed_calls: Vec<String>,
}

/// Restores the selected paths, or every attributed path, to `boundary_id`.
pub fn restore<H: Host>(
    host: &mut H,
    session_id: &str,
    boundary_id: &str,
    paths: Option<&[String]>,
    in_flight: InFlight,
) -> Result<RestoreReceipt, Error> {
    let ids = Ids::session(session_id)?;
    ids.boundary(boundary_id)?;
    let selection = Selection::new(paths)?;
    let mut ledger = open(host, &ids)?;
    ledger.boundary(session_id, boundary_id)?;
    let closed_calls = settle(host, session_id, &mut ledger, in_flight)?;

    let boundary = ledger.boundary(session_id, boundary_id)?;
    let key = boundary.key;
    let planned = planned(host, session_id, &ledger, boundary, |path| selection.wants(path))?;
    let unmatched = selection.unmatched(&planned.iter().map(|planned| planned.entry.path.as_str()).collect::<Vec<_>>());
    let steps: Vec<Step> = planned.iter().filter_map(step).collect();
    let made = made(host, session_id, &ledger, key, &selection, &planned)?;
    let Applied { outcomes, removed_directories } = if steps.is_empty() && made.is_empty() {
        Applied::default()
    } else {
        host.apply(session_id, key, &steps, &made)?
    };
    if outcomes.len() != steps.len() {
        return Err(Error::Other("the host answered for another number of steps than it was asked".to_string()));
    }

    let mut receipt = RestoreReceipt {
        boundary_id: boundary_id.into(),
        removed_directories,
        closed_calls,
        ..RestoreReceipt::default()
    };
    receipt.irreversible = ledger.irreversible_since(key);
    let mut outcomes = steps.iter().zip(outcomes);
    let mut done = Vec::new();
    for Planned { mut entry, .. } in planned {
        if entry.action.changes()
            && let Some((step, outcome)) = outcomes.next()
        {
            if outcome == Outcome::Done {
                done.push(Restored { path: step.path.clone(), from: step.guard.clone(), to: step.to.clone() });
            }
            settle_entry(&mut entry, outcome);
        }
        match entry.action {
            Action::Restore | Action::Recreate | Action::Delete => receipt.restored.push(entry),
            Action::Refuse => receipt.refused.push(entry),
            Action::Skip => receipt.skipped.push(entry),
            Action::Fail => receipt.failed.push(entry),
        }
    }
    receipt.skipped.extend(unmatched.into_iter().map(not_attributed));

    let undone = !receipt.refused.is_empty() || !receipt.failed.is_empty();
    let extent = if selection.is_everything() && !undone { Extent::Full } else { Extent::Partial };
    if extent == Extent::Full || !done.is_empty() {
        let removed_directories = receipt.removed_directories.clone();
        let at_ms = host.now_ms();
        let number = done.len();
        let event = Event::Restored { key, extent, paths: done, removed_directories, at_ms };
        record(host, session_id, &mut ledger, event).map_err(|error| unrecorded(number, error))?;
    }
    Ok(receipt)
}

/// The folders that the session made on the way to what goes, and that the boundary did not have.
fn made<H: Host>(
    host: &mut H,
    session_id: &str,
    ledger: &Ledger,
    key: u64,
    selection: &Selection<'_>,
    planned: &[Planned],
) -> Result<Vec<String>, Error> {
    let considered: Vec<&str> = planned.iter().map(|planned| planned.entry.path.as_str()).collect();
    let made: Vec<String> = ledger
        .directories_made_since(key)
        .into_iter()
        // A folder that is planned itself goes, or stays, by the plan.
        .filter(|made| considered.binary_search(&made.as_str()).is_err() && selection.reaches(made, &considered))
        .collect();
    if made.is_empty() {
        return Ok(made);
    }
    let targets = host.targets(session_id, key, &made)?;
    Ok(made.into_iter().zip(targets).filter(|(_, held)| *held == Target::Absent).map(|(made, _)| made).collect())
}

fn step(planned: &Planned) -> Option<Step> {
    let guard = planned.entry.found.clone().filter(|_| planned.entry.action.changes())?;
    let to = match &planned.target {
        Target::Absent => FileState::Absent,
        Target::Present(state) => state.clone(),
        Target::Unrestorable(_) => return None,
    };
    Some(Step { path: planned.entry.path.clone(), guard, to, permissions: planned.permissions })
}

fn unrecorded(number: usize, error: Error) -> Error {
    let why = match error {
        Error::Other(why) => why,
        Error::Unavailable { detail, .. } => detail,
        Error::Invalid { expected, .. } => expected,
    };
    Error::Other(format!(
        "{number} paths were restored, but that could not be recorded: {why}; mend that and run the restore again, it finds \
         them as at the boundary"
    ))
}

fn settle_entry(entry: &mut Entry, outcome: Outcome) {
    match outcome {
        Outcome::Done => {}
        Outcome::Changed(found) => {
            entry.action = Action::Refuse;
            entry.reason = entry.expected.as_ref().map(|expected| divergence(expected, &found));
            entry.found = Some(found);
        }
        Outcome::Refused(why) => {
            entry.action = Action::Refuse;
            entry.reason = Some(why);
        }
        Outcome::Failed(why) => {
            entry.action = Action::Fail;
            entry.reason = Some(why);
        }
    }
}

fn not_attributed(path: &str) -> Entry {
    Entry {
        path: path.to_string(),
        action: Action::Skip,
        reason: Some("the session changed nothing there since the boundary".to_string()),
        expected: None,
        found: None,
    }
}
