//! Generated from `wit/`.

#![allow(missing_docs, unreachable_pub, unused_lifetimes, clippy::all, reason = "generated")]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "checkpoint",
    imports: { default: trappable },
    with: { "turnback:checkpoint/workspace.scan": super::context::TakenScan },
});
