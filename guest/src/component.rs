//! Exports in, imports out: the world of `wit/world.wit` on one side, [`crate::methods`] on the other.

// The generated code calls the canonical ABI, which takes raw pointers.
#[allow(unsafe_code, missing_docs, unreachable_pub, unused_lifetimes, clippy::all, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ path: "../wit", world: "checkpoint", generate_all });
}

use bindings::{
    exports::turnback::checkpoint::{checkpoints as api, planner},
    turnback::checkpoint::{boundaries, journal, restorer, types as wit, workspace},
    wasi::clocks::wall_clock,
};

use crate::{methods, plan, ports::Host, state};

struct Component;

#[allow(unsafe_code, reason = "the generated exports carry link attributes")]
mod export {
    use super::{Component, bindings};
    bindings::export!(Component with_types_in bindings);
}

impl api::Guest for Component {
    fn capture(
        session_id: String,
        boundary_id: String,
        open_calls: api::InFlight,
    ) -> Result<api::CaptureReceipt, wit::Error> {
        let receipt = methods::capture(&mut Imports, &session_id, &boundary_id, open_calls.into())?;
        Ok(api::CaptureReceipt {
            boundary_id: receipt.boundary_id,
            scanned_files: receipt.scanned_files,
            stored_files: receipt.stored_files,
            stored_bytes: receipt.stored_bytes,
            unrestorable_files: receipt.unrestorable_files,
            scan_errors: receipt.scan_errors,
            scan_ms: receipt.scan_ms,
            closed_calls: receipt.closed_calls,
        })
    }

    fn call_begin(session_id: String, call_id: String) -> Result<api::BeginReceipt, wit::Error> {
        let receipt = methods::call_begin(&mut Imports, &session_id, &call_id)?;
        Ok(api::BeginReceipt {
            call_id: receipt.call_id,
            scanned_files: receipt.scanned_files,
            scan_errors: receipt.scan_errors,
            scan_ms: receipt.scan_ms,
        })
    }

    fn call_end(
        session_id: String,
        call_id: String,
        side_effect: Option<wit::SideEffect>,
    ) -> Result<api::EndReceipt, wit::Error> {
        let receipt = methods::call_end(&mut Imports, &session_id, &call_id, side_effect.map(Into::into))?;
        Ok(api::EndReceipt {
            call_id: receipt.call_id,
            changes: into(receipt.changes),
            scan_errors: receipt.scan_errors,
        })
    }

    fn plan(
        session_id: String,
        boundary_id: String,
        open_calls: api::InFlight,
    ) -> Result<api::PlanReceipt, wit::Error> {
        let receipt = methods::plan(&mut Imports, &session_id, &boundary_id, open_calls.into())?;
        Ok(api::PlanReceipt {
            session_id: receipt.session_id,
            boundary_id: receipt.boundary_id,
            entries: into(receipt.entries),
            irreversible: into(receipt.irreversible),
            closed_calls: receipt.closed_calls,
        })
    }

    fn restore(
        session_id: String,
        boundary_id: String,
        paths: Option<Vec<String>>,
        open_calls: api::InFlight,
    ) -> Result<api::RestoreReceipt, wit::Error> {
        let paths = paths.as_deref();
        let receipt = methods::restore(&mut Imports, &session_id, &boundary_id, paths, open_calls.into())?;
        Ok(api::RestoreReceipt {
            boundary_id: receipt.boundary_id,
            restored: into(receipt.restored),
            refused: into(receipt.refused),
            skipped: into(receipt.skipped),
            failed: into(receipt.failed),
            irreversible: into(receipt.irreversible),
            removed_directories: receipt.removed_directories,
            closed_calls: receipt.closed_calls,
        })
    }

    fn drop(session_id: String) -> Result<api::DropReceipt, wit::Error> {
        let receipt = methods::drop_session(&mut Imports, &session_id)?;
        Ok(api::DropReceipt { dropped: receipt.dropped, error: receipt.error })
    }
}

impl planner::Guest for Component {
    fn decide(candidates: Vec<planner::Candidate>) -> Vec<wit::Entry> {
        candidates
            .into_iter()
            .map(|candidate| {
                plan::decide(plan::Candidate {
                    path: candidate.path,
                    target: candidate.target.into(),
                    expected: candidate.expected.into(),
                    found: candidate.found.map(Into::into),
                    incomplete: candidate.incomplete,
                })
                .into()
            })
            .collect()
    }
}

/// The host behind the imports.
struct Imports;

impl Host for Imports {
    type Scan = workspace::Scan;

    fn now_ms(&mut self) -> u64 {
        let now = wall_clock::now();
        now.seconds.saturating_mul(1000).saturating_add(u64::from(now.nanoseconds / 1_000_000))
    }

