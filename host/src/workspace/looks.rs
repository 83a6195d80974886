//! Looking at the workspace, and keeping what was seen.
//!
//! Invariant: a kept scan knows the content of whatever its stamps do not tell about.

use std::{io::Read, os::unix::fs::FileExt, sync::Arc};

use super::Workspace;
use crate::{
    git::Scope,
    model::{Change, Difference, Error},
    progress::Phase,
    scan::{self, Base, Scan, Walk, walk},
    store::{ScanName, Session},
};

/// How many bytes of a saved scan tell it from others.
const DIGEST: u64 = 32;

impl Workspace {
    /// Looks at the whole workspace. Where the session has looked before, what has not changed since is not listed again.
    pub(crate) fn scan(&self, session: Option<&Session>) -> Result<(Scan, Scope), Error> {
        let state = self.state.below_root();
        let scope = self.repository.scope(&self.root, state)?;
        // A base only saves time: one that cannot be read is none.
        let last = || self.kept(session?, ScanName::LastLook).ok().flatten();
        let base = match self.recent.newest().or_else(last) {
            Some(earlier) => Base::of(earlier, &self.root, &scope)?,
            None => None,
        };
        let looked_at = Walk {
            root: &self.root,
            scope: &scope,
            base: base.as_ref(),
            state,
            proof: self.proof,
            progress: &self.progress,
        };
        let scan = self.progress.during(Phase::Scanning, || walk(&looked_at))?;
        Ok((scan, scope))
    }

    /// Keeps a scan from before a call in the session's state; answers its number. What changed since the last look was
    /// changed by somebody else, and is read now: later nobody could tell it from what the call does.
    pub(crate) fn save_scan(&self, session: &Session, scan: &mut Arc<Scan>) -> Result<u64, Error> {
        // Without the last look nothing is known of the time before this one.
        let last = self.kept(session, ScanName::LastLook).ok().flatten();
        if let Some(last) = &last
            && last.unsettled == 0
            && scan.saw_the_same(last)
        {
            return session.keep_last_look();
        }
        if let Some(last) = last {
            let progress = &self.progress;
            let read =
                progress.during(Phase::Comparing, || scan::contents_of_changed(&self.root, &last, scan, progress));
            let scan = Arc::make_mut(scan);
            scan.know_from(&last);
            scan.know(read);
        }
        self.know_young(scan);
        let bytes = scan::encode(scan);
        let id = session.write_scan(&bytes)?;
        self.remember(&bytes, scan);
        Ok(id)
    }

    /// What differs between a kept scan and one in memory, which becomes the last look.
    pub(crate) fn changes_since(
        &self,
        session: &Session,
        before: u64,
        now: &mut Arc<Scan>,
    ) -> Result<Difference, Error> {
        let damaged = |what: &str| Error::Unavailable {
            reason: "state_damaged",
            detail: format!(
                "the scan from before the call {what}, so what the call changed cannot be told; drop the session to start \
                 anew"
            ),
        };
        let before = match self.kept(session, ScanName::Number(before)) {
            Ok(Some(before)) => before,
            Ok(None) => return Err(damaged("is missing or damaged")),
            Err(error) => return Err(error),
        };
        let progress = &self.progress;
        let difference = progress.during(Phase::Comparing, || scan::difference(&self.root, &before, now, progress));
        let seen = |change: &&Change| change.incomplete.is_none() && change.after.digest().is_some();
        let read = difference.changes.iter().filter(seen).map(|change| (change.path.clone(), change.after)).collect();
        {
            let now = Arc::make_mut(now);
            now.know_from(&before);
            now.know(read);
        }
        self.keep_last_look(session, now)?;
        Ok(difference)
    }

    /// Keeps a scan as the last look.
    pub(super) fn keep_last_look(&self, session: &Session, scan: &mut Arc<Scan>) -> Result<(), Error> {
        self.know_young(scan);
        let bytes = scan::encode(scan);
        session.write_last_look(&bytes)?;
        self.remember(&bytes, scan);
        Ok(())
    }

    fn know_young(&self, scan: &mut Arc<Scan>) {
        if scan.young.is_empty() {
            return;
        }
        let progress = &self.progress;
        let read = progress.during(Phase::Comparing, || scan::contents_of_young(&self.root, scan, progress));
        Arc::make_mut(scan).know(read);
    }

    fn remember(&self, saved: &[u8], scan: &Arc<Scan>) {
        if let Some(digest) = scan::digest_of(saved) {
            self.recent.put(digest, Arc::clone(scan));
        }
    }

    /// A scan of the session's; `None` when there is none, or none that is whole.
    fn kept(&self, session: &Session, name: ScanName) -> Result<Option<Arc<Scan>>, Error> {
        let Some(mut file) = session.open_scan(name)? else { return Ok(None) };
        let failed = |error| Error::io("read a scan of", session.path().display(), error);
        let length = file.metadata().map_err(failed)?.len();
        let mut digest = [0; DIGEST as usize];
        if let Some(end) = length.checked_sub(DIGEST)
            && file.read_exact_at(&mut digest, end).is_ok()
            && let Some(scan) = scan::digest_of(&digest).and_then(|digest| self.recent.get(digest))
        {
            return Ok(Some(scan));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        file.read_to_end(&mut bytes).map_err(failed)?;
        let digest = scan::digest_of(&bytes);
        let scan = scan::decode(bytes).map(Arc::new);
        if let (Some(scan), Some(digest)) = (&scan, digest) {
            self.recent.put(digest, Arc::clone(scan));
        }
        Ok(scan)
    }
}
