//! What a guest may use.

use std::time::Duration;

/// Bounds on one method call. A guest that exceeds one is stopped, and the call fails and says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Of each linear memory, in bytes.
    pub memory_bytes: usize,
    /// What the guest may hand to the host in one import call or receipt, in bytes.
    pub hostcall_bytes: usize,
    /// How long the guest may compute without asking the host anything. Time in the host does not count: a scan of a
    /// large workspace takes what it takes.
    pub compute_time: Duration,
    /// How many import calls the guest may make.
    pub import_calls: u64,
    /// How many handles the guest may hold at once.
    pub handles: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            memory_bytes: 1 << 30,
            hostcall_bytes: 512 << 20,
            compute_time: Duration::from_secs(20),
            import_calls: 10_000,
            handles: 16,
        }
    }
}