    fn take_scan(&mut self) -> Result<Self::Scan, state::Error> {
        Ok(workspace::take_scan()?)
    }

    fn summary(&mut self, scan: &Self::Scan) -> state::ScanSummary {
        let summary = scan.summary();
        state::ScanSummary { files: summary.files, errors: summary.errors, elapsed_ms: summary.elapsed_ms }
    }

    fn save_scan(&mut self, session_id: &str, scan: &Self::Scan) -> Result<u64, state::Error> {
        Ok(scan.save(session_id)?)
    }

    fn changes_since(
        &mut self,
        session_id: &str,
        before: u64,
        now: &Self::Scan,
    ) -> Result<state::Difference, state::Error> {
        let difference = workspace::changes_since(session_id, before, now)?;
        Ok(state::Difference {
            changes: into(difference.changes),
            made_directories: difference.made_directories,
            removed_directories: difference.removed_directories,
        })
    }

    fn forget_scan(&mut self, session_id: &str, id: u64) {
        workspace::forget_scan(session_id, id);
    }

    fn observe(&mut self, paths: &[String]) -> Vec<state::Observation> {
        let found = |found| match found {
            workspace::Observation::Seen(state) => state::Observation::Seen(state.into()),
            workspace::Observation::Blocked(above) => state::Observation::Blocked(above),
            workspace::Observation::Unreadable(why) => state::Observation::Unreadable(why),
        };
        workspace::observe(paths).into_iter().map(found).collect()
    }

    fn take_boundary(&mut self, session_id: &str, key: u64, now: &Self::Scan) -> Result<state::Held, state::Error> {
        let held = boundaries::take(session_id, key, now)?;
        Ok(state::Held {
            stored_files: held.stored_files,
            stored_bytes: held.stored_bytes,
            unrestorable_files: held.unrestorable_files,
        })
    }

    fn targets(&mut self, session_id: &str, key: u64, paths: &[String]) -> Result<Vec<state::Target>, state::Error> {
        Ok(into(boundaries::targets(session_id, key, paths)?))
    }

    fn apply(
        &mut self,
        session_id: &str,
        key: u64,
        steps: &[state::Step],
        made: &[String],
    ) -> Result<state::Applied, state::Error> {
        let steps: Vec<restorer::Step> = steps.iter().cloned().map(Into::into).collect();
        let applied = restorer::apply(session_id, key, &steps, made)?;
        Ok(state::Applied { outcomes: into(applied.outcomes), removed_directories: applied.removed_directories })
    }

    fn append(&mut self, session_id: &str, event: &[u8]) -> Result<(), state::Error> {
        Ok(journal::append(session_id, event)?)
    }

    fn read(&mut self, session_id: &str, start: u64) -> Result<Vec<Vec<u8>>, state::Error> {
        Ok(journal::read(session_id, start)?)
    }

    fn erase(&mut self, session_id: &str) -> Result<bool, state::Error> {
        Ok(journal::erase(session_id)?)
    }
}

fn into<A, B: From<A>>(list: Vec<A>) -> Vec<B> {
    list.into_iter().map(B::from).collect()
}

/// Enums that are equal case by case on both sides.
macro_rules! same_cases {
    ($($ours:path => $theirs:path { $($case:ident),* })*) => {$(
        impl From<$ours> for $theirs {
            fn from(value: $ours) -> Self {
                match value { $(<$ours>::$case => <$theirs>::$case,)* }
            }
        }
    )*};
}

same_cases! {
    state::ChangeKind => wit::ChangeKind { Created, Modified, Deleted }
    wit::ChangeKind => state::ChangeKind { Created, Modified, Deleted }
    state::SideEffect => wit::SideEffect { None, ReadOnly, WorkspaceWrite, ProcessExec, NetworkRead, Network, DesktopControl }
    wit::SideEffect => state::SideEffect { None, ReadOnly, WorkspaceWrite, ProcessExec, NetworkRead, Network, DesktopControl }
    state::Action => wit::Action { Restore, Recreate, Delete, Skip, Refuse, Fail }
    api::InFlight => methods::InFlight { Refuse, Close }
}

impl From<state::Digest> for wit::Digest {
    fn from(digest: state::Digest) -> Self {
        let word = |n: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&digest.0[n * 8..][..8]);
            u64::from_le_bytes(bytes)
        };
        wit::Digest { a: word(0), b: word(1), c: word(2), d: word(3) }
    }
}

