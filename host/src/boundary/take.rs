//! From a scan to a boundary.
//!
//! Invariant: each file of the scan is left to the tree only when its bytes are its blob's; otherwise its bytes are kept
//! here, or it is named as unrestorable. One file that cannot be read does not fail the capture.

use std::{collections::BTreeSet, io, os::fd::AsFd};

use gix::index::{Entry, entry::Mode};
use rustix::fs::readlinkat;

use super::{
    manifest::{Bits, HeldFile, Manifest, Named, Path, Source},
    proof::Proof,
};
use crate::{
    anchor::{Root, Way},
    git::{Attributes, Clean, Scope, blob_id, write_tree},
    model::{Digest, Error, Held},
    parallel,
    path::{WorkPath, join, split_last, with_ancestors},
    progress::Progress,
    scan::{self, Kind, Listing, ReadFailure, Scan, Stat},
    store::Blobs,
};

/// A file larger than this is not kept as bytes.
pub(crate) const MAX_STORED_BYTES: u64 = 64 * 1024 * 1024;

/// Records what the scan saw. `previous` is an older manifest of the session, whose files need not be read again.
pub(crate) fn take(
    root: &Root,
    scope: &Scope,
    scan: &Scan,
    blobs: &Blobs,
    previous: Option<&Manifest>,
    progress: &Progress,
) -> Result<(Manifest, Held), Error> {
    let store_error = |error: io::Error| Error::io("keep contents in", blobs.folder().display(), error);
    blobs.prepare().map_err(store_error)?;
    let tree = write_tree(scope)?.to_string();

    let index = scope.index()?;
    let attributes = Attributes::of(scope, index, scan);
    let taker = Taker { root, scope, blobs, previous };
    let clean = || Clean::new(scope, index, attributes);
    let sorted = parallel::map(&scan.listings, progress, clean, |clean, listing| taker.sort(clean, scan, listing));
    let sorted: Vec<Sorted<'_>> = sorted.into_iter().collect::<Result<_, _>>()?;
    let open: Vec<&Open<'_>> = sorted.iter().flat_map(|folder| &folder.open).collect();
    let taken = parallel::map(&open, progress, clean, |clean, open| taker.file(clean, open));

    let bits = Bits::of(scan);
    let mut manifest =
        Manifest { bits, tree, settled_ns: scan.settled.to_ns(), hidden: scan.hidden(), ..Manifest::default() };
    let mut held = Held::default();
    let mut taken = taken.into_iter();
    for (folder, listing) in sorted.iter().zip(&scan.listings) {
        let mut proof = folder.proof.clone();
        for (open, taken) in folder.open.iter().zip(taken.by_ref()) {
            match taken.map_err(store_error)? {
                Taken::InTree(entry) => proof.add(split_last(&open.path).1, entry, open.stat.size),
                Taken::Held(file) => {
                    if file.source() == Source::Bytes {
                        held.stored_files += 1;
                        held.stored_bytes += file.size;
                    }
                    manifest.files.push(*file);
                }
                Taken::Not(reason) => {
                    manifest.unrestorable.push(Named { path: Path(open.path.clone()), reason });
                }
            }
        }
        manifest.proven.extend(proof.finish(listing.path()));
    }
    not_on_disk(scope, scan, &mut manifest)?;
    manifest.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    manifest.unrestorable.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    held.unrestorable_files = manifest.unrestorable.len() as u64;
    Ok((manifest, held))
}

/// The files of one folder, sorted into those that are known to be in the tree and those that are to be looked at.
struct Sorted<'i> {
    /// Of the first.
    proof: Proof,
    open: Vec<Open<'i>>,
}

/// A file, link or special file that is to be looked at.
struct Open<'i> {
    path: Vec<u8>,
    stat: Stat,
    entry: Option<&'i Entry>,
    by_stamps: ByStamps,
}

/// What the stamps of a file say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByStamps {
    /// That it is as the index has it.
    Clean,
    Nothing,
}

