//! The record of a boundary.
//!
//! ```text
//! "turnback boundary 1\n" · one CBOR item, the manifest · BLAKE3-256 of all before it
//! ```

use minicbor::{Decode, Encode};

use super::proof::Proven;
use crate::{
    model::{Digest, FileState, RegularFile},
    path::join,
    scan::{Hidden, Kind, Scan, Settled, Stat},
};

const MAGIC: &[u8] = b"turnback boundary 1\n";
const DIGEST: usize = 32;

/// What differs between the workspace at the boundary and the tree of the index. Lists are sorted by path.
#[derive(Debug, Default, Encode, Decode)]
pub(crate) struct Manifest {
    /// The tree's id, in hexadecimal.
    #[n(0)]
    pub(crate) tree: String,
    /// What had settled when it was taken, as [`Settled::to_ns`].
    #[n(1)]
    pub(crate) settled_ns: i64,
    /// Files and links whose state is written down here.
    #[n(2)]
    pub(crate) files: Vec<HeldFile>,
    /// Files that are named and not held, with the reason.
    #[n(3)]
    pub(crate) unrestorable: Vec<Named>,
    /// Paths of the tree, files and folders, where nothing stood.
    #[n(4)]
    pub(crate) missing: Vec<Path>,
    /// Folders that the tree does not have.
    #[n(5)]
    pub(crate) folders: Vec<Path>,
    /// What the scan left out.
    #[n(6)]
    pub(crate) hidden: Vec<Hidden>,
    /// Who might do what with each path.
    #[n(7)]
    pub(crate) bits: Bits,
    /// The folders whose files are known to be the tree's.
    #[n(8)]
    pub(super) proven: Vec<Proven>,
}

/// The nine permission bits of every path: the most common ones of each kind, and the paths that differ.
#[derive(Debug, Default, Encode, Decode)]
pub(crate) struct Bits {
    #[n(0)]
    pub(super) file: u16,
    #[n(1)]
    pub(super) executable: u16,
    #[n(2)]
    pub(super) folder: u16,
    #[n(3)]
    pub(super) others: Vec<OtherBits>,
}

/// A path whose bits are not the most common ones.
#[derive(Debug, Encode, Decode)]
pub(crate) struct OtherBits {
    #[n(0)]
    pub(super) path: Path,
    #[n(1)]
    pub(super) bits: u16,
}

impl Bits {
    /// The bits of every path of the scan.
    pub(super) fn of(scan: &Scan) -> Self {
        let mut counts = [[0_usize; 0o1000]; 3];
        for (_, _, stat) in scan.entries() {
            if let Some(class) = class(&stat) {
                counts[class][usize::from(stat.permissions & 0o777)] += 1;
            }
        }
        let common = |class: usize, of_none: u16| {
            let most = (0..0o1000_u16).zip(counts[class]).max_by_key(|(bits, count)| (*count, *bits));
            most.filter(|(_, count)| *count > 0).map_or(of_none, |(bits, _)| bits)
        };
        let common = [common(FILE, 0o644), common(EXECUTABLE, 0o755), common(FOLDER, 0o755)];
        let mut others: Vec<OtherBits> = scan
            .entries()
            .filter(|(_, _, stat)| class(stat).is_some_and(|class| common[class] != stat.permissions & 0o777))
            .map(|(folder, name, stat)| OtherBits { path: Path(join(folder, name)), bits: stat.permissions & 0o777 })
            .collect();
        others.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let [file, executable, folder] = common;
        Bits { file, executable, folder, others }
    }

    /// The bits of the path, at which the boundary has that.
    pub(crate) fn at(&self, path: &[u8], state: &FileState) -> u32 {
        let other = self.others.binary_search_by(|other| other.path.0.as_slice().cmp(path)).ok();
        let bits = other.and_then(|at| self.others.get(at)).map_or_else(
            || match state {
                FileState::Regular(file) if file.executable => self.executable,
                FileState::Directory => self.folder,
                _ => self.file,
            },
            |other| other.bits,
        );
        u32::from(bits)
    }
}

const FILE: usize = 0;
const EXECUTABLE: usize = 1;
const FOLDER: usize = 2;

fn class(stat: &Stat) -> Option<usize> {
    match stat.kind {
        Kind::File if stat.executable() => Some(EXECUTABLE),
        Kind::File => Some(FILE),
        Kind::Directory => Some(FOLDER),
        Kind::Symlink | Kind::Special => None,
    }
}

