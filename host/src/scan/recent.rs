//! The scans that were on disk last, as they were read or written.
//!
//! Invariant: a scan is found by the digest of its file alone, so that whoever else writes that file is heard of.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::Scan;
use crate::model::Digest;

/// One from before a call, and one of the last look.
const KEPT: usize = 2;

/// The newest of them first.
#[derive(Debug, Default)]
pub(crate) struct Recent(Mutex<VecDeque<(Digest, Arc<Scan>)>>);

impl Recent {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(Digest, Arc<Scan>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one whose file has that digest.
    pub(crate) fn get(&self, digest: Digest) -> Option<Arc<Scan>> {
        self.lock().iter().find(|(of, _)| *of == digest).map(|(_, scan)| Arc::clone(scan))
    }

    /// The newest.
    pub(crate) fn newest(&self) -> Option<Arc<Scan>> {
        self.lock().front().map(|(_, scan)| Arc::clone(scan))
    }

    pub(crate) fn put(&self, digest: Digest, scan: Arc<Scan>) {
        let mut kept = self.lock();
        kept.retain(|(of, _)| *of != digest);
        kept.push_front((digest, scan));
        kept.truncate(KEPT);
    }
}
