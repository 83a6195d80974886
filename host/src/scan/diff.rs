//! What differs between two scans.
//!
//! Invariant: a path that only came into view or left it was not created or deleted. What one scan did not see is looked
//! for among what that scan left out, and on the disk, before anything is said of it. A path whose stamps do not tell is
//! told by its content.

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

/// A path whose stat differs between the scans, or does not tell.
struct Pair {
    path: Vec<u8>,
    before: Option<Stat>,
    now: Option<Stat>,
}

fn differing(before: &Scan, now: &Scan) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (a, b) in merged(&before.listings, &now.listings, |a, b| a.path().cmp(b.path())) {
        let Some(folder) = a.or(b).map(Listing::path) else { continue };
        if a == b {
            continue;
        }
        for (a, b) in merged(entries(a), entries(b), |(a, _), (b, _)| a.cmp(b)) {
            let (before, now) = (a.map(|(_, stat)| stat), b.map(|(_, stat)| stat));
            let is_folder = |stat: Option<Stat>| stat.is_some_and(|stat| stat.kind == Kind::Directory);
            if before == now || (is_folder(before) && is_folder(now)) {
                continue;
            }
            let Some((name, _)) = a.or(b) else { continue };
            pairs.push(Pair { path: join(folder, name), before, now });
        }
    }
    let untold = before.known.iter().filter_map(|known| {
        let stat = before.stat(&known.path).filter(|stat| !before.settled.has(stat))?;
        (now.stat(&known.path) == Some(stat)).then(|| Pair {
            path: known.path.clone(),
            before: Some(stat),
            now: Some(stat),
        })
    });
    pairs.extend(untold);
    pairs
}

fn entries(listing: Option<&Listing>) -> impl Iterator<Item = (&[u8], Stat)> {
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

/// What stands now at the files and links of `now` that differ from `before`, are new, or may differ for all that their
/// stamps tell.
pub(crate) fn contents_of_changed(
    root: &Root,
    before: &Scan,
    now: &Scan,
    progress: &Progress,
) -> Vec<(Vec<u8>, FileState)> {
    let has_content = |stat: &Stat| matches!(stat.kind, Kind::File | Kind::Symlink);
    let changed = differing(before, now).into_iter().filter(|pair| pair.now.as_ref().is_some_and(has_content));
    contents_of(root, changed.map(|pair| pair.path).collect(), progress)
}

/// What stands now at the files and links that had not settled when `scan` was taken, but for those that it knows.
pub(crate) fn contents_of_young(root: &Root, scan: &Scan, progress: &Progress) -> Vec<(Vec<u8>, FileState)> {
    let unknown = scan.young.iter().filter(|path| scan.known(path).is_none());
    contents_of(root, unknown.cloned().collect(), progress)
}

fn contents_of(root: &Root, paths: Vec<Vec<u8>>, progress: &Progress) -> Vec<(Vec<u8>, FileState)> {
    let states = parallel::map(&paths, progress, || (), |(), path| content(root, path).ok());
    paths.into_iter().zip(states).filter_map(|(path, state)| Some((path, state?))).collect()
}

/// What the difference of one path amounts to; `None` when to nothing, or to what other paths say already.
fn judge(root: &Root, before: &Scan, now: &Scan, pair: &Pair) -> Option<Change> {
    let unseen_before = before.hidden_over(&pair.path).map(|why| format!("before the call: {}", why.words()));
    let hidden_now = now.hidden_over(&pair.path);
    match (pair.before, pair.now) {
        (None, None) => None,
        (None, Some(stat)) => {
            if stat.kind == Kind::Directory && hidden_now.is_none() && !now.is_empty(&pair.path) {
                return None;
            }
            let why = unseen_before.or(hidden_now.map(Why::words));
            Some(change(before, pair, ChangeKind::Created, look(root, pair, &stat), why))
        }
        (Some(prior), Some(stat)) => {
            let why = unseen_before.or(hidden_now.map(Why::words));
            let after = look(root, pair, &stat);
            let is_the_same = prior == stat && after.as_ref().ok() == before.known(&pair.path).as_ref();
            (!is_the_same).then(|| change(before, pair, ChangeKind::Modified, after, why))
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
            if prior.kind == Kind::Directory && unseen.is_none() && !before.is_empty(&pair.path) {
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
        Kind::Directory => Ok(FileState::Directory),
        Kind::Special => Ok(FileState::Other),
        Kind::File | Kind::Symlink => content(root, &pair.path),
    }
}

/// What stands at the path, which is something.
fn content(root: &Root, path: &[u8]) -> Result<FileState, String> {
    let path = WorkPath::new(path).map_err(|invalid| invalid.to_string())?;
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
