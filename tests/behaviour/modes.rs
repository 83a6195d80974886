//! Permission bits: a restored file is never open to more people than before.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
};

use turnback::receipt::{Action, ChangeKind};
use turnback_tests::{SESSION, Scratch, actions, change, kinds};

#[test]
fn a_change_of_the_executable_bit_alone_is_a_change_and_is_restored() {
    let scratch = Scratch::with(&[("plain", "1\n"), ("tool", "1\n")]);
    scratch.chmod("tool", 0o755);
    scratch.commit();
    scratch.capture("m1");
    let ended = scratch.call("c1", || {
        scratch.chmod("plain", 0o755);
        scratch.chmod("tool", 0o644);
    });
    assert_eq!(kinds(&ended), [("plain", ChangeKind::Modified), ("tool", ChangeKind::Modified)]);
    assert_eq!(change(&ended, "plain").executable, Some(true));
    assert_eq!(change(&ended, "tool").executable, Some(false));
    assert_eq!(actions(&scratch.restore("m1").restored), [("plain", Action::Restore), ("tool", Action::Restore)]);
    assert_eq!((scratch.mode("plain"), scratch.mode("tool")), (0o644, 0o755));
}

#[test]
fn the_executable_bit_counts_where_git_is_told_to_ignore_it() {
    let scratch = Scratch::with(&[("tool", "1\n")]);
    scratch.git(&["config", "core.fileMode", "false"]);
    scratch.chmod("tool", 0o755);
    scratch.capture("m1");
    scratch.call("c1", || scratch.chmod("tool", 0o644));
    scratch.restore("m1");
    assert_eq!(scratch.mode("tool"), 0o755);
}

#[test]
fn restored_files_have_the_bits_that_they_had() {
    for mode in [0o600, 0o400, 0o444, 0o640, 0o664, 0o700, 0o750, 0o755] {
        let scratch = Scratch::with(&[("tracked", "1\n")]);
        scratch.write("untracked", "1\n");
        scratch.chmod("tracked", mode);
        scratch.chmod("untracked", mode);
        scratch.capture("m1");
        scratch.call("c1", || {
            for path in ["tracked", "untracked"] {
                scratch.remove(path);
                scratch.write(path, "2\n");
                scratch.chmod(path, 0o666);
            }
        });
        scratch.restore("m1");
        for path in ["tracked", "untracked"] {
            assert_eq!(scratch.read(path), "1\n");
            assert_eq!(scratch.mode(path), mode, "{path}, which was {mode:o}");
        }
    }
}

#[test]
fn recreated_files_have_the_bits_that_they_had() {
    for mode in [0o600, 0o444, 0o700] {
        let scratch = Scratch::with(&[("tracked", "1\n")]);
        scratch.write("untracked", "1\n");
        scratch.chmod("tracked", mode);
        scratch.chmod("untracked", mode);
        scratch.capture("m1");
        scratch.call("c1", || {
            scratch.remove("tracked");
            scratch.remove("untracked");
        });
        scratch.restore("m1");
        assert_eq!((scratch.mode("tracked"), scratch.mode("untracked")), (mode, mode));
    }
}

#[test]
fn a_secret_that_one_call_opened_and_the_next_changed_is_private_again() {
    // The bits alone are no change, so the first call leaves no attribution; the second finds the wider bits.
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.write("secret", "key\n");
    scratch.chmod("secret", 0o600);
    scratch.capture("m1");
    scratch.call("c1", || scratch.chmod("secret", 0o644));
    scratch.call("c2", || scratch.write("secret", "another key\n"));
    scratch.restore("m1");
    assert_eq!(scratch.read("secret"), "key\n");
    assert_eq!(scratch.mode("secret"), 0o600);
}

#[test]
fn a_secret_that_was_changed_in_two_turns_is_private_after_each_restore() {
    let scratch = Scratch::with(&[("secret", "1\n")]);
    scratch.chmod("secret", 0o600);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("secret", "2\n"));
    scratch.capture("m2");
    scratch.call("c2", || {
        scratch.remove("secret");
        scratch.write("secret", "3\n");
    });
    scratch.restore("m2");
    assert_eq!((scratch.read("secret").as_str(), scratch.mode("secret")), ("2\n", 0o600));
    scratch.restore("m1");
    assert_eq!((scratch.read("secret").as_str(), scratch.mode("secret")), ("1\n", 0o600));
}

#[test]
fn a_private_folder_that_a_call_removed_comes_back_private() {
    let scratch = Scratch::with(&[("private/key", "1\n")]);
    scratch.chmod("private", 0o700);
    scratch.capture("m1");
    scratch.call("c1", || fs::remove_dir_all(scratch.path("private")).unwrap());
    scratch.restore("m1");
    assert_eq!(scratch.read("private/key"), "1\n");
    assert_eq!(scratch.mode("private"), 0o700, "what is in it was nobody else's to see");
}

#[test]
fn setuid_is_not_minted() {
    let scratch = Scratch::with(&[("tool", "1\n")]);
    fs::set_permissions(scratch.path("tool"), fs::Permissions::from_mode(0o4755)).unwrap();
    scratch.commit();
    scratch.capture("m1");
    scratch.call("c1", || {
        scratch.remove("tool");
        scratch.write("tool", "2\n");
    });
    scratch.restore("m1");
    assert_eq!(scratch.read("tool"), "1\n");
    assert_eq!(fs::metadata(scratch.path("tool")).unwrap().mode() & 0o7777, 0o755);
}

#[test]
fn a_read_only_file_is_restored_and_is_read_only_again() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.chmod("a", 0o444);
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    scratch.restore("m1");
    assert_eq!((scratch.read("a").as_str(), scratch.mode("a")), ("1\n", 0o444));
}

#[test]
fn a_restored_file_belongs_to_whom_it_belonged() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: a_restored_file_belongs_to_whom_it_belonged (needs the superuser)");
        return;
    }
    let scratch = Scratch::with(&[("a", "1\n")]);
    std::os::unix::fs::chown(scratch.path("a"), Some(65534), Some(65534)).unwrap();
    scratch.capture("m1");
    scratch.call("c1", || scratch.write("a", "2\n"));
    scratch.restore("m1");
    let stat = fs::metadata(scratch.path("a")).unwrap();
    assert_eq!((stat.uid(), stat.gid()), (65534, 65534));
    assert_eq!(scratch.read("a"), "1\n");
}

#[test]
fn permissions_that_only_changed_without_the_executable_bit_are_no_change() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    scratch.capture("m1");
    let ended = scratch.call("c1", || scratch.chmod("a", 0o640));
    assert!(ended.changes.is_empty());
    assert!(scratch.turnback().drop_session(SESSION).unwrap().dropped);
}
