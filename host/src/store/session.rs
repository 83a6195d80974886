//! The state folder, and a session's folder in it.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use super::{
    Blobs, Guard, files,
    journal::{self, Journal},
    lock::{lock_file, make_lock},
};
use crate::model::Error;

/// Where state lives below the workspace root.
const IN_TREE: [&str; 3] = [".harn", "state", "checkpoints"];

/// Keeps all that is beside it out of git's sight.
const IGNORE_ALL: &[u8] = b"*\n";

/// Where the scan of the last look is, among the numbered ones.
const LAST_LOOK: &str = "last";

/// Which of a session's scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanName {
    /// Of the last look at the workspace.
    LastLook,
    /// From before a call.
    Number(u64),
}

/// A session id that is safe as the name of one folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SessionId(String);

impl SessionId {
    /// The host's own check: whatever a component asks for, state stays in the state folder.
    pub(crate) fn new(id: &str) -> Result<Self, Error> {
        let safe = !id.is_empty()
            && id.len() <= 200
            && !id.starts_with('.')
            && !id.chars().any(|c| c.is_control() || c == '/' || c == '\\');
        if safe {
            return Ok(SessionId(id.to_owned()));
        }
        let expected = "1 to 200 bytes without slashes, backslashes or control characters, not starting with a dot";
        Err(Error::Invalid { parameter: "session_id", expected: expected.to_owned() })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The folder of all sessions.
#[derive(Debug)]
pub(crate) struct StateDir {
    path: PathBuf,
    /// The components below the workspace root, when it is there.
    below_root: Option<Vec<u8>>,
    in_tree: bool,
    root: PathBuf,
}

impl StateDir {
    /// The state folder of a workspace; `elsewhere` in place of the one below the root.
    pub(crate) fn new(root: &Path, elsewhere: Option<&Path>) -> io::Result<Self> {
        let in_tree = elsewhere.is_none();
        let path = match elsewhere {
            Some(path) => absolute(path)?,
            None => root.join(IN_TREE.iter().collect::<PathBuf>()),
        };
        if root.starts_with(&path) {
            return Err(io::Error::other(
                "the state folder must not be the workspace, nor hold it; name a folder of its own",
            ));
        }
        if path.components().any(|component| component.as_os_str() == ".git") {
            return Err(io::Error::other("the state folder must not be in a .git; name a folder of its own"));
        }
        // Scans leave it out as a whole: what else is in it would go unseen.
        let has_ours = fs::read(path.join(".gitignore")).is_ok_and(|ignore| ignore == IGNORE_ALL);
        if !in_tree
            && path.starts_with(root)
            && !has_ours
            && fs::read_dir(&path).is_ok_and(|mut names| names.next().is_some())
        {
            return Err(io::Error::other("a state folder below the root must be a folder of its own, empty at first"));
        }
        let below_root = path.strip_prefix(root).ok().map(|path| path.as_os_str().as_bytes().to_vec());
        Ok(StateDir { path, below_root, in_tree, root: root.to_owned() })
    }

    /// The path below the workspace root, when the folder is there: scans leave it out.
    pub(crate) fn below_root(&self) -> Option<&[u8]> {
        self.below_root.as_deref()
    }

    /// The session, when it has state.
    pub(crate) fn existing(&self, id: &SessionId) -> Result<Option<Session>, Error> {
        let path = self.path.join(id.as_str());
        self.check()?;
        if !is_folder(&path)? {
            return Ok(None);
        }
        // What has no lock is nobody's session: another folder that happens to have the name.
        let locked = path.join("lock").symlink_metadata().is_ok_and(|lock| lock.is_file());
        if !locked {
            return Err(unsafe_folder(&path));
        }
        for inner in ["blobs", "boundaries", "scans"] {
            is_folder(&path.join(inner))?;
        }
        let session = Session { path };
        if !self.in_tree && session.workspace().is_some_and(|workspace| workspace != self.root.as_os_str().as_bytes()) {
            let detail = format!(
                "session '{}' in {} is another workspace's; use another session id or another state folder",
                id.as_str(),
                self.path.display()
            );
            return Err(Error::Unavailable { reason: "workspace_replaced", detail });
        }
        Ok(Some(session))
    }

    /// Makes the session's folder. It appears with its lock held: whoever finds it waits for what is recorded first. An
    /// error where it is there already.
    pub(crate) fn make(&self, id: &SessionId) -> Result<(Session, Guard), Error> {
        self.check()?;
        let made = || -> io::Result<(PathBuf, Guard)> {
            let is_ours = self.below_root.is_some() || !self.path.exists();
            files::make_folder(&self.path)?;
            let ignore = self.path.join(".gitignore");
            if is_ours && !ignore.exists() {
                files::write_whole(&ignore, IGNORE_ALL)?;
            }
            let fresh = files::make_fresh_folder(&self.path.join(".new"))?;
            let held = make_lock(&fresh.join("lock"))?;
            files::write_whole(&fresh.join("workspace"), self.root.as_os_str().as_bytes())?;
            let path = self.path.join(id.as_str());
            if path.symlink_metadata().is_ok() {
                let _ours_alone = fs::remove_dir_all(&fresh);
                return Err(io::Error::other("another process made the session just now; try again"));
            }
            fs::rename(&fresh, &path)?;
            Ok((path, held))
        };
        let (path, held) = made().map_err(|error| Error::io("make the state folder", self.path.display(), error))?;
        Ok((Session { path }, held))
    }

    /// The workspace can be written by whoever the agent runs: a link in the way of the state folder would lead its
    /// files elsewhere.
    fn check(&self) -> Result<(), Error> {
        if !self.in_tree {
            return Ok(());
        }
        let mut path = self.root.clone();
        for component in IN_TREE {
            path.push(component);
            if !is_folder(&path)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Removes what is left of sessions of that name that were dropped and could not be removed; answers whether there
    /// was something.
    pub(crate) fn sweep(&self, id: &SessionId) -> Result<bool, Error> {
        let ending = format!("-{}", id.as_str());
        let sweep = || -> io::Result<bool> {
            let mut swept = false;
            for entry in fs::read_dir(&self.path).into_iter().flatten() {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                if name.strip_prefix(".dropped-").is_some_and(|rest| rest.ends_with(&ending)) {
                    fs::remove_dir_all(entry.path())?;
                    swept = true;
                }
            }
            Ok(swept)
        };
        sweep().map_err(|error| Error::io("remove what is left of the session in", self.path.display(), error))
    }
}

/// Whether there is a folder; anything else of that name, a link for example, is refused.
fn is_folder(path: &Path) -> Result<bool, Error> {
    match path.symlink_metadata() {
        Ok(there) if there.is_dir() => Ok(true),
        Ok(_) => Err(unsafe_folder(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io("look at the state folder", path.display(), error)),
    }
}

fn unsafe_folder(path: &Path) -> Error {
    let detail = format!(
        "{} is in the way and is no state of turnback's (a link, or a folder of somebody else's): nothing was done with \
         it; move it away, or use another state folder or session id",
        path.display()
    );
    Error::Unavailable { reason: "state_damaged", detail }
}

/// Resolves links in the part of the path that exists.
fn absolute(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let mut missing: Vec<OsString> = Vec::new();
    let mut existing = path.as_path();
    loop {
        match existing.canonicalize() {
            Ok(mut resolved) => {
                resolved.extend(missing.into_iter().rev());
                return Ok(resolved);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => match (existing.parent(), existing.file_name()) {
                (Some(parent), Some(name)) => {
                    missing.push(name.to_owned());
                    existing = parent;
                }
                _ => return Err(error),
            },
            Err(error) => return Err(error),
        }
    }
}

/// The state of one session.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    path: PathBuf,
}

impl Session {
    /// Waits for the session's lock; `None` when the session was dropped meanwhile.
    pub(crate) fn lock(&self) -> Result<Option<Guard>, Error> {
        lock_file(&self.path.join("lock")).map_err(|error| Error::io("lock", self.path.display(), error))
    }

    /// Its folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The root of the workspace for which the session was made.
    fn workspace(&self) -> Option<Vec<u8>> {
        files::read(&self.path.join("workspace")).ok()
    }

    /// The session's events.
    pub(crate) fn journal(&self) -> Journal {
        Journal::new(self.path.join("journal"))
    }

    /// The session's events, read from the start.
    pub(crate) fn events(&self) -> Result<journal::Read, Error> {
        self.journal().read()
    }

    /// The session's contents.
    pub(crate) fn blobs(&self) -> Blobs {
        Blobs::new(self.path.join("blobs"))
    }

    /// Keeps a boundary's manifest.
    pub(crate) fn write_boundary(&self, key: u64, bytes: &[u8]) -> Result<(), Error> {
        let folder = self.path.join("boundaries");
        let path = folder.join(key.to_string());
        files::make_folder(&folder)
            .and_then(|()| files::write_whole(&path, bytes))
            .map_err(|error| Error::io("keep the boundary in", path.display(), error))
    }

    /// A boundary's manifest; `None` when there is none under that number.
    pub(crate) fn read_boundary(&self, key: u64) -> Result<Option<Vec<u8>>, Error> {
        let path = self.path.join("boundaries").join(key.to_string());
        match files::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read the boundary in", path.display(), error)),
        }
    }

    /// Keeps a scan; answers its number.
    pub(crate) fn write_scan(&self, bytes: &[u8]) -> Result<u64, Error> {
        self.with_free_scan(|path| files::write_whole(path, bytes))
    }

    /// Keeps the scan of the last look under a number too, and answers that.
    pub(crate) fn keep_last_look(&self) -> Result<u64, Error> {
        let last = self.scan_path(ScanName::LastLook);
        self.with_free_scan(|path| {
            // What is written whole is never written again, so two names may share it. Not every file system can.
            fs::hard_link(&last, path).or_else(|_| files::write_whole(path, &files::read(&last)?))
        })
    }

    fn with_free_scan(&self, write: impl FnOnce(&Path) -> io::Result<()>) -> Result<u64, Error> {
        let folder = self.path.join("scans");
        let kept = || -> io::Result<u64> {
            files::make_folder(&folder)?;
            let taken = |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse::<u64>().ok();
            let id = fs::read_dir(&folder)?.filter_map(taken).max();
            let id = id.map_or(Some(0), |newest| newest.checked_add(1));
            let id = id.ok_or_else(|| io::Error::other("the numbers of scans are used up; drop the session"))?;
            write(&folder.join(id.to_string()))?;
            Ok(id)
        };
        kept().map_err(|error| Error::io("keep the scan in", folder.display(), error))
    }

    /// A scan's file; `None` when there is none of that name.
    pub(crate) fn open_scan(&self, name: ScanName) -> Result<Option<File>, Error> {
        let path = self.scan_path(name);
        match files::open(&path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read the scan in", path.display(), error)),
        }
    }

    fn scan_path(&self, name: ScanName) -> PathBuf {
        let folder = self.path.join("scans");
        match name {
            ScanName::LastLook => folder.join(LAST_LOOK),
            ScanName::Number(id) => folder.join(id.to_string()),
        }
    }

    /// Keeps the scan of the last look: at a boundary, or at the end of a call.
    pub(crate) fn write_last_look(&self, bytes: &[u8]) -> Result<(), Error> {
        let path = self.scan_path(ScanName::LastLook);
        files::make_folder(&self.path.join("scans"))
            .and_then(|()| files::write_whole(&path, bytes))
            .map_err(|error| Error::io("keep the scan in", path.display(), error))
    }

    /// Releases a kept scan.
    pub(crate) fn forget_scan(&self, id: u64) {
        // One that stays costs space until the session is dropped, nothing else.
        let _best_effort = fs::remove_file(self.scan_path(ScanName::Number(id)));
    }

    /// Removes all that the session keeps. The folder takes another name first, so that half of a session is never
    /// taken for a whole one.
    pub(crate) fn erase(self, _held: Guard) -> Result<(), Error> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let aside = files::free_name(&self.path.with_file_name(".dropped"), &name);
        fs::rename(&self.path, &aside).map_err(|error| Error::io("remove", self.path.display(), error))?;
        fs::remove_dir_all(&aside).map_err(|error| {
            Error::Other(format!(
                "the session is gone, but not all of its contents: cannot remove {}: {error}; mend that and drop the \
                 session again",
                aside.display()
            ))
        })
    }
}
