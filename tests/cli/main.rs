//! The program, as a process.

mod bad_input;
mod concurrent;
mod contract;
mod damage;
mod program;
mod run;
