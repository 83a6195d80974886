//! Between the generated types and ours.

use super::bindings::{
    exports::turnback::checkpoint::checkpoints as api,
    turnback::checkpoint::{restorer, types as wit, workspace},
};
use crate::{model, path, receipt};

/// The text of a path for a component.
pub(super) fn path_out(path: &[u8]) -> String {
    path::encode(path)
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
    model::ChangeKind => wit::ChangeKind { Created, Modified, Deleted }
    wit::ChangeKind => model::ChangeKind { Created, Modified, Deleted }
    receipt::SideEffect => wit::SideEffect { None, ReadOnly, WorkspaceWrite, ProcessExec, NetworkRead, Network, DesktopControl }
    wit::SideEffect => receipt::SideEffect { None, ReadOnly, WorkspaceWrite, ProcessExec, NetworkRead, Network, DesktopControl }
    wit::Action => receipt::Action { Restore, Recreate, Delete, Skip, Refuse, Fail }
    receipt::InFlight => api::InFlight { Refuse, Close }
}

impl From<model::Digest> for wit::Digest {
    fn from(digest: model::Digest) -> Self {
        let word = |n: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&digest.0[n * 8..][..8]);
            u64::from_le_bytes(bytes)
        };
        wit::Digest { a: word(0), b: word(1), c: word(2), d: word(3) }
    }
}

impl From<wit::Digest> for model::Digest {
    fn from(digest: wit::Digest) -> Self {
        let mut bytes = [0; 32];
        for (n, word) in [digest.a, digest.b, digest.c, digest.d].into_iter().enumerate() {
            bytes[n * 8..][..8].copy_from_slice(&word.to_le_bytes());
        }
        model::Digest(bytes)
    }
}

impl From<model::FileState> for wit::FileState {
    fn from(state: model::FileState) -> Self {
        match state {
            model::FileState::Absent => wit::FileState::Absent,
            model::FileState::Regular(file) => wit::FileState::Regular(wit::RegularFile {
                content: file.content.into(),
                size: file.size,
                executable: file.executable,
            }),
            model::FileState::Symlink(text) => wit::FileState::Symlink(text.into()),
            model::FileState::Directory => wit::FileState::Directory,
            model::FileState::Other => wit::FileState::Other,
        }
    }
}

impl From<wit::FileState> for model::FileState {
    fn from(state: wit::FileState) -> Self {
        match state {
            wit::FileState::Absent => model::FileState::Absent,
            wit::FileState::Regular(file) => model::FileState::Regular(model::RegularFile {
                content: file.content.into(),
                size: file.size,
                executable: file.executable,
            }),
            wit::FileState::Symlink(text) => model::FileState::Symlink(text.into()),
            wit::FileState::Directory => model::FileState::Directory,
            wit::FileState::Other => model::FileState::Other,
        }
    }
}

impl From<model::Target> for wit::Target {
    fn from(target: model::Target) -> Self {
        match target {
            model::Target::Absent => wit::Target::Absent,
            model::Target::Present(state) => wit::Target::Present(state.into()),
            model::Target::Unrestorable(why) => wit::Target::Unrestorable(why),
        }
    }
}

impl From<model::Change> for wit::Change {
    fn from(change: model::Change) -> Self {
        wit::Change {
            path: path_out(&change.path),
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

impl From<model::Observation> for workspace::Observation {
    fn from(observation: model::Observation) -> Self {
        match observation {
            model::Observation::Seen(state) => workspace::Observation::Seen(state.into()),
            model::Observation::Blocked(above) => workspace::Observation::Blocked(path_out(&above)),
            model::Observation::Unreadable(why) => workspace::Observation::Unreadable(why),
        }
    }
}

impl From<model::Outcome> for restorer::Outcome {
    fn from(outcome: model::Outcome) -> Self {
        match outcome {
            model::Outcome::Done => restorer::Outcome::Done,
            model::Outcome::Changed(found) => restorer::Outcome::Changed(found.into()),
            model::Outcome::Refused(why) => restorer::Outcome::Refused(why),
            model::Outcome::Failed(why) => restorer::Outcome::Failed(why),
        }
    }
}

impl From<model::Error> for wit::Error {
    fn from(error: model::Error) -> Self {
        match error {
            model::Error::Unavailable { reason, detail } => {
                wit::Error::Unavailable(wit::Unavailable { reason: reason.to_owned(), detail })
            }
            model::Error::Invalid { parameter, expected } => {
                wit::Error::Invalid(wit::Invalid { parameter: parameter.to_owned(), expected })
            }
            model::Error::Other(why) => wit::Error::Other(why),
        }
    }
}

impl From<wit::Error> for receipt::MethodError {
    fn from(error: wit::Error) -> Self {
        match error {
            wit::Error::Unavailable(wit::Unavailable { reason, detail }) => {
                receipt::MethodError::Unavailable(receipt::Unavailable::new(reason, detail))
            }
            wit::Error::Invalid(wit::Invalid { parameter, expected }) => {
                receipt::MethodError::Invalid { parameter, expected }
            }
            wit::Error::Other(why) => receipt::MethodError::Failed(why),
        }
    }
}

fn digest(state: &wit::FileState) -> Option<String> {
    model::FileState::from(*state).digest().map(|digest| digest.to_string())
}

fn executable(state: &wit::FileState) -> Option<bool> {
    match state {
        wit::FileState::Regular(file) => Some(file.executable),
        _ => None,
    }
}

fn kind(state: &wit::FileState) -> receipt::Kind {
    match state {
        wit::FileState::Absent => receipt::Kind::Absent,
        wit::FileState::Regular(_) => receipt::Kind::File,
        wit::FileState::Symlink(_) => receipt::Kind::Symlink,
        wit::FileState::Directory => receipt::Kind::Directory,
        wit::FileState::Other => receipt::Kind::Other,
    }
}

impl From<wit::Change> for receipt::Change {
    fn from(change: wit::Change) -> Self {
        receipt::Change {
            path: change.path,
            kind: match change.kind {
                wit::ChangeKind::Created => receipt::ChangeKind::Created,
                wit::ChangeKind::Modified => receipt::ChangeKind::Modified,
                wit::ChangeKind::Deleted => receipt::ChangeKind::Deleted,
            },
            post_hash: digest(&change.after),
            post_kind: kind(&change.after),
            executable: executable(&change.after),
            incomplete: change.incomplete.is_some(),
            reason: change.incomplete,
        }
    }
}

impl From<wit::Entry> for receipt::Entry {
    fn from(entry: wit::Entry) -> Self {
        receipt::Entry {
            path: entry.path,
            action: entry.action.into(),
            reason: entry.reason,
            expected_hash: entry.expected.as_ref().and_then(digest),
            found_hash: entry.found.as_ref().and_then(digest),
            expected_kind: entry.expected.as_ref().map(kind),
            found_kind: entry.found.as_ref().map(kind),
        }
    }
}

impl From<wit::Irreversible> for receipt::Irreversible {
    fn from(irreversible: wit::Irreversible) -> Self {
        receipt::Irreversible { call_id: irreversible.call_id, side_effect: irreversible.side_effect.into() }
    }
}
