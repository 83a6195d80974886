//! Guests that are not ours, from text: of the right world and hostile, or of another world.
//!
//! The core module is written in the shape that the canonical ABI gives the world; wit-component makes the component of
//! it, as it does of ours.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{PackageId, Resolve, WorldId};

/// Where [`Hostile::data`] lies in the guest's memory.
pub(crate) const DATA: usize = 1024;
/// Where the guest lets the host write answers.
pub(crate) const ANSWER: usize = 512;

/// A guest whose `capture` does what it should not. Its other methods trap.
#[derive(Clone)]
pub(crate) struct Hostile {
    /// What it imports, as text.
    pub(crate) imports: &'static str,
    /// Items of the core module beside those that the world needs.
    pub(crate) items: String,
    /// What `capture` does. It has `$session` and `$session_length`, and must leave nothing on the stack.
    pub(crate) capture: String,
    /// What it does when the host asks it for memory, before anything else.
    pub(crate) realloc: &'static str,
    /// Of its memory, in pages of 64 KiB.
    pub(crate) pages: u32,
    /// What lies at [`DATA`].
    pub(crate) data: Vec<u8>,
}

impl Default for Hostile {
    fn default() -> Self {
        Hostile { imports: "", items: String::new(), capture: String::new(), realloc: "", pages: 2, data: Vec::new() }
    }
}

impl Hostile {
    /// A guest whose `capture` does that, and then answers with the error "done".
    pub(crate) fn that(capture: &str) -> Self {
        Hostile { capture: capture.to_owned(), ..Hostile::default() }
    }

    /// A guest that calls what it imports.
    pub(crate) fn importing(imports: &'static str, capture: &str) -> Self {
        Hostile { imports, ..Hostile::that(capture) }
    }

    /// The component.
    pub(crate) fn component(&self) -> Vec<u8> {
        let (resolve, _, world) = checkpoint();
        encode(&self.module(), &resolve, world)
    }

    /// Writes the component to a file.
    pub(crate) fn file(&self, folder: &Path) -> PathBuf {
        let path = folder.join("hostile.wasm");
        std::fs::write(&path, self.component()).unwrap();
        path
    }

    fn module(&self) -> String {
        let Hostile { imports, items, capture, realloc, pages, data } = self;
        let mut escaped = String::new();
        for byte in data {
            write!(escaped, "\\{byte:02x}").unwrap();
        }
        let api = "turnback:checkpoint/checkpoints@0.1.0";
        format!(
            r#"(module
  {imports}
  (memory (export "memory") {pages})
  (global $next (mut i32) (i32.const 65536))
  (data (i32.const 256) "done")
  (data (i32.const {DATA}) "{escaped}")
  {items}
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    {realloc}
    (global.set $next (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
    (global.get $next)
    (global.set $next (i32.add (global.get $next) (local.get 3))))
  (func (export "{api}#capture")
    (param $session i32) (param $session_length i32) (param i32 i32 i32) (result i32)
    {capture}
    ;; The result's case "err", the error's case "other", its text.
    (i32.store8 (i32.const 128) (i32.const 1))
    (i32.store8 (i32.const 136) (i32.const 2))
    (i32.store (i32.const 140) (i32.const 256))
    (i32.store (i32.const 144) (i32.const 4))
    (i32.const 128))
  (func (export "{api}#call-begin") (param i32 i32 i32 i32) (result i32) unreachable)
  (func (export "{api}#call-end") (param i32 i32 i32 i32 i32 i32) (result i32) unreachable)
  (func (export "{api}#plan") (param i32 i32 i32 i32 i32) (result i32) unreachable)
  (func (export "{api}#restore") (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable)
  (func (export "{api}#drop") (param i32 i32) (result i32) unreachable)
  (func (export "turnback:checkpoint/planner@0.1.0#decide") (param i32 i32) (result i32) unreachable)
)"#
        )
    }
}

/// The world `checkpoint` of `wit/`.
pub(crate) fn checkpoint() -> (Resolve, PackageId, WorldId) {
    let mut resolve = Resolve::default();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
    let (package, _) = resolve.push_dir(&wit).expect("wit/ parses");
    let world = resolve.select_world(&[package], Some("checkpoint")).expect("the world");
    (resolve, package, world)
}

/// A component of the world without one of its exports.
pub(crate) fn lacking(export: &str) -> Vec<u8> {
    let (mut resolve, _, world) = checkpoint();
    let exports = &resolve.worlds[world].exports;
    let key = exports.keys().find(|key| resolve.name_world_key(key).contains(export)).expect("the export").clone();
    resolve.worlds[world].exports.shift_remove(&key);
    let module = Hostile::default().module();
    let lines = module.lines().filter(|line| !line.contains(&format!("checkpoint/{export}@")));
    encode(&lines.collect::<Vec<_>>().join("\n"), &resolve, world)
}

fn encode(module: &str, resolve: &Resolve, world: WorldId) -> Vec<u8> {
    let mut module = wat::parse_str(module).unwrap_or_else(|error| panic!("{error}"));
    embed_component_metadata(&mut module, resolve, world, StringEncoding::UTF8).unwrap();
    let mut encoder = ComponentEncoder::default().validate(true).module(&module).unwrap();
    encoder.encode().unwrap_or_else(|error| panic!("{error:?}"))
}

/// `step` of the interface `restorer`, as it lies in memory: remove a file of that content.
pub(crate) fn removal(path_at: usize, path: &str, content: &[u8]) -> Vec<u8> {
    let word = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
    let mut step = Vec::with_capacity(128);
    step.extend_from_slice(&word(path_at));
    step.extend_from_slice(&word(path.len()));
    // guard: a regular file.
    step.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0]);
    step.extend_from_slice(blake3::hash(content).as_bytes());
    step.extend_from_slice(&(content.len() as u64).to_le_bytes());
    step.extend_from_slice(&[0; 8]);
    // to: absent; permissions: none.
    step.extend_from_slice(&[0; 56 + 8]);
    assert_eq!(step.len(), 128);
    step
}
