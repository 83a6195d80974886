//! The component that decides: what it is, what it may ask for, and what becomes of one that means no good.

use std::{fs, path::Path, time::Duration};

use serde_json::Value;
use turnback::{Guest, InFlight, Limits, LoadError, MethodError, Options, Runtime};
use turnback_tests::{SESSION, Scratch};
use wit_component::DecodedWasm;

use super::{
    guests::{ANSWER, DATA, Hostile, checkpoint, lacking, removal},
    program::{everything, json, run},
};

/// All but the state folder, which is the guest's to use.
fn outside_state(scratch: &Scratch) -> Vec<(String, String)> {
    everything(&scratch.root()).into_iter().filter(|(path, _)| !path.is_empty() && !path.starts_with(".harn")).collect()
}

fn runtime(scratch: &Scratch, hostile: &Hostile, limits: Limits) -> Runtime {
    let mut options = Options::default();
    options.guest = Guest::File(hostile.file(scratch.outside()));
    options.limits = limits;
    Runtime::open(&scratch.root(), options).unwrap_or_else(|error| panic!("{error}"))
}

/// Calls `capture` of a guest. What it was stopped with must have the words, and the workspace be as it was.
#[track_caller]
fn stopped(hostile: &Hostile, limits: Limits, words: &str) {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let before = outside_state(&scratch);
    let turnback = runtime(&scratch, hostile, limits);
    match turnback.capture(SESSION, "b", InFlight::Refuse) {
        Err(MethodError::Component(why)) => assert!(why.contains(words), "'{words}' should be in: {why}"),
        other => panic!("it should be stopped, and is {other:?}"),
    }
    assert_eq!(outside_state(&scratch), before);
}

/// Calls `capture` of a guest, which must get to its end.
#[track_caller]
fn done(scratch: &Scratch, hostile: &Hostile) {
    let answer = runtime(scratch, hostile, Limits::default()).capture(SESSION, "evil", InFlight::Refuse);
    assert_eq!(answer.unwrap_err(), MethodError::Failed("done".to_owned()));
}

/// Half a second of computing is a lot for a guest that is stopped at once.
fn quick() -> Limits {
    let mut limits = Limits::default();
    limits.compute_time = Duration::from_millis(500);
    limits
}

const FOR_EVER: &str = "(loop $again (br $again))";
const NOW: &str = r#"(import "wasi:clocks/wall-clock@0.2.0" "now" (func $now (param i32)))"#;
const TAKE_SCAN: &str = r#"(import "turnback:checkpoint/workspace@0.1.0" "take-scan" (func $take_scan (param i32)))"#;
const JOURNAL: &str = r#"
  (import "turnback:checkpoint/journal@0.1.0" "append" (func $append (param i32 i32 i32 i32 i32)))
  (import "turnback:checkpoint/journal@0.1.0" "read" (func $read (param i32 i32 i64 i32)))
  (import "turnback:checkpoint/journal@0.1.0" "erase" (func $erase (param i32 i32 i32)))"#;
const APPLY: &str = r#"
  (import "turnback:checkpoint/restorer@0.1.0" "apply" (func $apply (param i32 i32 i64 i32 i32 i32 i32 i32)))"#;

#[test]
fn the_embedded_component_targets_the_world_checkpoint() {
    let (resolve, _, world) = checkpoint();
    wit_component::targets(&resolve, world, Guest::embedded_component()).unwrap();
}

#[test]
fn the_embedded_component_imports_its_own_interfaces_and_a_clock_and_nothing_else() {
    let DecodedWasm::Component(resolve, world) = wit_component::decode(Guest::embedded_component()).unwrap() else {
        panic!("it is no component");
    };
    let world = &resolve.worlds[world];
    let mut imports: Vec<String> = world.imports.keys().map(|key| resolve.name_world_key(key)).collect();
    imports.sort();
    assert_eq!(
        imports,
        [
            "turnback:checkpoint/boundaries@0.1.0",
            "turnback:checkpoint/journal@0.1.0",
            "turnback:checkpoint/restorer@0.1.0",
            "turnback:checkpoint/types@0.1.0",
            "turnback:checkpoint/workspace@0.1.0",
            "wasi:clocks/wall-clock@0.2.0",
        ]
    );
    let mut exports: Vec<String> = world.exports.keys().map(|key| resolve.name_world_key(key)).collect();
    exports.sort();
    assert_eq!(exports, ["turnback:checkpoint/checkpoints@0.1.0", "turnback:checkpoint/planner@0.1.0"]);
}

