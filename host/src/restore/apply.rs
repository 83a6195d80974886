//! A batch of steps.
//!
//! Order: what goes is taken away first, deepest first, so that a folder is empty when its turn comes; then the rest from
//! the top down, so that a folder is there before what belongs in it. A step that cannot be done leaves its path as it
//! was, and the others go on.

use super::step;
use crate::{
    anchor::Root,
    boundary::HeldBoundary,
    git::{Repository, Trees},
    model::{FileState, Outcome, Step},
    path::with_ancestors,
    progress::{Phase, Progress},
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

/// Carries the steps out; the outcomes are in the order asked.
pub(crate) fn apply(restorer: &Restorer<'_>, steps: &[Step]) -> Vec<Outcome> {
    restorer.progress.enter(Phase::Restoring);
    let mut order: Vec<usize> = (0..steps.len()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&steps[a], &steps[b]);
        let goes = |step: &Step| step.to == FileState::Absent;
        match (goes(a), goes(b)) {
            (true, true) => b.path.cmp(&a.path),
            (false, false) => a.path.cmp(&b.path),
            (true, false) => std::cmp::Ordering::Less,
            (false, true) => std::cmp::Ordering::Greater,
        }
    });
    let mut trees = restorer.boundary.trees(restorer.repository);
    let mut outcomes = vec![Outcome::Failed("it was not reached".to_owned()); steps.len()];
    for at in order {
        outcomes[at] = checked(restorer, &mut trees, &steps[at]);
        restorer.progress.advance(1);
    }
    restorer.progress.enter(Phase::Idle);
    outcomes
}

/// A step is what a component asked for: it is done only if the boundary really holds what it says.
fn checked(restorer: &Restorer<'_>, trees: &mut Trees, step: &Step) -> Outcome {
    let path = step.path.as_bytes();
    if with_ancestors(path).any(|above| restorer.state == Some(above)) {
        return Outcome::Failed("protected path: it is in the state folder".to_owned());
    }
    let held = match restorer.boundary.target(trees, path) {
        crate::model::Target::Absent => FileState::Absent,
        crate::model::Target::Present(state) => state,
        crate::model::Target::Unrestorable(why) => return Outcome::Failed(why),
    };
    if held != step.to {
        return Outcome::Failed("the boundary does not hold what the plan says; it was left as it was".to_owned());
    }
    step::carry_out(restorer, trees, step).unwrap_or_else(|stopped| stopped.outcome())
}
