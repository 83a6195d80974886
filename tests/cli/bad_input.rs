//! Requests that cannot be carried out: each is named, exits as documented and changes nothing at all.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::OsStringExt,
};

use turnback::{InFlight, MethodError, Options, Runtime};
use turnback_tests::{SESSION, Scratch};

use super::program::{Ran, everything, json, run};

/// Ids that are empty or not safe, with a word of the message that must name the fault. NUL is tested by the library.
fn bad_ids() -> Vec<(String, &'static str)> {
    vec![
        (String::new(), "empty"),
        ("..".to_owned(), "dot"),
        (".hidden".to_owned(), "dot"),
        ("/".to_owned(), "slash"),
        ("a/b".to_owned(), "slash"),
        ("../../etc".to_owned(), "dot"),
        ("a\\b".to_owned(), "backslash"),
        ("x".repeat(300), "too long"),
        ("x".repeat(201), "too long"),
        ("\u{fc}".repeat(101), "too long"),
        ("a\nb".to_owned(), "control"),
        ("a\u{1b}[2Jb".to_owned(), "control"),
        ("a\u{7f}".to_owned(), "control"),
    ]
}

/// Runs it with `--json` and without; both must exit with the status, name the fault on standard error, print no result
/// and leave every byte and stamp as it was.
#[track_caller]
fn refused<A: AsRef<OsStr>>(scratch: &Scratch, arguments: &[A], status: i32, names: &[&str]) {
    let before = everything(&scratch.root());
    let shown: Vec<_> = arguments.iter().map(|argument| argument.as_ref().to_string_lossy().into_owned()).collect();
    for with_json in [false, true] {
        let mut all: Vec<OsString> = arguments.iter().map(|argument| argument.as_ref().to_owned()).collect();
        if with_json {
            all.insert(0, "--json".into());
        }
        let Ran { code, out, err } = run(&scratch.root(), &all);
        assert_eq!(code, status, "{shown:?}: {err}{out}");
        let message = if with_json && status == 3 { &out } else { &err };
        assert!(with_json && status == 3 || out.is_empty(), "{shown:?}: {out}");
        for name in names {
            assert!(message.contains(name), "{shown:?}: '{name}' should be in: {message}");
        }
        assert!(!err.contains('\u{1b}'), "{shown:?}: {err:?}");
        assert_eq!(everything(&scratch.root()), before, "{shown:?}");
    }
}

/// A repository without state.
fn fresh() -> Scratch {
    Scratch::with(&[("a", "1\n")])
}

/// A session with the boundary `b` and the ended call `done`, which changed `a`.
fn begun() -> Scratch {
    let scratch = fresh();
    json(&scratch.root(), &["capture", "--session", "s", "--boundary", "b"]);
    json(&scratch.root(), &["call-begin", "--session", "s", "--call", "done"]);
    scratch.write("a", "2\n");
    json(&scratch.root(), &["call-end", "--session", "s", "--call", "done"]);
    scratch
}

#[test]
fn an_unsafe_session_id_is_malformed_in_every_command_and_makes_no_state() {
    let scratch = fresh();
    for (id, fault) in bad_ids() {
        let id = id.as_str();
        let commands: [&[&str]; 7] = [
            &["capture", "--session", id, "--boundary", "b"],
            &["call-begin", "--session", id, "--call", "c"],
            &["call-end", "--session", id, "--call", "c"],
            &["run", "--session", id, "--", "touch", "made"],
            &["plan", "--session", id, "--boundary", "b"],
            &["restore", "--session", id, "--boundary", "b"],
            &["drop", "--session", id],
        ];
        for arguments in commands {
            refused(&scratch, arguments, 2, &["session_id", fault]);
        }
    }
    assert!(!scratch.exists(".harn"));
}

#[test]
fn an_unsafe_boundary_id_is_malformed_with_and_without_state() {
    for scratch in [fresh(), begun()] {
        for (id, fault) in bad_ids() {
            for command in ["capture", "plan", "restore"] {
                let arguments = [command, "--session", "s", "--boundary", id.as_str()];
                refused(&scratch, &arguments, 2, &["boundary_id", fault]);
            }
        }
    }
}

#[test]
fn an_unsafe_call_id_is_malformed_with_and_without_state() {
    for scratch in [fresh(), begun()] {
        for (id, fault) in bad_ids() {
            let id = id.as_str();
            refused(&scratch, &["call-begin", "--session", "s", "--call", id], 2, &["call_id", fault]);
            refused(&scratch, &["call-end", "--session", "s", "--call", id], 2, &["call_id", fault]);
            refused(&scratch, &["run", "--session", "s", "--call", id, "--", "touch", "made"], 2, &["call_id", fault]);
        }
    }
}

