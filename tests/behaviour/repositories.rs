//! Repositories of every make: what git can do to its own folder does not get in the way.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    process::Command,
};

use turnback::{InFlight, receipt::Action};
use turnback_tests::{SESSION, Scratch, actions, git, open, program};

/// In the repository a call changes the tracked `a`, deletes the tracked `d/b`, and makes `new`; a restore undoes it.
fn works(scratch: &Scratch) {
    let before = scratch.tree();
    scratch.capture("works");
    scratch.call("works", || {
        scratch.write("a", "by the call\n");
        scratch.remove("d/b");
        scratch.write("new", "by the call\n");
    });
    let receipt = scratch.restore("works");
    let expected = [("a", Action::Restore), ("d/b", Action::Recreate), ("new", Action::Delete)];
    assert_eq!(actions(&receipt.restored), expected, "{receipt:?}");
    assert_eq!(scratch.tree(), before);
}

fn usual() -> Scratch {
    Scratch::with(&[("a", "1\n"), ("d/b", "1\n")])
}

/// A repository that is made anew by other means, with the usual files.
fn made(arguments: &[&str]) -> Scratch {
    let mut scratch = Scratch::new();
    fs::remove_dir_all(scratch.path(".git")).unwrap();
    scratch.git(&[&["init", "-q"], arguments, &["."]].concat());
    scratch.write("a", "1\n");
    scratch.write("d/b", "1\n");
    scratch.commit();
    scratch.reopen();
    scratch
}

#[test]
fn a_repository_with_sha_256_works() {
    works(&made(&["--object-format=sha256"]));
}

#[test]
fn a_repository_with_a_separate_git_folder_works() {
    let mut scratch = Scratch::new();
    fs::remove_dir_all(scratch.path(".git")).unwrap();
    let apart = scratch.outside().join("apart.git");
    scratch.git(&["init", "-q", "--separate-git-dir", apart.to_str().unwrap(), "."]);
    scratch.write("a", "1\n");
    scratch.write("d/b", "1\n");
    scratch.commit();
    scratch.reopen();
    works(&scratch);
}

#[test]
fn packed_objects_and_refs_work() {
    let scratch = usual();
    scratch.git(&["gc", "-q", "--prune=now"]);
    works(&scratch);
}

#[test]
fn objects_that_are_borrowed_from_another_repository_work() {
    let lender = usual();
    let scratch = Scratch::new();
    let borrowed = scratch.outside().join("borrowed");
    let from = lender.root();
    git(scratch.outside(), &["clone", "-q", "--shared", from.to_str().unwrap(), borrowed.to_str().unwrap()]);
    let turnback = open(&borrowed);
    turnback.capture(SESSION, "m1", InFlight::Refuse).unwrap();
    turnback.call_begin(SESSION, "c1").unwrap();
    fs::write(borrowed.join("a"), "2\n").unwrap();
    turnback.call_end(SESSION, "c1", None).unwrap();
    turnback.restore(SESSION, "m1", None, InFlight::Refuse).unwrap();
    assert_eq!(fs::read_to_string(borrowed.join("a")).unwrap(), "1\n");
}

#[test]
fn an_index_of_version_4_works() {
    let scratch = usual();
    scratch.git(&["update-index", "--index-version", "4"]);
    works(&scratch);
}

#[test]
fn an_index_with_an_untracked_cache_works() {
    let scratch = usual();
    scratch.git(&["update-index", "--force-untracked-cache"]);
    scratch.git(&["status"]);
    works(&scratch);
}

#[test]
fn a_split_index_works() {
    let scratch = usual();
    scratch.git(&["update-index", "--split-index"]);
    scratch.write("d/c", "1\n");
    scratch.git(&["add", "d/c"]);
    works(&scratch);
}

#[test]
fn a_locked_index_is_only_read() {
    let scratch = usual();
    fs::write(scratch.path(".git/index.lock"), "").unwrap();
    works(&scratch);
    assert!(scratch.exists(".git/index.lock"));
}