/// Names the files and folders of the index that were not seen, and the folders that the index does not have.
fn not_on_disk(scope: &Scope, scan: &Scan, manifest: &mut Manifest) -> Result<(), Error> {
    let mut tracked_folders: BTreeSet<&[u8]> = BTreeSet::new();
    let mut missing: BTreeSet<&[u8]> = BTreeSet::new();
    // Entries of one folder follow one another, mostly.
    let mut folder: Option<(&[u8], Option<&Listing>)> = None;
    for (entry, path) in scope.entries()? {
        let is_file = matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE | Mode::SYMLINK);
        // A sparse index names a folder that is not checked out, with a slash; its files have no entries.
        let (parent, name) = split_last(path);
        let listing = match folder {
            Some((path, listing)) if path == parent => listing,
            _ => {
                for above in with_ancestors(parent).filter(|above| !above.is_empty()) {
                    if !tracked_folders.insert(above) {
                        break;
                    }
                    if scan.listing(above).is_none() && scan.hidden_over(above).is_none() {
                        missing.insert(above);
                    }
                }
                folder.insert((parent, scan.listing(parent))).1
            }
        };
        let stat = listing.and_then(|listing| listing.stat(name));
        if !is_file || stat.is_some_and(|stat| stat.kind != Kind::Directory) {
            continue;
        }
        match scan.hidden_over(path) {
            None => {
                missing.insert(path);
            }
            Some(why) => {
                let reason = format!("at the boundary: {}", why.words());
                if manifest.unrestorable.last().is_none_or(|named| named.path.0 != path) {
                    manifest.unrestorable.push(Named { path: Path(path.to_vec()), reason });
                }
            }
        }
    }
    manifest.missing = missing.into_iter().map(|path| Path(path.to_vec())).collect();
    manifest.folders = scan
        .listings
        .iter()
        .map(Listing::path)
        .filter(|path| !path.is_empty() && !tracked_folders.contains(path))
        .map(|path| Path(path.to_vec()))
        .collect();
    Ok(())
}

/// What became of one file.
enum Taken<'i> {
    /// The tree has it, by this entry of the index.
    InTree(&'i Entry),
    /// It is written down, and its content is to be had.
    Held(Box<HeldFile>),
    /// It is not held; the reason.
    Not(String),
}

struct Taker<'t> {
    root: &'t Root,
    scope: &'t Scope,
    blobs: &'t Blobs,
    previous: Option<&'t Manifest>,
}

