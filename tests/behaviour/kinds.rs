//! What can stand at a path, through a call and a restore.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    process::Command,
};

use turnback::receipt::{Action, ChangeKind, Kind};
use turnback_tests::{Scratch, actions, change, entry, hash, kinds};

/// After the work and a restore the tree is as it was, and nothing was left undone.
fn undone(scratch: &Scratch, work: impl FnOnce()) {
    let before = scratch.tree();
    scratch.capture("undone");
    scratch.call("work", work);
    assert_ne!(scratch.tree(), before);
    let receipt = scratch.restore("undone");
    assert!(!receipt.is_partial(), "{receipt:?}");
    assert_eq!(scratch.tree(), before);
}

/// Puts a file, a link or a folder with a file in it at `x`.
fn put(scratch: &Scratch, what: &str) {
    match what {
        "file" => scratch.write("x", "a file\n"),
        "link" => scratch.link("anchor", "x"),
        _ => scratch.write("x/inside", "in a folder\n"),
    }
}

fn take(scratch: &Scratch, what: &str) {
    match what {
        "folder" => fs::remove_dir_all(scratch.path("x")).unwrap(),
        _ => scratch.remove("x"),
    }
}

/// The six directions, for a path that git tracks and for one that it does not.
fn replaced(from: &str, to: &str) {
    for tracked in [true, false] {
        let scratch = Scratch::with(&[("anchor", "1\n")]);
        put(&scratch, from);
        if tracked {
            scratch.commit();
        }
        undone(&scratch, || {
            take(&scratch, from);
            put(&scratch, to);
        });
    }
}

#[test]
fn a_file_that_became_a_link_is_a_file_again() {
    replaced("file", "link");
}

#[test]
fn a_file_that_became_a_folder_is_a_file_again() {
    replaced("file", "folder");
}

#[test]
fn a_link_that_became_a_file_is_a_link_again() {
    replaced("link", "file");
}

#[test]
fn a_link_that_became_a_folder_is_a_link_again() {
    replaced("link", "folder");
}

#[test]
fn a_folder_that_became_a_file_is_a_folder_again() {
    replaced("folder", "file");
}

#[test]
fn a_folder_that_became_a_link_is_a_folder_again() {
    replaced("folder", "link");
}

#[test]
fn a_file_that_became_an_empty_folder_is_a_file_again() {
    let scratch = Scratch::with(&[("x", "1\n")]);
    undone(&scratch, || {
        scratch.remove("x");
        fs::create_dir(scratch.path("x")).unwrap();
    });
}

#[test]
fn a_folder_in_a_files_place_in_which_somebody_put_a_file_is_refused_and_kept() {
    let scratch = Scratch::with(&[("x", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || {
        scratch.remove("x");
        scratch.write("x/inside", "session\n");
    });
    scratch.write("x/person", "person\n");
    let receipt = scratch.restore("m1");
    assert_eq!(actions(&receipt.restored), [("x/inside", Action::Delete)]);
    assert_eq!(actions(&receipt.refused), [("x", Action::Refuse)]);
    assert_eq!(scratch.read("x/person"), "person\n");
}

#[test]
fn a_renamed_file_goes_back_under_its_old_name() {
    let scratch = Scratch::with(&[("old", "1\n")]);
    undone(&scratch, || fs::rename(scratch.path("old"), scratch.path("new")).unwrap());
}

#[test]
fn a_renamed_folder_goes_back_with_all_that_is_in_it() {
    let scratch = Scratch::with(&[("old/a", "1\n"), ("old/e/b", "2\n")]);
    scratch.write("old/untracked", "3\n");
    undone(&scratch, || fs::rename(scratch.path("old"), scratch.path("new")).unwrap());
}

#[test]
fn links_are_changed_created_and_deleted_as_links() {
    let scratch = Scratch::with(&[("a", "1\n"), ("b", "1\n")]);
    scratch.link("a", "changed");
    scratch.link("a", "deleted");
    scratch.commit();
    scratch.capture("m1");
    let before = scratch.tree();
    let ended = scratch.call("c1", || {
        for path in ["changed", "deleted"] {
            scratch.remove(path);
        }
        scratch.link("b", "changed");
        scratch.link("b", "created");
    });
    assert_eq!(change(&ended, "changed").post_kind, Kind::Symlink);
    assert_eq!(change(&ended, "changed").post_hash, Some(hash("b")), "of the link's text");
    assert!(!scratch.restore("m1").is_partial());
    assert_eq!(scratch.tree(), before);
}

#[test]
fn dangling_and_absolute_links_come_back_and_what_they_point_to_is_untouched() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let outside = scratch.outside().join("outside");
    fs::write(&outside, "outside\n").unwrap();
    scratch.link("nowhere/at/all", "dangling");
    scratch.link(outside.to_str().unwrap(), "absolute");
    undone(&scratch, || {
        for path in ["dangling", "absolute"] {
            scratch.remove(path);
            scratch.write(path, "a file now\n");
        }
    });
    assert_eq!(fs::read_to_string(outside).unwrap(), "outside\n");
}

#[test]
fn a_write_through_a_link_is_the_targets_change() {
    let scratch = Scratch::with(&[("target", "1\n")]);
    scratch.link("target", "link");
    scratch.capture("m1");
    let ended = scratch.call("c1", || fs::write(scratch.path("link"), "2\n").unwrap());
    assert_eq!(kinds(&ended), [("target", ChangeKind::Modified)]);
    scratch.restore("m1");
    assert_eq!(scratch.read("target"), "1\n");
}

#[test]
fn empty_files_are_files() {
    let scratch = Scratch::with(&[("emptied", "1\n"), ("filled", ""), ("removed", "")]);
    undone(&scratch, || {
        scratch.write("emptied", "");
        scratch.write("filled", "2\n");
        scratch.remove("removed");
        scratch.write("created", "");
    });
}

#[test]
fn bytes_of_any_kind_come_back() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let every_byte: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    scratch.write("binary", &every_byte);
    undone(&scratch, || scratch.write("binary", "text\n"));
    assert_eq!(fs::read(scratch.path("binary")).unwrap(), every_byte);
}

