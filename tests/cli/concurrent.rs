//! Many processes in one session, and processes that die in the middle.

use std::{
    fs,
    path::Path,
    process::{Child, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use turnback_tests::Scratch;

use super::program::{Ran, command, each, json, run, wait_for, wait_until};

const PROCESSES: usize = 8;
const ROUNDS: usize = 5;
const PLAN: &[&str] = &["plan", "--session", "s", "--boundary", "b"];

/// Starts one process for each number, all before any is waited for; each must succeed.
fn together(scratch: &Scratch, arguments: impl Fn(usize) -> Vec<String>) -> Vec<Value> {
    let children: Vec<Child> = (0..PROCESSES)
        .map(|number| {
            command(&scratch.root(), &[vec!["--json".to_owned()], arguments(number)].concat())
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let answers = children.into_iter().map(|child| {
        let ran = Ran::of(&child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
        ran.json()
    });
    answers.collect()
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(ToOwned::to_owned).collect()
}

/// How many records the journal of a session has; it must end where a record does.
fn records(state: &Path) -> usize {
    let bytes = fs::read(state.join("journal")).unwrap();
    let mut rest = bytes.strip_prefix(b"turnback journal 1\n").unwrap();
    let mut number = 0;
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[..4].try_into().unwrap());
        assert_eq!(!length, u32::from_le_bytes(rest[4..8].try_into().unwrap()), "record {number}");
        rest = &rest[24 + length as usize..];
        number += 1;
    }
    number
}

#[test]
fn eight_processes_that_make_a_session_at_once_all_succeed_and_lose_nothing() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    // Who makes the session and who comes right after is a matter of microseconds: try it often.
    for round in 0..25 {
        scratch.write("note", format!("round {round}\n"));
        let answers = together(&scratch, |number| words(&format!("capture --session s{round} --boundary b{number}")));
        assert!(answers.iter().all(|answer| answer["stored_files"] == 1), "{answers:?}");
        let state = scratch.state().with_file_name(format!("s{round}"));
        assert_eq!(records(&state), PROCESSES, "round {round}: each capture that was acknowledged is recorded");
        assert_eq!(fs::read_dir(state.join("boundaries")).unwrap().count(), PROCESSES, "round {round}");
    }
}

#[test]
fn eight_processes_that_capture_at_once_all_succeed_and_lose_nothing() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    json(&scratch.root(), &["capture", "--session", "s", "--boundary", "first"]);
    for round in 0..ROUNDS {
        // Bytes of its own in each round, so that the store is written to by all of them.
        scratch.write("note", format!("round {round}\n"));
        let answers = together(&scratch, |number| words(&format!("capture --session s --boundary b{round}-{number}")));
        assert!(answers.iter().all(|answer| answer["stored_files"] == 1), "{answers:?}");
    }
    assert_eq!(records(&scratch.state()), 1 + PROCESSES * ROUNDS);
    assert_eq!(fs::read_dir(scratch.state().join("boundaries")).unwrap().count(), 1 + PROCESSES * ROUNDS);
    for round in 0..ROUNDS {
        for number in 0..PROCESSES {
            json(&scratch.root(), &["plan", "--session", "s", "--boundary", &format!("b{round}-{number}")]);
        }
    }
}

#[test]
fn eight_processes_that_bracket_calls_at_once_all_succeed_and_the_journal_is_whole() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    json(&scratch.root(), &["capture", "--session", "s", "--boundary", "b"]);
    for round in 0..ROUNDS {
        together(&scratch, |number| words(&format!("call-begin --session s --call c{round}-{number}")));
        for number in 0..PROCESSES {
            scratch.write(&format!("made/{round}/{number}"), "x");
        }
        together(&scratch, |number| words(&format!("call-end --session s --call c{round}-{number}")));
    }
    assert_eq!(records(&scratch.state()), 1 + 2 * PROCESSES * ROUNDS);
    assert_eq!(
        fs::read_dir(scratch.state().join("scans")).unwrap().map(|scan| scan.unwrap().file_name()).collect::<Vec<_>>(),
        ["last"],
        "scans of ended calls are released"
    );
    let plan = json(&scratch.root(), PLAN);
    let files = each(&plan["entries"], "path").iter().filter(|path| path.split('/').count() == 3).count();
    assert_eq!(files, PROCESSES * ROUNDS);
    let receipt = json(&scratch.root(), &["restore", "--session", "s", "--boundary", "b"]);
    assert_eq!(receipt["refused"], json!([]));
    assert_eq!(scratch.tree().len(), 1, "only what was there at the boundary: {:?}", scratch.tree());
}