/// Every command once; the receipts without what the clock decides.
fn every_command(scratch: &Scratch, guest: &[&str]) -> Vec<Value> {
    let root = scratch.root();
    let ids = |command, option, id| vec![command, "--session", "s", option, id];
    let call = |arguments: Vec<&str>| {
        let mut receipt = json(&root, &[guest, &arguments].concat());
        receipt.as_object_mut().unwrap().remove("scan_ms");
        receipt
    };
    let mut receipts = vec![call(ids("capture", "--boundary", "b")), call(ids("call-begin", "--call", "c"))];
    scratch.write("a", "2\n");
    scratch.write("new/b", "x");
    receipts.push(call([ids("call-end", "--call", "c"), vec!["--side-effect", "network"]].concat()));
    receipts.push(call(ids("plan", "--boundary", "b")));
    receipts.push(call(ids("restore", "--boundary", "b")));
    receipts.push(call(vec!["drop", "--session", "s"]));
    receipts
}

#[test]
fn the_embedded_component_in_a_file_behaves_as_it_does_embedded() {
    let scratch = || Scratch::with(&[("a", "1\n"), ("kept", "k\n")]);
    let (embedded, from_file) = (scratch(), scratch());
    let file = from_file.outside().join("guest.wasm");
    fs::write(&file, Guest::embedded_component()).unwrap();
    let expected = every_command(&embedded, &[]);
    assert_eq!(every_command(&from_file, &["--guest", file.to_str().unwrap()]), expected);
    assert_eq!(from_file.tree(), embedded.tree());
    assert_eq!(expected[4]["restored"].as_array().unwrap().len(), 2, "{}", expected[4]);
}

#[test]
fn a_guest_can_be_swapped_in_the_middle_of_a_call() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let file = scratch.outside().join("guest.wasm");
    fs::write(&file, Guest::embedded_component()).unwrap();
    let swapped = ["--guest", file.to_str().unwrap()];
    json(&scratch.root(), &["capture", "--session", "s", "--boundary", "b"]);
    json(&scratch.root(), &[&swapped[..], &["call-begin", "--session", "s", "--call", "c"]].concat());
    scratch.write("a", "2\n");
    json(&scratch.root(), &["call-end", "--session", "s", "--call", "c"]);
    json(&scratch.root(), &[&swapped[..], &["restore", "--session", "s", "--boundary", "b"]].concat());
    assert_eq!(scratch.read("a"), "1\n");
}

#[test]
fn a_file_that_is_no_guest_is_refused_by_name_and_nothing_is_touched() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let text = |text: &str| wat::parse_str(text).unwrap();
    let foreign = r#"(component (import "wasi:cli/environment@0.2.0" (instance)))"#;
    let whole = Guest::embedded_component();
    let files: Vec<(&str, Vec<u8>, &str)> = vec![
        ("empty", Vec::new(), "not a WebAssembly component"),
        ("text", b"#!/bin/sh\n".to_vec(), "not a WebAssembly component"),
        ("cut", whole[..whole.len() / 2].to_vec(), "not a WebAssembly component"),
        ("core-module", text("(module)"), "not a WebAssembly component"),
        ("empty-component", text("(component)"), "does not fit the world turnback:checkpoint/checkpoint@0.1.0"),
        ("without-planner", lacking("planner"), "does not fit the world"),
        ("foreign-import", text(foreign), "does not fit the world"),
    ];
    let before = everything(&scratch.root());
    let refused = |path: &Path, words: &str| {
        for command in [&["capture", "--boundary", "b"][..], &["drop"], &["run", "--", "touch", "made"]] {
            let mut arguments = vec!["--guest", path.to_str().unwrap(), command[0], "--session", "s"];
            arguments.extend(&command[1..]);
            let ran = run(&scratch.root(), &arguments);
            assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{arguments:?}: {ran:?}");
            assert!(ran.err.contains(words) && ran.err.contains(path.to_str().unwrap()), "{arguments:?}: {}", ran.err);
            assert_eq!(everything(&scratch.root()), before, "{arguments:?}");
        }
    };
    for (name, bytes, words) in files {
        let path = scratch.outside().join(name);
        fs::write(&path, bytes).unwrap();
        refused(&path, words);
    }
    refused(&scratch.outside().join("nowhere"), "cannot read the guest");
    refused(&scratch.root(), "cannot read the guest");
}

