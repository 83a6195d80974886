//! The parallel walk.
//!
//! Invariant: every name below the root is an entry, or below a hidden path, or never git's business: `.git`, the state
//! folder, and the temporary names of a restore.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Instant, SystemTime},
};

use rustix::{
    fs::{AtFlags, statat},
    io::Errno,
};

use super::{Hidden, Kind, Listing, Scan, Stat, Why, names::Names};
use crate::{
    anchor::{Root, open_folder},
    git::{Asked, Ignores, Listed, ReadRules, Scope},
    parallel,
    path::join,
    progress::Progress,
    restore::is_stage_name,
};

/// What a walk needs.
pub(crate) struct Walk<'w> {
    pub(crate) root: &'w Root,
    /// What git tracks and ignores.
    pub(crate) scope: &'w Scope,
    /// The state folder's path below the root, when it is there.
    pub(crate) state: Option<&'w [u8]>,
    pub(crate) progress: &'w Progress,
}

/// Walks the whole workspace.
pub(crate) fn walk(walk: &Walk<'_>) -> Scan {
    let started = Instant::now();
    let started_ns = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |elapsed| i64::try_from(elapsed.as_nanos()).unwrap_or(i64::MAX));
    let root = Arc::new(Handle::Root(walk.root.as_fd()));
    let first = Job { parent: root, name: b".".as_slice().into(), path: Vec::new(), ignores: walk.scope.ignores() };
    let queue = Queue { state: Mutex::new(State { jobs: vec![first], working: 0 }), changed: Condvar::new() };

    let mut found: Vec<Found> = thread::scope(|scope| {
        let others: Vec<_> = (1..parallel::threads()).map(|_| scope.spawn(|| work(walk, &queue))).collect();
        let mut found = vec![work(walk, &queue)];
        for other in others {
            match other.join() {
                Ok(theirs) => found.push(theirs),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        found
    });

    let mut scan = Scan { started_ns, ..Scan::default() };
    for part in &mut found {
        scan.listings.append(&mut part.listings);
        scan.hidden.append(&mut part.hidden);
        scan.files += part.files;
        scan.errors += part.errors;
    }
    scan.listings.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    scan.hidden.sort_by(|a, b| a.path.cmp(&b.path));
    scan.hidden.dedup_by(|a, b| a.path == b.path);
    scan.elapsed = started.elapsed();
    scan
}

/// A folder to list: it is opened when its turn comes, so that no more handles are open than folders have pending ones.
struct Job<'w> {
    parent: Arc<Handle<'w>>,
    name: Box<[u8]>,
    path: Vec<u8>,
    /// The rules that hold where the folder is.
    ignores: Arc<Ignores>,
}

/// An open folder.
enum Handle<'w> {
    Root(BorrowedFd<'w>),
    Listed(OwnedFd),
}

impl Handle<'_> {
    fn open(&self, name: &[u8]) -> Result<OwnedFd, Errno> {
        match self {
            Handle::Root(root) => open_folder(*root, name),
            Handle::Listed(folder) => open_folder(folder.as_fd(), name),
        }
    }
}

struct State<'w> {
    jobs: Vec<Job<'w>>,
    working: usize,
}

struct Queue<'w> {
    state: Mutex<State<'w>>,
    changed: Condvar,
}

impl<'w> Queue<'w> {
    fn lock(&self) -> MutexGuard<'_, State<'w>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next folder, newest first, so that the walk goes down before it goes on; `None` when all is done.
    fn next(&self) -> Option<Job<'w>> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop() {
                state.working += 1;
                return Some(job);
            }
            if state.working == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self, children: Vec<Job<'w>>) {
        let mut state = self.lock();
        state.working -= 1;
        state.jobs.extend(children);
        if state.working == 0 || state.jobs.len() > 1 {
            self.changed.notify_all();
        }
    }
}

/// A folder that is being listed.
struct Working<'q, 'w> {
    queue: &'q Queue<'w>,
    children: Vec<Job<'w>>,
}

