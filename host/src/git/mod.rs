//! The git side of a workspace. git is read here, and objects are written; no git process is started, no filter, hook or
//! other program of the user's is run, and the index, HEAD, refs and configuration stay as they are.
//!
//! | file | what lives there |
//! |---|---|
//! | `discover` | from a folder to its repository, or the reason why there is none |
//! | `ignores` | what git ignores |
//! | `scope` | what git tracks and ignores, for a scan |
//! | `clean` | whether a tracked file's bytes are those of its blob |
//! | `tree` | the tree of the index |
//! | `content` | bytes of a tree's files |

mod clean;
mod content;
mod discover;
mod ignores;
mod scope;
mod tree;

pub(crate) use self::{
    clean::{Attributes, Clean, blob_id},
    content::{InTree, Trees},
    discover::Repository,
    ignores::{Asked, Ignores, Listed, RULES_FILE, ReadRules},
    scope::{Ground, Scope, Since, Tracked, TrackedIn},
    tree::write_tree,
};
