//! Builds the guest for WebAssembly, makes a component of it, precompiles it, and leaves both in `OUT_DIR` for
//! `src/component/engine.rs` to embed. No WebAssembly is committed.

use std::{
    env,
    error::Error,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

#[path = "src/component/config.rs"]
mod config;

const TARGET: &str = "wasm32-unknown-unknown";
/// Debian's package `rustc-web` is a compiler for WebAssembly, `rust-web-src` the library source that matches it.
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let manifest = PathBuf::from(var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(var("OUT_DIR")?);
    let workspace = manifest.parent().ok_or("the crate has no folder above it")?;
    for input in ["guest/src", "guest/Cargo.toml", "wit", "Cargo.toml", "Cargo.lock", "host/src/component/config.rs"] {
        println!("cargo:rerun-if-changed={}", workspace.join(input).display());
    }

    let module = build_guest(workspace, &out)?;
    let component = wit_component::ComponentEncoder::default()
        .module(&fs::read(&module)?)
        .and_then(|encoder| encoder.validate(true).encode())
        .map_err(|error| format!("the guest does not make a component: {error:#}"))?;
    fs::write(out.join("guest.wasm"), &component)?;

    // For any machine of the target's kind, not only for one with this machine's processor.
    let mut config = config::config();
    config.target(&var("TARGET")?.to_string_lossy())?;
    let precompiled = wasmtime::Engine::new(&config)?.precompile_component(&component)?;
    fs::write(out.join("guest.cwasm"), precompiled)?;
    Ok(())
}

fn var(name: &str) -> Result<OsString> {
    env::var_os(name).ok_or_else(|| format!("{name} is not set; cargo sets it for build scripts").into())
}

/// A compiler for WebAssembly.
enum Compiler {
    /// The toolchain that runs this build has the target installed.
    Own(OsString),
    /// Debian's, which needs its library built, with the linker of the toolchain that runs this build.
    Debian { linker: PathBuf },
}

fn find_compiler() -> Result<Compiler> {
    let own = var("RUSTC")?;
    let print = |arguments: &[&str]| -> Option<PathBuf> {
        let output = Command::new(&own).args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
    };
    let libraries = print(&["--print", "target-libdir", "--target", TARGET]);
    let has_core = |folder: &Path| {
        let names = fs::read_dir(folder).into_iter().flatten().flatten();
        names.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("libcore-"))
    };
    if libraries.is_some_and(|folder| has_core(&folder)) {
        return Ok(Compiler::Own(own));
    }
    let linker = print(&["--print", "sysroot"]).map(|sysroot| {
        let host = env::var("HOST").unwrap_or_default();
        sysroot.join("lib/rustlib").join(host).join("bin/rust-lld")
    });
    let source = Path::new("/usr/lib/rustlib/src/rust/library/std");
    match linker {
        Some(linker) if Path::new(DEBIAN_RUSTC).exists() && source.exists() && linker.exists() => {
            Ok(Compiler::Debian { linker })
        }
        _ => Err("no compiler for WebAssembly was found. Run: make setup".into()),
    }
}

fn build_guest(workspace: &Path, out: &Path) -> Result<PathBuf> {
    // A target folder of its own, that outlives this script's: <target>/guest, beside <target>/<profile>/build/….
    let target_dir = out.ancestors().nth(4).ok_or("OUT_DIR is not where cargo puts it")?.join("guest");
    let mut cargo = Command::new(var("CARGO")?);
    for (name, _) in env::vars_os() {
        if misleads(&name.to_string_lossy()) {
            cargo.env_remove(name);
        }
    }
    cargo
        .current_dir(workspace)
        .args(["build", "--package", "turnback-guest", "--lib", "--profile", "guest", "--target", TARGET])
        .arg("--target-dir")
        .arg(&target_dir);
    match find_compiler()? {
        Compiler::Own(rustc) => {
            cargo.env("RUSTC", rustc);
        }
        Compiler::Debian { linker } => {
            cargo
                .arg("-Zbuild-std=std,panic_abort")
                .env("RUSTC", DEBIAN_RUSTC)
                .env("RUSTC_BOOTSTRAP", "1")
                .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
        }
    }
    let output = cargo.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("the guest does not build for {TARGET}:\n{said}").into());
    }
    Ok(target_dir.join(TARGET).join("guest/turnback_guest.wasm"))
}

/// Whether a variable of the outer build would lead the inner one astray. Where registries, caches and toolchains are
/// stays.
fn misleads(name: &str) -> bool {
    const KEPT: [&str; 6] =
        ["CARGO_HOME", "CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTR", "CARGO_SOURCE_", "RUSTUP_HOME"];
    let ours =
        ["CARGO", "RUSTC", "RUSTFLAGS", "RUSTDOCFLAGS", "RUSTUP_TOOLCHAIN", "CLIPPY", "TARGET", "HOST", "PROFILE"];
    ours.iter().any(|start| name.starts_with(start)) && !KEPT.iter().any(|start| name.starts_with(start))
}
