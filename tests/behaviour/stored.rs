//! What a boundary stores: nothing of what git has, the bytes of all else, each once, for the owner only.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use turnback::{
    InFlight, Options, Runtime,
    receipt::{Action, CaptureReceipt},
};
use turnback_tests::{SESSION, Scratch, actions, entry, hash, tree};

const MIB: u64 = 1024 * 1024;

fn stored(receipt: &CaptureReceipt) -> (u64, u64) {
    (receipt.stored_files, receipt.stored_bytes)
}

/// After a boundary, a call that overwrites the path and a restore, the path is byte for byte what it was.
fn comes_back(scratch: &Scratch, path: &str) {
    let before = fs::read(scratch.path(path)).unwrap();
    scratch.capture("comes-back");
    scratch.call("overwrites", || scratch.write(path, "overwritten by the call\n"));
    let receipt = scratch.restore("comes-back");
    assert_eq!(actions(&receipt.restored), [(path, Action::Restore)], "{receipt:?}");
    assert_eq!(fs::read(scratch.path(path)).unwrap(), before);
}

/// Every file of `.git` that is no object, with its content.
fn git_files(scratch: &Scratch) -> Vec<(String, String)> {
    let all = tree(&scratch.path(".git"));
    all.into_iter().filter(|(path, _)| !path.starts_with("objects")).collect()
}

#[test]
fn clean_tracked_files_come_from_git_and_are_not_stored() {
    let scratch = Scratch::with(&[("a", "1\n"), ("d/b", "2\n")]);
    assert_eq!(stored(&scratch.capture("m1")), (0, 0));
    assert!(scratch.blobs().is_empty());
    scratch.call("c1", || scratch.write("d/b", "3\n"));
    scratch.restore("m1");
    assert_eq!(scratch.read("d/b"), "2\n");
}

#[test]
fn modified_untracked_and_staged_then_modified_files_are_stored_as_their_bytes() {
    let scratch = Scratch::with(&[("modified", "1\n"), ("staged", "1\n")]);
    scratch.write("modified", "22\n");
    scratch.write("staged", "in the index\n");
    scratch.git(&["add", "staged"]);
    scratch.write("staged", "on disk\n");
    scratch.write("untracked", "4444\n");
    assert_eq!(stored(&scratch.capture("m1")), (3, 3 + 8 + 5));
    let mut expected = [hash("22\n"), hash("on disk\n"), hash("4444\n")];
    expected.sort();
    assert_eq!(scratch.blobs(), expected);
    for (name, content) in [(hash("22\n"), "22\n"), (hash("on disk\n"), "on disk\n")] {
        assert_eq!(fs::read_to_string(scratch.state().join("blobs").join(name)).unwrap(), content);
    }
    let before = scratch.tree();
    scratch.call("c1", || {
        for path in ["modified", "staged", "untracked"] {
            scratch.write(path, "by the call\n");
        }
    });
    assert!(!scratch.restore("m1").is_partial());
    assert_eq!(scratch.tree(), before);
}

#[test]
fn staged_files_come_from_git_although_no_commit_has_them() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.write("a", "staged\n");
    scratch.git(&["add", "a"]);
    assert_eq!(stored(&scratch.capture("m1")), (0, 0));
    scratch.call("c1", || {
        scratch.git(&["reset", "-q", "--hard"]);
    });
    assert_eq!(scratch.read("a"), "1\n");
    scratch.restore("m1");
    assert_eq!(scratch.read("a"), "staged\n");
}

#[test]
fn files_that_are_only_announced_to_git_are_stored() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.write("announced", "content\n");
    scratch.git(&["add", "-N", "announced"]);
    assert_eq!(stored(&scratch.capture("m1")), (1, 8));
    comes_back(&scratch, "announced");
}

#[test]
fn an_empty_file_that_is_only_announced_comes_back_empty() {
    // Git has the empty blob already, and the announced entry names it; the tree of the index leaves the entry out.
    let scratch = Scratch::with(&[("empty", "")]);
    scratch.write("announced", "");
    scratch.git(&["add", "-N", "announced"]);
    comes_back(&scratch, "announced");
}

#[test]
fn a_file_with_conflict_markers_is_stored() {
    let scratch = conflict("ours\n", "theirs\n");
    assert!(scratch.read("a").contains("<<<<<<<"));
    assert_eq!(scratch.capture("m1").stored_files, 1);
    comes_back(&scratch, "a");
}