/// The bytes of a path below the workspace root.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub(crate) struct Path(#[cbor(with = "minicbor::bytes")] pub(crate) Vec<u8>);

/// A path with a reason.
#[derive(Debug, Encode, Decode)]
pub(crate) struct Named {
    #[n(0)]
    pub(crate) path: Path,
    #[n(1)]
    pub(crate) reason: String,
}

/// Where a content is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// In the session's store.
    Bytes,
    /// In git's object store, as the tree has it, under this id.
    Tree(gix::ObjectId),
}

/// One file or link.
#[derive(Debug, Encode, Decode)]
pub(crate) struct HeldFile {
    #[n(0)]
    pub(crate) path: Path,
    #[n(1)]
    pub(crate) content: Digest,
    #[n(3)]
    pub(crate) link: bool,
    /// The twelve lowest bits of the mode.
    #[n(4)]
    pub(crate) permissions: u16,
    #[n(5)]
    pub(crate) size: u64,
    /// With the fields above, what a later capture knows the file by.
    #[n(6)]
    pub(crate) mtime_ns: i64,
    #[n(7)]
    pub(crate) ctime_ns: i64,
    #[n(8)]
    pub(crate) inode: u64,
    #[n(9)]
    pub(crate) device: u64,
    /// The blob's id, where the tree has the content.
    #[cbor(n(10), with = "minicbor::bytes")]
    pub(crate) blob: Option<Vec<u8>>,
}

impl HeldFile {
    /// Where the content is.
    pub(crate) fn source(&self) -> Source {
        let id = self.blob.as_deref().and_then(|id| gix::ObjectId::try_from(id).ok());
        id.map_or(Source::Bytes, Source::Tree)
    }

    /// What stood there.
    pub(crate) fn state(&self) -> FileState {
        if self.link {
            return FileState::Symlink(self.content);
        }
        let executable = self.permissions & 0o100 != 0;
        FileState::Regular(RegularFile { content: self.content, size: self.size, executable })
    }

    pub(super) fn new(path: Vec<u8>, stat: &Stat, content: Digest, source: Source) -> Self {
        HeldFile {
            path: Path(path),
            content,
            blob: match source {
                Source::Bytes => None,
                Source::Tree(id) => Some(id.as_slice().to_vec()),
            },
            link: stat.kind == Kind::Symlink,
            permissions: stat.permissions,
            size: stat.size,
            mtime_ns: stat.mtime_ns,
            ctime_ns: stat.ctime_ns,
            inode: stat.inode,
            device: stat.device,
        }
    }

    fn stat(&self) -> Stat {
        Stat {
            kind: if self.link { Kind::Symlink } else { Kind::File },
            permissions: self.permissions,
            size: self.size,
            mtime_ns: self.mtime_ns,
            ctime_ns: self.ctime_ns,
            inode: self.inode,
            device: self.device,
        }
    }
}

impl Manifest {
    /// The file of that path.
    pub(crate) fn file(&self, path: &[u8]) -> Option<&HeldFile> {
        let at = self.files.binary_search_by(|file| file.path.0.as_slice().cmp(path)).ok()?;
        self.files.get(at)
    }

    /// The digest of the folder's proof.
    pub(super) fn proven(&self, folder: &[u8]) -> Option<[u8; 16]> {
        let at = self.proven.binary_search_by(|proven| proven.path.0.as_slice().cmp(folder)).ok()?;
        self.proven.get(at).map(|proven| proven.digest)
    }

    /// The file of that path, when it has not been written since.
    pub(super) fn unchanged(&self, path: &[u8], stat: &Stat) -> Option<&HeldFile> {
        let settled = Settled::from_ns(self.settled_ns);
        self.file(path).filter(|file| file.stat() == *stat && settled.has(stat))
    }

    /// The manifest as it is kept.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        // A Vec as writer cannot fail.
        let _infallible = minicbor::encode(self, &mut out);
        let digest = blake3::hash(&out);
        out.extend_from_slice(digest.as_bytes());
        out
    }

    /// Reads a manifest back; `None` when it is damaged or of another format.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (body, digest) = bytes.split_at_checked(bytes.len().checked_sub(DIGEST)?)?;
        if blake3::hash(body).as_bytes() != digest {
            return None;
        }
        minicbor::decode(body.strip_prefix(MAGIC)?).ok()
    }
}

/// Whether the sorted list has the path.
pub(super) fn lists(paths: &[Path], path: &[u8]) -> bool {
    paths.binary_search_by(|listed| listed.0.as_slice().cmp(path)).is_ok()
}
