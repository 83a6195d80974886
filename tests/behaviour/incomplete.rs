//! What a scan could not see is refused. The superuser sees everything, so where the tests run as it these run the
//! program as nobody.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

const NOBODY: u32 = 65534;

/// A repository of somebody who is not the superuser, and the program where they may run it.
struct Nobody {
    folder: tempfile::TempDir,
    is: User,
}

#[derive(Clone, Copy, PartialEq)]
enum User {
    /// Whoever runs the tests.
    Ourselves,
    /// Another than the superuser, who runs the tests.
    Other,
}

impl Nobody {
    /// `None`, after saying so, where the tests cannot become nobody.
    fn new(test: &str, files: &[(&str, &str)]) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let setpriv = || Command::new("setpriv").arg("--version").output().is_ok_and(|output| output.status.success());
        let is = if fs::metadata(folder.path()).unwrap().uid() != 0 {
            User::Ourselves
        } else if setpriv() {
            User::Other
        } else {
            eprintln!("skipped: {test} (the superuser needs setpriv for it)");
            return None;
        };
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::copy(turnback_tests::program(), folder.path().join("turnback")).unwrap();
        fs::create_dir(folder.path().join("w")).unwrap();
        if is == User::Other {
            chown(folder.path().join("w"), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let nobody = Nobody { folder, is };
        nobody.run("git", &["init", "-q", "."]);
        for (path, content) in files {
            nobody.shell(&format!("mkdir -p \"$(dirname {path})\"; printf '{content}' >{path}"));
        }
        nobody.shell("git add -A; git -c user.name=n -c user.email=n@n commit -q -m a");
        Some(nobody)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("w").join(path)
    }

    fn run(&self, program: impl AsRef<Path>, arguments: &[&str]) -> (i32, String) {
        let mut command = match self.is {
            User::Ourselves => Command::new(program.as_ref()),
            User::Other => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(program.as_ref());
                command
            }
        };
        let output = command
            .args(arguments)
            .current_dir(self.path(""))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("HOME", "/nonexistent")
            .output()
            .unwrap();
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn shell(&self, script: &str) {
        assert_eq!(self.run("sh", &["-e", "-c", script]).0, 0, "{script}");
    }

    fn turnback(&self, command: &str, arguments: &[&str]) -> Value {
        let arguments = [&["--json", command, "--session", "s"], arguments].concat();
        let (code, stdout) = self.run(self.folder.path().join("turnback"), &arguments);
        let value = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{code}: {error}: {stdout}"));
        assert!(code == 0 || code == 4, "{code}: {value}");
        value
    }

    fn call(&self, call: &str, script: &str) -> Value {
        self.turnback("call-begin", &["--call", call]);
        self.shell(script);
        self.turnback("call-end", &["--call", call])
    }
}

impl Drop for Nobody {
    fn drop(&mut self) {
        // The superuser's own removal is not stopped by them, but another user's would be.
        let _best_effort = Command::new("chmod").args(["-R", "u+rwX"]).arg(self.path("")).status();
    }
}

fn paths(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|entry| entry["path"].as_str().unwrap()).collect()
}

#[test]
fn what_was_in_a_folder_that_became_unreadable_in_a_call_is_incomplete_and_refused() {
    let name = "what_was_in_a_folder_that_became_unreadable_in_a_call_is_incomplete_and_refused";
    let Some(nobody) = Nobody::new(name, &[("a", "1\\n"), ("d/f", "1\\n")]) else { return };
    nobody.turnback("capture", &["--boundary", "m1"]);
    let ended = nobody.call("c1", "echo 2 >a; echo 2 >d/f; chmod 000 d");
    assert_eq!(ended["scan_errors"], 1);
    let change = ended["changes"].as_array().unwrap().iter().find(|change| change["path"] == "d/f").unwrap();
    assert_eq!(change["incomplete"], json!(true));
    assert!(change.get("post_hash").is_none(), "{change}");
    nobody.shell("chmod 755 d");
    let receipt = nobody.turnback("restore", &["--boundary", "m1"]);
    assert_eq!(paths(&receipt["restored"]), ["a"]);
    assert_eq!(paths(&receipt["refused"]), ["d/f"]);
    assert_eq!(fs::read_to_string(nobody.path("d/f")).unwrap(), "2\n");
}

#[test]
fn what_came_into_view_with_a_folder_that_was_unreadable_before_the_call_is_not_deleted() {
    let name = "what_came_into_view_with_a_folder_that_was_unreadable_before_the_call_is_not_deleted";
    let Some(nobody) = Nobody::new(name, &[("a", "1\\n")]) else { return };
    nobody.shell("mkdir d; echo precious >d/f; chmod 000 d");
    assert_eq!(nobody.turnback("capture", &["--boundary", "m1"])["scan_errors"], 1);
    nobody.call("c1", "chmod 755 d; echo 2 >d/new");
    let receipt = nobody.turnback("restore", &["--boundary", "m1"]);
    assert_eq!(paths(&receipt["restored"]), Vec::<&str>::new());
    assert_eq!(paths(&receipt["refused"]), ["d/f", "d/new"]);
    assert_eq!(fs::read_to_string(nobody.path("d/f")).unwrap(), "precious\n");
    assert_eq!(fs::read_to_string(nobody.path("d/new")).unwrap(), "2\n");
}

