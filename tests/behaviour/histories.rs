//! Histories of a session that nobody disturbs: whatever its calls did, each boundary gives the tree back.
//!
//! The histories are drawn from fixed seeds, so that a failure names one that can be run again.

use std::{fs, path::Path};

use turnback_tests::{Draw, Scratch};

/// Few names, some below others, so that kinds follow each other at one path.
const PATHS: [&str; 9] = ["a", "a/b", "a/b/c", "d", "d/e", "d-e", "d.e", "f", "g/h/i/j"];

fn draw_path(draw: &mut Draw) -> &'static str {
    draw.one_of(&PATHS)
}

fn clear(path: &Path) {
    match path.symlink_metadata() {
        Ok(stat) if stat.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Makes room for something at the path: folders above it, nothing at it.
fn make_room(scratch: &Scratch, path: &str) {
    for (at, _) in path.match_indices('/') {
        let above = scratch.path(&path[..at]);
        if !above.symlink_metadata().is_ok_and(|stat| stat.is_dir()) {
            clear(&above);
        }
    }
    clear(&scratch.path(path));
    fs::create_dir_all(scratch.path(path).parent().unwrap()).unwrap();
}

/// One thing that a tool may do to a workspace.
fn act(scratch: &Scratch, draw: &mut Draw, number: usize) {
    let path = draw_path(draw);
    let at = scratch.path(path);
    let is_file = at.symlink_metadata().is_ok_and(|stat| stat.is_file());
    match draw.below(9) {
        0 | 1 => {
            make_room(scratch, path);
            scratch.write(path, format!("{number}\n"));
        }
        2 if is_file => scratch.write(path, format!("{number}, in place\n")),
        3 if is_file => scratch.chmod(path, if scratch.mode(path) & 0o100 == 0 { 0o755 } else { 0o644 }),
        4 => {
            make_room(scratch, path);
            scratch.link(["a", "nowhere", "d/e"][draw.below(3)], path);
        }
        5 => {
            make_room(scratch, path);
            fs::create_dir(&at).unwrap();
        }
        6 => {
            let to = draw_path(draw);
            if at.symlink_metadata().is_ok() && !to.starts_with(path) && !path.starts_with(to) {
                make_room(scratch, to);
                if at.symlink_metadata().is_ok() {
                    fs::rename(&at, scratch.path(to)).unwrap();
                }
            }
        }
        7 if draw.below(3) == 0 => {
            scratch.git(&["add", "-A"]);
        }
        8 if draw.below(3) == 0 => scratch.commit(),
        _ if at.parent().is_some_and(|above| above.symlink_metadata().is_ok_and(|stat| stat.is_dir())) => clear(&at),
        _ => {}
    }
}

/// Lives a history and goes back through it; what went wrong, when something did.
fn live(seed: u64) -> Result<(), String> {
    let mut draw = Draw(seed);
    let mut scratch = Scratch::with(&[("a", "1\n"), ("d/e", "1\n"), ("d.e", "1\n"), ("g/h/i/j", "1\n")]);
    for number in 0..draw.below(6) {
        act(&scratch, &mut draw, number);
    }
    let (mut boundaries, mut calls) = (Vec::new(), 0);
    for turn in 0..3 {
        let name = format!("m{turn}");
        scratch.capture(&name);
        boundaries.push((name, scratch.tree()));
        for _ in 0..1 + draw.below(3) {
            calls += 1;
            scratch.call(&format!("c{calls}"), || {
                for number in 0..1 + draw.below(4) {
                    act(&scratch, &mut draw, 100 * calls + number);
                }
            });
        }
        if draw.below(2) == 0 {
            scratch.reopen();
        }
    }
    // To some boundary first, then to the one before it, then to the first.
    let mut back: Vec<usize> = vec![draw.below(3)];
    back.extend((0..back[0]).rev());
    for at in back {
        let (name, expected) = &boundaries[at];
        let receipt = scratch.restore(name);
        if receipt.is_partial() {
            return Err(format!("seed {seed}, {name}: refused {:?}, failed {:?}", receipt.refused, receipt.failed));
        }
        let found = scratch.tree();
        if &found != expected {
            return Err(format!("seed {seed}, {name}: {found:?} instead of {expected:?}"));
        }
    }
    Ok(())
}

#[test]
fn whatever_a_session_did_alone_each_boundary_gives_the_tree_back() {
    let failed: Vec<String> = (0..60).filter_map(|seed| live(seed).err()).collect();
    assert!(failed.is_empty(), "{} of 60: {failed:#?}", failed.len());
}

/// After these calls of one turn and a restore, the tree is as it was and nothing was left undone.
fn undone(scratch: &Scratch, calls: &[&dyn Fn()]) {
    let before = scratch.tree();
    scratch.capture("m1");
    for (number, work) in calls.iter().enumerate() {
        scratch.call(&format!("c{number}"), work);
    }
    let receipt = scratch.restore("m1");
    assert!(!receipt.is_partial(), "refused {:?}, failed {:?}", receipt.refused, receipt.failed);
    assert_eq!(scratch.tree(), before);
}

#[test]
fn a_file_that_one_call_replaced_with_a_folder_and_the_next_removed_is_a_file_again() {
    let scratch = Scratch::with(&[("x", "1\n")]);
    let replaces = || {
        scratch.remove("x");
        scratch.write("x/inside", "2\n");
    };
    undone(&scratch, &[&replaces, &|| clear(&scratch.path("x"))]);
}

#[test]
fn a_file_that_one_call_removed_and_the_next_replaced_with_a_folder_is_a_file_again() {
    let scratch = Scratch::with(&[("x", "1\n")]);
    undone(&scratch, &[&|| scratch.remove("x"), &|| scratch.write("x/inside", "2\n")]);
}

#[test]
fn a_folder_that_one_call_made_and_the_next_replaced_with_a_file_is_gone_again() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let replaces = || {
        clear(&scratch.path("made"));
        scratch.write("made", "a file now\n");
    };
    undone(&scratch, &[&|| scratch.write("made/inside", "2\n"), &replaces]);
}

#[test]
fn a_folder_that_one_call_made_and_the_next_filled_is_gone_again() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    let makes = || fs::create_dir(scratch.path("made")).unwrap();
    undone(&scratch, &[&makes, &|| scratch.write("made/deeper/inside", "2\n")]);
}

#[test]
fn a_folder_that_one_call_made_and_the_next_emptied_is_gone_again() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    undone(&scratch, &[&|| scratch.write("made/f", "2\n"), &|| scratch.remove("made/f")]);
}

#[test]
fn an_empty_folder_that_one_call_removed_and_the_next_made_again_is_still_there() {
    let scratch = Scratch::with(&[("a", "1\n")]);
    fs::create_dir(scratch.path("empty")).unwrap();
    undone(&scratch, &[&|| clear(&scratch.path("empty")), &|| scratch.write("empty/inside", "2\n")]);
}
