//! Looking at one folder.
//!
//! Invariant: the names of an earlier look are taken again only where nothing can have changed them or how they were
//! judged: the folder's own stamps are what they were and had settled by then, the rules are the same, and git tracks the
//! same of these names. Each entry's stat is asked for in any case.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
};

use rustix::{
    fs::{AtFlags, fstat, statat},
    io::Errno,
};

use super::{
    Base, Hidden, Kind, Listing, Settled, Stat, Walk, Why,
    listing::{Draft, Marks},
    names::Names,
};
use crate::{
    anchor::open_folder,
    git::{Asked, Ignores, Listed, RULES_FILE, ReadRules, Tracked},
    path::{join, split_last},
    restore::is_stage_name,
};

/// A folder to look at: it is opened when its turn comes, so that no more handles are open than folders have pending
/// ones.
pub(super) struct Job<'w> {
    parent: Arc<Handle<'w>>,
    name: Box<[u8]>,
    path: Vec<u8>,
    /// The rules that hold where the folder is.
    ignores: Arc<Ignores>,
    /// What an earlier scan saw of it, under the same rules.
    before: Option<&'w Listing>,
}

impl<'w> Job<'w> {
    pub(super) fn root(handle: Arc<Handle<'w>>, ignores: Arc<Ignores>, base: Option<&'w Base>) -> Self {
        let before = base.and_then(|base| base.listing(b""));
        Job { parent: handle, name: b".".as_slice().into(), path: Vec::new(), ignores, before }
    }
}

/// An open folder.
pub(super) enum Handle<'w> {
    Root(BorrowedFd<'w>),
    Below(OwnedFd),
}

impl Handle<'_> {
    fn open(&self, name: &[u8]) -> Result<OwnedFd, Errno> {
        match self {
            Handle::Root(root) => open_folder(*root, name),
            Handle::Below(folder) => open_folder(folder.as_fd(), name),
        }
    }
}

/// What one thread has found.
pub(super) struct Found {
    settled: Settled,
    pub(super) listings: Vec<Listing>,
    pub(super) unseen: Vec<Hidden>,
    pub(super) young: Vec<Vec<u8>>,
    pub(super) unsettled: u64,
    pub(super) files: u64,
    pub(super) errors: u64,
}

impl Found {
    pub(super) fn new(settled: Settled) -> Self {
        Found {
            settled,
            listings: Vec::new(),
            unseen: Vec::new(),
            young: Vec::new(),
            unsettled: 0,
            files: 0,
            errors: 0,
        }
    }

    fn hide(&mut self, path: Vec<u8>, why: Why) {
        if matches!(why, Why::Unreadable(_) | Why::Vanished) {
            self.errors += 1;
        }
        self.unseen.push(Hidden { path, why });
    }

    /// Counts an entry that is no folder.
    fn count(&mut self, folder: &[u8], name: &[u8], stat: &Stat) {
        self.files += 1;
        if !self.settled.has(stat) {
            self.unsettled += 1;
            if stat.kind != Kind::Special {
                self.young.push(join(folder, name));
            }
        }
    }

    fn push(&mut self, walk: &Walk<'_>, listing: Listing) {
        let is_young = |stat: Option<Stat>| stat.is_some_and(|stat| !self.settled.has(&stat));
        self.unsettled += u64::from(is_young(listing.folder())) + u64::from(is_young(listing.rules()));
        walk.progress.advance(listing.len());
        self.listings.push(listing);
    }
}

/// Looks at one folder; answers the folders in it.
pub(super) fn look<'w>(walk: &Walk<'w>, job: Job<'w>, names: &mut Names, found: &mut Found) -> Vec<Job<'w>> {
    let Job { parent, name, path, ignores, before } = job;
    // The folder's stamps come first: what changes while its names are read then shows the next time.
    let opened = parent.open(&name).and_then(|folder| Ok((Stat::from(&fstat(&folder)?), folder)));
    drop(parent);
    let (stat, folder) = match opened {
        Ok(opened) => opened,
        Err(errno) => {
            found.hide(path, unreadable(errno));
            return Vec::new();
        }
    };
    let base = walk.base.zip(before);
    if let Some((base, before)) = base
        && let Some(names) = again(walk, base, before, folder.as_fd(), stat, found)
    {
        return below(walk, folder, before, &names, &ignores);
    }
    list(walk, Opened { folder, stat, path }, &ignores, base, names, found)
}

