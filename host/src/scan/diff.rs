//! What differs between two scans.
//!
//! Invariant: a path that only came into view or left it was not created or deleted. What one scan did not see is looked
//! for among what that scan left out, and on the disk, before anything is said of it.

use std::{cmp::Ordering, os::fd::AsFd};

use super::{Kind, Listing, Scan, Stat, Why, observe};
use crate::{
    anchor::{self, Root, Way},
    model::{Change, ChangeKind, Difference, FileState, Observation, Prior},
    parallel,
    path::{WorkPath, join},
    progress::Progress,
};

/// What differs between `before` and `now`, with the contents as they are now.
pub(crate) fn difference(root: &Root, before: &Scan, now: &Scan, progress: &Progress) -> Difference {
    let pairs = differing(before, now);
    let folders = |stat: fn(&Pair) -> Option<Stat>| {
        let is_folder = |pair: &&Pair| stat(pair).is_some_and(|stat| stat.kind == Kind::Directory);
        let mut folders: Vec<Vec<u8>> = pairs.iter().filter(is_folder).map(|pair| pair.path.clone()).collect();
        folders.sort_unstable();
        folders
    };
    let mut made_directories = folders(|pair| pair.now);
    made_directories.retain(|path| before.hidden_over(path).is_none());
    let mut removed_directories = folders(|pair| pair.before);
    removed_directories.retain(|path| now.hidden_over(path).is_none());
    let judged = parallel::map(&pairs, progress, || (), |(), pair| judge(root, before, now, pair));
    let mut changes: Vec<Change> = judged.into_iter().flatten().collect();
    changes.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Difference { changes, made_directories, removed_directories }
}

/// A path whose stat differs between the scans.
struct Pair {
    path: Vec<u8>,
    before: Option<Stat>,
    now: Option<Stat>,
}

fn differing(before: &Scan, now: &Scan) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (a, b) in merged(&before.listings, &now.listings, |a, b| a.path.cmp(&b.path)) {
        let Some(folder) = a.or(b).map(|listing| &listing.path) else { continue };
        for (a, b) in merged(entries(a), entries(b), |(a, _), (b, _)| a.cmp(b)) {
            let (before, now) = (a.map(|(_, stat)| *stat), b.map(|(_, stat)| *stat));
            let is_folder = |stat: Option<Stat>| stat.is_some_and(|stat| stat.kind == Kind::Directory);
            if before == now || (is_folder(before) && is_folder(now)) {
                continue;
            }
            let Some((name, _)) = a.or(b) else { continue };
            pairs.push(Pair { path: join(folder, name), before, now });
        }
    }
    pairs
}

fn entries(listing: Option<&Listing>) -> impl Iterator<Item = (&[u8], &Stat)> {
    listing.into_iter().flat_map(Listing::entries)
}

/// The elements of two sorted lists, those that are equal by `compare` together.
fn merged<T>(
    a: impl IntoIterator<Item = T>,
    b: impl IntoIterator<Item = T>,
    compare: impl Fn(&T, &T) -> Ordering,
) -> impl Iterator<Item = (Option<T>, Option<T>)> {
    let (mut a, mut b) = (a.into_iter().peekable(), b.into_iter().peekable());
    std::iter::from_fn(move || {
        let order = match (a.peek(), b.peek()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(x), Some(y)) => compare(x, y),
        };
        match order {
            Ordering::Less => Some((a.next(), None)),
            Ordering::Greater => Some((None, b.next())),
            Ordering::Equal => Some((a.next(), b.next())),
        }
    })
}

/// What stands now at the files and links of `now` that differ from `before`, or are new.
pub(crate) fn contents_of_changed(
    root: &Root,
    before: &Scan,
    now: &Scan,
    progress: &Progress,
) -> Vec<(Vec<u8>, FileState)> {
    let pairs = differing(before, now);
    let known = parallel::map(
        &pairs,
        progress,
        || (),
        |(), pair| {
            let stat = pair.now.filter(|stat| matches!(stat.kind, Kind::File | Kind::Symlink))?;
            Some((pair.path.clone(), look(root, pair, &stat).ok()?))
        },
    );
    known.into_iter().flatten().collect()
}

