//! The parallel walk.
//!
//! Invariant: every name below the root is an entry, or below a hidden path, or never git's business: `.git`, the state
//! folder, and the temporary names of a restore.

use std::{
    os::fd::AsFd,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Instant, SystemTime},
};

use super::{
    Base, Hidden, Scan, Settled,
    folder::{Found, Handle, Job, look},
    names::Names,
};
use crate::{
    anchor::Root,
    git::Scope,
    model::{Error, Proof},
    parallel,
    progress::Progress,
};

/// What a walk needs.
pub(crate) struct Walk<'w> {
    pub(crate) root: &'w Root,
    /// What git tracks and ignores.
    pub(crate) scope: &'w Scope,
    /// An earlier scan of the same workspace: of the folders that have not changed since, the names are taken from it.
    pub(crate) base: Option<&'w Base>,
    /// The state folder's path below the root, when it is there.
    pub(crate) state: Option<&'w [u8]>,
    pub(crate) proof: Proof,
    pub(crate) progress: &'w Progress,
}

/// Walks the whole workspace. What cannot be looked at does not fail it; an index that cannot be read does.
pub(crate) fn walk(walk: &Walk<'_>) -> Result<Scan, Error> {
    let started = Instant::now();
    let started_ns = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |elapsed| i64::try_from(elapsed.as_nanos()).unwrap_or(i64::MAX));
    let settled = Settled::at(started_ns, walk.root.stamping(), walk.proof);
    let first = Job::root(Arc::new(Handle::Root(walk.root.as_fd())), walk.scope.ignores(), walk.base);
    let queue = Queue { state: Mutex::new(State { jobs: vec![first], working: 0 }), changed: Condvar::new() };

    let mut found: Vec<Found> = thread::scope(|scope| {
        let others: Vec<_> = (1..parallel::threads()).map(|_| scope.spawn(|| work(walk, settled, &queue))).collect();
        let mut found = vec![work(walk, settled, &queue)];
        for other in others {
            match other.join() {
                Ok(theirs) => found.push(theirs),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        found
    });

    let ground = walk.scope.ground(walk.base.map(Base::ground))?;
    let mut scan = Scan {
        listings: Vec::with_capacity(found.iter().map(|part| part.listings.len()).sum()),
        unseen: Vec::new(),
        known: Vec::new(),
        ground,
        settled,
        young: Vec::new(),
        unsettled: 0,
        files: 0,
        errors: 0,
        elapsed: started.elapsed(),
    };
    for part in &mut found {
        scan.listings.append(&mut part.listings);
        scan.unseen.append(&mut part.unseen);
        scan.young.append(&mut part.young);
        scan.unsettled += part.unsettled;
        scan.files += part.files;
        scan.errors += part.errors;
    }
    scan.listings.sort_unstable_by(|a, b| a.path().cmp(b.path()));
    scan.unseen.sort_by(|a: &Hidden, b| a.path.cmp(&b.path));
    scan.unseen.dedup_by(|a, b| a.path == b.path);
    scan.elapsed = started.elapsed();
    Ok(scan)
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

/// A folder that is being looked at.
struct Working<'q, 'w> {
    queue: &'q Queue<'w>,
    children: Vec<Job<'w>>,
}

impl Drop for Working<'_, '_> {
    fn drop(&mut self) {
        self.queue.done(std::mem::take(&mut self.children));
    }
}

fn work<'w>(walk: &Walk<'w>, settled: Settled, queue: &Queue<'w>) -> Found {
    let mut found = Found::new(settled);
    let mut names = Names::default();
    while let Some(job) = queue.next() {
        // The others wait for what this one finds: they must hear of its end even if it panics.
        let mut working = Working { queue, children: Vec::new() };
        working.children = look(walk, job, &mut names, &mut found);
    }
    found
}
