//! Whole behaviours, through the library and the embedded component.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod histories;
mod incomplete;
mod kinds;
mod limits;
mod listing;
mod methods;
mod modes;
mod outside;
mod plan;
mod receipt;
mod repositories;
mod scope;
mod state;
mod stored;
mod unavailable;
