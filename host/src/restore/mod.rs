//! Changing the workspace.
//!
//! Invariants, for every step: nothing is written outside the root, through a link, in a `.git` or in the state folder;
//! the guard is read again right before the change, through the same folder handle; what is displaced is in the session's
//! store before it goes; content is in a file of its own, complete and checked, before it takes a name.
//!
//! | file | what lives there |
//! |---|---|
//! | `apply` | a batch of steps, in the order in which they can succeed |
//! | `step` | one step: guard, displaced content, publish |
//! | `stage` | a complete file or link under a temporary name |

mod apply;
mod stage;
mod step;

pub(crate) use self::{
    apply::{Restorer, apply},
    stage::is_stage_name,
};
