//! What the guest asks of its host: the imports of the world, as a trait, so that the methods run natively too.

use crate::state::{Applied, Difference, Error, Held, Observation, ScanSummary, Step, Target};

/// The host. The meaning of each function is in `wit/host.wit`.
#[allow(missing_docs, reason = "documented once, in wit/host.wit")]
pub trait Host {
    /// A scan that the host holds.
    type Scan;

    fn now_ms(&mut self) -> u64;

    fn take_scan(&mut self) -> Result<Self::Scan, Error>;
    fn summary(&mut self, scan: &Self::Scan) -> ScanSummary;
    fn save_scan(&mut self, session_id: &str, scan: &Self::Scan) -> Result<u64, Error>;
    fn changes_since(&mut self, session_id: &str, before: u64, now: &Self::Scan) -> Result<Difference, Error>;
    fn forget_scan(&mut self, session_id: &str, id: u64);
    fn observe(&mut self, paths: &[String]) -> Vec<Observation>;

    fn take_boundary(&mut self, session_id: &str, key: u64, now: &Self::Scan) -> Result<Held, Error>;
    fn targets(&mut self, session_id: &str, key: u64, paths: &[String]) -> Result<Vec<Target>, Error>;

    fn apply(&mut self, session_id: &str, key: u64, steps: &[Step], made: &[String]) -> Result<Applied, Error>;

    fn append(&mut self, session_id: &str, event: &[u8]) -> Result<(), Error>;
    fn read(&mut self, session_id: &str, start: u64) -> Result<Vec<Vec<u8>>, Error>;
    fn erase(&mut self, session_id: &str) -> Result<bool, Error>;
}
