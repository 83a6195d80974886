//! What happened in a session, as it is journalled.
//!
//! Each event is one CBOR item (RFC 8949), written with the indices below. Fields may be added under free indices: a
//! reader skips those that it does not know. An event of an unknown kind was written by a later version and is refused,
//! since a ledger that leaves out what it cannot read would plan wrongly.

use minicbor::{Decode, Encode};

use crate::state::{Change, Error, FileState, SideEffect};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Event {
    /// A boundary was recorded.
    #[n(0)]
    Captured {
        /// The caller's name for it.
        #[n(0)]
        boundary_id: String,
        /// The number under which the host keeps it; never used twice in a session.
        #[n(1)]
        key: u64,
        /// Milliseconds since the Unix epoch.
        #[n(2)]
        at_ms: u64,
    },
    /// A call began.
    #[n(1)]
    Begun {
        /// The caller's name for it.
        #[n(0)]
        call_id: String,
        /// The saved scan from before it.
        #[n(1)]
        scan: u64,
        /// Milliseconds since the Unix epoch.
        #[n(2)]
        at_ms: u64,
    },
    /// A call ended, and this is what it changed.
    #[n(2)]
    Ended {
        /// The call.
        #[n(0)]
        call_id: String,
        /// Its class.
        #[n(1)]
        side_effect: SideEffect,
        /// What it changed, sorted by path.
        #[n(2)]
        changes: Vec<Change>,
        /// The folders that it made, sorted by path.
        #[n(3)]
        made_directories: Vec<String>,
        /// Milliseconds since the Unix epoch.
        #[n(4)]
        at_ms: u64,
        /// The folders that it removed or replaced, sorted by path.
        #[n(5)]
        removed_directories: Vec<String>,
    },
    /// A restore changed the workspace, or found nothing left to change.
    #[n(3)]
    Restored {
        /// The boundary's number.
        #[n(0)]
        key: u64,
        /// Whether later boundaries and their attributions are discarded with it.
        #[n(1)]
        extent: Extent,
        /// Each path that was changed, with what it was and what it became.
        #[n(2)]
        paths: Vec<Restored>,
        /// The folders that were removed because they had become empty.
        #[n(3)]
        removed_directories: Vec<String>,
        /// Milliseconds since the Unix epoch.
        #[n(4)]
        at_ms: u64,
    },
}

/// How far a restore reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Extent {
    /// Every attributed path is as at the boundary: what came after it is discarded.
    #[n(0)]
    Full,
    /// Only the listed paths went back: only they leave the attribution.
    #[n(1)]
    Partial,
}

/// One path of a restore.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Restored {
    /// Where.
    #[n(0)]
    pub path: String,
    /// What stood there; the host keeps its content as displaced.
    #[n(1)]
    pub from: FileState,
    /// What stands there since.
    #[n(2)]
    pub to: FileState,
}

impl Event {
    /// The event as it is journalled.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        minicbor::to_vec(self).map_err(|e| Error::Other(format!("an event cannot be encoded: {e}")))
    }

    /// Reads an event back.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        minicbor::decode(bytes).map_err(|e| {
            Error::unavailable(
                "state_damaged",
                format!(
                    "the session's journal holds an event that this version cannot read ({e}); nothing was changed. A \
                     later version may have written it; otherwise drop the session and capture anew"
                ),
            )
        })
    }
}
