//! The program, as a process, and the component that it runs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at what it did not expect, in its helpers too"
)]

mod bad_input;
mod component;
mod concurrent;
mod contract;
mod damage;
mod guests;
mod program;
mod run;
mod scale;
mod state_dir;
mod terminal;
