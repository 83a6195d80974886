//! Brackets a call: a scan before it, a scan after it, and what differs is attributed to it.
//!
//! Invariant: a path whose state after the call is what it was before is not attributed, however often its stamps moved.

use super::{open, record};
use crate::{
    event::Event,
    ids::Ids,
    ledger::Ledger,
    ports::Host,
    state::{Change, ChangeKind, Difference, Error, FileState, Prior, SideEffect, Target},
};

/// What was seen before a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "documented in wit/checkpoints.wit, field for field")]
pub struct BeginReceipt {
    pub call_id: String,
    pub scanned_files: u64,
    pub scan_errors: u64,
    pub scan_ms: u64,
}

/// What a call changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "documented in wit/checkpoints.wit, field for field")]
pub struct EndReceipt {
    pub call_id: String,
    pub changes: Vec<Change>,
    pub scan_errors: u64,
}

/// Looks at the workspace before a call.
pub fn call_begin<H: Host>(host: &mut H, session_id: &str, call_id: &str) -> Result<BeginReceipt, Error> {
    let ids = Ids::session(session_id)?;
    ids.call(call_id)?;
    let mut ledger = open(host, &ids)?;
    ledger.newest_boundary(session_id)?;
    ledger.check_new_call(session_id, call_id)?;

    let scan = host.take_scan()?;
    let summary = host.summary(&scan);
    let saved = host.save_scan(session_id, &scan)?;
    let at_ms = host.now_ms();
    record(host, session_id, &mut ledger, Event::Begun { call_id: call_id.into(), scan: saved, at_ms })?;

    Ok(BeginReceipt {
        call_id: call_id.into(),
        scanned_files: summary.files,
        scan_errors: summary.errors,
        scan_ms: summary.elapsed_ms,
    })
}

/// Looks again, and attributes what changed.
pub fn call_end<H: Host>(
    host: &mut H,
    session_id: &str,
    call_id: &str,
    side_effect: Option<SideEffect>,
) -> Result<EndReceipt, Error> {
    let ids = Ids::session(session_id)?;
    ids.call(call_id)?;
    let mut ledger = open(host, &ids)?;
    ledger.newest_boundary(session_id)?;
    end(host, session_id, &mut ledger, call_id, side_effect)
}

pub(super) fn end<H: Host>(
    host: &mut H,
    session_id: &str,
    ledger: &mut Ledger,
    call_id: &str,
    side_effect: Option<SideEffect>,
) -> Result<EndReceipt, Error> {
    let before = ledger.open_scan(session_id, call_id)?;
    let now = host.take_scan()?;
    let scan_errors = host.summary(&now).errors;
    let Difference { changes, made_directories, removed_directories } = host.changes_since(session_id, before, &now)?;
    let changes = without_touches(host, session_id, ledger, changes)?;
    let at_ms = host.now_ms();
    let event = Event::Ended {
        call_id: call_id.into(),
        side_effect: side_effect.unwrap_or(SideEffect::None),
        changes: changes.clone(),
        made_directories,
        at_ms,
        removed_directories,
    };
    record(host, session_id, ledger, event)?;
    host.forget_scan(session_id, before);
    Ok(EndReceipt { call_id: call_id.into(), changes, scan_errors })
}

/// Leaves out files whose stamps moved and whose state is what it was before the call: what was read then, where
/// somebody had changed the path between two looks; else what the session left in this turn, or what the boundary holds.
fn without_touches<H: Host>(
    host: &mut H,
    session_id: &str,
    ledger: &Ledger,
    changes: Vec<Change>,
) -> Result<Vec<Change>, Error> {
    let boundary = ledger.newest_boundary(session_id)?.key;
    let left = ledger.attributions_since(boundary);
    let mut asked = Vec::new();
    let mut kept: Vec<Verdict> = Vec::with_capacity(changes.len());
    for change in &changes {
        let verdict = match (may_be_a_touch(change), &change.before, left.get(change.path.as_str())) {
            (false, ..) => Verdict::Change,
            (true, Some(Prior { state: Some(before), .. }), _) => Verdict::of(*before == change.after),
            (true, _, Some(before)) => Verdict::of(before.incomplete.is_none() && before.last == change.after),
            (true, _, None) => {
                asked.push(change.path.clone());
                Verdict::AsTheBoundarySays
            }
        };
        kept.push(verdict);
    }
    let targets = if asked.is_empty() { Vec::new() } else { host.targets(session_id, boundary, &asked)? };
    let mut targets = targets.into_iter();
    let mut is_change = |(change, verdict): &(Change, Verdict)| match verdict {
        Verdict::Change => true,
        Verdict::Touch => false,
        Verdict::AsTheBoundarySays => targets.next() != Some(Target::Present(change.after.clone())),
    };
    Ok(changes.into_iter().zip(kept).filter(|pair| is_change(pair)).map(|(change, _)| change).collect())
}

enum Verdict {
    Change,
    Touch,
    AsTheBoundarySays,
}

impl Verdict {
    fn of(is_touch: bool) -> Self {
        if is_touch { Verdict::Touch } else { Verdict::Change }
    }
}

fn may_be_a_touch(change: &Change) -> bool {
    change.kind == ChangeKind::Modified
        && change.incomplete.is_none()
        && match (&change.after, &change.before) {
            (FileState::Regular { size, .. }, Some(before)) => *size == before.size,
            (FileState::Symlink(_), Some(_)) => true,
            _ => false,
        }
}
