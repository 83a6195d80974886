//! The import `restorer`: changing the workspace.
//!
//! Invariant: what a component asks for is parsed into [`WorkPath`]s here; a path that may not be written never reaches
//! the room that writes.

use super::{
    bindings::turnback::checkpoint::{restorer as import, types as wit},
    context::View,
    workspace::no_session,
};
use crate::{
    model::{Outcome, Step},
    path::WorkPath,
};

impl import::Host for View<'_> {
    fn apply(
        &mut self,
        session_id: String,
        key: u64,
        steps: Vec<import::Step>,
        made: Vec<String>,
    ) -> wasmtime::Result<Result<import::Applied, wit::Error>> {
        self.enter()?;
        let mut outcomes: Vec<Option<Outcome>> = Vec::with_capacity(steps.len());
        let mut valid = Vec::with_capacity(steps.len());
        for step in steps {
            match WorkPath::from_text(&step.path) {
                Ok(path) => {
                    let permissions = step.permissions;
                    valid.push(Step { path, guard: step.guard.into(), to: step.to.into(), permissions });
                    outcomes.push(None);
                }
                Err(invalid) => outcomes.push(Some(Outcome::Failed(invalid.to_string()))),
            }
        }
        let made = made.iter().filter_map(|path| WorkPath::from_text(path).ok()).collect();
        let applied = self.context.open(&session_id).and_then(|(workspace, open)| {
            let session = open.session.as_ref().ok_or_else(no_session)?;
            workspace.apply(session, key, &valid, made)
        });
        let answer = applied.map(|applied| {
            let mut of_valid = applied.outcomes.into_iter();
            let missing = || Outcome::Failed("it was not reached".to_owned());
            let outcomes = outcomes
                .into_iter()
                .map(|outcome| outcome.or_else(|| of_valid.next()).unwrap_or_else(missing).into())
                .collect();
            let removed_directories = applied.removed_directories.iter().map(ToString::to_string).collect();
            import::Applied { outcomes, removed_directories }
        });
        self.leave(answer.map_err(Into::into))
    }
}