#[test]
fn a_conflicted_file_that_is_one_sides_content_exactly_comes_back() {
    // Git has each side's blob, but the tree of the index has none of them.
    for side in [":1:a", ":2:a", ":3:a"] {
        let scratch = conflict("ours\n", "theirs\n");
        let content = scratch.git(&["show", side]);
        scratch.write("a", content);
        comes_back(&scratch, "a");
    }
}

#[test]
fn a_file_that_both_sides_added_comes_back_as_ours() {
    let scratch = Scratch::with(&[("base", "1\n")]);
    scratch.git(&["checkout", "-q", "-b", "theirs"]);
    scratch.write("a", "theirs\n");
    scratch.commit();
    scratch.git(&["checkout", "-q", "main"]);
    scratch.write("a", "ours\n");
    scratch.commit();
    merge_conflicts(&scratch);
    scratch.git(&["checkout", "-q", "--ours", "a"]);
    assert_eq!(scratch.read("a"), "ours\n");
    comes_back(&scratch, "a");
}

fn conflict(ours: &str, theirs: &str) -> Scratch {
    let scratch = Scratch::with(&[("a", "base\n")]);
    scratch.git(&["checkout", "-q", "-b", "theirs"]);
    scratch.write("a", theirs);
    scratch.commit();
    scratch.git(&["checkout", "-q", "main"]);
    scratch.write("a", ours);
    scratch.commit();
    merge_conflicts(&scratch);
    scratch
}

fn merge_conflicts(scratch: &Scratch) {
    // `git merge` fails, and that is what is wanted.
    let shown = scratch.git(&["-c", "alias.m=!git merge -q theirs || true", "m"]);
    let unmerged = scratch.git(&["ls-files", "-u"]);
    assert!(!unmerged.is_empty(), "{shown}");
}

#[test]
fn the_same_content_is_stored_once() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    for path in ["one", "two", "d/three"] {
        scratch.write(path, "the same\n");
    }
    assert_eq!(scratch.capture("m1").stored_files, 3);
    assert_eq!(scratch.capture("m2").stored_files, 3, "a boundary tells what it holds, not what was new");
    assert_eq!(scratch.blobs(), [hash("the same\n")]);
}

#[test]
fn what_a_restore_displaces_is_kept() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || {
        scratch.write("a", "displaced\n");
        scratch.write("new", "deleted\n");
    });
    scratch.restore("m1");
    for content in ["displaced\n", "deleted\n"] {
        let kept = scratch.state().join("blobs").join(hash(content));
        assert_eq!(fs::read_to_string(kept).unwrap(), content);
    }
}

#[test]
fn a_file_of_64_mib_is_stored_and_one_byte_more_is_unrestorable() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    fs::File::create(scratch.path("fits")).unwrap().set_len(64 * MIB).unwrap();
    fs::File::create(scratch.path("too-large")).unwrap().set_len(64 * MIB + 1).unwrap();
    let receipt = scratch.capture("m1");
    assert_eq!(stored(&receipt), (1, 64 * MIB));
    assert_eq!(receipt.unrestorable_files, 1);
    scratch.call("c1", || {
        scratch.write("fits", "small\n");
        scratch.write("too-large", "small\n");
    });
    let receipt = scratch.restore("m1");
    assert_eq!(actions(&receipt.restored), [("fits", Action::Restore)]);
    assert_eq!(actions(&receipt.refused), [("too-large", Action::Refuse)]);
    assert_eq!(fs::metadata(scratch.path("fits")).unwrap().len(), 64 * MIB);
    assert_eq!(scratch.read("too-large"), "small\n");
}

#[test]
fn a_large_file_that_is_clean_in_git_is_restored_from_there() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    fs::File::create(scratch.path("large")).unwrap().set_len(64 * MIB + 1).unwrap();
    scratch.commit();
    // As old as the index it would be read to tell; a status lets git note that it is clean.
    std::thread::sleep(std::time::Duration::from_millis(30));
    scratch.git(&["add", "--renormalize", "."]);
    scratch.git(&["status"]);
    assert_eq!(scratch.capture("m1").unrestorable_files, 0);
    scratch.call("c1", || scratch.remove("large"));
    scratch.restore("m1");
    assert_eq!(fs::metadata(scratch.path("large")).unwrap().len(), 64 * MIB + 1);
}

#[test]
fn a_file_that_a_call_made_is_deleted_whatever_its_size() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || fs::File::create(scratch.path("large")).unwrap().set_len(64 * MIB + 1).unwrap());
    assert_eq!(actions(&scratch.restore("m1").restored), [("large", Action::Delete)]);
    assert!(!scratch.exists("large"));
}

