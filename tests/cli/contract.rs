//! What each command prints and exits with, each as a process of its own.

use std::{ffi::OsString, fs, fs::File, os::unix::ffi::OsStringExt, process::Stdio};

use serde_json::{Value, json};
use turnback_tests::Scratch;

use super::program::{Ran, command, each, everything, json, run};

const CAPTURE: &[&str] = &["capture", "--session", "s", "--boundary", "b"];
const PLAN: &[&str] = &["plan", "--session", "s", "--boundary", "b"];
const RESTORE: &[&str] = &["restore", "--session", "s", "--boundary", "b"];
const BEGIN: &[&str] = &["call-begin", "--session", "s", "--call", "c"];
const END: &[&str] = &["call-end", "--session", "s", "--call", "c"];
const DROP: &[&str] = &["drop", "--session", "s"];

/// Of the empty file and of `abc`, from the test vectors of BLAKE3's specification.
const BLAKE3_EMPTY: &str = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
const BLAKE3_ABC: &str = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85";

/// Each documented field is there, and is a boolean, a number, a string or a list.
#[track_caller]
fn has_fields(object: &Value, fields: &[(&str, char)]) {
    for (field, kind) in fields {
        let value = object.get(field).unwrap_or_else(|| panic!("no field {field} in {object}"));
        let fits = match kind {
            'b' => value.is_boolean(),
            'n' => value.is_u64(),
            's' => value.is_string(),
            _ => value.is_array(),
        };
        assert!(fits, "{field} should be of kind '{kind}' in {object}");
    }
}

/// A session with a boundary `b` and a call `c` in which `a` was modified, `gone` deleted and `new` created.
fn called() -> Scratch {
    let scratch = Scratch::with(&[("a", "1\n"), ("gone", "g\n"), ("kept", "k\n")]);
    json(&scratch.root(), CAPTURE);
    json(&scratch.root(), BEGIN);
    scratch.write("a", "abc");
    scratch.write("new", "");
    scratch.remove("gone");
    json(&scratch.root(), END);
    scratch
}

#[test]
fn capture_answers_with_every_documented_field() {
    let scratch = Scratch::with(&[("a", "1\n"), ("dirty", "1\n")]);
    scratch.write("dirty", "12345");
    scratch.write("untracked", "678");
    let receipt = json(&scratch.root(), CAPTURE);
    has_fields(
        &receipt,
        &[
            ("available", 'b'),
            ("boundary_id", 's'),
            ("scanned_files", 'n'),
            ("stored_files", 'n'),
            ("stored_bytes", 'n'),
            ("unrestorable_files", 'n'),
            ("scan_errors", 'n'),
            ("scan_ms", 'n'),
        ],
    );
    assert_eq!(receipt["available"], true);
    assert_eq!(receipt["boundary_id"], "b");
    assert_eq!(receipt["scanned_files"], 3);
    assert_eq!((&receipt["stored_files"], &receipt["stored_bytes"]), (&json!(2), &json!(8)));
    assert_eq!((&receipt["unrestorable_files"], &receipt["scan_errors"]), (&json!(0), &json!(0)));
}

#[test]
fn call_begin_and_call_end_in_two_processes_answer_with_every_documented_field() {
    let scratch = Scratch::with(&[("a", "1\n"), ("gone", "g\n")]);
    json(&scratch.root(), CAPTURE);
    let begun = json(&scratch.root(), BEGIN);
    has_fields(
        &begun,
        &[("available", 'b'), ("call_id", 's'), ("scanned_files", 'n'), ("scan_errors", 'n'), ("scan_ms", 'n')],
    );
    assert_eq!((&begun["call_id"], &begun["scanned_files"]), (&json!("c"), &json!(2)));

    scratch.write("a", "abc");
    scratch.write("new", "");
    scratch.remove("gone");
    let ended = json(&scratch.root(), END);
    has_fields(&ended, &[("available", 'b'), ("call_id", 's'), ("changes", 'l'), ("scan_errors", 'n')]);
    assert_eq!((&ended["available"], &ended["call_id"], &ended["scan_errors"]), (&json!(true), &json!("c"), &json!(0)));
    let changes = &ended["changes"];
    assert_eq!(each(changes, "path"), ["a", "gone", "new"], "sorted by path");
    assert_eq!(each(changes, "kind"), ["modified", "deleted", "created"]);
    assert_eq!(changes[0]["post_hash"], BLAKE3_ABC);
    assert_eq!(changes[1].get("post_hash"), None, "nothing stands there to be hashed");
    assert_eq!(changes[2]["post_hash"], BLAKE3_EMPTY);
    assert_eq!(changes[0].get("incomplete"), None, "said only where it is so");
}