#[test]
fn two_names_of_one_file_both_come_back() {
    let scratch = Scratch::with(&[("one", "1\n")]);
    fs::hard_link(scratch.path("one"), scratch.path("two")).unwrap();
    undone(&scratch, || fs::write(scratch.path("one"), "2\n").unwrap());
}

#[test]
fn names_of_255_bytes_are_restored() {
    let (tracked, created) = ("t".repeat(255), "é".repeat(127) + "x");
    let scratch = Scratch::with(&[(&tracked, "1\n")]);
    undone(&scratch, || {
        scratch.write(&tracked, "2\n");
        scratch.write(&created, "2\n");
    });
}

#[test]
fn names_with_newlines_quotes_and_what_other_systems_forbid_are_ordinary() {
    let names =
        ["new\nline", "tab\t", "'quoted'", "\"double\"", "a:b", "a\\b", "con", "trailing. ", "*?[x]", "-rf", "~"];
    let scratch = Scratch::with(&names.map(|name| (name, "1\n")));
    undone(&scratch, || {
        for name in names {
            scratch.write(name, "2\n");
            scratch.write(&format!("{name} created"), "2\n");
        }
    });
}

#[test]
fn names_that_are_not_utf_8_are_restored_and_a_receipts_name_selects_them() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let name = OsStr::from_bytes(b"caf\xe9");
    fs::write(scratch.root().join(name), "1\n").unwrap();
    scratch.commit();
    scratch.capture("m1");
    let ended = scratch.call("c1", || fs::write(scratch.root().join(name), "2\n").unwrap());
    assert_eq!(kinds(&ended), [("caf\u{10FFE9}", ChangeKind::Modified)]);
    let receipt = scratch.restore_paths("m1", &[&ended.changes[0].path]);
    assert_eq!(actions(&receipt.restored), [("caf\u{10FFE9}", Action::Restore)]);
    assert_eq!(fs::read_to_string(scratch.root().join(name)).unwrap(), "1\n");
}

#[test]
fn a_name_that_looks_like_an_escaped_byte_is_not_taken_for_the_byte() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    let ended = scratch.call("c1", || {
        fs::write(scratch.root().join(OsStr::from_bytes(b"\xe9")), "the byte\n").unwrap();
        scratch.write("\u{10FFE9}", "the character\n");
    });
    assert_eq!(ended.changes.len(), 2);
    let path = ended.changes.iter().find(|change| change.post_hash == Some(hash("the byte\n"))).unwrap();
    scratch.restore_paths("m1", &[&path.path]);
    assert!(!scratch.root().join(OsStr::from_bytes(b"\xe9")).exists());
    assert_eq!(scratch.read("\u{10FFE9}"), "the character\n");
}

#[test]
fn deep_folders_are_restored() {
    let deep = format!("{}f", "d/".repeat(200));
    let scratch = Scratch::with(&[(&deep, "1\n")]);
    undone(&scratch, || {
        fs::remove_dir_all(scratch.path("d")).unwrap();
        scratch.write(&format!("{}f", "e/".repeat(200)), "2\n");
    });
}

