//! Scratch repositories for the tests.
//!
//! Each test makes a [`Scratch`] of its own: a git repository in a temporary folder, apart from the caller's
//! configuration, with `turnback` opened on it through the embedded component.

#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking, and so do its helpers")]

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;
use turnback::{
    InFlight, MethodError, Options, Runtime, SideEffect,
    receipt::{Action, CaptureReceipt, Change, ChangeKind, EndReceipt, Entry, PlanReceipt, RestoreReceipt},
};

/// The session that most tests use.
pub const SESSION: &str = "s";

/// A git repository in a temporary folder.
pub struct Scratch {
    folder: TempDir,
    turnback: Runtime,
}

impl Scratch {
    /// A repository with nothing in it.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("w")).expect("the workspace folder");
        // Without the sample hooks, which take longer to write than most tests.
        git(&folder.path().join("w"), &["init", "-q", "--template=", "."]);
        fs::create_dir(folder.path().join("w/.git/info")).expect("the folder of git's own rules");
        let turnback = open(&folder.path().join("w"));
        Scratch { folder, turnback }
    }

    /// A repository in which these files are committed.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let scratch = Scratch::new();
        for (path, content) in files {
            scratch.write(path, content);
        }
        scratch.commit();
        scratch
    }

    /// The workspace root.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("w")
    }

    /// A folder beside the workspace root.
    pub fn outside(&self) -> &Path {
        self.folder.path()
    }

    /// The path of a name in the workspace.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Turnback, opened on the workspace root.
    pub fn turnback(&self) -> &Runtime {
        &self.turnback
    }

    /// Opens Turnback anew, as another process would.
    pub fn reopen(&mut self) {
        self.turnback = open(&self.root());
    }

    /// Runs git in the workspace.
    pub fn git(&self, arguments: &[&str]) -> String {
        git(&self.root(), arguments)
    }

    /// Commits all that is there.
    pub fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "a commit"]);
    }

    /// Writes a file, making its folders.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, content).expect("a written file");
    }

    /// The content of a file, as text.
    pub fn read(&self, path: &str) -> String {
        String::from_utf8(fs::read(self.path(path)).expect("a readable file")).expect("text")
    }

    /// Whether anything stands at the path, a link being itself.
    pub fn exists(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    /// Removes a file or link.
    pub fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).expect("a removed file");
    }

    /// Makes a symbolic link.
    pub fn link(&self, text: &str, path: &str) {
        symlink(text, self.path(path)).expect("a link");
    }

    /// The nine permission bits of a file.
    pub fn mode(&self, path: &str) -> u32 {
        self.path(path).symlink_metadata().expect("a file").permissions().mode() & 0o777
    }

    /// Sets the permission bits of a file.
    pub fn chmod(&self, path: &str, mode: u32) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).expect("changed permissions");
    }

    /// Records a boundary.
    pub fn capture(&self, boundary: &str) -> CaptureReceipt {
        self.turnback.capture(SESSION, boundary, InFlight::Refuse).expect("a boundary")
    }

    /// Brackets what `work` does as a call.
    pub fn call(&self, call: &str, work: impl FnOnce()) -> EndReceipt {
        self.call_with(call, None, work)
    }

    /// Brackets what `work` does as a call of a side-effect class.
    pub fn call_with(&self, call: &str, side_effect: Option<SideEffect>, work: impl FnOnce()) -> EndReceipt {
        self.turnback.call_begin(SESSION, call).expect("a begun call");
        work();
        self.turnback.call_end(SESSION, call, side_effect).expect("an ended call")
    }

    /// What a restore would do.
    pub fn plan(&self, boundary: &str) -> PlanReceipt {
        self.turnback.plan(SESSION, boundary, InFlight::Refuse).expect("a plan")
    }

    /// Restores every attributed path.
    pub fn restore(&self, boundary: &str) -> RestoreReceipt {
        self.turnback.restore(SESSION, boundary, None, InFlight::Refuse).expect("a receipt")
    }

    /// Restores the selected paths.
    pub fn restore_paths(&self, boundary: &str, paths: &[&str]) -> RestoreReceipt {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        self.turnback.restore(SESSION, boundary, Some(&paths), InFlight::Refuse).expect("a receipt")
    }

    /// The session's state folder.
    pub fn state(&self) -> PathBuf {
        self.path(".harn/state/checkpoints").join(SESSION)
    }

    /// The names of the contents that the session's store holds, sorted.
    pub fn blobs(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.state().join("blobs")) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Every path below the root but `.git` and the state folder, with what stands there.
    pub fn tree(&self) -> Vec<(String, String)> {
        tree(&self.root())
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch::new()
    }
}

