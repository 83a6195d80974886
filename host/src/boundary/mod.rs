//! What a boundary holds: the tree of the index, and bytes for what differs from it.
//!
//! Invariant: every path of the workspace has exactly one answer, and "absent" is answered only where the scan looked and
//! saw nothing. What was not captured is unrestorable, with its reason.
//!
//! | file | what lives there |
//! |---|---|
//! | `manifest` | the record of a boundary, and its form on disk |
//! | `take` | from a scan to a manifest |
//! | `proof` | that the files of a folder are the tree's |
//! | `held` | from a manifest to targets and bytes |

mod held;
mod manifest;
mod proof;
mod take;

pub(crate) use self::{held::HeldBoundary, manifest::Manifest, take::take};
