//! The import `journal`: remembering.

use super::{
    bindings::turnback::checkpoint::{journal as import, types as wit},
    context::View,
};

impl import::Host for View<'_> {
    fn append(&mut self, session_id: String, event: Vec<u8>) -> wasmtime::Result<Result<(), wit::Error>> {
        self.enter()?;
        let appended = self
            .context
            .open_made(&session_id)
            .and_then(|(_, session, events)| session.journal().append(events, &event));
        self.leave(appended.map_err(Into::into))
    }

    fn read(&mut self, session_id: String, start: u64) -> wasmtime::Result<Result<Vec<Vec<u8>>, wit::Error>> {
        self.enter()?;
        let events = self.context.open(&session_id).map(|(_, open)| {
            let start = usize::try_from(start).unwrap_or(usize::MAX);
            open.events.events.iter().skip(start).cloned().collect()
        });
        self.leave(events.map_err(Into::into))
    }

    fn erase(&mut self, session_id: String) -> wasmtime::Result<Result<bool, wit::Error>> {
        self.enter()?;
        let erased = match self.context.take(&session_id) {
            Ok(Some((session, held))) => session.erase(held).map(|()| true),
            Ok(None) => self.context.sweep(&session_id),
            Err(error) => Err(error),
        };
        self.leave(erased.map_err(Into::into))
    }
}