#[test]
fn eight_runs_at_once_all_succeed_and_each_change_is_attributed() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    json(&scratch.root(), &["capture", "--session", "s", "--boundary", "b"]);
    let answers = together(&scratch, |number| {
        let script = format!("echo {number} > made-{number}");
        [words("run --session s -- sh -c"), vec![script]].concat()
    });
    let mut calls: Vec<&str> = answers.iter().map(|answer| answer["call_id"].as_str().unwrap()).collect();
    calls.sort_unstable();
    calls.dedup();
    assert_eq!(calls.len(), PROCESSES, "no two runs made up the same id");
    let plan = json(&scratch.root(), PLAN);
    let expected: Vec<String> = (0..PROCESSES).map(|number| format!("made-{number}")).collect();
    assert_eq!(each(&plan["entries"], "path"), expected);
    assert!(each(&plan["entries"], "action").iter().all(|action| *action == "delete"), "{plan}");
}

#[test]
fn sessions_do_not_see_each_other() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    together(&scratch, |number| words(&format!("capture --session s{number} --boundary b")));
    together(&scratch, |number| words(&format!("call-begin --session s{number} --call c")));
    scratch.write("a", "2\n");
    together(&scratch, |number| words(&format!("call-end --session s{number} --call c")));
    json(&scratch.root(), &["restore", "--session", "s0", "--boundary", "b"]);
    assert_eq!(scratch.read("a"), "1\n");
    for number in 1..PROCESSES {
        let session = format!("s{number}");
        let plan = json(&scratch.root(), &["plan", "--session", &session, "--boundary", "b"]);
        assert_eq!(each(&plan["entries"], "action"), ["skip"], "it already is as at the boundary");
        assert_eq!(json(&scratch.root(), &["drop", "--session", &session])["dropped"], true);
    }
}

#[test]
fn a_drop_among_captures_leaves_a_session_that_is_whole_or_gone() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    for round in 0..ROUNDS {
        together(&scratch, |number| match number {
            0 => words("drop --session s"),
            _ => words(&format!("capture --session s --boundary b{round}-{number}")),
        });
        if scratch.state().exists() {
            assert!(records(&scratch.state()) > 0);
            json(&scratch.root(), &["drop", "--session", "s"]);
        }
        let left = fs::read_dir(scratch.path(".harn/state/checkpoints")).unwrap();
        let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, [".gitignore"], "round {round}");
    }
}

#[test]
fn a_run_that_was_killed_leaves_its_call_in_flight_and_close_open_ends_it() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    json(&scratch.root(), &["capture", "--session", "s", "--boundary", "b"]);
    let pid_file = scratch.outside().join("pid");
    let script = format!("echo 2 > a; echo $$ > {0}.part; mv {0}.part {0}; exec sleep 60", pid_file.display());
    let mut child = command(&scratch.root(), &["run", "--session", "s", "--call", "killed", "--", "sh", "-c", &script])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(&pid_file);
    child.kill().unwrap();
    child.wait().unwrap();
    // The command lives on, as nothing can end it for us; end it here.
    let pid: i32 = fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();

    for arguments in
        [PLAN, &["capture", "--session", "s", "--boundary", "next"], &["restore", "--session", "s", "--boundary", "b"]]
    {
        let (reason, detail) = run(&scratch.root(), &[&["--json"], arguments].concat()).unavailable();
        assert_eq!(reason, "calls_in_flight");
        assert!(detail.contains("killed"), "{detail}");
    }
    // Another call is not held up by it.
    json(&scratch.root(), &["call-begin", "--session", "s", "--call", "other"]);
    json(&scratch.root(), &["call-end", "--session", "s", "--call", "other"]);
    let receipt = json(&scratch.root(), &["restore", "--session", "s", "--boundary", "b", "--close-open"]);
    assert_eq!(receipt["closed_calls"], json!(["killed"]));
    assert_eq!(each(&receipt["restored"], "path"), ["a"]);
    assert_eq!(scratch.read("a"), "1\n");
}

#[test]
fn a_process_that_was_killed_at_any_moment_leaves_a_session_that_goes_on() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    for number in 0..300 {
        scratch.write(&format!("many/{number}"), format!("{number}\n"));
    }
    json(&scratch.root(), &["capture", "--session", "s", "--boundary", "b"]);
    for round in 0..40_u64 {
        scratch.write("note", format!("round {round}\n"));
        let boundary = format!("b{round}");
        let mut child = command(&scratch.root(), &["capture", "--session", "s", "--boundary", &boundary])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_micros(round * 300));
        let _ended_already = child.kill();
        child.wait().unwrap();
    }
    wait_until("the session to answer", || run(&scratch.root(), PLAN).code == 0);
    let captured = json(&scratch.root(), &["capture", "--session", "s", "--boundary", "last"]);
    assert_eq!(captured["stored_files"], 301);
    json(&scratch.root(), &["call-begin", "--session", "s", "--call", "c"]);
    scratch.write("note", "of the agent\n");
    json(&scratch.root(), &["call-end", "--session", "s", "--call", "c"]);
    json(&scratch.root(), &["restore", "--session", "s", "--boundary", "last"]);
    assert_eq!(scratch.read("note"), "round 39\n");
}
