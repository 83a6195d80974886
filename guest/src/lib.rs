//! The Turnback component: it decides what a restore may do, and remembers what a session's calls changed.
//!
//! Nothing here does I/O. What the component needs of the world goes through [`ports::Host`], which `component` meets
//! with the imports of `wit/world.wit`; the rules compile and are tested natively too.
//!
//! | module | what lives there |
//! |---|---|
//! | [`state`] | the values that are reasoned about |
//! | [`plan`] | the restore table |
//! | [`ledger`] | boundaries, calls and attributions, replayed from events |
//! | [`event`] | what is journalled |
//! | [`methods`] | capture, call-begin, call-end, plan, restore, drop |
//! | [`ids`], [`selection`] | what a request may say |
//! | `component` | the only module that knows wit-bindgen; wasm only |

#![cfg_attr(not(target_arch = "wasm32"), forbid(unsafe_code))]

#[cfg(target_arch = "wasm32")]
mod component;
pub mod event;
pub mod ids;
pub mod ledger;
pub mod methods;
pub mod plan;
pub mod ports;
pub mod selection;
pub mod state;