/// What the difference of one path amounts to; `None` when to nothing, or to what other paths say already.
fn judge(root: &Root, before: &Scan, now: &Scan, pair: &Pair) -> Option<Change> {
    let unseen_before = before.hidden_over(&pair.path).map(|hidden| format!("before the call: {}", hidden.why.words()));
    let hidden_now = now.hidden_over(&pair.path).map(|hidden| &hidden.why);
    match (pair.before, pair.now) {
        (None, None) => None,
        (None, Some(stat)) => {
            if stat.kind == Kind::Directory && hidden_now.is_none() && !is_empty(now, &pair.path) {
                return None;
            }
            let why = unseen_before.or(hidden_now.map(Why::words));
            Some(change(before, pair, ChangeKind::Created, look(root, pair, &stat), why))
        }
        (Some(_), Some(stat)) => {
            let why = unseen_before.or(hidden_now.map(Why::words));
            Some(change(before, pair, ChangeKind::Modified, look(root, pair, &stat), why))
        }
        (Some(prior), None) => match hidden_now {
            Some(why @ Why::Unreadable(_)) => {
                Some(change(before, pair, ChangeKind::Modified, Ok(FileState::Other), Some(why.words())))
            }
            Some(why @ Why::Vanished) => {
                Some(change(before, pair, ChangeKind::Deleted, Ok(FileState::Absent), Some(why.words())))
            }
            Some(Why::Ignored | Why::Repository) | None => gone(root, before, pair, prior, unseen_before),
        },
    }
}

/// A path that the later scan does not list, and does not say why it would not: deleted, or out of scope.
fn gone(root: &Root, before: &Scan, pair: &Pair, prior: Stat, unseen: Option<String>) -> Option<Change> {
    match on_disk(root, &pair.path) {
        Ok(None) => {
            if prior.kind == Kind::Directory && unseen.is_none() && !is_empty(before, &pair.path) {
                return None;
            }
            Some(change(before, pair, ChangeKind::Deleted, Ok(FileState::Absent), unseen))
        }
        Ok(Some(stat)) if stat == prior || (stat.kind == Kind::Directory && prior.kind == Kind::Directory) => None,
        Ok(Some(stat)) => Some(change(before, pair, ChangeKind::Modified, look(root, pair, &stat), unseen)),
        Err(why) => Some(change(before, pair, ChangeKind::Modified, Ok(FileState::Other), Some(why))),
    }
}

fn change(
    before: &Scan,
    pair: &Pair,
    kind: ChangeKind,
    after: Result<FileState, String>,
    incomplete: Option<String>,
) -> Change {
    let (after, incomplete) = match after {
        Ok(after) => (after, incomplete),
        Err(why) => (FileState::Other, Some(incomplete.unwrap_or(why))),
    };
    let before = pair.before.map(|stat| Prior {
        size: if stat.kind == Kind::File { stat.size } else { 0 },
        permissions: (stat.kind == Kind::File).then(|| stat.nine_bits()),
        state: before.known(&pair.path),
    });
    Change { path: pair.path.clone(), kind, before, after, incomplete }
}

/// What stands at the path, which the later scan saw as `stat`.
fn look(root: &Root, pair: &Pair, stat: &Stat) -> Result<FileState, String> {
    match stat.kind {
        Kind::Directory => return Ok(FileState::Directory),
        Kind::Special => return Ok(FileState::Other),
        Kind::File | Kind::Symlink => {}
    }
    let path = WorkPath::new(pair.path.clone()).map_err(|invalid| invalid.to_string())?;
    match observe(root, &path) {
        Ok(Observation::Blocked(_) | Observation::Seen(FileState::Absent)) => Err(Why::Vanished.words()),
        Ok(Observation::Seen(state)) => Ok(state),
        Ok(Observation::Unreadable(why)) => Err(why),
        Err(failure) => Err(failure.to_string()),
    }
}

fn on_disk(root: &Root, path: &[u8]) -> Result<Option<Stat>, String> {
    let path = WorkPath::new(path).map_err(|invalid| invalid.to_string())?;
    let stat = match root.parent(&path) {
        Ok(Way::Missing | Way::Blocked(_)) => Ok(None),
        Ok(Way::Open(folder, name)) => anchor::stat(folder.as_fd(), name),
        Err(errno) => Err(errno),
    };
    stat.map(|stat| stat.as_ref().map(Stat::from)).map_err(|errno| format!("could not be looked at ({errno})"))
}

/// Whether the scan saw nothing at all in the folder.
fn is_empty(scan: &Scan, path: &[u8]) -> bool {
    let below = [path, b"/"].concat();
    let first = scan.hidden.partition_point(|hidden| hidden.path.as_slice() < below.as_slice());
    scan.listing(path).is_none_or(Listing::is_empty)
        && scan.hidden.get(first).is_none_or(|hidden| !hidden.path.starts_with(&below))
}
