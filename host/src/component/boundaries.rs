//! The import `boundaries`: holding.

use wasmtime::component::Resource;

use super::{
    bindings::turnback::checkpoint::{boundaries as import, types as wit},
    context::{TakenScan, View},
    workspace::no_session,
};
use crate::path;

impl import::Host for View<'_> {
    fn take(
        &mut self,
        session_id: String,
        key: u64,
        now: Resource<TakenScan>,
    ) -> wasmtime::Result<Result<import::Held, wit::Error>> {
        self.enter()?;
        let taken = self.table.get_mut(&now)?;
        let held = self
            .context
            .open_made(&session_id)
            .and_then(|(workspace, session, _)| workspace.take_boundary(session, key, &mut taken.scan, &taken.scope));
        self.leave(
            held.map(|held| import::Held {
                stored_files: held.stored_files,
                stored_bytes: held.stored_bytes,
                unrestorable_files: held.unrestorable_files,
            })
            .map_err(Into::into),
        )
    }

    fn targets(
        &mut self,
        session_id: String,
        key: u64,
        paths: Vec<String>,
    ) -> wasmtime::Result<Result<Vec<wit::Target>, wit::Error>> {
        self.enter()?;
        let paths: Vec<Vec<u8>> = paths.iter().map(|text| path::decode(text)).collect();
        let targets = self.context.open(&session_id).and_then(|(workspace, open)| {
            let session = open.session.as_ref().ok_or_else(no_session)?;
            workspace.targets(session, key, &paths)
        });
        self.leave(targets.map(|targets| targets.into_iter().map(Into::into).collect()).map_err(Into::into))
    }
}
