//! What a session keeps on disk.
//!
//! ```text
//! .harn/state/checkpoints/            owner-only, like all below it; ".gitignore" keeps it out of git's sight
//!   <session>/lock                    held while a method works on the session
//!   <session>/workspace               the root of the workspace for which the session was made
//!   <session>/journal                 its events, see `journal`
//!   <session>/blobs/<blake3>          contents, see `blobs`
//!   <session>/boundaries/<number>     what each boundary holds, see `crate::boundary`
//!   <session>/scans/<number>          scans from before calls in flight, see `crate::scan`
//!   <session>/scans/last              the scan of the last look, at a boundary or the end of a call
//! ```
//!
//! Invariant: nothing is created before something is recorded; everything is readable by its owner only, from the moment
//! that it exists; a file appears under its name only when it is whole.

mod blobs;
mod files;
mod journal;
mod lock;
mod session;

pub(crate) use self::{
    blobs::Blobs,
    journal::Read,
    lock::{Guard, lock_folder},
    session::{ScanName, Session, SessionId, StateDir},
};