/// Asks for the stats of the names that the folder had before, where it must have them still; answers the folders among
/// them.
fn again<'w>(
    walk: &Walk<'w>,
    base: &Base,
    before: &'w Listing,
    folder: BorrowedFd<'_>,
    stat: Stat,
    found: &mut Found,
) -> Option<Vec<&'w [u8]>> {
    if !before.marks().has(Marks::REVISITABLE)
        || !base.still_is(before.folder(), stat)
        || !base.has_rules(before, rules_in(folder, before.rules().map_or(Listed::No, |_| Listed::Yes)))
    {
        return None;
    }
    if base.has_other_index() {
        let tracked = walk.scope.folder(before.path()).ok()?;
        if !before.is_tracked_as(tracked) {
            return None;
        }
    }
    let (mut folders, mut changed) = (Vec::new(), Vec::new());
    let mut seen = Found::new(found.settled);
    for (at, (name, was)) in before.records().enumerate() {
        // What has gone or become something else is a change of the folder's: it is listed.
        let stat = entry(folder, name).ok()?;
        if !was.is_of(&stat) {
            if was.kind() != Some(stat.kind) {
                return None;
            }
            changed.push((at, stat));
        }
        if stat.kind == Kind::Directory {
            folders.push(name);
        } else {
            seen.count(before.path(), name, &stat);
        }
    }
    found.files += seen.files;
    found.unsettled += seen.unsettled;
    found.young.append(&mut seen.young);
    found.push(walk, if changed.is_empty() { before.clone() } else { before.with_stats(&changed) });
    Some(folders)
}

/// The folders in one that is as it was.
fn below<'w>(
    walk: &Walk<'w>,
    folder: OwnedFd,
    listing: &Listing,
    names: &[&[u8]],
    ignores: &Arc<Ignores>,
) -> Vec<Job<'w>> {
    if names.is_empty() {
        return Vec::new();
    }
    let handle = Arc::new(Handle::Below(folder));
    let marks = listing.marks();
    let ignores = if listing.rules().is_some() || marks.has(Marks::RULES_IN_INDEX) {
        ignores.with_those_of(listing.path())
    } else {
        Arc::clone(ignores)
    };
    let job = |name: &&[u8]| {
        let path = join(listing.path(), name);
        let before = walk.base.and_then(|base| base.listing(&path));
        let is_ignored = match before {
            Some(before) => before.marks().has(Marks::IGNORED),
            None => ignores.matches(walk.scope, &path, Asked::Folder),
        };
        let ignores = if is_ignored { ignores.ignoring_all() } else { Arc::clone(&ignores) };
        Job { parent: Arc::clone(&handle), name: (*name).into(), path, ignores, before }
    };
    names.iter().map(job).collect()
}

struct Opened {
    folder: OwnedFd,
    stat: Stat,
    path: Vec<u8>,
}