#[test]
fn what_a_guest_lacks_or_asks_for_is_named() {
    let scratch = Scratch::new();
    let path = scratch.outside().join("guest.wasm");
    let text = |text: &str| wat::parse_str(text).unwrap();
    let foreign = r#"(component (import "wasi:cli/environment@0.2.0" (instance (export "f" (func)))))"#;
    for (bytes, name) in [
        (text("(component)"), "turnback:checkpoint/checkpoints"),
        (lacking("planner"), "turnback:checkpoint/planner"),
        (text(foreign), "wasi:cli/environment"),
    ] {
        fs::write(&path, bytes).unwrap();
        let mut options = Options::default();
        options.guest = Guest::File(path.clone());
        match Runtime::open(&scratch.root(), options) {
            Err(LoadError::OtherWorld { reason, .. }) => assert!(reason.contains(name), "'{name}' in: {reason}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn a_guest_that_loops_for_ever_is_stopped_wherever_it_loops() {
    stopped(&Hostile::that(FOR_EVER), quick(), "computed longer");
    stopped(&Hostile { realloc: FOR_EVER, ..Hostile::default() }, quick(), "computed longer");
    let items = format!("(func $start {FOR_EVER}) (start $start)");
    stopped(&Hostile { items, ..Hostile::default() }, quick(), "computed longer");
}

#[test]
fn a_guest_that_asks_for_memory_without_end_is_stopped() {
    let mut limits = Limits::default();
    limits.memory_bytes = 16 << 20;
    let grow = "(loop $again (drop (memory.grow (i32.const 16))) (br $again))";
    stopped(&Hostile::that(grow), limits, "memory");
    stopped(&Hostile { pages: 1024, ..Hostile::default() }, limits, "memory");
}

#[test]
fn a_guest_that_traps_is_a_failure_that_says_so() {
    stopped(&Hostile::that("unreachable"), Limits::default(), "unreachable");
    let items = "(func $deeper (call $deeper))".to_owned();
    stopped(&Hostile { items, ..Hostile::that("(call $deeper)") }, Limits::default(), "stack");
}

#[test]
fn a_guest_that_calls_the_host_without_end_is_stopped() {
    let mut limits = quick();
    limits.import_calls = 1_000;
    let flood = format!("(loop $again (call $now (i32.const {ANSWER})) (br $again))");
    stopped(&Hostile::importing(NOW, &flood), limits, "import calls");
}

#[test]
fn a_guest_that_makes_one_import_call_more_than_it_may_is_stopped() {
    let mut limits = Limits::default();
    limits.import_calls = 10;
    let calls = format!("(call $now (i32.const {ANSWER}))").repeat(11);
    stopped(&Hostile::importing(NOW, &calls), limits, "import calls");
}

#[test]
fn a_guest_that_hands_over_more_than_it_may_at_once_is_stopped() {
    let mut limits = Limits::default();
    limits.hostcall_bytes = 1 << 20;
    let append = format!(
        "(call $append (local.get $session) (local.get $session_length) (i32.const 0) (i32.const {}) \
         (i32.const {ANSWER}))",
        2 << 20
    );
    stopped(&Hostile { pages: 64, ..Hostile::importing(JOURNAL, &append) }, limits, "too much data");
}

#[test]
fn a_guest_that_holds_on_to_every_scan_is_stopped() {
    let mut limits = quick();
    limits.handles = 10;
    let flood = format!("(loop $again (call $take_scan (i32.const {ANSWER})) (br $again))");
    stopped(&Hostile::importing(TAKE_SCAN, &flood), limits, "handle limit");
}

#[test]
fn an_answer_that_is_no_answer_is_a_failure() {
    // A case that the result does not have, a text beyond the memory, a text that is not UTF-8.
    let answer = |case: u32, text: u32| {
        format!(
            "(i32.store8 (i32.const 128) (i32.const {case})) (i32.store8 (i32.const 136) (i32.const 2)) \
             (i32.store (i32.const 140) (i32.const {text})) (i32.store (i32.const 144) (i32.const 4)) \
             (return (i32.const 128))"
        )
    };
    stopped(&Hostile::that(&answer(7, 256)), Limits::default(), "discriminant");
    stopped(&Hostile::that(&answer(1, 0x7fff_ffff)), Limits::default(), "out of bounds");
    let data = vec![0xff; 4];
    stopped(&Hostile { data, ..Hostile::that(&answer(1, 1024)) }, Limits::default(), "utf-8");
}

#[test]
fn the_program_exits_with_1_and_says_that_the_component_failed() {
    let grow = "(loop $again (drop (memory.grow (i32.const 1024))) (br $again))";
    let flood = format!("(loop $again (call $now (i32.const {ANSWER})) (br $again))");
    for hostile in [Hostile::that("unreachable"), Hostile::that(grow), Hostile::importing(NOW, &flood)] {
        let scratch = Scratch::with(&[("a", "1\n")]);
        let before = everything(&scratch.root());
        let file = hostile.file(scratch.outside());
        for more in [&[][..], &["--json"]] {
            let arguments = ["--guest", file.to_str().unwrap(), "capture", "--session", "s", "--boundary", "b"];
            let ran = run(&scratch.root(), &[&arguments[..], more].concat());
            assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
            assert!(ran.err.contains("the component failed"), "{}", ran.err);
            assert!(!ran.err.contains("backtrace"), "a person reads it: {}", ran.err);
        }
        assert_eq!(everything(&scratch.root()), before);
    }
}

/// A guest that asks for a file of that content to be removed.
fn removing(path: &str, content: &[u8]) -> Hostile {
    let mut data = removal(DATA + 128, path, content);
    data.extend_from_slice(path.as_bytes());
    let apply = format!(
        "(call $apply (local.get $session) (local.get $session_length) (i64.const 0) (i32.const {DATA}) (i32.const 1) \
         (i32.const 0) (i32.const 0) (i32.const {ANSWER}))"
    );
    Hostile { data, ..Hostile::importing(APPLY, &apply) }
}

/// A guest that says of a folder that the session made it.
fn removing_folder(path: &str) -> Hostile {
    let mut data = Vec::new();
    data.extend_from_slice(&u32::try_from(DATA + 8).unwrap().to_le_bytes());
    data.extend_from_slice(&u32::try_from(path.len()).unwrap().to_le_bytes());
    data.extend_from_slice(path.as_bytes());
    let apply = format!(
        "(call $apply (local.get $session) (local.get $session_length) (i64.const 0) (i32.const 0) (i32.const 0) \
         (i32.const {DATA}) (i32.const 1) (i32.const {ANSWER}))"
    );
    Hostile { data, ..Hostile::importing(APPLY, &apply) }
}

#[test]
fn a_guest_cannot_have_a_folder_removed_that_the_boundary_has_or_that_is_not_in_the_workspace() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    fs::create_dir(scratch.path("at-the-boundary")).unwrap();
    scratch.capture("b");
    fs::create_dir(scratch.outside().join("beside")).unwrap();
    for path in [".git/mine", ".harn/state/checkpoints/s/mine", "made", "real", "real/made"] {
        fs::create_dir(scratch.path(path)).unwrap();
    }
    scratch.link("real", "link");
    for path in ["at-the-boundary", "../beside", ".git/mine", ".harn/state/checkpoints/s/mine", "link/made"] {
        done(&scratch, &removing_folder(path));
        assert!(scratch.path(path).exists(), "{path}");
    }
    // The requests above were well-formed: this one is carried out.
    done(&scratch, &removing_folder("made"));
    assert!(!scratch.exists("made"));
}

#[test]
fn a_guest_cannot_reach_outside_the_workspace_into_git_into_state_or_beyond_what_the_boundary_holds() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("b");
    let content = b"not the guest's\n";
    fs::write(scratch.outside().join("beside"), content).unwrap();
    fs::create_dir(scratch.path("real")).unwrap();
    for path in ["made", ".git/mine", "real/made", ".harn/state/checkpoints/s/mine"] {
        fs::write(scratch.path(path), content).unwrap();
    }
    scratch.link("real", "link");
    scratch.link(scratch.outside().to_str().unwrap(), "out");
    let absolute = scratch.outside().join("beside");
    let absolute = absolute.to_str().unwrap();
    let before = everything(scratch.outside());
    for path in [
        "../beside",
        "real/../../beside",
        absolute,
        "out/beside",
        "link/made",
        ".git/mine",
        ".GIT/mine",
        ".harn/state/checkpoints/s/mine",
        "",
        "made/",
        "made\0",
    ] {
        let hostile = removing(path, content);
        done(&scratch, &hostile);
        fs::remove_file(scratch.outside().join("hostile.wasm")).unwrap();
        assert_eq!(unchanging(everything(scratch.outside())), unchanging(before.clone()), "{path:?}");
    }
    // What the boundary holds is not removed either, however right the guard.
    done(&scratch, &removing("a", b"1\n"));
    assert_eq!(scratch.read("a"), "1\n");
    // The same request for what was not there at the boundary is carried out: the requests above were well-formed.
    done(&scratch, &removing("made", content));
    assert!(!scratch.exists("made"));
}

/// Without what a method makes for itself: the store of contents, and the stamps of folders.
fn unchanging(found: Vec<(String, String)>) -> Vec<(String, String)> {
    let is_folder = |what: &str| what.starts_with("(16");
    found.into_iter().filter(|(path, what)| !path.contains("/blobs") && !is_folder(what)).collect()
}

#[test]
fn a_guest_cannot_erase_another_session_than_the_one_it_works_on() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("b");
    json(&scratch.root(), &["capture", "--session", "other", "--boundary", "b"]);
    let calls = format!(
        "(call $read (local.get $session) (local.get $session_length) (i64.const 0) (i32.const {ANSWER})) \
         (call $erase (i32.const {DATA}) (i32.const 5) (i32.const {ANSWER}))"
    );
    done(&scratch, &Hostile { data: b"other".to_vec(), ..Hostile::importing(JOURNAL, &calls) });
    assert!(scratch.path(".harn/state/checkpoints/other/journal").exists(), "another session's state is gone");
}

