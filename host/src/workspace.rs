//! One opened workspace: its root, its repository, where its sessions' state lives.

use std::{path::Path, sync::Arc};

use crate::{
    anchor::Root,
    boundary::{HeldBoundary, Manifest, take},
    git::{Repository, Scope},
    model::{Applied, Change, Difference, Error, Held, Observation, Step, Target},
    path::WorkPath,
    progress::{Phase, Progress},
    restore::{Restorer, apply},
    scan::{self, Scan, Walk, walk},
    store::{Session, StateDir},
};

/// One opened workspace.
///
/// It is the only way from the component's imports to the rooms that act: scan, git, boundary, store and restore.
pub struct Workspace {
    pub(crate) root: Root,
    pub(crate) repository: Repository,
    pub(crate) state: StateDir,
    pub(crate) progress: Arc<Progress>,
}

impl Workspace {
    /// Opens the folder as a workspace. `state_dir` in place of the state folder below the root.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when no checkpoint can be had there, in a folder that is in no git worktree for example;
    /// [`Error::Other`] when the folder cannot be opened.
    pub fn open(root: &Path, state_dir: Option<&Path>, progress: Arc<Progress>) -> Result<Self, Error> {
        let opened = Root::open(root).map_err(|error| Error::io("open the workspace", root.display(), error))?;
        let repository = Repository::discover(opened.path())?;
        let state = StateDir::new(opened.path(), state_dir)
            .map_err(|error| Error::io("find the state folder of", opened.path().display(), error))?;
        Ok(Workspace { root: opened, repository, state, progress })
    }

    /// Looks at the whole workspace.
    pub(crate) fn scan(&self) -> Result<(Scan, Scope), Error> {
        let scope = self.repository.scope()?;
        let looked_at =
            Walk { root: &self.root, scope: &scope, state: self.state.below_root(), progress: &self.progress };
        let scan = self.progress.during(Phase::Scanning, || walk(&looked_at));
        Ok((scan, scope))
    }

    /// Keeps a scan from before a call in the session's state; answers its number. What changed since the last look was
    /// changed by somebody else, and is read now: later nobody could tell it from what the call does.
    pub(crate) fn save_scan(&self, session: &Session, scan: &mut Scan) -> Result<u64, Error> {
        let body = scan::Body::of(scan);
        let Some(last) = session.read_last_look() else { return session.write_scan(&body.sealed()) };
        if body.is_that_of(&last) {
            return session.keep_last_look();
        }
        let Some(last) = scan::decode(&last) else { return session.write_scan(&body.sealed()) };
        let progress = &self.progress;
        let read = progress.during(Phase::Comparing, || scan::contents_of_changed(&self.root, &last, scan, progress));
        scan.know(&last, read);
        session.write_scan(&scan::Body::of(scan).sealed())
    }

    /// What differs between a kept scan and one in memory, which becomes the last look.
    pub(crate) fn changes_since(&self, session: &Session, before: u64, now: &mut Scan) -> Result<Difference, Error> {
        let damaged = |what: &str| Error::Unavailable {
            reason: "state_damaged",
            detail: format!(
                "the scan from before the call {what}, so what the call changed cannot be told; drop the session to start \
                 anew"
            ),
        };
        let bytes = session.read_scan(before)?.ok_or_else(|| damaged("is missing"))?;
        let before = scan::decode(&bytes).ok_or_else(|| damaged("is damaged"))?;
        let progress = &self.progress;
        let difference = progress.during(Phase::Comparing, || scan::difference(&self.root, &before, now, progress));
        let seen = |change: &&Change| change.incomplete.is_none() && change.after.digest().is_some();
        let known = difference.changes.iter().filter(seen).map(|change| (change.path.clone(), change.after)).collect();
        now.know(&before, known);
        session.write_last_look(&scan::Body::of(now).sealed())?;
        Ok(difference)
    }

    /// What stands at each path now.
    pub(crate) fn observe(&self, paths: &[WorkPath]) -> Vec<Observation> {
        let progress = &self.progress;
        progress.during(Phase::Comparing, || scan::observe_all(&self.root, paths, progress))
    }

    /// Records a boundary under a number that is free.
    pub(crate) fn take_boundary(&self, session: &Session, key: u64, scan: &Scan, scope: &Scope) -> Result<Held, Error> {
        // The boundary before it is only asked for what need not be read again: without it all is read.
        let previous = key.checked_sub(1).and_then(|key| session.read_boundary(key).ok().flatten());
        let previous = previous.as_deref().and_then(Manifest::from_bytes);
        let blobs = session.blobs();
        let progress = &self.progress;
        let (manifest, held) =
            progress.during(Phase::Storing, || take(&self.root, scope, scan, &blobs, previous.as_ref(), progress))?;
        session.write_boundary(key, &manifest.to_bytes())?;
        session.write_last_look(&scan::Body::of(scan).sealed())?;
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