#[test]
fn the_longest_and_the_strangest_safe_ids_are_taken_as_they_are() {
    let scratch = fresh();
    for id in ["x".repeat(200), "\u{fc}".repeat(100), "-dash".to_owned(), "a b:c*?\"<|>".to_owned(), "~".to_owned()] {
        let session = format!("--session={id}");
        json(&scratch.root(), &["capture", &session, &format!("--boundary={id}")]);
        json(&scratch.root(), &["call-begin", &session, &format!("--call={id}")]);
        let ended = json(&scratch.root(), &["call-end", &session, &format!("--call={id}")]);
        assert_eq!(ended["call_id"], id.as_str());
        assert!(scratch.path(".harn/state/checkpoints").join(&id).is_dir(), "{id}");
    }
}

#[test]
fn an_id_that_is_not_utf8_is_malformed() {
    let scratch = fresh();
    let bad = OsString::from_vec(b"a\xff".to_vec());
    let arguments = ["capture".into(), "--session".into(), bad, "--boundary".into(), "b".into()];
    refused::<OsString>(&scratch, &arguments, 2, &["UTF-8"]);
}

#[test]
fn a_nul_in_an_id_or_a_path_is_malformed() {
    let scratch = begun();
    let before = everything(&scratch.root());
    let turnback = Runtime::open(&scratch.root(), Options::default()).unwrap();
    let refuse = InFlight::Refuse;
    let paths = ["a\0b".to_owned()];
    let faults = [
        (turnback.capture("a\0", "b", refuse).unwrap_err(), "session_id"),
        (turnback.capture(SESSION, "b\0", refuse).unwrap_err(), "boundary_id"),
        (turnback.call_begin(SESSION, "\0").unwrap_err(), "call_id"),
        (turnback.call_end(SESSION, "c\0c", None).unwrap_err(), "call_id"),
        (turnback.plan(SESSION, "\0b", refuse).unwrap_err(), "boundary_id"),
        (turnback.drop_session("s\0").unwrap_err(), "session_id"),
        (turnback.restore(SESSION, "b", Some(&paths), refuse).unwrap_err(), "paths"),
    ];
    for (fault, name) in faults {
        assert!(matches!(&fault, MethodError::Invalid { parameter, .. } if parameter == name), "{name}: {fault:?}");
    }
    assert_eq!(everything(&scratch.root()), before);
}

#[test]
fn an_empty_selection_of_paths_is_malformed_and_never_a_restore_of_everything() {
    let scratch = begun();
    let turnback = Runtime::open(&scratch.root(), Options::default()).unwrap();
    let fault = turnback.restore(SESSION, "b", Some(&[]), InFlight::Refuse).unwrap_err();
    assert!(matches!(&fault, MethodError::Invalid { parameter, .. } if parameter == "paths"), "{fault:?}");
    assert_eq!(scratch.read("a"), "2\n");
}

#[test]
fn a_path_that_is_empty_absolute_or_leads_upwards_is_malformed() {
    let scratch = begun();
    let absolute = scratch.path("a");
    let absolute = absolute.to_str().unwrap();
    for (path, fault) in [
        ("", "empty"),
        (absolute, "absolute"),
        ("/", "absolute"),
        ("..", "relative"),
        ("../w/a", "relative"),
        ("x/../a", "relative"),
        ("./a", "relative"),
        (".", "relative"),
        ("a//b", "empty component"),
        ("a/", "trailing slash"),
    ] {
        let arguments = ["restore", "--session", "s", "--boundary", "b", "--path", path];
        refused(&scratch, &arguments, 2, &["path", fault]);
        // One good path beside it does not make it good.
        refused(&scratch, &[&arguments[..], &["--path", "a"]].concat(), 2, &["path", fault]);
    }
    assert_eq!(scratch.read("a"), "2\n");
}

#[test]
fn a_boundary_that_is_unknown_is_named_with_those_that_are_known() {
    let scratch = begun();
    for command in ["plan", "restore"] {
        let arguments = [command, "--session", "s", "--boundary", "nope"];
        refused(&scratch, &arguments, 3, &["unknown_boundary", "'nope'", "'b'"]);
    }
}