#[test]
fn a_guest_cannot_name_a_session_that_leads_elsewhere() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("b");
    fs::create_dir(scratch.outside().join("victim")).unwrap();
    fs::write(scratch.outside().join("victim/lock"), "").unwrap();
    let session = b"../../../../victim";
    let erase = format!("(call $erase (i32.const {DATA}) (i32.const {}) (i32.const {ANSWER}))", session.len());
    done(&scratch, &Hostile { data: session.to_vec(), ..Hostile::importing(JOURNAL, &erase) });
    assert!(scratch.outside().join("victim/lock").exists());
}

#[test]
fn a_guest_cannot_move_a_folder_away_by_asking_for_the_folder_that_is_there() {
    let scratch = Scratch::with(&[("src/main.rs", "1\n")]);
    scratch.capture("b");
    let mut data = removal(DATA + 128, "src", b"");
    // guard: a folder; to: a folder.
    (data[8], data[64]) = (3, 3);
    data.extend_from_slice(b"src");
    let apply = format!(
        "(call $apply (local.get $session) (local.get $session_length) (i64.const 0) (i32.const {DATA}) (i32.const 1) \
         (i32.const 0) (i32.const 0) (i32.const {ANSWER}))"
    );
    done(&scratch, &Hostile { data, ..Hostile::importing(APPLY, &apply) });
    assert_eq!(scratch.read("src/main.rs"), "1\n");
    assert_eq!(scratch.tree().len(), 2, "{:?}", scratch.tree());
}
