//! From a folder to its repository.
//!
//! Invariant: the repository is found from the folder alone. No `GIT_*` variable leads elsewhere, and a repository of
//! another owner is not opened.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path, sync::Arc};

use gix::{
    ThreadSafeRepository,
    open::{Options, Permissions, permissions},
    sec::{Permission, trust::Mapping},
};

use super::Scope;
use crate::{anchor::Root, model::Error};

/// The repository of a workspace.
pub(crate) struct Repository {
    pub(super) inner: ThreadSafeRepository,
    /// The workspace root's path below the worktree's top, empty at the top.
    prefix: Vec<u8>,
}

impl Repository {
    /// Finds the repository whose worktree holds the folder, a path without links.
    pub(crate) fn discover(root: &Path) -> Result<Self, Error> {
        let options = || {
            let env =
                permissions::Environment { git_prefix: Permission::Deny, objects: Permission::Deny, ..environment() };
            Options::default()
                .permissions(Permissions { env, ..Permissions::default() })
                .bail_if_untrusted(true)
                .config_overrides(["core.useReplaceRefs=false"])
        };
        let mapping = Mapping { full: options(), reduced: options() };
        let inner = ThreadSafeRepository::discover_opts(root, Default::default(), mapping)
            .map_err(|error| refusal(root, &error))?;
        let local = inner.to_thread_local();
        let Some(workdir) = local.workdir() else {
            let detail = format!("{} is a bare repository: it has no worktree to check", local.git_dir().display());
            return Err(Error::Unavailable { reason: "bare_repository", detail });
        };
        let top = workdir.canonicalize().map_err(|error| Error::io("open the worktree", workdir.display(), error))?;
        let inside = |folder: &Path| folder.canonicalize().is_ok_and(|folder| root.starts_with(folder));
        let prefix = match root.strip_prefix(&top) {
            Ok(prefix) if !inside(local.git_dir()) && !inside(local.common_dir()) => {
                prefix.as_os_str().as_bytes().to_vec()
            }
            _ => return Err(no_worktree(root, &format!("the repository there has its worktree at {}", top.display()))),
        };
        drop(local);
        Ok(Repository { inner, prefix })
    }

    /// What git tracks and ignores now, in the workspace of that root and with its state folder at that path.
    pub(crate) fn scope(&self, root: &Arc<Root>, state: Option<&[u8]>) -> Result<Scope, Error> {
        let scope = Scope::read(self.inner.clone(), self.prefix.clone(), Arc::clone(root), state)?;
        if scope.root_is_ignored()? {
            let name = OsStr::from_bytes(&self.prefix).display().to_string();
            let detail = format!("git ignores the folder '{name}' as a whole, so nothing in it could be told apart");
            return Err(Error::Unavailable { reason: "root_is_ignored", detail });
        }
        Ok(scope)
    }

    /// The path as the repository's trees have it.
    pub(crate) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// A handle for one thread.
    pub(crate) fn local(&self) -> gix::Repository {
        self.inner.to_thread_local()
    }
}

fn environment() -> permissions::Environment {
    Permissions::default().env
}

fn no_worktree(root: &Path, why: &str) -> Error {
    Error::Unavailable {
        reason: "not_a_git_worktree",
        detail: format!("{} is in no git worktree: {why}", root.display()),
    }
}

fn refusal(root: &Path, error: &gix::Error) -> Error {
    use gix::discover::upwards::Error as Upwards;
    let missing = error.is_not_found()
        || error
            .downcast_any_ref::<Upwards>()
            .is_some_and(|error| !matches!(error, Upwards::NoTrustedGitRepository { .. }));
    if missing {
        return no_worktree(root, "there is no repository there or above");
    }
    if error.is_permission_denied() {
        let detail = format!(
            "the repository of {} belongs to another user; if you trust it, run: git config --global --add \
             safe.directory {}",
            root.display(),
            root.display()
        );
        return Error::Unavailable { reason: "unsafe_ownership", detail };
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    Error::Other(format!("cannot open the git repository of {}: {text}; nothing was done", root.display()))
}