#[test]
fn line_endings_that_git_converts_come_back_as_they_were_on_disk() {
    let scratch = Scratch::new();
    scratch.git(&["config", "core.autocrlf", "true"]);
    scratch.write("a", "one\r\ntwo\r\n");
    scratch.commit();
    scratch.git(&["status"]);
    assert_eq!(scratch.git(&["status", "--porcelain"]), "", "git calls it clean");
    assert_eq!(scratch.git(&["cat-file", "-p", "HEAD:a"]), "one\ntwo\n", "and has other bytes");
    comes_back(&scratch, "a");
}

#[test]
fn a_file_checked_out_with_other_line_endings_comes_back_as_it_was_on_disk() {
    let scratch = Scratch::with(&[("a", "one\ntwo\n"), (".gitattributes", "a text eol=crlf\n")]);
    scratch.remove("a");
    scratch.git(&["checkout", "-q", "a"]);
    assert_eq!(scratch.read("a"), "one\r\ntwo\r\n");
    comes_back(&scratch, "a");
}

#[test]
fn a_file_behind_a_filter_of_equal_length_comes_back_as_it_was_on_disk() {
    let scratch = Scratch::new();
    scratch.git(&["config", "filter.swap.clean", "tr a b"]);
    scratch.git(&["config", "filter.swap.smudge", "tr b a"]);
    scratch.write(".gitattributes", "*.x filter=swap\n");
    scratch.write("f.x", "aaaa\n");
    scratch.commit();
    assert_eq!(scratch.git(&["cat-file", "-p", "HEAD:f.x"]), "bbbb\n");
    assert_eq!(scratch.git(&["status", "--porcelain"]), "");
    comes_back(&scratch, "f.x");
}

#[test]
fn a_filter_that_is_named_above_the_root_alone_is_minded_too() {
    let scratch = Scratch::new();
    scratch.git(&["config", "filter.swap.clean", "tr a b"]);
    scratch.git(&["config", "filter.swap.smudge", "tr b a"]);
    scratch.write("sub/f.x", "aaaa\n");
    scratch.write(".gitattributes", "*.x filter=swap\n");
    // Old enough for the index's stamps to be believed.
    let file = fs::File::options().write(true).open(scratch.path("sub/f.x")).unwrap();
    file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(60)).unwrap();
    scratch.git(&["add", "sub"]);
    let turnback = turnback_tests::open(&scratch.path("sub"));
    turnback.capture(SESSION, "m1", InFlight::Refuse).unwrap();
    turnback.call_begin(SESSION, "c1").unwrap();
    scratch.write("sub/f.x", "cccc\n");
    turnback.call_end(SESSION, "c1", None).unwrap();
    turnback.restore(SESSION, "m1", None, InFlight::Refuse).unwrap();
    assert_eq!(scratch.read("sub/f.x"), "aaaa\n");
}

#[test]
fn no_filter_of_the_repository_is_run() {
    let scratch = Scratch::with(&[("a.x", "1\n"), (".gitattributes", "*.x filter=spy\n")]);
    let spy = scratch.outside().join("ran");
    let command = format!("touch {}; cat", spy.display());
    scratch.git(&["config", "filter.spy.clean", &command]);
    scratch.git(&["config", "filter.spy.smudge", &command]);
    scratch.write("a.x", "dirty\n");
    comes_back(&scratch, "a.x");
    assert!(!spy.exists());
}

#[test]
fn a_file_that_git_was_told_not_to_look_at_is_stored_when_it_differs() {
    let scratch = Scratch::with(&[("assumed", "1\n"), ("skipped", "1\n")]);
    scratch.git(&["update-index", "--assume-unchanged", "assumed"]);
    scratch.git(&["update-index", "--skip-worktree", "skipped"]);
    scratch.write("assumed", "2\n");
    scratch.write("skipped", "3\n");
    assert_eq!(scratch.git(&["status", "--porcelain"]), "");
    let before = scratch.tree();
    assert_eq!(scratch.capture("m1").stored_files, 2);
    scratch.call("c1", || {
        scratch.write("assumed", "by the call\n");
        scratch.remove("skipped");
    });
    assert!(!scratch.restore("m1").is_partial());
    assert_eq!(scratch.tree(), before);
}

