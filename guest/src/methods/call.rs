//! Brackets a call: a scan before it, a scan after it, and what differs is attributed to it.
//!
//! Invariant: a path whose state after the call is what it was before is not attributed, however often its stamps moved.

use super::{open, record};
use crate::{
    event::Event,
    ids::Ids,
    ledger::Ledger,
    ports::Host,
    state::{Change, ChangeKind, Difference, Error, FileState, SideEffect, Target},
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

/// Leaves out files whose stamps moved and whose state is what it was before the call: what the host knows of it, where
/// the path had changed since a boundary was taken; else what that boundary holds. A restore may have discarded it since;
/// its record is what counts.
fn without_touches<H: Host>(
    host: &mut H,
    session_id: &str,
    ledger: &Ledger,
    changes: Vec<Change>,
) -> Result<Vec<Change>, Error> {
    let boundary = ledger.next_key().saturating_sub(1);
    let is_asked =
        |change: &Change| may_be_a_touch(change) && change.before.as_ref().is_some_and(|before| before.state.is_none());
    let asked: Vec<String> =
        changes.iter().filter(|change| is_asked(change)).map(|change| change.path.clone()).collect();
    let targets = if asked.is_empty() { Vec::new() } else { host.targets(session_id, boundary, &asked)? };
    let mut targets = targets.into_iter();
    let mut is_touch = |change: &Change| {
        let before = change.before.as_ref().and_then(|before| before.state.clone());
        may_be_a_touch(change)
            && match before {
                Some(before) => before == change.after,
                None => targets.next() == Some(Target::Present(change.after.clone())),
            }
    };
    Ok(changes.into_iter().filter(|change| !is_touch(change)).collect())
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