#[test]
fn a_change_that_could_not_be_seen_fully_is_marked_as_incomplete() {
    let scratch = Scratch::with(&[("a", "1\n"), (".gitignore", "hidden\n")]);
    scratch.write("hidden", "abc");
    json(&scratch.root(), CAPTURE);
    json(&scratch.root(), BEGIN);
    scratch.write(".gitignore", "");
    let changes = &json(&scratch.root(), END)["changes"];
    assert_eq!(each(changes, "path"), [".gitignore", "hidden"]);
    assert_eq!((changes[0].get("incomplete"), &changes[1]["incomplete"]), (None, &json!(true)));
}

#[test]
fn plan_answers_with_every_documented_field_and_touches_nothing() {
    let scratch = called();
    scratch.write("a", "somebody else's");
    let before = everything(&scratch.root());
    let plan = json(&scratch.root(), PLAN);
    has_fields(
        &plan,
        &[("available", 'b'), ("session_id", 's'), ("boundary_id", 's'), ("entries", 'l'), ("irreversible", 'l')],
    );
    assert_eq!((&plan["session_id"], &plan["boundary_id"]), (&json!("s"), &json!("b")));
    let entries = &plan["entries"];
    assert_eq!(each(entries, "path"), ["a", "gone", "new"]);
    assert_eq!(each(entries, "action"), ["refuse", "recreate", "delete"]);
    has_fields(&entries[0], &[("reason", 's'), ("expected_hash", 's'), ("found_hash", 's')]);
    assert_eq!(entries[0]["expected_hash"], BLAKE3_ABC);
    assert_ne!(entries[0]["found_hash"], BLAKE3_ABC);
    assert_eq!((&entries[2]["expected_hash"], &entries[2]["found_hash"]), (&json!(BLAKE3_EMPTY), &json!(BLAKE3_EMPTY)));
    assert_eq!(everything(&scratch.root()), before);
}

#[test]
fn restore_answers_with_every_documented_field_and_does_what_the_plan_said() {
    let scratch = called();
    let plan = json(&scratch.root(), PLAN);
    let receipt = json(&scratch.root(), RESTORE);
    has_fields(
        &receipt,
        &[
            ("available", 'b'),
            ("boundary_id", 's'),
            ("restored", 'l'),
            ("refused", 'l'),
            ("skipped", 'l'),
            ("failed", 'l'),
            ("irreversible", 'l'),
        ],
    );
    assert_eq!(receipt["boundary_id"], "b");
    assert_eq!(receipt["restored"], plan["entries"]);
    assert_eq!(each(&receipt["restored"], "action"), ["restore", "recreate", "delete"]);
    assert_eq!((scratch.read("a"), scratch.read("gone"), scratch.exists("new")), ("1\n".into(), "g\n".into(), false));
}

#[test]
fn drop_answers_whether_there_was_state_and_leaves_the_workspace() {
    let scratch = called();
    let before = scratch.tree();
    assert_eq!(json(&scratch.root(), DROP), json!({"available": true, "dropped": true}));
    assert!(!scratch.state().exists());
    assert_eq!(json(&scratch.root(), DROP), json!({"available": true, "dropped": false}));
    assert_eq!(scratch.tree(), before);
}