impl From<wit::Digest> for state::Digest {
    fn from(digest: wit::Digest) -> Self {
        let mut bytes = [0; 32];
        for (n, word) in [digest.a, digest.b, digest.c, digest.d].into_iter().enumerate() {
            bytes[n * 8..][..8].copy_from_slice(&word.to_le_bytes());
        }
        state::Digest(bytes)
    }
}

impl From<state::FileState> for wit::FileState {
    fn from(value: state::FileState) -> Self {
        match value {
            state::FileState::Absent => wit::FileState::Absent,
            state::FileState::Regular { content, size, executable } => {
                wit::FileState::Regular(wit::RegularFile { content: content.into(), size, executable })
            }
            state::FileState::Symlink(text) => wit::FileState::Symlink(text.into()),
            state::FileState::Directory => wit::FileState::Directory,
            state::FileState::Other => wit::FileState::Other,
        }
    }
}

impl From<wit::FileState> for state::FileState {
    fn from(value: wit::FileState) -> Self {
        match value {
            wit::FileState::Absent => state::FileState::Absent,
            wit::FileState::Regular(file) => {
                state::FileState::Regular { content: file.content.into(), size: file.size, executable: file.executable }
            }
            wit::FileState::Symlink(text) => state::FileState::Symlink(text.into()),
            wit::FileState::Directory => state::FileState::Directory,
            wit::FileState::Other => state::FileState::Other,
        }
    }
}

impl From<wit::Target> for state::Target {
    fn from(value: wit::Target) -> Self {
        match value {
            wit::Target::Absent => state::Target::Absent,
            wit::Target::Present(held) => state::Target::Present(held.into()),
            wit::Target::Unrestorable(why) => state::Target::Unrestorable(why),
        }
    }
}

impl From<state::Change> for wit::Change {
    fn from(change: state::Change) -> Self {
        wit::Change {
            path: change.path,
            kind: change.kind.into(),
            before: change.before.map(|prior| wit::Prior {
                size: prior.size,
                permissions: prior.permissions,
                state: prior.state.map(Into::into),
            }),
            after: change.after.into(),
            incomplete: change.incomplete,
        }
    }
}

impl From<wit::Change> for state::Change {
    fn from(change: wit::Change) -> Self {
        state::Change {
            path: change.path,
            kind: change.kind.into(),
            before: change.before.map(|prior| state::Prior {
                size: prior.size,
                permissions: prior.permissions,
                state: prior.state.map(Into::into),
            }),
            after: change.after.into(),
            incomplete: change.incomplete,
        }
    }
}

impl From<state::Entry> for wit::Entry {
    fn from(entry: state::Entry) -> Self {
        wit::Entry {
            path: entry.path,
            action: entry.action.into(),
            reason: entry.reason,
            expected: entry.expected.map(Into::into),
            found: entry.found.map(Into::into),
        }
    }
}

impl From<state::Irreversible> for wit::Irreversible {
    fn from(irreversible: state::Irreversible) -> Self {
        wit::Irreversible { call_id: irreversible.call_id, side_effect: irreversible.side_effect.into() }
    }
}

impl From<state::Step> for restorer::Step {
    fn from(step: state::Step) -> Self {
        restorer::Step { path: step.path, guard: step.guard.into(), to: step.to.into(), permissions: step.permissions }
    }
}

impl From<restorer::Outcome> for state::Outcome {
    fn from(outcome: restorer::Outcome) -> Self {
        match outcome {
            restorer::Outcome::Done => state::Outcome::Done,
            restorer::Outcome::Changed(found) => state::Outcome::Changed(found.into()),
            restorer::Outcome::Refused(why) => state::Outcome::Refused(why),
            restorer::Outcome::Failed(why) => state::Outcome::Failed(why),
        }
    }
}

impl From<wit::Error> for state::Error {
    fn from(error: wit::Error) -> Self {
        match error {
            wit::Error::Unavailable(wit::Unavailable { reason, detail }) => {
                state::Error::Unavailable { reason, detail }
            }
            // An import refused what the methods had checked: the host is stricter than this component.
            wit::Error::Invalid(wit::Invalid { parameter, expected }) => {
                state::Error::Other(format!("the host refused {parameter}: {expected}"))
            }
            wit::Error::Other(why) => state::Error::Other(why),
        }
    }
}

impl From<state::Error> for wit::Error {
    fn from(error: state::Error) -> Self {
        match error {
            state::Error::Unavailable { reason, detail } => {
                wit::Error::Unavailable(wit::Unavailable { reason, detail })
            }
            state::Error::Invalid { parameter, expected } => {
                wit::Error::Invalid(wit::Invalid { parameter: parameter.into(), expected })
            }
            state::Error::Other(why) => wit::Error::Other(why),
        }
    }
}
