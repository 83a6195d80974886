//! One opened workspace: its root, its repository, where its sessions' state lives.
//!
//! | file | what lives there |
//! |---|---|
//! | `looks` | looking at the workspace, and keeping what was seen |

mod looks;

use std::{path::Path, sync::Arc};

use crate::{
    anchor::Root,
    boundary::{HeldBoundary, Manifest, take},
    git::{Repository, Scope},
    model::{Applied, Error, Held, Observation, Proof, Step, Target},
    path::WorkPath,
    progress::{Phase, Progress},
    restore::{Restorer, apply},
    scan::{self, Recent, Scan},
    store::{Session, StateDir},
};

/// One opened workspace.
///
/// It is the only way from the component's imports to the rooms that act: scan, git, boundary, store and restore.
pub struct Workspace {
    pub(crate) root: Arc<Root>,
    pub(crate) repository: Repository,
    pub(crate) state: StateDir,
    pub(crate) progress: Arc<Progress>,
    proof: Proof,
    recent: Recent,
}

impl Workspace {
    /// Opens the folder as a workspace. `state_dir` in place of the state folder below the root; `proof` is what a file is
    /// taken to be unchanged by.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when no checkpoint can be had there, in a folder that is in no git worktree for example;
    /// [`Error::Other`] when the folder cannot be opened.
    pub fn open(root: &Path, state_dir: Option<&Path>, proof: Proof, progress: Arc<Progress>) -> Result<Self, Error> {
        let opened = Root::open(root).map_err(|error| Error::io("open the workspace", root.display(), error))?;
        let repository = Repository::discover(opened.path())?;
        let state = StateDir::new(opened.path(), state_dir)
            .map_err(|error| Error::io("find the state folder of", opened.path().display(), error))?;
        Ok(Workspace { root: Arc::new(opened), repository, state, progress, proof, recent: Recent::default() })
    }

    /// What stands at each path now.
    pub(crate) fn observe(&self, paths: &[WorkPath]) -> Vec<Observation> {
        let progress = &self.progress;
        progress.during(Phase::Comparing, || scan::observe_all(&self.root, paths, progress))
    }

    /// Records a boundary under a number that is free.
    pub(crate) fn take_boundary(
        &self,
        session: &Session,
        key: u64,
        scan: &mut Arc<Scan>,
        scope: &Scope,
    ) -> Result<Held, Error> {
        // The boundary before it is only asked for what need not be read again: without it all is read.
        let previous = key.checked_sub(1).and_then(|key| session.read_boundary(key).ok().flatten());
        let previous = previous.as_deref().and_then(Manifest::from_bytes);
        let blobs = session.blobs();
        let progress = &self.progress;
        let (manifest, held) =
            progress.during(Phase::Storing, || take(&self.root, scope, scan, &blobs, previous.as_ref(), progress))?;
        session.write_boundary(key, &manifest.to_bytes())?;
        self.keep_last_look(session, scan)?;
        Ok(held)
    }

    /// What a boundary holds for each path.
    pub(crate) fn targets(&self, session: &Session, key: u64, paths: &[Vec<u8>]) -> Result<Vec<Target>, Error> {
        let boundary = HeldBoundary::open(&self.repository, session, key)?;
        let progress = &self.progress;
        Ok(progress.during(Phase::Comparing, || boundary.targets(&self.repository, paths, progress)))
    }

    /// Changes the workspace.
    pub(crate) fn apply(
        &self,
        session: &Session,
        key: u64,
        steps: &[Step],
        made: Vec<WorkPath>,
    ) -> Result<Applied, Error> {
        let boundary = HeldBoundary::open(&self.repository, session, key)?;
        let displaced = session.blobs();
        displaced
            .prepare()
            .map_err(|error| Error::io("keep displaced contents in", displaced.folder().display(), error))?;
        let restorer = Restorer {
            root: &self.root,
            repository: &self.repository,
            boundary: &boundary,
            displaced: &displaced,
            state: self.state.below_root(),
            progress: &self.progress,
        };
        Ok(self.progress.during(Phase::Restoring, || apply(&restorer, steps, made)))
    }
}