/// A small generator: what is drawn needs to be much and the same each time, not random. A failure names the seed.
pub struct Draw(pub u64);

impl Draw {
    /// A number below the limit.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }

    /// One of these.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// Opens Turnback on a folder.
pub fn open(root: &Path) -> Runtime {
    Runtime::open(root, Options::default()).expect("the embedded component")
}

/// Runs git apart from the caller's configuration and environment.
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    let output = command
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args(["-c", "user.name=tests", "-c", "user.email=tests@localhost", "-c", "init.defaultBranch=main"])
        .args(["-c", "protocol.file.allow=always"])
        .args(arguments)
        .output()
        .expect("git");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Every path below the folder but `.git` and `.harn`, sorted, with what stands there: `file MODE CONTENT`, `link TEXT`,
/// `folder` or `other`.
pub fn tree(root: &Path) -> Vec<(String, String)> {
    fn walk(root: &Path, folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
            let (path, name) = (entry.path(), entry.file_name());
            if name == ".git" || name == ".harn" {
                continue;
            }
            let stat = path.symlink_metadata().expect("a stat");
            let what = if stat.is_dir() {
                walk(root, &path, found);
                "folder".to_owned()
            } else if stat.is_symlink() {
                format!("link {}", fs::read_link(&path).expect("a link").display())
            } else if stat.is_file() {
                let content = fs::read(&path).expect("content");
                format!("file {:o} {}", stat.permissions().mode() & 0o777, String::from_utf8_lossy(&content))
            } else {
                "other".to_owned()
            };
            found.push((path.strip_prefix(root).expect("below the root").display().to_string(), what));
        }
    }
    let mut found = Vec::new();
    walk(root, root, &mut found);
    found.sort();
    found
}

/// `path action` of each entry.
pub fn actions(entries: &[Entry]) -> Vec<(&str, Action)> {
    entries.iter().map(|entry| (entry.path.as_str(), entry.action)).collect()
}

/// The entry of that path, which must be there.
pub fn entry<'e>(entries: &'e [Entry], path: &str) -> &'e Entry {
    let found = entries.iter().find(|entry| entry.path == path);
    found.unwrap_or_else(|| panic!("no entry for {path:?} in {entries:?}"))
}

/// The change of that path, which must be there.
pub fn change<'c>(receipt: &'c EndReceipt, path: &str) -> &'c Change {
    let found = receipt.changes.iter().find(|change| change.path == path);
    found.unwrap_or_else(|| panic!("no change of {path:?} in {receipt:?}"))
}

/// `path kind` of each change.
pub fn kinds(receipt: &EndReceipt) -> Vec<(&str, ChangeKind)> {
    receipt.changes.iter().map(|change| (change.path.as_str(), change.kind)).collect()
}

/// The hash that receipts show for these bytes.
pub fn hash(bytes: impl AsRef<[u8]>) -> String {
    blake3::hash(bytes.as_ref()).to_hex().to_string()
}

/// The reason of the entry of that path.
pub fn reason<'e>(entries: &'e [Entry], path: &str) -> &'e str {
    entries.iter().find(|entry| entry.path == path).and_then(|entry| entry.reason.as_deref()).unwrap_or_default()
}

/// The reason with which a method was not available.
pub fn unavailable<R: std::fmt::Debug>(answer: Result<R, MethodError>) -> (String, String) {
    match answer {
        Err(MethodError::Unavailable(unavailable)) => (unavailable.reason, unavailable.detail),
        other => panic!("it should be unavailable, and is {other:?}"),
    }
}

/// The built program.
pub fn program() -> PathBuf {
    let own = std::env::current_exe().expect("this test's own path");
    let folder = own.parent().and_then(Path::parent).expect("target/release");
    let program = folder.join("turnback");
    assert!(program.exists(), "{} is not built; run: make test", program.display());
    program
}

/// Runs the program in a folder.
pub fn turnback(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(program()).current_dir(folder).args(arguments).output().expect("the program")
}
