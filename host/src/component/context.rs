//! What one method call works with.
//!
//! Invariant: a call works on one session, whose lock it holds from its first look at the journal to its end.

use std::{sync::Arc, time::Instant};

use wasmtime::component::{HasData, Linker, ResourceTable};

use super::bindings::{turnback::checkpoint as imports, wasi::clocks::wall_clock};
use crate::{
    git::Scope,
    model::Error,
    scan::Scan,
    store::{self, Guard, Session, SessionId},
    workspace::Workspace,
};

/// A scan in memory, with what git tracked and ignored when it was taken.
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct TakenScan {
    pub(super) scan: Arc<Scan>,
    pub(super) scope: Scope,
}

/// What the imports of one method call work with.
pub struct Context {
    workspace: Arc<Result<Workspace, Error>>,
    /// The one session that the call is about.
    session: String,
    open: Option<Open>,
    /// When the guest last asked the host something, for the limit on its computing time.
    pub(super) last_import: Instant,
    /// How many more import calls the guest may make.
    import_calls_left: u64,
}

/// The session that the call works on.
pub(super) struct Open {
    id: SessionId,
    pub(super) session: Option<Session>,
    pub(super) events: store::Read,
    #[allow(dead_code, reason = "held until the call ends")]
    held: Vec<Guard>,
}

impl Context {
    /// For one call about one session, which may make so many import calls. Where the workspace is an error, every import
    /// answers it; a component that asks for another session is refused.
    pub fn new(workspace: Arc<Result<Workspace, Error>>, session_id: &str, import_calls: u64) -> Self {
        Context {
            workspace,
            session: session_id.to_owned(),
            open: None,
            last_import: Instant::now(),
            import_calls_left: import_calls,
        }
    }

    fn check_session(&self, id: &str) -> Result<SessionId, Error> {
        if id != self.session {
            return Err(Error::Other("the component asked for another session than the call is about".to_owned()));
        }
        SessionId::new(id)
    }

    /// The workspace, or the reason why there is none.
    pub(super) fn workspace(&self) -> Result<&Workspace, Error> {
        self.workspace.as_ref().as_ref().map_err(Clone::clone)
    }

    /// The session that this call works on, locked and read at the first mention.
    pub(super) fn open(&mut self, id: &str) -> Result<(&Workspace, &mut Open), Error> {
        let id = self.check_session(id)?;
        let workspace = self.workspace.as_ref().as_ref().map_err(Clone::clone)?;
        if self.open.is_none() {
            self.open = Some(open(workspace, id)?);
        }
        match &mut self.open {
            Some(open) => Ok((workspace, open)),
            None => Err(Error::Other("the session cannot be opened".to_owned())),
        }
    }

    /// The workspace, and the session where the call has opened it and it has state.
    pub(super) fn opened(&self) -> Result<(&Workspace, Option<&Session>), Error> {
        Ok((self.workspace()?, self.open.as_ref().and_then(|open| open.session.as_ref())))
    }

    /// Like [`Context::open`], for what needs the session to have state: it is made if need be.
    pub(super) fn open_made(&mut self, id: &str) -> Result<(&Workspace, &Session, &mut store::Read), Error> {
        let (workspace, open) = self.open(id)?;
        if open.session.is_none() {
            let (session, held) = workspace.state.make(&open.id)?;
            open.held.push(held);
            open.session = Some(session);
        }
        match &open.session {
            Some(session) => Ok((workspace, session, &mut open.events)),
            None => Err(Error::Other("the session cannot be made".to_owned())),
        }
    }

    /// Removes what an earlier drop of the session left.
    pub(super) fn sweep(&self, id: &str) -> Result<bool, Error> {
        self.workspace()?.state.sweep(&self.check_session(id)?)
    }

    /// Closes the session, and gives it up to be erased.
    pub(super) fn take(&mut self, id: &str) -> Result<Option<(Session, Guard)>, Error> {
        let id = self.check_session(id)?;
        self.open = None;
        let workspace = self.workspace()?;
        loop {
            let Some(session) = workspace.state.existing(&id)? else { return Ok(None) };
            if let Some(held) = session.lock()? {
                return Ok(Some((session, held)));
            }
        }
    }
}

fn open(workspace: &Workspace, id: SessionId) -> Result<Open, Error> {
    let mut first_look = None;
    loop {
        if let Some(session) = workspace.state.existing(&id)? {
            drop(first_look);
            let Some(held) = session.lock()? else {
                first_look = None;
                continue;
            };
            let events = session.events()?;
            return Ok(Open { id, session: Some(session), events, held: vec![held] });
        }
        if first_look.is_some() {
            return Ok(Open {
                id,
                session: None,
                events: store::Read::default(),
                held: first_look.into_iter().collect(),
            });
        }
        // A session that is not there has no lock file: the root folder's own lock keeps two from making it at once.
        let root = workspace.root.path();
        first_look = Some(store::lock_folder(root).map_err(|error| Error::io("lock", root.display(), error))?);
    }
}

/// A short-lived view of what the imports need, out of an embedder's store.
pub struct View<'a> {
    /// For this call.
    pub context: &'a mut Context,
    /// Where the embedder keeps the guest's handles.
    pub table: &'a mut ResourceTable,
}

impl View<'_> {
    /// Counts an import call; each import begins with it.
    pub(super) fn enter(&mut self) -> wasmtime::Result<()> {
        self.context.import_calls_left = self
            .context
            .import_calls_left
            .checked_sub(1)
            .ok_or_else(|| wasmtime::Error::msg("it made more import calls than it may (limit import_calls)"))?;
        Ok(())
    }

    /// Each import ends with it.
    pub(super) fn leave<T>(&mut self, answer: T) -> wasmtime::Result<T> {
        self.context.last_import = Instant::now();
        Ok(answer)
    }
}

struct HasView;

impl HasData for HasView {
    type Data<'a> = View<'a>;
}

/// Gives every import of the world `checkpoint` to a linker, for an embedder with a store of its own.
///
/// # Errors
///
/// When the linker has one of the imports already.
pub fn add_to_linker<T: 'static>(linker: &mut Linker<T>, view: fn(&mut T) -> View<'_>) -> wasmtime::Result<()> {
    imports::types::add_to_linker::<T, HasView>(linker, view)?;
    imports::workspace::add_to_linker::<T, HasView>(linker, view)?;
    imports::boundaries::add_to_linker::<T, HasView>(linker, view)?;
    imports::restorer::add_to_linker::<T, HasView>(linker, view)?;
    imports::journal::add_to_linker::<T, HasView>(linker, view)?;
    wall_clock::add_to_linker::<T, HasView>(linker, view)
}

impl imports::types::Host for View<'_> {}

impl wall_clock::Host for View<'_> {
    fn now(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        self.enter()?;
        let now = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.leave(wall_clock::Datetime { seconds: now.as_secs(), nanoseconds: now.subsec_nanos() })
    }

    fn resolution(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        self.enter()?;
        self.leave(wall_clock::Datetime { seconds: 0, nanoseconds: 1 })
    }
}
