//! Where no checkpoint can be had, every method says so and writes nothing.

use std::{fs, path::Path};

use turnback::{InFlight, MethodError, Runtime, SideEffect};
use turnback_tests::{SESSION, Scratch, git, open, tree, unavailable};

/// The answer of each method, which must be `available: false`.
fn every_method(turnback: &Runtime) -> Vec<(String, String)> {
    let paths = ["a".to_owned()];
    vec![
        unavailable(turnback.capture(SESSION, "m1", InFlight::Refuse)),
        unavailable(turnback.capture(SESSION, "m1", InFlight::Close)),
        unavailable(turnback.call_begin(SESSION, "c1")),
        unavailable(turnback.call_end(SESSION, "c1", Some(SideEffect::Network))),
        unavailable(turnback.plan(SESSION, "m1", InFlight::Refuse)),
        unavailable(turnback.restore(SESSION, "m1", None, InFlight::Refuse)),
        unavailable(turnback.restore(SESSION, "m1", Some(&paths), InFlight::Close)),
        unavailable(turnback.drop_session(SESSION)),
    ]
}

fn assert_everywhere(root: &Path, reason: &str) {
    let before = tree(root);
    for (answer, detail) in every_method(&open(root)) {
        assert_eq!(answer, reason, "{detail}");
        let root = root.file_name().unwrap().to_string_lossy();
        assert!(detail.contains(&*root), "it says where: {detail}");
    }
    assert_eq!(tree(root), before);
    assert!(!root.join(".harn").exists());
}

#[test]
fn a_folder_outside_git_is_no_worktree_for_any_method() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), "1\n").unwrap();
    assert_everywhere(folder.path(), "not_a_git_worktree");
}

#[test]
fn a_bare_repository_has_no_worktree_for_any_method() {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "-q", "--bare", "."]);
    assert_everywhere(folder.path(), "bare_repository");
}

#[test]
fn the_git_folder_itself_is_no_worktree_for_any_method() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    assert_everywhere(&scratch.path(".git"), "not_a_git_worktree");
}

#[test]
fn a_folder_with_a_broken_git_file_is_no_worktree() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".git"), "gitdir: /nowhere/at/all\n").unwrap();
    for (reason, _) in every_method(&open(folder.path())) {
        assert_eq!(reason, "not_a_git_worktree");
    }
    assert!(!folder.path().join(".harn").exists());
}

#[test]
fn a_folder_that_is_not_there_is_a_failure_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let answer = open(&folder.path().join("nowhere")).capture(SESSION, "m1", InFlight::Refuse);
    match answer {
        Err(MethodError::Failed(why)) => assert!(why.contains("nowhere"), "{why}"),
        Err(MethodError::Unavailable(why)) => assert!(why.detail.contains("nowhere"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_session_without_a_boundary_has_no_checkpoint() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let turnback = scratch.turnback();
    let answers = [
        unavailable(turnback.call_begin(SESSION, "c1")),
        unavailable(turnback.call_end(SESSION, "c1", None)),
        unavailable(turnback.plan(SESSION, "m1", InFlight::Refuse)),
        unavailable(turnback.restore(SESSION, "m1", None, InFlight::Refuse)),
    ];
    for (reason, detail) in answers {
        assert_eq!(reason, "no_checkpoint");
        assert!(detail.contains(&format!("'{SESSION}'")), "{detail}");
    }
    assert!(!scratch.exists(".harn"), "asking leaves no state");
}

#[test]
fn an_unknown_boundary_is_named_with_those_that_there_are() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    let turnback = scratch.turnback();
    let answers = [
        unavailable(turnback.plan(SESSION, "m7", InFlight::Refuse)),
        unavailable(turnback.restore(SESSION, "m7", None, InFlight::Refuse)),
    ];
    for (reason, detail) in answers {
        assert_eq!(reason, "unknown_boundary");
        assert!(detail.contains("'m7'") && detail.contains("'m1'"), "{detail}");
    }
    assert_eq!(scratch.read("a"), "2\n");
}

#[test]
fn an_unknown_boundary_does_not_close_open_calls() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.turnback().call_begin(SESSION, "c1").unwrap();
    let (reason, _) = unavailable(scratch.turnback().restore(SESSION, "m7", None, InFlight::Close));
    assert_eq!(reason, "unknown_boundary");
    scratch.turnback().call_end(SESSION, "c1", None).expect("the call is still open");
}

#[test]
fn an_end_without_a_begin_is_an_unknown_call() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    let (reason, detail) = unavailable(scratch.turnback().call_end(SESSION, "never", None));
    assert_eq!(reason, "unknown_call");
    assert!(detail.contains("never"), "{detail}");
}

#[test]
fn a_repository_without_any_commit_is_a_worktree() {
    let scratch = Scratch::new();
    scratch.write("a", "1\n");
    let receipt = scratch.capture("m1");
    assert_eq!((receipt.scanned_files, receipt.stored_files), (1, 1));
    scratch.call("c1", || {
        scratch.write("a", "2\n");
        scratch.write("new", "2\n");
    });
    assert!(!scratch.restore("m1").is_partial());
    assert_eq!(scratch.read("a"), "1\n");
    assert!(!scratch.exists("new"));
}
