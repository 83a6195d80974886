//! Which paths are the session's concern: what git tracks or would list, as it was at the boundary.

use std::fs;

use turnback::{
    InFlight,
    receipt::{Action, ChangeKind},
};
use turnback_tests::{SESSION, Scratch, actions, git, kinds, open, reason, tree};

#[test]
fn ignored_files_are_never_touched() {
    let scratch = Scratch::with(&[(".gitignore", "*.log\nbuild/\n"), ("a", "1\n")]);
    scratch.write("old.log", "old\n");
    scratch.write("build/out", "old\n");
    assert_eq!(scratch.capture("m1").scanned_files, 2);
    let ended = scratch.call("c1", || {
        scratch.write("a", "2\n");
        scratch.write("old.log", "by the call\n");
        scratch.write("new.log", "by the call\n");
        scratch.write("build/out", "by the call\n");
    });
    assert_eq!(kinds(&ended), [("a", ChangeKind::Modified)]);
    let receipt = scratch.restore("m1");
    assert_eq!(actions(&receipt.restored), [("a", Action::Restore)]);
    assert!(!receipt.is_partial());
    for path in ["old.log", "new.log", "build/out"] {
        assert_eq!(scratch.read(path), "by the call\n");
    }
}

#[test]
fn the_repositorys_own_exclude_file_is_an_ignore_file() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    fs::write(scratch.path(".git/info/exclude"), "private\n").unwrap();
    scratch.capture("m1");
    assert!(scratch.call("c1", || scratch.write("private", "2\n")).changes.is_empty());
}

#[test]
fn a_nearer_rule_lets_in_what_the_repositorys_own_exclude_file_ignores() {
    let scratch = Scratch::with(&[(".gitignore", "!kept\n"), ("a", "1\n")]);
    fs::write(scratch.path(".git/info/exclude"), "*\n").unwrap();
    scratch.capture("m1");
    let ended = scratch.call("c1", || {
        scratch.write("kept", "2\n");
        scratch.write("other", "2\n");
        scratch.write("folder/kept", "2\n");
    });
    assert_eq!(kinds(&ended), [("kept", ChangeKind::Created)]);
}

#[test]
fn a_carriage_return_at_the_end_of_a_file_of_rules_is_no_part_of_the_last_one() {
    let scratch = Scratch::with(&[(".gitignore", "x\r\n*.log\r"), ("a", "1\n")]);
    scratch.capture("m1");
    let ended = scratch.call("c1", || ["x", "y.log", "z"].into_iter().for_each(|path| scratch.write(path, "2\n")));
    assert_eq!(kinds(&ended), [("z", ChangeKind::Created)]);
}

#[test]
fn rules_that_are_tracked_and_not_checked_out_hold_and_those_that_were_deleted_do_not() {
    let scratch = Scratch::with(&[("sparse/.gitignore", "*.log\n"), ("gone/.gitignore", "*.log\n"), ("a", "1\n")]);
    scratch.git(&["update-index", "--skip-worktree", "sparse/.gitignore"]);
    scratch.remove("sparse/.gitignore");
    scratch.remove("gone/.gitignore");
    scratch.capture("m1");
    let ended = scratch.call("c1", || {
        scratch.write("sparse/x.log", "2\n");
        scratch.write("gone/x.log", "2\n");
    });
    assert_eq!(kinds(&ended), [("gone/x.log", ChangeKind::Created)]);
    assert_eq!(scratch.git(&["ls-files", "-o", "--exclude-standard", "sparse", "gone"]), "gone/x.log\n");
}

#[test]
fn a_call_that_edits_the_ignore_file_does_not_make_an_old_ignored_file_its_own() {
    let scratch = Scratch::with(&[(".gitignore", "*.log\ncache/\n"), ("a", "1\n")]);
    scratch.write("old.log", "precious\n");
    scratch.write("cache/deep/old", "precious\n");
    let before = scratch.tree();
    scratch.capture("m1");
    scratch.call("c1", || scratch.write(".gitignore", ""));
    let receipt = scratch.restore("m1");
    assert_eq!(actions(&receipt.restored), [(".gitignore", Action::Restore)]);
    assert_eq!(scratch.tree(), before);
}

#[test]
fn an_old_ignored_file_that_came_into_view_and_was_changed_is_refused_and_not_deleted() {
    let scratch = Scratch::with(&[(".gitignore", "*.log\n"), ("a", "1\n")]);
    scratch.write("old.log", "precious\n");
    scratch.capture("m1");
    scratch.call("c1", || scratch.write(".gitignore", ""));
    scratch.call("c2", || scratch.write("old.log", "by the call\n"));
    let receipt = scratch.restore("m1");
    assert_eq!(actions(&receipt.refused), [("old.log", Action::Refuse)]);
    assert!(reason(&receipt.refused, "old.log").contains("ignored"), "{receipt:?}");
    assert_eq!(scratch.read("old.log"), "by the call\n");
}

