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
    ) -> wasmtime::Result<Result<Vec<import::Outcome>, wit::Error>> {
        self.enter();
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
        let applied = self.context.open(&session_id).and_then(|(workspace, open)| {
            let session = open.session.as_ref().ok_or_else(no_session)?;
            workspace.apply(session, key, &valid)
        });
        let answer = applied.map(|applied| {
            let mut applied = applied.into_iter();
            let missing = || Outcome::Failed("it was not reached".to_owned());
            outcomes
                .into_iter()
                .map(|outcome| outcome.or_else(|| applied.next()).unwrap_or_else(missing).into())
                .collect()
        });
        self.leave(answer.map_err(Into::into))
    }

    fn remove_empty(&mut self, paths: Vec<String>) -> wasmtime::Result<Vec<String>> {
        self.enter();
        let paths: Vec<WorkPath> = paths.iter().filter_map(|path| WorkPath::from_text(path).ok()).collect();
        let removed = self.context.workspace().map(|workspace| workspace.remove_empty(paths)).unwrap_or_default();
        self.leave(removed.iter().map(ToString::to_string).collect())
    }
}
