//! Bytes of a tree's files.
//!
//! Invariant: what is answered hashes to the id under which it was asked for. No filter is applied.

use std::collections::HashMap;

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
    objs::tree::{EntryKind, EntryMode},
};

use super::blob_id;
use crate::path::split_last;

/// What a tree has at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InTree {
    /// Nothing.
    Nothing,
    /// A file.
    File { id: ObjectId, executable: bool },
    /// A symbolic link.
    Link { id: ObjectId },
    /// A folder.
    Folder,
    /// A submodule.
    Submodule,
}

/// The bytes of a blob, or why they are not to be had.
pub(super) type Content = Result<Vec<u8>, String>;

/// Looks paths up in one tree, remembering the folders that it has read; for one thread.
pub(crate) struct Trees {
    repository: gix::Repository,
    root: ObjectId,
    folders: HashMap<Vec<u8>, Folder>,
}

type Folder = HashMap<BString, (EntryMode, ObjectId)>;

impl Trees {
    pub(crate) fn new(repository: gix::Repository, root: ObjectId) -> Self {
        Trees { repository, root, folders: HashMap::new() }
    }

    /// What the tree has at the path.
    pub(crate) fn look_up(&mut self, path: &[u8]) -> Result<InTree, String> {
        let (parent, name) = split_last(path);
        let Some(folder) = self.folder(parent)? else { return Ok(InTree::Nothing) };
        Ok(match folder.get(name.as_bstr()).map(|(mode, id)| (mode.kind(), *id)) {
            None => InTree::Nothing,
            Some((EntryKind::Blob, id)) => InTree::File { id, executable: false },
            Some((EntryKind::BlobExecutable, id)) => InTree::File { id, executable: true },
            Some((EntryKind::Link, id)) => InTree::Link { id },
            Some((EntryKind::Tree, _)) => InTree::Folder,
            Some((EntryKind::Commit, _)) => InTree::Submodule,
        })
    }

    /// The folder of that path, when the tree has one. From the top down, so that a path of any depth ends at the first
    /// folder that the tree lacks.
    fn folder(&mut self, path: &[u8]) -> Result<Option<&Folder>, String> {
        let mut id = self.root;
        let ends = path.find_iter(b"/").chain((!path.is_empty()).then_some(path.len()));
        let mut walked: &[u8] = b"";
        for end in ends {
            self.read_folder(walked, id)?;
            let start = if walked.is_empty() { 0 } else { walked.len() + 1 };
            match self.folders.get(walked).and_then(|folder| folder.get(path[start..end].as_bstr())) {
                Some((mode, below)) if mode.is_tree() => id = *below,
                _ => return Ok(None),
            }
            walked = &path[..end];
        }
        self.read_folder(walked, id)?;
        Ok(self.folders.get(walked))
    }

    fn read_folder(&mut self, path: &[u8], id: ObjectId) -> Result<(), String> {
        if self.folders.contains_key(path) {
            return Ok(());
        }
        let tree = self.repository.find_tree(id).map_err(|error| format!("git's tree {id} cannot be read: {error}"))?;
        let mut folder = Folder::new();
        for entry in tree.iter() {
            let entry = entry.map_err(|error| format!("git's tree {id} is damaged: {error}"))?;
            folder.insert(entry.filename().to_owned(), (entry.mode(), entry.object_id()));
        }
        self.folders.insert(path.to_vec(), folder);
        Ok(())
    }

    /// The bytes of the blob.
    pub(crate) fn read(&self, id: ObjectId) -> Content {
        let blob = self
            .repository
            .try_find_object(id)
            .map_err(|error| format!("git's blob {id} cannot be read: {error}"))?
            .ok_or_else(|| format!("git's blob {id} is gone from the object store"))?;
        let bytes = blob.detach().data;
        if blob_id(id.kind(), &bytes) != Some(id) {
            return Err(format!("git's blob {id} is damaged"));
        }
        Ok(bytes)
    }
}