impl Drop for Working<'_, '_> {
    fn drop(&mut self) {
        self.queue.done(std::mem::take(&mut self.children));
    }
}

#[derive(Default)]
struct Found {
    listings: Vec<Listing>,
    hidden: Vec<Hidden>,
    files: u64,
    errors: u64,
}

impl Found {
    fn hide(&mut self, path: Vec<u8>, why: Why) {
        if matches!(why, Why::Unreadable(_) | Why::Vanished) {
            self.errors += 1;
        }
        self.hidden.push(Hidden { path, why });
    }
}

fn work<'w>(walk: &Walk<'w>, queue: &Queue<'w>) -> Found {
    let mut found = Found::default();
    let mut names = Names::default();
    while let Some(job) = queue.next() {
        // The others wait for what this one finds: they must hear of its end even if it panics.
        let mut working = Working { queue, children: Vec::new() };
        working.children = list(walk, job, &mut names, &mut found);
    }
    found
}

/// Lists one folder; answers the folders in it.
fn list<'w>(walk: &Walk<'w>, job: Job<'w>, names: &mut Names, found: &mut Found) -> Vec<Job<'w>> {
    let Job { parent, name, path, ignores } = job;
    let folder = match parent.open(&name).and_then(|folder| names.read(&folder).map(|()| folder)) {
        Ok(folder) => folder,
        Err(errno) => {
            found.hide(path, unreadable(errno));
            return Vec::new();
        }
    };
    drop(parent);
    let (ignores, rules) = ignores.within(walk.scope, folder.as_fd(), &path, Listed::among(names.sorted()));
    if rules == ReadRules::NotAll {
        found.errors += 1;
    }
    let mut tracked = walk.scope.folder(&path);
    let mut listing = Listing::with_capacity(path, names.count(), names.bytes());
    let mut folders: Vec<(Vec<u8>, Arc<Ignores>)> = Vec::new();
    for name in names.sorted() {
        if name == b".git" {
            if !listing.path.is_empty() && walk.scope.is_repository(&listing.path) {
                found.hide(listing.path, Why::Repository);
                return Vec::new();
            }
            continue;
        }
        let stat = match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Stat::from(&stat),
            Err(errno) => {
                found.hide(join(&listing.path, name), unreadable(errno));
                continue;
            }
        };
        let is_folder = stat.kind == Kind::Directory;
        // A folder's stamps move with the names in it, ignored ones too; what is in it is looked at anyway.
        let stat = if is_folder { stat.without_stamps() } else { stat };
        if is_folder && walk.state.is_some_and(|state| state == join(&listing.path, name)) {
            continue;
        }
        let is_tracked = if is_folder { tracked.has_below(name) } else { tracked.next_is(name) };
        if !is_folder && !is_tracked && is_stage_name(name) {
            continue;
        }
        // What is tracked is looked at in any case, but what is beside it in an ignored folder is not.
        let asked = if is_folder { Asked::Folder } else { Asked::File };
        let is_ignored = (is_folder || !is_tracked) && ignores.matches(walk.scope, &join(&listing.path, name), asked);
        if is_ignored && !is_tracked {
            found.hide(join(&listing.path, name), Why::Ignored);
            continue;
        }
        if is_folder {
            folders.push((name.to_vec(), if is_ignored { ignores.ignoring_all() } else { Arc::clone(&ignores) }));
        } else {
            found.files += 1;
        }
        listing.push(name, stat);
    }
    walk.progress.advance(listing.len());
    let children = if folders.is_empty() {
        Vec::new()
    } else {
        let handle = Arc::new(Handle::Listed(folder));
        let job = |(name, ignores): (Vec<u8>, Arc<Ignores>)| {
            let path = join(&listing.path, &name);
            Job { parent: Arc::clone(&handle), path, name: name.into(), ignores }
        };
        folders.into_iter().map(job).collect()
    };
    found.listings.push(listing);
    children
}

fn unreadable(errno: Errno) -> Why {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Why::Vanished,
        errno => Why::Unreadable(errno.to_string()),
    }
}