#[test]
fn a_session_that_is_unknown_has_no_checkpoint_and_gets_no_state() {
    let scratch = fresh();
    for arguments in [
        &["plan", "--session", "s", "--boundary", "b"][..],
        &["restore", "--session", "s", "--boundary", "b"],
        &["call-begin", "--session", "s", "--call", "c"],
        &["call-end", "--session", "s", "--call", "c"],
        &["run", "--session", "s", "--", "touch", "made"],
    ] {
        refused(&scratch, arguments, 3, &["no_checkpoint", "'s'"]);
    }
    assert!(!scratch.exists(".harn"));
}

#[test]
fn a_boundary_id_is_used_once() {
    let scratch = begun();
    refused(&scratch, &["capture", "--session", "s", "--boundary", "b"], 3, &["'b'", "already"]);
    // The refused capture did not replace what the first one recorded.
    json(&scratch.root(), &["restore", "--session", "s", "--boundary", "b"]);
    assert_eq!(scratch.read("a"), "1\n");
}

#[test]
fn a_call_begins_once_and_ends_once_and_only_after_it_began() {
    let scratch = begun();
    refused(&scratch, &["call-end", "--session", "s", "--call", "c"], 3, &["'c'", "has not begun"]);
    refused(&scratch, &["call-end", "--session", "s", "--call", "done"], 3, &["'done'", "has ended already"]);
    refused(&scratch, &["call-begin", "--session", "s", "--call", "done"], 3, &["'done'", "has ended"]);
    json(&scratch.root(), &["call-begin", "--session", "s", "--call", "c"]);
    refused(&scratch, &["call-begin", "--session", "s", "--call", "c"], 3, &["'c'", "has begun"]);
    refused(&scratch, &["run", "--session", "s", "--call", "c", "--", "touch", "made"], 3, &["'c'", "has begun"]);
    json(&scratch.root(), &["call-end", "--session", "s", "--call", "c"]);
}

#[test]
fn what_the_command_line_does_not_know_is_malformed() {
    let scratch = begun();
    let cases: [(&[&str], &str); 11] = [
        (&[], "Usage"),
        (&["rewind"], "rewind"),
        (&["--frobnicate", "drop", "--session", "s"], "--frobnicate"),
        (&["drop", "--session", "s", "--force"], "--force"),
        (&["drop"], "--session"),
        (&["drop", "--session"], "--session"),
        (&["drop", "--session", "s", "--session", "t"], "--session"),
        (&["capture", "--session", "s"], "--boundary"),
        (&["call-begin", "--session", "s"], "--call"),
        (&["run", "--session", "s"], "CMD"),
        (&["run", "--session", "s", "touch", "made"], "touch"),
    ];
    for (arguments, name) in cases {
        refused(&scratch, arguments, 2, &[name]);
    }
    for class in ["", "networks", "Network", "network ", "desktop-control", "42"] {
        let arguments = ["call-end", "--session", "s", "--call", "c", "--side-effect", class];
        refused(&scratch, &arguments, 2, &["--side-effect", "desktop_control"]);
        let arguments = ["run", "--session", "s", "--side-effect", class, "--", "touch", "made"];
        refused(&scratch, &arguments, 2, &["--side-effect"]);
    }
}

#[test]
fn a_root_that_is_not_there_or_no_folder_is_named() {
    let scratch = fresh();
    for root in ["nowhere", "a", "a/below"] {
        for command in ["capture", "plan", "restore"] {
            let arguments = ["--root", root, command, "--session", "s", "--boundary", "b"];
            refused(&scratch, &arguments, 1, &[root]);
        }
        let arguments = ["--root", root, "run", "--session", "s", "--", "touch", "made"];
        refused(&scratch, &arguments, 1, &[root]);
    }
}

#[test]
fn a_drop_that_fails_says_why_on_standard_error() {
    let scratch = fresh();
    let ran = run(&scratch.root(), &["--root", "nowhere", "drop", "--session", "s"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
    assert!(ran.err.contains("nowhere"), "{}", ran.err);
    // A program reads it in the receipt.
    let ran = run(&scratch.root(), &["--json", "--root", "nowhere", "drop", "--session", "s"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(ran.json()["dropped"], false);
    assert!(ran.json()["error"].as_str().unwrap().contains("nowhere"));
}

#[test]
fn a_state_dir_that_is_no_folder_is_named() {
    let scratch = fresh();
    fs::write(scratch.outside().join("taken"), "mine").unwrap();
    let taken = scratch.outside().join("taken");
    let arguments = ["--state-dir", taken.to_str().unwrap(), "capture", "--session", "s", "--boundary", "b"];
    refused(&scratch, &arguments, 1, &["taken"]);
    assert_eq!(fs::read_to_string(&taken).unwrap(), "mine");
}
