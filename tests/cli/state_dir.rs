//! Where state is kept: nothing that is not turnback's is taken for it.

use std::{fs, os::unix::fs::symlink};

use turnback_tests::{Scratch, git};

use crate::program::{json, run};

#[test]
fn a_folder_that_has_a_sessions_name_is_not_taken_for_one() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let state = scratch.outside().join("state");
    fs::create_dir_all(state.join("src")).unwrap();
    fs::write(state.join("src/main.rs"), "1\n").unwrap();
    for command in ["drop --session src", "capture --session src --boundary b", "plan --session src --boundary b"] {
        let words: Vec<&str> = ["--state-dir", state.to_str().unwrap()].into_iter().chain(command.split(' ')).collect();
        let ran = run(&scratch.root(), &words);
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(ran.err.contains("is no state of turnback's"), "{ran:?}");
    }
    assert_eq!(fs::read_dir(state.join("src")).unwrap().count(), 1);
}

#[test]
fn a_folder_of_the_workspace_that_holds_something_is_no_state_folder() {
    let scratch = Scratch::with(&[("src/main.rs", "1\n")]);
    for folder in ["src", ".git", ".git/turnback"] {
        let ran = run(&scratch.root(), &["--state-dir", folder, "capture", "--session", "refs", "--boundary", "b"]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.err.contains("a folder of its own"), "{ran:?}");
    }
    assert_eq!(scratch.tree().len(), 2);
    assert!(!scratch.path(".git/turnback").exists());
    for boundary in ["b1", "b2"] {
        json(&scratch.root(), &["--state-dir", "state", "capture", "--session", "s", "--boundary", boundary]);
    }
    assert_eq!(scratch.git(&["status", "--short"]), "");
}

#[test]
fn the_workspace_itself_is_no_state_folder() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    for folder in [".", ".."] {
        let ran = run(&scratch.root(), &["--state-dir", folder, "capture", "--session", "s", "--boundary", "b"]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.err.contains("must not be the workspace"), "{ran:?}");
    }
    assert_eq!(scratch.tree().len(), 1);
}

#[test]
fn a_session_of_another_workspace_is_refused_by_name() {
    let (one, two) = (Scratch::with(&[("a", "1\n")]), Scratch::with(&[("a", "2\n")]));
    let state = one.outside().join("state");
    let state = state.to_str().unwrap();
    json(&one.root(), &["--state-dir", state, "capture", "--session", "s", "--boundary", "b"]);
    for command in ["plan --session s --boundary b", "restore --session s --boundary b", "drop --session s"] {
        let words: Vec<&str> = ["--json", "--state-dir", state].into_iter().chain(command.split(' ')).collect();
        let ran = run(&two.root(), &words);
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(ran.out.contains("workspace_replaced"), "{ran:?}");
    }
    assert_eq!(two.read("a"), "2\n");
    json(&one.root(), &["--state-dir", state, "plan", "--session", "s", "--boundary", "b"]);
}

#[test]
fn a_folder_of_others_gets_no_ignore_file() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let state = scratch.outside().join("shared");
    fs::create_dir(&state).unwrap();
    git(&state, &["init", "-q", "."]);
    json(&scratch.root(), &["--state-dir", state.to_str().unwrap(), "capture", "--session", "s", "--boundary", "b"]);
    assert!(!state.join(".gitignore").exists());
}

#[test]
fn links_inside_a_sessions_state_are_not_followed() {
    for inner in ["blobs", "boundaries", "scans"] {
        let scratch = Scratch::with(&[("a", "1\n")]);
        scratch.write("note", "1\n");
        scratch.capture("b");
        let elsewhere = scratch.outside().join("elsewhere");
        fs::rename(scratch.state().join(inner), &elsewhere).unwrap();
        fs::write(elsewhere.join("last"), "not turnback's").unwrap();
        symlink(&elsewhere, scratch.state().join(inner)).unwrap();
        let before = fs::read_dir(&elsewhere).unwrap().count();
        for command in ["call-begin --session s --call c", "capture --session s --boundary b2"] {
            let ran = run(&scratch.root(), &command.split(' ').collect::<Vec<_>>());
            assert_eq!(ran.code, 3, "{inner}: {ran:?}");
        }
        assert_eq!(fs::read(elsewhere.join("last")).unwrap(), b"not turnback's");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), before, "{inner}");
    }
}

#[test]
fn a_name_among_the_scans_that_leaves_no_number_is_an_error_not_a_panic() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("b");
    fs::write(scratch.state().join("scans").join(u64::MAX.to_string()), "").unwrap();
    let ran = run(&scratch.root(), &["call-begin", "--session", "s", "--call", "c"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("used up"), "{ran:?}");
}

#[test]
fn what_a_crash_left_under_a_temporary_name_stops_nothing() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("b");
    for folder in ["blobs", "boundaries", "scans"] {
        for number in 0..20 {
            for pid in [std::process::id(), 1] {
                fs::write(scratch.state().join(folder).join(format!(".tmp-{pid}-{number}-file")), "").unwrap();
            }
        }
    }
    scratch.write("a", "2\n");
    scratch.capture("b2");
}

#[test]
fn what_a_drop_could_not_remove_goes_with_the_next_drop() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("b");
    let left = scratch.path(".harn/state/checkpoints/.dropped-1-0-s");
    fs::rename(scratch.state(), &left).unwrap();
    let receipt = json(&scratch.root(), &["drop", "--session", "s"]);
    assert_eq!(receipt["dropped"], true);
    assert!(!left.exists());
}

#[test]
fn displaced_content_is_kept_though_a_damaged_one_has_its_name() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("b");
    let ended = scratch.call("c", || scratch.write("a", "2\n"));
    let blob = scratch.state().join("blobs").join(ended.changes[0].post_hash.as_deref().unwrap());
    fs::write(&blob, "x\n").unwrap();
    assert!(!scratch.restore("b").is_partial());
    assert_eq!(fs::read(blob).unwrap(), b"2\n");
}
