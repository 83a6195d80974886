//! Turnback rewinds the files that an AI agent changed, and only those, to any earlier user message.
//!
//! A host brackets each tool call; what differs before and after is attributed to the call. A restore to an earlier
//! boundary touches a path only while it still is what the session last left there, and answers with a receipt that says
//! for each path what was done, and why not where it was not. A WebAssembly component decides; this crate runs it and
//! acts for it: it scans, reads git's objects, stores contents and changes files.
//!
//! ```no_run
//! use turnback::{InFlight, Options, Runtime};
//!
//! let turnback = Runtime::open("workspace".as_ref(), Options::default())?;
//! turnback.capture("session", "message-1", InFlight::Refuse)?;
//! turnback.call_begin("session", "call-1")?;
//! // … the agent's tool runs …
//! turnback.call_end("session", "call-1", None)?;
//! let receipt = turnback.restore("session", "message-1", None, InFlight::Refuse)?;
//! for entry in &receipt.refused {
//!     println!("left as it was: {}", entry.path);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Data has one way through: [`Runtime`] → component → the component decides → the host acts → [`receipt`].
//!
//! | module | what lives there |
//! |---|---|
//! | [`component`] | running the component; its imports |
//! | `workspace` | one opened workspace: the way to the rooms below |
//! | `scan` | the stat index, and what differs between two |
//! | `git` | discovery, ignore rules, the tree of the index, blobs |
//! | `boundary` | what a boundary holds |
//! | `store` | what a session keeps on disk |
//! | `restore` | changing the workspace |
//! | `anchor`, `path` | the way down from the root, and what may be acted on |
//! | [`receipt`] | what the methods answer |

mod anchor;
mod boundary;
pub mod component;
mod git;
mod model;
mod parallel;
pub mod path;
mod progress;
pub mod receipt;
mod restore;
mod scan;
mod store;
mod workspace;

pub use component::{Guest, Limits, LoadError, Options, Runtime};
pub use model::{Error as WorkspaceError, Proof};
pub use progress::{Phase, Progress};
pub use receipt::{InFlight, MethodError, SideEffect};
pub use workspace::Workspace;
