//! The engine, and loading a guest into it.

use std::{
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use wasmtime::{
    Engine,
    component::{Component, Linker},
};

use super::{
    bindings::CheckpointPre,
    config::config,
    context::{self, Context, View},
    runtime::Data,
};

/// How often the engine looks whether a guest has computed too long.
pub(super) const TICK: Duration = Duration::from_millis(50);

/// Made by the build script from `guest/`, for this version of wasmtime and this kind of machine.
static EMBEDDED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guest.cwasm"));
/// The same component before it was compiled.
static EMBEDDED_COMPONENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guest.wasm"));

/// Which component decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Guest {
    /// The one that comes with the host.
    #[default]
    Embedded,
    /// A component file of the same world. It is compiled when it is loaded.
    File(PathBuf),
}

impl Guest {
    /// The bytes of the component that comes with the host, for tools that look into it or run it elsewhere.
    pub fn embedded_component() -> &'static [u8] {
        EMBEDDED_COMPONENT
    }
}

/// Why a guest cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("cannot read the guest {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The file is no WebAssembly component.
    #[error("the guest {} is not a WebAssembly component: {reason}", path.display())]
    NotAComponent {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The component is of another world.
    #[error("the guest {} does not fit the world turnback:checkpoint/checkpoint@0.1.0: {reason}", path.display())]
    OtherWorld {
        /// The file.
        path: PathBuf,
        /// What it lacks, or asks for and is not given.
        reason: String,
    },
    /// The engine cannot be set up here.
    #[error("the component engine cannot be set up: {0}")]
    Engine(String),
}

/// A guest that is ready to be instantiated.
pub(super) struct Loaded {
    pub(super) engine: Engine,
    pub(super) pre: CheckpointPre<Data>,
}

pub(super) fn load(guest: &Guest) -> Result<Loaded, LoadError> {
    let engine_error = |error: wasmtime::Error| LoadError::Engine(format!("{error:#}"));
    let (engine, component, path) = match guest {
        Guest::Embedded => {
            let (engine, component) = embedded().map_err(engine_error)?;
            (engine, component, Path::new("(embedded)"))
        }
        Guest::File(path) => {
            let bytes = std::fs::read(path).map_err(|error| LoadError::Read { path: path.clone(), error })?;
            let engine = Engine::new(&config()).map_err(engine_error)?;
            let component = Component::from_binary(&engine, &bytes)
                .map_err(|error| LoadError::NotAComponent { path: path.clone(), reason: format!("{error:#}") })?;
            (engine, component, path.as_path())
        }
    };
    let mut linker = Linker::<Data>::new(&engine);
    context::add_to_linker(&mut linker, |data: &mut Data| {
        let (context, table): (&mut Context, _) = (&mut data.context, &mut data.table);
        View { context, table }
    })
    .map_err(engine_error)?;
    let other_world =
        |error: wasmtime::Error| LoadError::OtherWorld { path: path.to_owned(), reason: format!("{error:#}") };
    let pre = linker.instantiate_pre(&component).and_then(CheckpointPre::new).map_err(other_world)?;
    start_clock(&engine).map_err(|error| LoadError::Engine(format!("no thread to bound a guest's time: {error}")))?;
    Ok(Loaded { engine, pre })
}

/// Loads the artifact of the build script into an engine that has no compiler, which is quick; compiles the component
/// where the artifact is of no use.
fn embedded() -> wasmtime::Result<(Engine, Component)> {
    let engine = Engine::new(config().enable_compiler(false))?;
    // SAFETY: deserializing runs the artifact's machine code. These bytes were made by this crate's build script with
    // `Engine::precompile_component` and are part of this program.
    #[allow(unsafe_code, reason = "see above")]
    let precompiled = unsafe { Component::deserialize(&engine, EMBEDDED) };
    if let Ok(component) = precompiled {
        return Ok((engine, component));
    }
    let engine = Engine::new(&config())?;
    let component = Component::from_binary(&engine, EMBEDDED_COMPONENT)?;
    Ok((engine, component))
}

/// Lets guests be interrupted, for as long as the engine lives.
fn start_clock(engine: &Engine) -> std::io::Result<()> {
    let engine = engine.weak();
    let tick = move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            thread::sleep(TICK);
        }
    };
    thread::Builder::new().name("turnback-clock".to_owned()).spawn(tick).map(drop)
}