/// Lists one folder; answers the folders in it.
fn list<'w>(
    walk: &Walk<'w>,
    opened: Opened,
    ignores: &Arc<Ignores>,
    base: Option<(&'w Base, &'w Listing)>,
    names: &mut Names,
    found: &mut Found,
) -> Vec<Job<'w>> {
    let Opened { folder, stat, path } = opened;
    if let Err(errno) = names.read(&folder) {
        found.hide(path, unreadable(errno));
        return Vec::new();
    }
    // An index that cannot be read fails the whole walk, at its end.
    let Ok(mut tracked) = walk.scope.folder(&path) else { return Vec::new() };
    let listed = Listed::among(names.sorted());
    let mut draft = Draft::new(path, names.count(), names.bytes());
    draft.folder = Some(stat);
    draft.rules = rules_in(folder.as_fd(), listed);
    draft.marks = Marks::REVISITABLE;
    let base = base.filter(|(base, before)| base.has_rules(before, draft.rules)).map(|(base, _)| base);
    if ignores.ignore_all() {
        draft.marks = draft.marks.with(Marks::IGNORED);
    }
    let (ignores, read) = ignores.within(walk.scope, folder.as_fd(), &draft.path, listed);
    match read {
        ReadRules::OnDisk => {}
        ReadRules::InIndex => draft.marks = draft.marks.with(Marks::RULES_IN_INDEX),
        ReadRules::NotAll => {
            draft.marks = draft.marks.without(Marks::REVISITABLE);
            found.errors += 1;
        }
    }
    let mut folders: Vec<(Vec<u8>, Arc<Ignores>)> = Vec::new();
    let mut path = join(&draft.path, b"");
    let above = path.len();
    for name in names.sorted() {
        if name == b".git" {
            if !draft.path.is_empty() {
                if walk.scope.is_repository(&draft.path) {
                    found.hide(draft.path, Why::Repository);
                    return Vec::new();
                }
                draft.marks = draft.marks.without(Marks::REVISITABLE);
            }
            continue;
        }
        path.truncate(above);
        path.extend_from_slice(name);
        let stat = match entry(folder.as_fd(), name) {
            Ok(stat) => stat,
            Err(errno) => {
                draft.marks = draft.marks.without(Marks::REVISITABLE);
                found.hide(path.clone(), unreadable(errno));
                continue;
            }
        };
        let is_folder = stat.kind == Kind::Directory;
        if is_folder && walk.state.is_some_and(|state| state == path) {
            continue;
        }
        let tracked = if is_folder { tracked.has_below(name) } else { tracked.next_is(name) };
        if !is_folder && tracked == Tracked::No && is_stage_name(name) {
            draft.marks = draft.marks.without(Marks::REVISITABLE);
            continue;
        }
        // What is tracked is looked at in any case, but what is beside it in an ignored folder is not.
        let asked = if is_folder { Asked::Folder } else { Asked::File };
        let is_ignored = (is_folder || tracked == Tracked::No) && ignores.matches(walk.scope, &path, asked);
        if is_ignored && tracked == Tracked::No {
            draft.ignore(name);
            continue;
        }
        if is_folder {
            folders.push((path.clone(), if is_ignored { ignores.ignoring_all() } else { Arc::clone(&ignores) }));
        } else {
            found.count(&draft.path, name, &stat);
        }
        draft.push(name, &stat, tracked);
    }
    found.push(walk, draft.finish());
    if folders.is_empty() {
        return Vec::new();
    }
    let handle = Arc::new(Handle::Below(folder));
    let job = |(path, ignores): (Vec<u8>, Arc<Ignores>)| {
        let before = base.and_then(|base| base.listing(&path));
        Job { parent: Arc::clone(&handle), name: split_last(&path).1.into(), path, ignores, before }
    };
    folders.into_iter().map(job).collect()
}

/// The stat of one name. A folder's stamps move with the names in it, ignored ones too; what is in it is looked at anyway.
fn entry(folder: BorrowedFd<'_>, name: &[u8]) -> Result<Stat, Errno> {
    let stat = Stat::from(&statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?);
    Ok(if stat.kind == Kind::Directory { stat.without_stamps() } else { stat })
}

/// The stat of the folder's own rules.
fn rules_in(folder: BorrowedFd<'_>, listed: Listed) -> Option<Stat> {
    match listed {
        Listed::No => None,
        Listed::Yes => Some(Stat::from(&statat(folder, RULES_FILE, AtFlags::SYMLINK_NOFOLLOW).ok()?)),
    }
}

fn unreadable(errno: Errno) -> Why {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Why::Vanished,
        errno => Why::Unreadable(errno.to_string()),
    }
}