#[test]
fn a_tracked_file_in_a_folder_that_was_unreadable_at_the_boundary_is_unrestorable_and_not_taken_for_absent() {
    let name = "a_tracked_file_in_a_folder_that_was_unreadable_at_the_boundary_is_unrestorable";
    let Some(nobody) = Nobody::new(name, &[("a", "1\\n"), ("d/f", "1\\n")]) else { return };
    nobody.shell("chmod 000 d");
    assert_eq!(nobody.turnback("capture", &["--boundary", "m1"])["unrestorable_files"], 1);
    nobody.shell("chmod 755 d");
    nobody.call("c1", "echo 2 >d/f");
    let receipt = nobody.turnback("restore", &["--boundary", "m1"]);
    assert_eq!(paths(&receipt["refused"]), ["d/f"]);
    assert_eq!(fs::read_to_string(nobody.path("d/f")).unwrap(), "2\n");
}

#[test]
fn a_folder_that_stays_unreadable_through_a_call_hides_nothing_else() {
    let name = "a_folder_that_stays_unreadable_through_a_call_hides_nothing_else";
    let Some(nobody) = Nobody::new(name, &[("a", "1\\n"), ("d/f", "1\\n")]) else { return };
    nobody.shell("chmod 000 d");
    nobody.turnback("capture", &["--boundary", "m1"]);
    let ended = nobody.call("c1", "echo 2 >a");
    assert_eq!(paths(&ended["changes"]), ["a"]);
    assert_eq!(paths(&nobody.turnback("restore", &["--boundary", "m1"])["restored"]), ["a"]);
}

#[test]
fn an_untracked_file_that_cannot_be_read_is_unrestorable_and_the_capture_goes_on() {
    let name = "an_untracked_file_that_cannot_be_read_is_unrestorable_and_the_capture_goes_on";
    let Some(nobody) = Nobody::new(name, &[("a", "1\\n")]) else { return };
    nobody.shell("echo secret >locked; chmod 000 locked; echo open >open");
    let captured = nobody.turnback("capture", &["--boundary", "m1"]);
    assert_eq!((&captured["stored_files"], &captured["unrestorable_files"]), (&json!(1), &json!(1)));
    nobody.call("c1", "rm -f locked; echo 2 >open");
    let receipt = nobody.turnback("restore", &["--boundary", "m1"]);
    assert_eq!(paths(&receipt["restored"]), ["open"]);
    assert_eq!(paths(&receipt["refused"]), ["locked"]);
}

#[test]
fn a_file_that_became_unreadable_in_a_call_is_incomplete_and_refused() {
    let name = "a_file_that_became_unreadable_in_a_call_is_incomplete_and_refused";
    let Some(nobody) = Nobody::new(name, &[("a", "1\\n")]) else { return };
    nobody.turnback("capture", &["--boundary", "m1"]);
    let ended = nobody.call("c1", "echo 2 >a; chmod 000 a");
    assert_eq!(ended["changes"][0]["incomplete"], json!(true));
    nobody.shell("chmod 644 a");
    assert_eq!(paths(&nobody.turnback("restore", &["--boundary", "m1"])["refused"]), ["a"]);
    assert_eq!(fs::read_to_string(nobody.path("a")).unwrap(), "2\n");
}

#[test]
fn a_folder_that_may_not_be_written_to_fails_its_paths_and_the_rest_still_runs() {
    let name = "a_folder_that_may_not_be_written_to_fails_its_paths_and_the_rest_still_runs";
    let Some(nobody) = Nobody::new(name, &[("a", "1\\n"), ("d/f", "1\\n")]) else { return };
    nobody.turnback("capture", &["--boundary", "m1"]);
    nobody.call("c1", "echo 2 >a; echo 2 >d/f");
    nobody.shell("chmod 555 d");
    let receipt = nobody.turnback("restore", &["--boundary", "m1"]);
    assert_eq!(paths(&receipt["restored"]), ["a"]);
    assert_eq!(paths(&receipt["failed"]), ["d/f"]);
    assert!(receipt["failed"][0]["reason"].as_str().unwrap().contains("ermission"), "{receipt}");
    assert_eq!(fs::read_to_string(nobody.path("d/f")).unwrap(), "2\n");
    nobody.shell("chmod 755 d");
    assert_eq!(paths(&nobody.turnback("restore", &["--boundary", "m1"])["restored"]), ["d/f"]);
}
