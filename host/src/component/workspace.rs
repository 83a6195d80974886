//! The import `workspace`: seeing.

use std::sync::Arc;

use wasmtime::component::Resource;

use super::{
    bindings::turnback::checkpoint::{types as wit, workspace as import},
    context::{TakenScan, View},
    convert,
};
use crate::{
    model::{Difference, Error, Observation},
    path::{InvalidPath, WorkPath},
};

impl import::Host for View<'_> {
    fn take_scan(&mut self) -> wasmtime::Result<Result<Resource<TakenScan>, wit::Error>> {
        self.enter()?;
        let taken = match self.context.opened().and_then(|(workspace, session)| workspace.scan(session)) {
            Ok((scan, scope)) => Ok(self.table.push(TakenScan { scan: Arc::new(scan), scope })?),
            Err(error) => Err(error.into()),
        };
        self.leave(taken)
    }

    fn changes_since(
        &mut self,
        session_id: String,
        before: u64,
        now: Resource<TakenScan>,
    ) -> wasmtime::Result<Result<import::Difference, wit::Error>> {
        self.enter()?;
        let now = self.table.get_mut(&now)?;
        let difference = self.context.open(&session_id).and_then(|(workspace, open)| {
            let session = open.session.as_ref().ok_or_else(no_session)?;
            workspace.changes_since(session, before, &mut now.scan)
        });
        self.leave(difference.map(difference_out).map_err(Into::into))
    }

    fn forget_scan(&mut self, session_id: String, id: u64) -> wasmtime::Result<()> {
        self.enter()?;
        if let Ok((_, open)) = self.context.open(&session_id)
            && let Some(session) = &open.session
        {
            session.forget_scan(id);
        }
        self.leave(())
    }

    fn observe(&mut self, paths: Vec<String>) -> wasmtime::Result<Vec<import::Observation>> {
        self.enter()?;
        let found: Vec<Observation> = match self.context.workspace() {
            Err(error) => paths.iter().map(|_| Observation::Unreadable(error.to_string())).collect(),
            Ok(workspace) => {
                let parsed: Vec<_> = paths.iter().map(|path| WorkPath::from_text(path)).collect();
                let valid: Vec<WorkPath> = parsed.iter().filter_map(|path| path.as_ref().ok().cloned()).collect();
                let mut found = workspace.observe(&valid).into_iter();
                let missing = || Observation::Unreadable("it was not looked at".to_owned());
                let answer = |path: Result<WorkPath, InvalidPath>| match path {
                    Ok(_) => found.next().unwrap_or_else(missing),
                    Err(invalid) => Observation::Unreadable(invalid.to_string()),
                };
                parsed.into_iter().map(answer).collect()
            }
        };
        self.leave(found.into_iter().map(Into::into).collect())
    }
}

impl import::HostScan for View<'_> {
    fn summary(&mut self, scan: Resource<TakenScan>) -> wasmtime::Result<import::ScanSummary> {
        self.enter()?;
        let scan = &self.table.get(&scan)?.scan;
        let elapsed_ms = u64::try_from(scan.elapsed.as_millis()).unwrap_or(u64::MAX);
        let summary = import::ScanSummary { files: scan.files, errors: scan.errors, elapsed_ms };
        self.leave(summary)
    }

    fn save(&mut self, scan: Resource<TakenScan>, session_id: String) -> wasmtime::Result<Result<u64, wit::Error>> {
        self.enter()?;
        let taken = self.table.get_mut(&scan)?;
        let saved = self
            .context
            .open_made(&session_id)
            .and_then(|(workspace, session, _)| workspace.save_scan(session, &mut taken.scan));
        self.leave(saved.map_err(Into::into))
    }

    fn drop(&mut self, scan: Resource<TakenScan>) -> wasmtime::Result<()> {
        self.table.delete(scan)?;
        Ok(())
    }
}

fn difference_out(difference: Difference) -> import::Difference {
    import::Difference {
        changes: difference.changes.into_iter().map(Into::into).collect(),
        made_directories: difference.made_directories.iter().map(|path| convert::path_out(path)).collect(),
        removed_directories: difference.removed_directories.iter().map(|path| convert::path_out(path)).collect(),
    }
}

pub(super) fn no_session() -> Error {
    Error::Unavailable { reason: "no_checkpoint", detail: "the session has no state".to_owned() }
}