#[test]
fn exit_status_tells_done_failed_malformed_unavailable_and_partial_apart() {
    let scratch = called();
    assert_eq!(run(&scratch.root(), PLAN).code, 0);
    assert_eq!(run(&scratch.root(), &["--guest", "/nowhere", "plan", "--session", "s", "--boundary", "b"]).code, 1);
    assert_eq!(run(&scratch.root(), &["plan", "--session", "", "--boundary", "b"]).code, 2);
    assert_eq!(run(&scratch.root(), &["plan", "--session", "other", "--boundary", "b"]).code, 3);
    scratch.write("a", "somebody else's");
    assert_eq!(run(&scratch.root(), RESTORE).code, 4);
    assert_eq!(scratch.read("a"), "somebody else's");
    assert_eq!(run(&scratch.root(), &["--help"]).code, 0);
    assert_eq!(run(&scratch.root(), &["--version"]).out, concat!("turnback ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn a_partial_restore_puts_each_path_into_exactly_one_list() {
    let scratch = called();
    scratch.write("a", "somebody else's");
    scratch.remove("new");
    let mut arguments = vec!["--json"];
    arguments.extend(RESTORE);
    arguments.extend(["--path", "a", "--path", "new", "--path", "gone", "--path", "kept"]);
    let ran = run(&scratch.root(), &arguments);
    assert_eq!((ran.code, ran.err.as_str()), (4, ""));
    let receipt = ran.json();
    assert_eq!(each(&receipt["restored"], "path"), ["gone"]);
    assert_eq!(each(&receipt["refused"], "path"), ["a"]);
    assert_eq!(each(&receipt["skipped"], "path"), ["new", "kept"]);
    assert_eq!(receipt["failed"], json!([]));
    assert!(receipt["refused"][0]["reason"].as_str().unwrap().contains("changed outside the session"));
    assert_eq!(scratch.read("kept"), "k\n");
}

#[test]
fn what_is_unavailable_is_an_object_on_standard_output_with_json_and_a_message_on_standard_error_without() {
    let outside = tempfile::tempdir().unwrap();
    for arguments in [CAPTURE, BEGIN, END, PLAN, RESTORE, DROP] {
        let mut with_json = vec!["--json"];
        with_json.extend(arguments);
        let ran = run(outside.path(), &with_json);
        assert_eq!(ran.err, "", "{arguments:?}");
        let (reason, detail) = ran.unavailable();
        assert_eq!(reason, "not_a_git_worktree", "{arguments:?}");
        assert!(detail.contains(outside.path().to_str().unwrap()), "{arguments:?}: {detail}");

        let Ran { code, out, err } = run(outside.path(), arguments);
        assert_eq!((code, out.as_str()), (3, ""), "{arguments:?}");
        assert!(err.contains("not_a_git_worktree") && err.starts_with("turnback:"), "{arguments:?}: {err}");
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn a_bare_repository_is_named_as_one() {
    let outside = tempfile::tempdir().unwrap();
    turnback_tests::git(outside.path(), &["init", "-q", "--bare", "."]);
    let mut arguments = vec!["--json"];
    arguments.extend(CAPTURE);
    assert_eq!(run(outside.path(), &arguments).unavailable().0, "bare_repository");
}

#[test]
fn people_read_an_aligned_table_without_colour_codes_where_output_is_no_terminal() {
    let scratch = called();
    scratch.write("a", "somebody else's");
    scratch.write("new", "changed as well");
    for arguments in [PLAN, RESTORE] {
        let ran = run(&scratch.root(), arguments);
        assert_eq!(ran.err, "", "{arguments:?}");
        assert!(!ran.out.contains('\u{1b}'), "{arguments:?}: {:?}", ran.out);
        let refused: Vec<&str> = ran.out.lines().filter(|line| line.trim_start().starts_with("refuse")).collect();
        assert_eq!(refused.len(), 2, "{}", ran.out);
        let columns: Vec<Option<usize>> = refused.iter().map(|line| line.find("changed outside")).collect();
        assert!(columns[0].is_some() && columns[0] == columns[1], "{}", ran.out);
        assert!(ran.out.lines().all(|line| line.trim_end() == line), "no trailing blanks: {:?}", ran.out);
    }
}

#[test]
fn root_and_state_dir_are_taken_before_and_after_the_command() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let elsewhere = tempfile::tempdir().unwrap();
    let state = elsewhere.path().join("deep/state");
    let (root, state_text) = (scratch.root(), state.to_str().unwrap());
    let root = root.to_str().unwrap();
    let receipt = json(
        elsewhere.path(),
        &["--root", root, "--state-dir", state_text, "capture", "--session", "s", "--boundary", "b"],
    );
    assert_eq!(receipt["scanned_files"], 1);
    assert!(state.join("s").is_dir());
    assert!(!scratch.exists(".harn"), "state is elsewhere only");
    let plan = json(
        elsewhere.path(),
        &["plan", "--session", "s", "--boundary", "b", "--state-dir", state_text, "--root", root],
    );
    assert_eq!(plan["entries"], json!([]));
    // Without it the session is looked for below the root.
    let mut arguments = vec!["--json"];
    arguments.extend(PLAN);
    assert_eq!(run(&scratch.root(), &arguments).unavailable().0, "no_checkpoint");
}

#[test]
fn a_state_dir_inside_the_workspace_is_never_scanned() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let state = ["--state-dir", "mine/state"];
    let all = |arguments: &[&'static str]| [&state[..], arguments].concat();
    assert_eq!(json(&scratch.root(), &all(CAPTURE))["scanned_files"], 1);
    json(&scratch.root(), &all(BEGIN));
    scratch.write("a", "2\n");
    let ended = json(&scratch.root(), &all(END));
    assert_eq!(each(&ended["changes"], "path"), ["a"]);
    assert!(scratch.exists("mine/state/s/journal"));
}

#[test]
fn a_root_below_the_top_of_the_worktree_has_paths_relative_to_itself() {
    let scratch = Scratch::with(&[("sub/a", "1\n"), ("top", "1\n")]);
    let sub = scratch.path("sub");
    assert_eq!(json(&sub, CAPTURE)["scanned_files"], 1);
    json(&sub, BEGIN);
    scratch.write("sub/a", "2\n");
    scratch.write("top", "2\n");
    let ended = json(&sub, END);
    assert_eq!(each(&ended["changes"], "path"), ["a"]);
    json(&sub, RESTORE);
    assert_eq!((scratch.read("sub/a"), scratch.read("top")), ("1\n".into(), "2\n".into()));
}

#[test]
fn only_network_and_desktop_control_are_listed_as_irreversible() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    json(&scratch.root(), CAPTURE);
    let classes =
        ["none", "read_only", "workspace_write", "process_exec", "network_read", "network", "desktop_control"];
    for class in classes {
        json(&scratch.root(), &["call-begin", "--session", "s", "--call", class]);
        json(&scratch.root(), &["call-end", "--session", "s", "--call", class, "--side-effect", class]);
    }
    let expected = json!([
        {"call_id": "network", "side_effect": "network"},
        {"call_id": "desktop_control", "side_effect": "desktop_control"},
    ]);
    assert_eq!(json(&scratch.root(), PLAN)["irreversible"], expected);
    assert_eq!(json(&scratch.root(), RESTORE)["irreversible"], expected);
}

#[test]
fn a_call_in_flight_is_named_and_close_open_ends_it_with_what_it_changed_so_far() {
    for arguments in [&["capture", "--session", "s", "--boundary", "next"][..], PLAN, RESTORE] {
        let scratch = Scratch::with(&[("a", "1\n")]);
        json(&scratch.root(), CAPTURE);
        json(&scratch.root(), &["call-begin", "--session", "s", "--call", "lost"]);
        scratch.write("a", "2\n");
        let before = everything(&scratch.root());
        let (reason, detail) = run(&scratch.root(), &[&["--json"][..], arguments].concat()).unavailable();
        assert_eq!(reason, "calls_in_flight", "{arguments:?}");
        assert!(detail.contains("lost"), "{arguments:?}: {detail}");
        assert_eq!(everything(&scratch.root()), before, "{arguments:?}");

        let closed = json(&scratch.root(), &[arguments, &["--close-open"][..]].concat());
        assert_eq!(closed["closed_calls"], json!(["lost"]), "{arguments:?}");
        let plan = json(&scratch.root(), PLAN);
        let left = if arguments[0] == "restore" { json!([]) } else { json!(["a"]) };
        assert_eq!(json!(each(&plan["entries"], "path")), left, "{arguments:?}");
        assert_eq!(scratch.read("a"), if arguments[0] == "restore" { "1\n" } else { "2\n" }, "{arguments:?}");
    }
}

#[test]
fn a_name_that_is_not_utf8_rides_in_json_and_can_be_handed_back() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let name = OsString::from_vec(b"caf\xe9 \xff".to_vec());
    let file = scratch.root().join(&name);
    fs::write(&file, "before").unwrap();
    json(&scratch.root(), CAPTURE);
    json(&scratch.root(), BEGIN);
    fs::write(&file, "after it").unwrap();
    scratch.write("a", "2\n");
    let ended = json(&scratch.root(), END);
    let rides = "caf\u{10ffe9} \u{10ffff}";
    assert_eq!(each(&ended["changes"], "path"), ["a", rides]);
    let receipt = json(&scratch.root(), &["restore", "--session", "s", "--boundary", "b", "--path", rides]);
    assert_eq!(each(&receipt["restored"], "path"), [rides]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "before");
    assert_eq!(scratch.read("a"), "2\n", "it was not selected");
}

#[test]
fn a_name_that_is_not_utf8_can_be_typed_as_it_is() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let name = OsString::from_vec(b"caf\xe9".to_vec());
    json(&scratch.root(), CAPTURE);
    json(&scratch.root(), BEGIN);
    fs::write(scratch.root().join(&name), "new").unwrap();
    json(&scratch.root(), END);
    let mut arguments: Vec<OsString> = RESTORE.iter().map(OsString::from).collect();
    arguments.extend(["--path".into(), name.clone()]);
    assert_eq!(run(&scratch.root(), &arguments).code, 0);
    assert!(!scratch.root().join(&name).exists());
}

#[test]
fn a_result_that_cannot_be_printed_is_a_failure_that_says_so() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        println!("a_result_that_cannot_be_printed_is_a_failure_that_says_so: skipped, there is no /dev/full");
        return;
    };
    let scratch = called();
    for arguments in [RESTORE.to_vec(), [&["--json"], PLAN].concat()] {
        let out = full.try_clone().unwrap();
        let output =
            command(&scratch.root(), &arguments).stdin(Stdio::null()).stdout(Stdio::from(out)).output().unwrap();
        let ran = Ran::of(&output);
        assert_eq!(ran.code, 1, "{arguments:?}: {ran:?}");
        assert!(ran.err.contains("could not be printed"), "{arguments:?}: {}", ran.err);
    }
    assert_eq!(scratch.read("a"), "1\n", "the restore was done");
}
