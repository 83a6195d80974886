//! From a boundary to targets and bytes.

use gix::ObjectId;

use super::manifest::{Manifest, Source, lists};
use crate::{
    git::{InTree, Repository, Trees},
    model::{Digest, Error, FileState, RegularFile, Target},
    parallel,
    path::{join, with_ancestors},
    progress::Progress,
    scan::hidden_over,
    store::{Blobs, Session},
};

/// A boundary that was taken.
pub(crate) struct HeldBoundary {
    manifest: Manifest,
    tree: ObjectId,
    prefix: Vec<u8>,
    blobs: Blobs,
}

impl HeldBoundary {
    /// Opens the boundary of that number.
    pub(crate) fn open(repository: &Repository, session: &Session, key: u64) -> Result<Self, Error> {
        let damaged = |what: &str| Error::Unavailable {
            reason: "state_damaged",
            detail: format!(
                "the record of boundary number {key} {what}; nothing was changed. Other boundaries of the session may be \
                 whole; otherwise drop the session to start anew"
            ),
        };
        let bytes = session.read_boundary(key)?.ok_or_else(|| damaged("is missing"))?;
        let manifest = Manifest::from_bytes(&bytes).ok_or_else(|| damaged("is damaged or of a later version"))?;
        let tree = ObjectId::from_hex(manifest.tree.as_bytes()).map_err(|_| damaged("names no tree"))?;
        let prefix = repository.prefix().to_vec();
        Ok(HeldBoundary { manifest, tree, prefix, blobs: session.blobs() })
    }

    /// What the boundary holds for each path, in the order asked.
    pub(crate) fn targets(&self, repository: &Repository, paths: &[Vec<u8>], progress: &Progress) -> Vec<Target> {
        parallel::map(paths, progress, || self.trees(repository), |trees, path| self.target(trees, path))
    }

    /// A way into the tree, for one thread.
    pub(crate) fn trees(&self, repository: &Repository) -> Trees {
        Trees::new(repository.local(), self.tree)
    }

    /// What the boundary holds for the path.
    pub(crate) fn target(&self, trees: &mut Trees, path: &[u8]) -> Target {
        let manifest = &self.manifest;
        if let Some(file) = manifest.file(path) {
            return match file.source() {
                Source::Bytes => Target::Present(file.state()),
                Source::Tree(id) => trees.read(id).map_or_else(Target::Unrestorable, |_| Target::Present(file.state())),
            };
        }
        if let Ok(at) = manifest.unrestorable.binary_search_by(|named| named.path.0.as_slice().cmp(path)) {
            let reason = manifest.unrestorable.get(at).map(|named| named.reason.clone());
            return Target::Unrestorable(reason.unwrap_or_default());
        }
        if lists(&manifest.folders, path) {
            return Target::Present(FileState::Directory);
        }
        if with_ancestors(path).any(|above| lists(&manifest.missing, above)) {
            return Target::Absent;
        }
        let found = match trees.look_up(&self.in_tree(path)) {
            Ok(found) => found,
            Err(why) => return Target::Unrestorable(why),
        };
        let hidden =
            || hidden_over(&manifest.hidden, path).map(|hidden| format!("at the boundary: {}", hidden.why.words()));
        match found {
            InTree::Folder => Target::Present(FileState::Directory),
            InTree::Submodule => Target::Unrestorable("it is a submodule, whose content is not captured".to_owned()),
            InTree::File { id, executable } => match trees.read(id) {
                Ok(bytes) => Target::Present(FileState::Regular(RegularFile {
                    content: Digest::of(&bytes),
                    size: bytes.len() as u64,
                    executable,
                })),
                Err(why) => Target::Unrestorable(why),
            },
            InTree::Link { id } => match trees.read(id) {
                Ok(text) => Target::Present(FileState::Symlink(Digest::of(&text))),
                Err(why) => Target::Unrestorable(why),
            },
            InTree::Nothing => hidden().map_or(Target::Absent, Target::Unrestorable),
        }
    }

    /// The bytes of the file or the text of the link that the boundary holds for the path.
    pub(crate) fn content(&self, trees: &mut Trees, path: &[u8]) -> Result<Vec<u8>, String> {
        if let Some(file) = self.manifest.file(path)
            && file.source() == Source::Bytes
        {
            return self.blobs.get(file.content).map_err(|error| error.to_string());
        }
        match trees.look_up(&self.in_tree(path))? {
            InTree::File { id, .. } | InTree::Link { id } => trees.read(id),
            _ => Err("the boundary has no content for it".to_owned()),
        }
    }

    /// The permission bits of the path, at which the boundary has that.
    pub(crate) fn bits(&self, path: &[u8], state: &FileState) -> u32 {
        self.manifest.bits.at(path, state)
    }

    fn in_tree(&self, path: &[u8]) -> Vec<u8> {
        join(&self.prefix, path)
    }
}
