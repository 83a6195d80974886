//! How far long work has come, for whoever wants to show it.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing that takes long.
    Idle,
    /// Looking at the workspace; counts names.
    Scanning,
    /// Keeping contents for a boundary; counts files.
    Storing,
    /// Reading contents to compare them; counts files.
    Comparing,
    /// Changing the workspace; counts files.
    Restoring,
}

const PHASES: [Phase; 5] = [Phase::Idle, Phase::Scanning, Phase::Storing, Phase::Comparing, Phase::Restoring];

/// Counters that any thread may read while others work.
#[derive(Debug, Default)]
pub struct Progress {
    phase: AtomicU8,
    done: AtomicUsize,
}

impl Progress {
    /// What is being done, and how much of it is done.
    pub fn now(&self) -> (Phase, usize) {
        let phase = PHASES.get(usize::from(self.phase.load(Ordering::Relaxed))).copied().unwrap_or(Phase::Idle);
        (phase, self.done.load(Ordering::Relaxed))
    }

    /// Does the work as a phase, however it ends.
    pub(crate) fn during<T>(&self, phase: Phase, work: impl FnOnce() -> T) -> T {
        self.enter(phase);
        let done = work();
        self.enter(Phase::Idle);
        done
    }

    fn enter(&self, phase: Phase) {
        self.done.store(0, Ordering::Relaxed);
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    pub(crate) fn advance(&self, by: usize) {
        self.done.fetch_add(by, Ordering::Relaxed);
    }
}