#[test]
fn a_path_longer_than_the_system_takes_at_once_is_deleted_again() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let before = scratch.tree();
    scratch.capture("m1");
    let name = "d".repeat(250);
    let ended = scratch.call("c1", || {
        let script = "for i in $(seq 20); do mkdir $1 && cd $1 || exit 1; done; echo 2 >f";
        let mut bash = Command::new("bash");
        assert!(bash.current_dir(scratch.root()).args(["-c", script, "bash", &name]).status().unwrap().success());
    });
    let path = format!("{}f", format!("{name}/").repeat(20));
    assert_eq!(kinds(&ended), [(path.as_str(), ChangeKind::Created)]);
    assert_eq!(actions(&scratch.restore("m1").restored), [(path.as_str(), Action::Delete)]);
    assert_eq!(scratch.tree(), before);
}

#[test]
fn folders_that_the_call_made_are_removed_when_they_are_empty() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("made/by/call", "2\n"));
    let receipt = scratch.restore("m1");
    assert_eq!(receipt.removed_directories, ["made", "made/by"]);
    assert!(!scratch.exists("made"));
}

#[test]
fn folders_that_the_call_made_are_kept_when_somebody_put_a_file_there() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("made/by/call", "2\n"));
    scratch.write("made/person", "person\n");
    let receipt = scratch.restore("m1");
    assert_eq!(receipt.removed_directories, ["made/by"]);
    assert_eq!(scratch.read("made/person"), "person\n");
}

#[test]
fn folders_that_were_there_before_stay_although_they_are_empty_now() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    fs::create_dir(scratch.path("empty")).unwrap();
    undone(&scratch, || scratch.write("empty/new", "2\n"));
}

#[test]
fn an_empty_folder_that_the_call_removed_is_there_again() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    fs::create_dir_all(scratch.path("empty/deeper")).unwrap();
    undone(&scratch, || fs::remove_dir_all(scratch.path("empty")).unwrap());
}

#[test]
fn an_empty_folder_that_the_call_made_is_removed() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    undone(&scratch, || fs::create_dir_all(scratch.path("made/deeper")).unwrap());
}

/// Makes a FIFO: whoever opens it for reading blocks for good.
fn fifo(scratch: &Scratch, path: &str) {
    let made = Command::new("mkfifo").arg(scratch.path(path)).status().unwrap();
    assert!(made.success());
}

#[test]
fn a_fifo_that_a_call_made_is_seen_and_neither_opened_nor_removed() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    let ended = scratch.call("c1", || fifo(&scratch, "pipe"));
    assert_eq!((change(&ended, "pipe").post_kind, &change(&ended, "pipe").post_hash), (Kind::Other, &None));
    let receipt = scratch.restore("m1");
    assert_eq!(actions(&receipt.refused), [("pipe", Action::Refuse)]);
    assert_eq!(entry(&receipt.refused, "pipe").found_kind, Some(Kind::Other));
    assert!(scratch.exists("pipe"));
}

#[test]
fn a_plan_does_not_promise_to_remove_a_fifo() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    scratch.call("c1", || fifo(&scratch, "pipe"));
    assert_eq!(actions(&scratch.plan("m1").entries), [("pipe", Action::Refuse)]);
}

#[test]
fn a_fifo_that_stood_there_at_the_boundary_is_unrestorable() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    fifo(&scratch, "pipe");
    assert_eq!(scratch.capture("m1").unrestorable_files, 1);
    scratch.call("c1", || {
        scratch.remove("pipe");
        scratch.write("pipe", "a file now\n");
    });
    assert_eq!(actions(&scratch.restore("m1").refused), [("pipe", Action::Refuse)]);
    assert_eq!(scratch.read("pipe"), "a file now\n");
}

#[test]
fn a_link_loop_is_a_link_like_any_other() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.link("loop", "loop");
    undone(&scratch, || {
        scratch.remove("loop");
        symlink("a", scratch.path("loop")).unwrap();
    });
}

#[test]
fn only_untracked_files_with_the_names_of_stages_go_unseen() {
    let name = ".turnback-0123456789abcdef";
    let scratch = Scratch::with(&[(name, "tracked\n"), ("a", "1\n")]);
    scratch.capture("m1");
    let folder = ".turnback-fedcba9876543210";
    scratch.call("c1", || {
        scratch.write(name, "changed\n");
        scratch.write(&format!("{folder}/inside"), "x\n");
    });
    assert!(!scratch.restore("m1").is_partial());
    assert_eq!(scratch.read(name), "tracked\n");
    assert!(!scratch.exists(folder));
}