#[test]
fn an_object_that_git_replaces_with_another_does_not_replace_the_bytes() {
    let scratch = Scratch::with(&[("a", "1\n"), ("other", "2\n")]);
    scratch.git(&["replace", "HEAD:a", "HEAD:other"]);
    comes_back(&scratch, "a");
}

#[test]
fn stored_bytes_that_were_damaged_are_not_written_back() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.write("untracked", "precious\n");
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("untracked", "by the call\n"));
    fs::write(scratch.state().join("blobs").join(hash("precious\n")), "PRECIOUS\n").unwrap();
    let receipt = scratch.restore("m1");
    assert_eq!(actions(&receipt.failed), [("untracked", Action::Fail)]);
    assert!(entry(&receipt.failed, "untracked").reason.as_ref().is_some_and(|why| why.contains("corrupt")));
    assert_eq!(scratch.read("untracked"), "by the call\n");
}

#[test]
fn the_state_is_for_its_owner_only() {
    fn check(path: &Path) {
        let stat = path.symlink_metadata().unwrap();
        let mode = stat.permissions().mode() & 0o777;
        if stat.is_dir() {
            assert_eq!(mode, 0o700, "{}", path.display());
            fs::read_dir(path).unwrap().for_each(|entry| check(&entry.unwrap().path()));
        } else {
            assert_eq!(mode, 0o600, "{}", path.display());
        }
    }
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.write("untracked", "secret\n");
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    scratch.restore("m1");
    scratch.turnback().call_begin(SESSION, "open").unwrap();
    check(&scratch.path(".harn"));
}

#[test]
fn the_state_is_invisible_to_git_status_and_to_scans() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    assert_eq!(scratch.capture("m1").scanned_files, 1);
    let ended = scratch.call("c1", || {
        scratch.git(&["add", "-A"]);
    });
    assert!(ended.changes.is_empty());
    assert_eq!(scratch.capture("m2").scanned_files, 1);
    assert_eq!(scratch.git(&["status", "--porcelain", "--untracked-files=all"]), "");
    assert_eq!(scratch.git(&["ls-files"]), "a\n");
}

#[test]
fn index_head_refs_and_config_stay_byte_identical() {
    let scratch = Scratch::with(&[("a", "1\n"), ("b", "1\n")]);
    scratch.write("a", "staged\n");
    scratch.git(&["add", "a"]);
    scratch.write("b", "dirty\n");
    let before = git_files(&scratch);
    assert!(before.iter().any(|(path, _)| path == "index"));
    scratch.capture("m1");
    scratch.call("c1", || {
        scratch.write("a", "2\n");
        scratch.remove("b");
        scratch.write("new", "2\n");
    });
    scratch.plan("m1");
    scratch.restore("m1");
    scratch.turnback().drop_session(SESSION).unwrap();
    assert_eq!(git_files(&scratch), before);
    assert_eq!(scratch.git(&["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn state_can_live_elsewhere() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let elsewhere = scratch.outside().join("state");
    let mut options = Options::default();
    options.state_dir = Some(elsewhere.clone());
    let turnback = Runtime::open(&scratch.root(), options).unwrap();
    turnback.capture(SESSION, "m1", InFlight::Refuse).unwrap();
    turnback.call_begin(SESSION, "c1").unwrap();
    scratch.write("a", "2\n");
    turnback.call_end(SESSION, "c1", None).unwrap();
    turnback.restore(SESSION, "m1", None, InFlight::Refuse).unwrap();
    assert_eq!(scratch.read("a"), "1\n");
    assert!(elsewhere.join(SESSION).join("blobs").join(hash("2\n")).exists());
    assert!(!scratch.exists(".harn"));
}

#[test]
fn a_file_with_an_expanded_id_comes_back_as_it_was_on_disk() {
    let id = |digit: &str| format!("$Id: {} $\n", digit.repeat(40));
    let scratch = Scratch::with(&[("f.c", &id("1"))]);
    scratch.write(".gitattributes", "*.c ident\n");
    scratch.commit();
    scratch.remove("f.c");
    scratch.git(&["checkout", "-q", "--", "f.c"]);
    let on_disk = scratch.read("f.c");
    assert_ne!(on_disk, id("1"), "git expands it, to the same length");
    assert_eq!(on_disk.len(), id("1").len());
    // Older than the index, so that its stamps alone say that it is clean.
    std::thread::sleep(std::time::Duration::from_millis(50));
    scratch.write("other", "x\n");
    scratch.git(&["add", "other"]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("f.c", "changed\n"));
    scratch.restore("m1");
    assert_eq!(scratch.read("f.c"), on_disk);
}
