//! Records a boundary.
//!
//! Invariant: a boundary is announced only after the host holds all of it.

use super::{InFlight, open, record, settle};
use crate::{event::Event, ids::Ids, ports::Host, state::Error};

/// What was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "documented in wit/checkpoints.wit, field for field")]
pub struct CaptureReceipt {
    pub boundary_id: String,
    pub scanned_files: u64,
    pub stored_files: u64,
    pub stored_bytes: u64,
    pub unrestorable_files: u64,
    pub scan_errors: u64,
    pub scan_ms: u64,
    pub closed_calls: Vec<String>,
}

/// Records the workspace as it is now under `boundary_id`.
pub fn capture<H: Host>(
    host: &mut H,
    session_id: &str,
    boundary_id: &str,
    in_flight: InFlight,
) -> Result<CaptureReceipt, Error> {
    let ids = Ids::session(session_id)?;
    ids.boundary(boundary_id)?;
    let mut ledger = open(host, &ids)?;
    ledger.check_new_boundary(session_id, boundary_id)?;
    let closed_calls = settle(host, session_id, &mut ledger, in_flight)?;

    let scan = host.take_scan()?;
    let summary = host.summary(&scan);
    let key = ledger.next_key();
    let held = host.take_boundary(session_id, key, &scan)?;
    let at_ms = host.now_ms();
    record(host, session_id, &mut ledger, Event::Captured { boundary_id: boundary_id.into(), key, at_ms })?;

    Ok(CaptureReceipt {
        boundary_id: boundary_id.into(),
        scanned_files: summary.files,
        stored_files: held.stored_files,
        stored_bytes: held.stored_bytes,
        unrestorable_files: held.unrestorable_files,
        scan_errors: summary.errors,
        scan_ms: summary.elapsed_ms,
        closed_calls,
    })
}