#[test]
fn a_call_that_ignores_more_does_not_make_what_is_hidden_look_deleted() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.write("notes", "mine\n");
    scratch.capture("m1");
    let ended = scratch.call("c1", || scratch.write(".gitignore", "notes\n"));
    assert_eq!(kinds(&ended), [(".gitignore", ChangeKind::Created)]);
    scratch.restore("m1");
    assert_eq!(scratch.read("notes"), "mine\n");
}

#[test]
fn a_file_that_a_call_changed_and_then_hid_is_restored() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.write("notes", "mine\n");
    let before = scratch.tree();
    scratch.capture("m1");
    scratch.call("c1", || {
        scratch.write("notes", "by the call\n");
        scratch.write(".gitignore", "notes\n");
    });
    assert!(!scratch.restore("m1").is_partial());
    assert_eq!(scratch.tree(), before);
}

#[test]
fn a_tracked_file_that_a_rule_ignores_is_covered() {
    let scratch = Scratch::with(&[("kept.log", "1\n"), ("build/kept", "1\n")]);
    scratch.write(".gitignore", "*.log\nbuild/\n");
    scratch.commit();
    scratch.capture("m1");
    scratch.call("c1", || {
        scratch.write("kept.log", "2\n");
        scratch.remove("build/kept");
    });
    assert!(!scratch.restore("m1").is_partial());
    assert_eq!((scratch.read("kept.log").as_str(), scratch.read("build/kept").as_str()), ("1\n", "1\n"));
}

#[test]
fn a_forced_add_in_a_call_does_not_make_an_old_ignored_file_its_own() {
    let scratch = Scratch::with(&[(".gitignore", "*.log\n")]);
    scratch.write("old.log", "precious\n");
    scratch.capture("m1");
    scratch.call("c1", || {
        scratch.git(&["add", "-f", "old.log"]);
    });
    let receipt = scratch.restore("m1");
    assert!(receipt.restored.is_empty(), "{receipt:?}");
    assert_eq!(scratch.read("old.log"), "precious\n");
}

#[test]
fn a_file_that_a_call_removes_from_the_index_only_is_no_change() {
    let scratch = Scratch::with(&[(".gitignore", "*.log\n"), ("a", "1\n")]);
    scratch.write("kept.log", "1\n");
    scratch.git(&["add", "-f", "kept.log"]);
    scratch.commit();
    scratch.capture("m1");
    let ended = scratch.call("c1", || {
        scratch.git(&["rm", "-q", "--cached", "kept.log", "a"]);
    });
    assert!(ended.changes.is_empty(), "{ended:?}");
    assert!(!scratch.restore("m1").is_partial());
    assert_eq!(scratch.read("kept.log"), "1\n");
}

#[test]
fn a_file_that_a_call_unindexes_and_then_changes_is_restored() {
    let scratch = Scratch::with(&[(".gitignore", "*.log\n"), ("a", "1\n")]);
    scratch.write("kept.log", "1\n");
    scratch.git(&["add", "-f", "kept.log"]);
    scratch.commit();
    scratch.capture("m1");
    scratch.call("c1", || {
        scratch.git(&["rm", "-q", "--cached", "kept.log"]);
        scratch.write("kept.log", "by the call\n");
    });
    assert!(!scratch.restore("m1").is_partial());
    assert_eq!(scratch.read("kept.log"), "1\n");
}

#[test]
fn commits_checkouts_and_resets_in_a_call_are_changes_of_files_like_any_other() {
    let scratch = Scratch::with(&[("a", "1\n"), ("gone", "1\n")]);
    scratch.git(&["checkout", "-q", "-b", "other"]);
    scratch.write("a", "other\n");
    scratch.write("added", "other\n");
    scratch.remove("gone");
    scratch.commit();
    scratch.git(&["checkout", "-q", "main"]);
    let before = scratch.tree();
    scratch.capture("m1");
    scratch.call("c1", || {
        scratch.git(&["checkout", "-q", "other"]);
        scratch.write("committed", "2\n");
        scratch.commit();
    });
    assert!(!scratch.restore("m1").is_partial());
    assert_eq!(scratch.tree(), before);
    assert_eq!(scratch.git(&["branch", "--show-current"]).trim(), "other", "files go back, HEAD does not");
}

#[test]
fn a_nested_repository_is_not_entered() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.write("nested/file", "1\n");
    git(&scratch.path("nested"), &["init", "-q", "."]);
    scratch.capture("m1");
    let ended = scratch.call("c1", || {
        scratch.write("nested/file", "by the call\n");
        scratch.write("nested/new", "by the call\n");
    });
    assert!(ended.changes.is_empty());
    scratch.restore("m1");
    assert_eq!(scratch.read("nested/file"), "by the call\n");
    assert_eq!(scratch.read("nested/new"), "by the call\n");
}

