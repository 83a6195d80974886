//! From a scan to a boundary.
//!
//! Invariant: each file of the scan is left to the tree only when its bytes are its blob's; otherwise its bytes are kept
//! here, or it is named as unrestorable. One file that cannot be read does not fail the capture.

use std::{collections::BTreeSet, io, os::fd::AsFd};

use gix::index::entry::Mode;
use rustix::fs::readlinkat;

use super::manifest::{Bits, HeldFile, Manifest, Named, Path, Source};
use crate::{
    anchor::{Root, Way},
    git::{Attributes, Clean, Scope, blob_id, write_tree},
    model::{Digest, Error, Held},
    parallel,
    path::{WorkPath, join, with_ancestors},
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

    let files = files(scan);
    let index = scope.index()?;
    let attributes = Attributes::of(scope, index, scan);
    let taker = Taker { root, scope, index, blobs, previous };
    let taken = parallel::map(
        &files,
        progress,
        || Clean::new(scope, index, attributes),
        |clean, (path, stat)| taker.file(clean, path, stat),
    );

    let bits = Bits::of(scan);
    let mut manifest =
        Manifest { bits, tree, settled_ns: scan.settled.to_ns(), hidden: scan.hidden(), ..Manifest::default() };
    let mut held = Held::default();
    for ((path, _), taken) in files.into_iter().zip(taken) {
        match taken.map_err(store_error)? {
            Taken::InTree => {}
            Taken::Held(file) => {
                if file.source() == Source::Bytes {
                    held.stored_files += 1;
                    held.stored_bytes += file.size;
                }
                manifest.files.push(*file);
            }
            Taken::Not(reason) => manifest.unrestorable.push(Named { path: Path(path), reason }),
        }
    }
    not_on_disk(scope, scan, &mut manifest)?;
    manifest.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    manifest.unrestorable.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    held.unrestorable_files = manifest.unrestorable.len() as u64;
    Ok((manifest, held))
}

/// Every file, link and special file of the scan.
fn files(scan: &Scan) -> Vec<(Vec<u8>, Stat)> {
    scan.entries()
        .filter(|(_, _, stat)| stat.kind != Kind::Directory)
        .map(|(folder, name, stat)| (join(folder, name), stat))
        .collect()
}

/// Names the files and folders of the index that were not seen, and the folders that the index does not have.
fn not_on_disk(scope: &Scope, scan: &Scan, manifest: &mut Manifest) -> Result<(), Error> {
    let mut tracked_folders: BTreeSet<&[u8]> = BTreeSet::new();
    let mut missing: BTreeSet<&[u8]> = BTreeSet::new();
    for (entry, path) in scope.entries()? {
        let is_file = matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE | Mode::SYMLINK);
        // A sparse index names a folder that is not checked out, with a slash; its files have no entries.
        for folder in with_ancestors(path).skip(1) {
            if !tracked_folders.insert(folder) {
                break;
            }
            if scan.listing(folder).is_none() && scan.hidden_over(folder).is_none() {
                missing.insert(folder);
            }
        }
        if !is_file || scan.stat(path).is_some_and(|stat| stat.kind != Kind::Directory) {
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
enum Taken {
    /// The tree has it.
    InTree,
    /// It is written down, and its content is to be had.
    Held(Box<HeldFile>),
    /// It is not held; the reason.
    Not(String),
}

struct Taker<'t> {
    root: &'t Root,
    scope: &'t Scope,
    index: &'t gix::index::File,
    blobs: &'t Blobs,
    previous: Option<&'t Manifest>,
}

impl Taker<'_> {
    fn file(&self, clean: &mut Clean<'_>, path: &[u8], stat: &Stat) -> io::Result<Taken> {
        if stat.kind == Kind::Special {
            return Ok(Taken::Not("it is a FIFO, socket or device".to_owned()));
        }
        let in_index = self.scope.in_index(path);
        let entry = self.index.entry_by_path(in_index.as_slice().into());
        if let Some(entry) = entry
            && clean.by_stamps(entry, stat)
            && clean.blob_is_the_file(entry, path, stat.size)
        {
            return Ok(Taken::InTree);
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
                return Ok(Taken::Held(Box::new(HeldFile::new(path.to_vec(), stat, known.content, source))));
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
        Ok(Taken::Held(Box::new(HeldFile::new(path.to_vec(), &stat, content, source))))
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
