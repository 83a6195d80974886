//! wasmtime's settings. The build script includes this file: what it precompiles must be what the host runs.

use wasmtime::Config;

/// The settings for a guest: plain synchronous components, interruptible, with nothing switched on that they do not need.
pub(crate) fn config() -> Config {
    let mut config = Config::new();
    config.wasm_component_model(true);
    config.epoch_interruption(true);
    config.cranelift_opt_level(wasmtime::OptLevel::Speed);
    config
}
