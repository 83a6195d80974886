//! The restore table: what the boundary holds, what the session last left and what stands there now decide what a
//! restore does with a path.
//!
//! Invariant: an action that changes the workspace comes out only when what stands there is exactly what the session
//! last left there, and the boundary is known to have had something else.

use crate::state::{Action, Entry, FileState, Target};

/// What is known of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Where.
    pub path: String,
    /// What the boundary holds for it.
    pub target: Target,
    /// What the session last left there.
    pub expected: FileState,
    /// What stands there now, or why that cannot be told.
    pub found: Result<FileState, String>,
    /// Why the attribution cannot be relied on, when it cannot.
    pub incomplete: Option<String>,
}

/// Decides one path. The rows are tried from the first; the first that holds decides.
///
/// | row | what is so | action |
/// |---|---|---|
/// | 1 | what stands there cannot be told | fail |
/// | 2 | it equals what the boundary holds | skip |
/// | 3 | the boundary does not have it | refuse |
/// | 4 | the attribution is incomplete | refuse |
/// | 5 | it is not what the session last left | refuse |
/// | 6 | it is a special file or a nested repository: two of those cannot be told apart | refuse |
/// | 7 | the boundary had nothing there | delete |
/// | 8 | nothing stands there | recreate |
/// | 9 | something else stands there | restore |
pub fn decide(candidate: Candidate) -> Entry {
    let Candidate { path, target, expected, found, incomplete } = candidate;
    let (action, reason) = match (&found, &target) {
        (Err(why), _) => (Action::Fail, Some(why.clone())),
        (Ok(FileState::Absent), Target::Absent) => {
            (Action::Skip, Some("already matches: absent now and at the boundary".to_string()))
        }
        (Ok(found), Target::Present(held)) if found == held => (Action::Skip, Some("already matches".to_string())),
        (_, Target::Unrestorable(why)) => (Action::Refuse, Some(format!("unrestorable: {why}"))),
        (_, Target::Present(FileState::Other)) => {
            (Action::Refuse, Some(format!("unrestorable: it was {}", name(&FileState::Other))))
        }
        (Ok(found), _) => match &incomplete {
            Some(why) => (Action::Refuse, Some(format!("incomplete attribution: {why}"))),
            None if *found != expected => (Action::Refuse, Some(divergence(&expected, found))),
            None => match (found, &target) {
                (FileState::Other, _) => (Action::Refuse, Some(format!("{} is never touched", name(found)))),
                (_, Target::Absent) => (Action::Delete, None),
                (FileState::Absent, _) => (Action::Recreate, None),
                _ => (Action::Restore, None),
            },
        },
    };
    Entry { path, action, reason, expected: Some(expected), found: found.ok() }
}

/// Tells a person in what way `found` is not what the session left.
pub fn divergence(expected: &FileState, found: &FileState) -> String {
    let what = match (expected, found) {
        (FileState::Regular { content: a, .. }, FileState::Regular { content: b, executable, .. }) if a == b => {
            if *executable {
                "it was made executable".to_string()
            } else {
                "it was made not executable".to_string()
            }
        }
        (FileState::Regular { .. }, FileState::Regular { .. }) => "its content differs".to_string(),
        (FileState::Symlink(_), FileState::Symlink(_)) => "the link points elsewhere".to_string(),
        (_, FileState::Absent) => format!("the session left {}, now nothing is there", name(expected)),
        (FileState::Absent, _) => format!("the session left nothing there, now {} is there", name(found)),
        _ => format!("the session left {}, now {} is there", name(expected), name(found)),
    };
    format!("changed outside the session: {what}")
}

fn name(state: &FileState) -> &'static str {
    match state {
        FileState::Absent => "nothing",
        FileState::Regular { .. } => "a file",
        FileState::Symlink(_) => "a symbolic link",
        FileState::Directory => "a folder",
        FileState::Other => "a special file or a nested repository",
    }
}