#[test]
fn a_file_that_a_sparse_checkout_leaves_out_was_absent_at_the_boundary() {
    for sparse_index in ["--no-sparse-index", "--sparse-index"] {
        let scratch = Scratch::with(&[("a", "1\n"), ("d/b", "1\n"), ("left-out/f", "1\n")]);
        scratch.git(&["sparse-checkout", "set", "--cone", sparse_index, "d"]);
        assert!(!scratch.exists("left-out"));
        works(&scratch);
        scratch.call("c1", || scratch.write("left-out/f", "by the call\n"));
        let receipt = scratch.restore("works");
        assert_eq!(actions(&receipt.restored), [("left-out/f", Action::Delete)], "{sparse_index}");
        assert!(!scratch.exists("left-out"), "{sparse_index}");
    }
}

#[test]
fn no_hook_is_run() {
    let scratch = usual();
    let spy = scratch.outside().join("ran");
    for hook in ["post-index-change", "pre-commit", "post-checkout", "reference-transaction", "fsmonitor-watchman"] {
        let path = scratch.path(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\ntouch '{}'\n", spy.display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    scratch.git(&["config", "core.fsmonitor", scratch.path(".git/hooks/fsmonitor-watchman").to_str().unwrap()]);
    works(&scratch);
    assert!(!spy.exists());
}

#[test]
fn a_root_that_is_reached_through_a_link_is_the_workspace_behind_it() {
    let scratch = usual();
    let link = scratch.outside().join("link");
    symlink(scratch.root(), &link).unwrap();
    let turnback = open(&link);
    turnback.capture(SESSION, "m1", InFlight::Refuse).unwrap();
    turnback.call_begin(SESSION, "c1").unwrap();
    scratch.write("a", "2\n");
    turnback.call_end(SESSION, "c1", None).unwrap();
    assert_eq!(actions(&scratch.restore("m1").restored), [("a", Action::Restore)], "it is the same session");
    assert_eq!(scratch.read("a"), "1\n");
}

#[test]
fn no_git_variable_of_the_caller_leads_elsewhere() {
    let (scratch, other) = (usual(), usual());
    let elsewhere = other.path(".git");
    let run = |arguments: &[&str]| {
        let output = Command::new(program())
            .current_dir(scratch.root())
            .args(arguments)
            .env("GIT_DIR", &elsewhere)
            .env("GIT_WORK_TREE", other.root())
            .env("GIT_INDEX_FILE", elsewhere.join("index"))
            .env("GIT_OBJECT_DIRECTORY", elsewhere.join("objects"))
            .env("GIT_COMMON_DIR", &elsewhere)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let before = turnback_tests::tree(&elsewhere);
    scratch.write("a", "staged\n");
    scratch.git(&["add", "a"]);
    run(&["capture", "--session", SESSION, "--boundary", "m1"]);
    run(&["call-begin", "--session", SESSION, "--call", "c1"]);
    scratch.write("a", "2\n");
    run(&["call-end", "--session", SESSION, "--call", "c1"]);
    run(&["restore", "--session", SESSION, "--boundary", "m1"]);
    assert_eq!(scratch.read("a"), "staged\n");
    assert_eq!(turnback_tests::tree(&elsewhere), before);
    assert!(!other.exists(".harn"));
}

#[test]
fn the_rest_of_the_folder_above_the_state_is_ordinary() {
    let scratch = Scratch::with(&[("a", "1\n"), (".harn/config", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || {
        scratch.write(".harn/config", "2\n");
        scratch.write(".harn/state/other", "2\n");
    });
    let receipt = scratch.restore("m1");
    assert_eq!(
        actions(&receipt.restored),
        [(".harn/config", Action::Restore), (".harn/state/other", Action::Delete)],
        "{receipt:?}"
    );
    assert_eq!(scratch.read(".harn/config"), "1\n");
}