impl<'t> Taker<'t> {
    /// Whatever was found to be the tree's when the previous boundary was taken, and is the same now, is the tree's
    /// still: its blob need not be looked for again.
    fn sort(&self, clean: &mut Clean<'_>, scan: &Scan, listing: &Listing) -> Result<Sorted<'t>, Error> {
        let mut tracked = self.scope.folder(listing.path())?;
        let mut proof = Proof::default();
        let (mut open, mut of_tree) = (Vec::new(), Vec::new());
        for (name, stat) in listing.entries().filter(|(_, stat)| stat.kind != Kind::Directory) {
            let path = || join(listing.path(), name);
            let entry = tracked.next_entry(name);
            let is_clean = scan.settled.by_stamps() && entry.is_some_and(|entry| clean.by_stamps(entry, &stat));
            let by_stamps = if is_clean { ByStamps::Clean } else { ByStamps::Nothing };
            match entry.filter(|_| is_clean) {
                Some(entry) if !self.was_held(path) && !clean.is_converted(path) => {
                    proof.add(name, entry, stat.size);
                    of_tree.push((name, stat, entry));
                }
                _ => open.push(Open { path: path(), stat, entry, by_stamps }),
            }
        }
        let proven = self.previous.and_then(|previous| previous.proven(listing.path()));
        if proven.is_some() && proven == proof.digest() {
            return Ok(Sorted { proof, open });
        }
        let unproven = of_tree.into_iter().map(|(name, stat, entry)| Open {
            path: join(listing.path(), name),
            stat,
            entry: Some(entry),
            by_stamps: ByStamps::Clean,
        });
        open.extend(unproven);
        open.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(Sorted { proof: Proof::default(), open })
    }

    /// Whether the previous boundary wrote the file down.
    fn was_held(&self, path: impl Fn() -> Vec<u8>) -> bool {
        self.previous.is_some_and(|previous| !previous.files.is_empty() && previous.file(&path()).is_some())
    }

    fn file(&self, clean: &mut Clean<'_>, open: &Open<'t>) -> io::Result<Taken<'t>> {
        let Open { path, stat, entry, by_stamps } = open;
        if stat.kind == Kind::Special {
            return Ok(Taken::Not("it is a FIFO, socket or device".to_owned()));
        }
        if let Some(entry) = *entry
            && *by_stamps == ByStamps::Clean
            && clean.blob_is_the_file(entry, path, stat.size)
        {
            return Ok(Taken::InTree(entry));
        }
        if let Some(known) = self.previous.and_then(|previous| previous.unchanged(path, stat)) {
            let source = known.source();
            let there = match source {
                Source::Bytes => self.blobs.has(known.content, known.size),
                Source::Tree(id) => entry.is_some_and(|entry| {
                    entry.id == id && Clean::is_in_tree(entry) && clean.blob_is_the_file(entry, path, stat.size)
                }),
            };
            if there {
                return Ok(Taken::Held(Box::new(HeldFile::new(path.clone(), stat, known.content, source))));
            }
        }
        let (bytes, stat) = match self.read(path, stat) {
            Ok(read) => read,
            Err(reason) => return Ok(Taken::Not(reason)),
        };
        let content = Digest::of(&bytes);
        let of_blob = entry.filter(|entry| {
            let mode = match stat.kind {
                Kind::Symlink => Mode::SYMLINK,
                _ if stat.executable() => Mode::FILE_EXECUTABLE,
                _ => Mode::FILE,
            };
            entry.mode == mode
                && Clean::is_in_tree(entry)
                && clean.blob_is_the_file(entry, path, stat.size)
                && blob_id(entry.id.kind(), &bytes) == Some(entry.id)
        });
        let source = of_blob.map_or(Source::Bytes, |entry| Source::Tree(entry.id));
        if source == Source::Bytes {
            self.blobs.put(content, &bytes)?;
        }
        Ok(Taken::Held(Box::new(HeldFile::new(path.clone(), &stat, content, source))))
    }

    /// The whole content of a file or the text of a link, with the stat that it had all the while; or why it is not held.
    fn read(&self, path: &[u8], stat: &Stat) -> Result<(Vec<u8>, Stat), String> {
        let path = WorkPath::new(path).map_err(|invalid| invalid.to_string())?;
        let way = self.root.parent(&path).map_err(|errno| ReadFailure::Io(errno.into()).to_string())?;
        let Way::Open(folder, name) = way else { return Err(ReadFailure::Vanished.to_string()) };
        if stat.kind == Kind::Symlink {
            let text =
                readlinkat(folder.as_fd(), name, Vec::new()).map_err(|errno| ReadFailure::from(errno).to_string())?;
            return Ok((text.into_bytes(), *stat));
        }
        if stat.size > MAX_STORED_BYTES {
            return Err(too_large(stat.size));
        }
        let mut file = scan::open_regular(folder.as_fd(), name).map_err(|failure| failure.to_string())?;
        match scan::read_settled(&mut file, MAX_STORED_BYTES) {
            Ok((bytes, stat)) if stat.size > MAX_STORED_BYTES => {
                drop(bytes);
                Err(too_large(stat.size))
            }
            Ok(read) => Ok(read),
            Err(failure) => Err(failure.to_string()),
        }
    }
}

fn too_large(size: u64) -> String {
    format!("it is larger than 64 MiB ({size} bytes), so its content was not kept")
}
