//! `turnback run`: a command as a bracketed call, that is otherwise as if it had been started alone.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Child, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use turnback_tests::Scratch;

use super::program::{Ran, command, each, everything, heeding_signals, json, run, wait_for};

const PLAN: &[&str] = &["plan", "--session", "s", "--boundary", "b"];

/// A session with a boundary.
fn captured() -> Scratch {
    let scratch = Scratch::with(&[("a", "1\n")]);
    json(&scratch.root(), &["capture", "--session", "s", "--boundary", "b"]);
    scratch
}

fn sh(scratch: &Scratch, script: &str) -> Ran {
    run(&scratch.root(), &["run", "--session", "s", "--", "sh", "-c", script])
}

/// Starts a script as a call, apart from any terminal.
fn start(scratch: &Scratch, script: &str) -> Child {
    heeding_signals(turnback_tests::program())
        .current_dir(scratch.root())
        .args(["run", "--session", "s", "--call", "c", "--", "sh", "-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// A plan lists what was changed, so the call has ended.
#[track_caller]
fn planned(scratch: &Scratch, paths: &[&str]) {
    assert_eq!(each(&json(&scratch.root(), PLAN)["entries"], "path"), paths);
}

#[test]
fn the_exit_status_is_the_commands() {
    let scratch = captured();
    for status in [0, 1, 2, 3, 4, 77, 255] {
        assert_eq!(sh(&scratch, &format!("exit {status}")).code, status);
    }
}

#[test]
fn a_missing_command_is_127_and_one_that_cannot_be_executed_126_and_the_call_has_ended() {
    let scratch = captured();
    scratch.write("plain", "no program\n");
    for (program, status) in [("./nowhere", 127), ("no-such-program-anywhere", 127), ("./plain", 126), ("/", 126)] {
        let ran = run(&scratch.root(), &["run", "--session", "s", "--", program]);
        assert_eq!(ran.code, status, "{program}: {ran:?}");
        assert!(ran.err.contains(program), "{program}: {}", ran.err);
        assert_eq!(ran.out, "");
    }
    planned(&scratch, &[]);
}

#[test]
fn a_command_that_a_signal_ended_gives_128_and_the_signal() {
    let scratch = captured();
    for (name, number) in [("KILL", 9), ("TERM", 15), ("SEGV", 11)] {
        let ran = sh(&scratch, &format!("echo {name} > a; kill -{name} $$"));
        assert_eq!(ran.code, 128 + number, "{ran:?}");
        planned(&scratch, &["a"]);
    }
}

#[test]
fn standard_streams_are_the_commands_own() {
    let scratch = captured();
    let mut child =
        command(&scratch.root(), &["run", "--session", "s", "--", "sh", "-c", "cat; echo to-standard-error >&2"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
    // More than a pipe holds, and no text.
    let input: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let mut pipe = child.stdin.take().unwrap();
    let written = input.clone();
    let writer = std::thread::spawn(move || pipe.write_all(&written).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout == input, "standard output is the command's alone, byte for byte");
    let messages = String::from_utf8(output.stderr).unwrap();
    assert!(messages.starts_with("to-standard-error\n"), "{messages}");
}

#[test]
fn what_the_call_changed_is_told_on_standard_error_after_the_commands_own_output() {
    let scratch = captured();
    let ran = sh(&scratch, "echo mine; echo 2 > a; touch new");
    assert_eq!((ran.code, ran.out.as_str()), (0, "mine\n"));
    assert!(ran.err.contains("modified") && ran.err.contains("created") && ran.err.contains("new"), "{}", ran.err);
    assert!(!ran.err.contains('\u{1b}'), "{:?}", ran.err);
}

#[test]
fn with_json_the_receipt_is_the_last_line_of_standard_output() {
    let scratch = captured();
    let arguments = ["--json", "run", "--session", "s", "--call", "c", "--", "sh", "-c", "echo mine; echo 2 > a"];
    let ran = run(&scratch.root(), &arguments);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let (mine, receipt) = ran.out.split_once('\n').unwrap();
    assert_eq!(mine, "mine");
    let receipt: serde_json::Value = serde_json::from_str(receipt).unwrap();
    assert_eq!((&receipt["available"], &receipt["call_id"]), (&json!(true), &json!("c")));
    assert_eq!(each(&receipt["changes"], "path"), ["a"]);
}

#[test]
fn the_command_runs_in_the_current_folder_with_its_arguments_as_they_are() {
    let scratch = captured();
    let root = scratch.root();
    let outside = scratch.outside().canonicalize().unwrap();
    let arguments =
        ["--root", root.to_str().unwrap(), "run", "--session", "s", "--", "sh", "-c", "pwd; printf '%s|' \"$@\"", "sh"];
    let own = ["--json", "a  b", "", "--", "*", "$HOME"];
    let ran = run(&outside, &[&arguments[..], &own].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.out, format!("{}\n--json|a  b||--|*|$HOME|", outside.display()));
}

#[test]
fn a_call_id_that_is_given_is_used_and_one_is_made_up_otherwise() {
    let scratch = captured();
    let given = ["run", "--session", "s", "--call", "mine", "--side-effect", "network", "--", "true"];
    assert_eq!(run(&scratch.root(), &given).code, 0);
    for _ in 0..2 {
        let made_up = ["run", "--session", "s", "--side-effect", "desktop_control", "--", "true"];
        assert_eq!(run(&scratch.root(), &made_up).code, 0);
    }
    let plan = json(&scratch.root(), PLAN);
    let calls = each(&plan["irreversible"], "call_id");
    assert_eq!(calls.len(), 3);
    assert_eq!(calls[0], "mine");
    assert_ne!(calls[1], calls[2], "made-up ids are unique");
    assert_eq!(each(&plan["irreversible"], "side_effect"), ["network", "desktop_control", "desktop_control"]);
}

#[test]
fn the_command_does_not_run_when_the_call_cannot_begin() {
    let outside = tempfile::tempdir().unwrap();
    let marker = outside.path().join("ran");
    let touch = ["--", "touch", marker.to_str().unwrap()];
    let no_git = outside.path().join("plain");
    fs::create_dir(&no_git).unwrap();
    let ran = run(&no_git, &[&["--json", "run", "--session", "s"][..], &touch].concat());
    assert_eq!(ran.unavailable().0, "not_a_git_worktree");

    let scratch = captured();
    assert_eq!(run(&scratch.root(), &["run", "--session", "s", "--call", "used", "--", "true"]).code, 0);
    let before = everything(&scratch.root());
    for (options, status) in [
        (&["--session", "unknown"][..], 3),
        (&["--session", "s", "--call", "used"], 3),
        (&["--session", "s", "--call", "a/b"], 2),
        (&["--session", "s", "--side-effect", "evil"], 2),
        (&["--session", "s", "--guest", "/nowhere"], 1),
        (&["--session", "s", "--root", "/nowhere"], 1),
    ] {
        let ran = run(&scratch.root(), &[&["run"], options, &touch].concat());
        assert_eq!((ran.code, ran.out.as_str()), (status, ""), "{options:?}: {ran:?}");
        assert_ne!(ran.err, "", "{options:?}");
        assert!(!marker.exists(), "{options:?}");
    }
    assert_eq!(everything(&scratch.root()), before);
}

#[test]
fn a_call_that_cannot_be_ended_fails_even_though_the_command_succeeded() {
    let scratch = captured();
    let ran = sh(&scratch, "rm .harn/state/checkpoints/s/scans/*");
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.contains("the command ran") && ran.err.contains("state_damaged"), "{}", ran.err);
    // The command's own failure says more than ours, which is still told.
    json(&scratch.root(), &["drop", "--session", "s"]);
    json(&scratch.root(), &["capture", "--session", "s", "--boundary", "b"]);
    let ran = sh(&scratch, "rm .harn/state/checkpoints/s/scans/*; exit 9");
    assert_eq!(ran.code, 9, "{ran:?}");
    assert!(ran.err.contains("state_damaged"), "{}", ran.err);
}

#[test]
fn an_interrupt_goes_to_the_command_and_the_call_ends_with_what_was_changed_so_far() {
    for (name, number) in [(Signal::INT, 2), (Signal::TERM, 15), (Signal::HUP, 1), (Signal::QUIT, 3)] {
        let scratch = captured();
        let ready = scratch.outside().join("ready");
        let child = start(&scratch, &format!("echo 2 > a; touch {}; exec sleep 60", ready.display()));
        wait_for(&ready);
        signal(&child, name);
        let ran = Ran::of(&child.wait_with_output().unwrap());
        assert_eq!(ran.code, 128 + number, "{name:?}: {ran:?}");
        planned(&scratch, &["a"]);
    }
}

#[test]
fn an_interrupt_right_after_the_call_began_ends_it_too() {
    let scratch = captured();
    let journal = scratch.state().join("journal");
    let length = || fs::metadata(&journal).unwrap().len();
    // The moment between the beginning and the command is short: try it often.
    for attempt in 0..60 {
        let before = length();
        let call = format!("c{attempt}");
        let mut child = heeding_signals(turnback_tests::program())
            .current_dir(scratch.root())
            .args(["run", "--session", "s", "--call", &call, "--", "sleep", "60"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while length() == before {
            assert_eq!(child.try_wait().unwrap(), None, "it should begin");
        }
        signal(&child, Signal::TERM);
        let status = child.wait().unwrap();
        let ran = run(&scratch.root(), &[&["--json"], PLAN].concat());
        assert_eq!(ran.code, 0, "attempt {attempt}, which ended with {status}: {}", ran.out);
    }
}

#[test]
fn a_command_that_takes_its_time_to_stop_is_waited_for() {
    let scratch = captured();
    let ready = scratch.outside().join("ready");
    let script = format!(
        "trap 'echo late > late; exit 5' INT TERM; echo 2 > a; touch {}; while :; do sleep 0.05; done",
        ready.display()
    );
    let child = start(&scratch, &script);
    wait_for(&ready);
    signal(&child, Signal::TERM);
    let ran = Ran::of(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, 5, "{ran:?}");
    planned(&scratch, &["a", "late"]);
}

#[test]
fn what_a_command_leaves_running_does_not_hold_the_call_open() {
    let scratch = captured();
    let ran = sh(&scratch, "sleep 60 >/dev/null 2>&1 </dev/null & echo $! > ../pid; echo 2 > a");
    assert_eq!(ran.code, 0, "{ran:?}");
    planned(&scratch, &["a"]);
    let pid: i32 = read(&scratch.outside().join("pid")).trim().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn signals_are_handled_in_the_command_as_if_it_had_been_started_alone() {
    let scratch = captured();
    // Blocked, ignored and caught signals, as the kernel tells them of the command itself.
    let signals = |out: &str| -> Vec<String> {
        out.lines().filter(|line| line.starts_with("Sig") && !line.starts_with("SigQ")).map(ToOwned::to_owned).collect()
    };
    let ran = run(&scratch.root(), &["run", "--session", "s", "--", "cat", "/proc/self/status"]);
    let alone = std::process::Command::new("cat").arg("/proc/self/status").output().unwrap();
    assert_eq!(signals(&ran.out), signals(&String::from_utf8(alone.stdout).unwrap()));
    assert_eq!(signals(&ran.out).len(), 4, "{}", ran.out);
}

#[test]
fn a_signal_that_was_ignored_from_the_start_is_ignored_by_the_command_too() {
    let scratch = captured();
    let program = turnback_tests::program();
    for ignored in ["HUP", "INT", "QUIT", "TERM"] {
        let script =
            format!("trap '' {ignored}; exec {} run --session s -- grep SigIgn /proc/self/status", program.display());
        let ignoring = |script: &str| {
            let output = heeding_signals("sh").args(["-c", script]).current_dir(scratch.root()).output();
            String::from_utf8(output.unwrap().stdout).unwrap()
        };
        let alone = format!("trap '' {ignored}; exec grep SigIgn /proc/self/status");
        assert_eq!(ignoring(&script), ignoring(&alone), "{ignored}");
        assert_ne!(ignoring(&script), ignoring("exec grep SigIgn /proc/self/status"), "{ignored}");
    }
}

#[test]
fn a_run_inside_a_run_is_two_calls() {
    let scratch = captured();
    let program = turnback_tests::program();
    let inner = format!("{} run --session s --call inner -- sh -c 'echo 2 > a'; echo 2 > b", program.display());
    let ran = run(&scratch.root(), &["run", "--session", "s", "--call", "outer", "--", "sh", "-c", &inner]);
    assert_eq!(ran.code, 0, "{ran:?}");
    planned(&scratch, &["a", "b"]);
    assert_eq!(json(&scratch.root(), &["restore", "--session", "s", "--boundary", "b"])["refused"], json!([]));
    assert_eq!((scratch.read("a"), scratch.exists("b")), ("1\n".to_owned(), false));
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}
