//! Running the component that decides.
//!
//! A component of world `checkpoint` (see `wit/`) is loaded once and instantiated afresh for each method: its state comes
//! from the journal, so an instance can be dropped, and another component put in its place, between any two calls.
//!
//! | file | what lives there |
//! |---|---|
//! | `bindings` | generated from the WIT |
//! | `config` | wasmtime's settings, shared with the build script, which precompiles the embedded guest |
//! | `engine` | the engine, loading, and the reasons why a file is no guest |
//! | `limits` | what a guest may use |
//! | `context` | what one call works with, and `add_to_linker` |
//! | `workspace`, `boundaries`, `restorer`, `journal` | the imports, an interface a file |
//! | `convert` | between the generated types and ours |
//! | `runtime` | from a method's arguments to its receipt |

mod bindings;
mod boundaries;
mod config;
mod context;
mod convert;
mod engine;
mod journal;
mod limits;
mod restorer;
mod runtime;
mod workspace;

pub use self::{
    context::{Context, View, add_to_linker},
    engine::{Guest, LoadError},
    limits::Limits,
    runtime::{Options, Runtime},
};
