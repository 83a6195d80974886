//! A batch of steps.
//!
//! Order: files and links that go are taken away; then folders that go, with those that the session had made and that are
//! empty now, deepest first; then the rest is put in place from the top down, so that a folder is there before what
//! belongs in it. A step that cannot be done leaves its path as it was, and the others go on.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, unlinkat};

use super::step;
use crate::{
    anchor::{Root, Way},
    boundary::HeldBoundary,
    git::{Repository, Trees},
    model::{Applied, FileState, Outcome, Step, Target},
    path::{WorkPath, with_ancestors},
    progress::Progress,
    store::Blobs,
};

/// What a batch works with.
pub(crate) struct Restorer<'r> {
    pub(crate) root: &'r Root,
    pub(crate) repository: &'r Repository,
    pub(crate) boundary: &'r HeldBoundary,
    /// Where displaced contents go.
    pub(crate) displaced: &'r Blobs,
    /// The state folder's path below the root, when it is there.
    pub(crate) state: Option<&'r [u8]>,
    pub(crate) progress: &'r Progress,
}

/// Carries the steps out. `made`: folders to remove if they are empty once what goes is gone.
pub(crate) fn apply(restorer: &Restorer<'_>, steps: &[Step], mut made: Vec<WorkPath>) -> Applied {
    let mut trees = restorer.boundary.trees(restorer.repository);
    made.retain(|made| is_free(restorer, &mut trees, made));
    let mut outcomes = vec![Outcome::Failed("it was not reached".to_owned()); steps.len()];
    let mut carry_out = |at: usize| {
        outcomes[at] = checked(restorer, &mut trees, &steps[at]);
        restorer.progress.advance(1);
    };

    let (going, mut staying): (Vec<usize>, Vec<usize>) =
        (0..steps.len()).partition(|&at| steps[at].to == FileState::Absent);
    let (mut folders, files): (Vec<usize>, Vec<usize>) =
        going.into_iter().partition(|&at| steps[at].guard == FileState::Directory);
    files.into_iter().for_each(&mut carry_out);

    folders.sort_by(|&a, &b| steps[b].path.cmp(&steps[a].path));
    made.sort_by(|a, b| b.cmp(a));
    let mut folders = folders.into_iter().peekable();
    made.retain(|made| {
        while let Some(deeper) = folders.next_if(|&at| steps[at].path > *made) {
            carry_out(deeper);
        }
        remove_if_empty(restorer.root, made)
    });
    folders.for_each(&mut carry_out);

    staying.sort_by(|&a, &b| steps[a].path.cmp(&steps[b].path));
    staying.into_iter().for_each(&mut carry_out);

    made.reverse();
    Applied { outcomes, removed_directories: made }
}

/// Whether a folder that the component names as made by the session may go: the boundary did not have it.
fn is_free(restorer: &Restorer<'_>, trees: &mut Trees, made: &WorkPath) -> bool {
    !is_state(restorer, made.as_bytes()) && restorer.boundary.target(trees, made.as_bytes()) == Target::Absent
}

fn is_state(restorer: &Restorer<'_>, path: &[u8]) -> bool {
    with_ancestors(path).any(|above| restorer.state == Some(above))
}

fn remove_if_empty(root: &Root, path: &WorkPath) -> bool {
    match root.parent(path) {
        Ok(Way::Open(folder, name)) => unlinkat(folder.as_fd(), name, AtFlags::REMOVEDIR).is_ok(),
        _ => false,
    }
}

/// A step is what a component asked for: it is done only if the boundary really holds what it says.
fn checked(restorer: &Restorer<'_>, trees: &mut Trees, step: &Step) -> Outcome {
    let path = step.path.as_bytes();
    if is_state(restorer, path) {
        return Outcome::Failed("protected path: it is in the state folder".to_owned());
    }
    let held = match restorer.boundary.target(trees, path) {
        Target::Absent => FileState::Absent,
        Target::Present(state) => state,
        Target::Unrestorable(why) => return Outcome::Failed(why),
    };
    if held != step.to {
        return Outcome::Failed("the boundary does not hold what the plan says; it was left as it was".to_owned());
    }
    step::carry_out(restorer, trees, step).unwrap_or_else(|stopped| stopped.outcome())
}