#[test]
fn a_nested_repository_that_a_call_made_is_named_and_not_deleted() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || {
        scratch.write("nested/file", "1\n");
        git(&scratch.path("nested"), &["init", "-q", "."]);
    });
    let receipt = scratch.restore("m1");
    assert_eq!(actions(&receipt.refused), [("nested", Action::Refuse)]);
    assert!(scratch.exists("nested/.git/HEAD") && scratch.exists("nested/file"));
}

#[test]
fn a_nested_repository_that_a_call_opened_up_does_not_make_its_files_the_sessions() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.write("nested/file", "precious\n");
    git(&scratch.path("nested"), &["init", "-q", "."]);
    scratch.capture("m1");
    scratch.call("c1", || fs::remove_dir_all(scratch.path("nested/.git")).unwrap());
    let receipt = scratch.restore("m1");
    assert!(receipt.restored.is_empty(), "{receipt:?}");
    assert_eq!(scratch.read("nested/file"), "precious\n");
}

#[test]
fn a_submodule_is_not_entered() {
    let library = Scratch::with(&[("lib", "1\n")]);
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.git(&["submodule", "--quiet", "add", library.root().to_str().unwrap(), "sub"]);
    scratch.commit();
    scratch.capture("m1");
    assert!(scratch.call("c1", || scratch.write("sub/lib", "by the call\n")).changes.is_empty());
    scratch.restore("m1");
    assert_eq!(scratch.read("sub/lib"), "by the call\n");
}

#[test]
fn a_root_below_the_worktrees_top_covers_itself_and_nothing_above() {
    let scratch = Scratch::with(&[("top", "1\n"), ("sub/a", "1\n"), ("sub-not/b", "1\n"), (".gitignore", "*.log\n")]);
    scratch.write("sub/untracked", "mine\n");
    scratch.write("sub/old.log", "old\n");
    let turnback = open(&scratch.path("sub"));
    let captured = turnback.capture(SESSION, "m1", InFlight::Refuse).unwrap();
    assert_eq!((captured.scanned_files, captured.stored_files), (2, 1), "the top's ignore rules hold below");
    turnback.call_begin(SESSION, "c1").unwrap();
    for path in ["top", "sub/a", "sub/untracked", "sub/new", "sub/old.log", "sub-not/b"] {
        scratch.write(path, "by the call\n");
    }
    let ended = turnback.call_end(SESSION, "c1", None).unwrap();
    let changes = [("a", ChangeKind::Modified), ("new", ChangeKind::Created), ("untracked", ChangeKind::Modified)];
    assert_eq!(kinds(&ended), changes);
    assert!(!turnback.restore(SESSION, "m1", None, InFlight::Refuse).unwrap().is_partial());
    assert_eq!((scratch.read("sub/a").as_str(), scratch.read("sub/untracked").as_str()), ("1\n", "mine\n"));
    assert!(!scratch.exists("sub/new"));
    for path in ["top", "sub/old.log", "sub-not/b"] {
        assert_eq!(scratch.read(path), "by the call\n");
    }
    assert!(scratch.exists("sub/.harn") && !scratch.exists(".harn"));
}

#[test]
fn a_linked_worktree_is_a_workspace_of_its_own() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let linked = scratch.outside().join("linked");
    scratch.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    fs::write(linked.join("untracked"), "mine\n").unwrap();
    let before = tree(&linked);
    let turnback = open(&linked);
    turnback.capture(SESSION, "m1", InFlight::Refuse).unwrap();
    turnback.call_begin(SESSION, "c1").unwrap();
    for path in ["a", "new", "untracked"] {
        fs::write(linked.join(path), "by the call\n").unwrap();
    }
    assert_eq!(turnback.call_end(SESSION, "c1", None).unwrap().changes.len(), 3);
    assert!(!turnback.restore(SESSION, "m1", None, InFlight::Refuse).unwrap().is_partial());
    assert_eq!(tree(&linked), before);
    assert_eq!(git(&linked, &["status", "--porcelain"]), "?? untracked\n");
    assert_eq!(scratch.git(&["status", "--porcelain"]), "", "the main worktree does not notice");
}

#[test]
fn a_folder_that_a_call_made_is_kept_while_an_ignored_file_is_in_it() {
    let scratch = Scratch::with(&[(".gitignore", "*.log\n"), ("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || {
        scratch.write("made/new", "2\n");
        scratch.write("made/new.log", "2\n");
    });
    let receipt = scratch.restore("m1");
    assert_eq!(actions(&receipt.restored), [("made/new", Action::Delete)]);
    assert!(receipt.removed_directories.is_empty());
    assert_eq!(scratch.read("made/new.log"), "2\n");
}
