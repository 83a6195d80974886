//! From a method's arguments to its receipt: a fresh instance for each call, within limits.

use std::{path::Path, sync::Arc};

use wasmtime::{ResourceLimiter, Store, UpdateDeadline, component::ResourceTable};

use super::{
    bindings::{Checkpoint, exports::turnback::checkpoint::checkpoints as api, turnback::checkpoint::types as wit},
    context::Context,
    engine::{Guest, LoadError, Loaded, TICK, load},
    limits::Limits,
};
use crate::{
    model::{Error, Proof},
    progress::Progress,
    receipt::{
        Available, BeginReceipt, CaptureReceipt, DropReceipt, EndReceipt, InFlight, MethodError, PlanReceipt,
        RestoreReceipt, SideEffect,
    },
    workspace::Workspace,
};

/// What a store holds.
pub(super) struct Data {
    pub(super) context: Context,
    pub(super) table: ResourceTable,
    limits: Limits,
}

impl ResourceLimiter for Data {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        if desired > self.limits.memory_bytes {
            return Err(wasmtime::Error::msg(format!("it asked for {desired} bytes of memory (limit memory_bytes)")));
        }
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        if desired > MAX_TABLE_ELEMENTS {
            return Err(wasmtime::Error::msg(format!("it asked for a table of {desired} elements")));
        }
        Ok(true)
    }

    fn instances(&self) -> usize {
        16
    }

    fn tables(&self) -> usize {
        16
    }

    fn memories(&self) -> usize {
        4
    }
}

const MAX_TABLE_ELEMENTS: usize = 100_000;

/// A workspace with a component that decides about it.
pub struct Runtime {
    loaded: Loaded,
    workspace: Arc<Result<Workspace, Error>>,
    limits: Limits,
    progress: Arc<Progress>,
}

/// How to open a [`Runtime`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Where state lives, in place of `.harn/state/checkpoints` below the root.
    pub state_dir: Option<std::path::PathBuf>,
    /// Which component decides.
    pub guest: Guest,
    /// What it may use.
    pub limits: Limits,
    /// What proves that a file has not changed between two looks.
    pub proof: Proof,
}

impl Runtime {
    /// Opens the workspace at `root`, at or below the top of a git worktree.
    ///
    /// A folder in which no checkpoint can be had is no error here: every method answers
    /// [`MethodError::Unavailable`] with the reason.
    ///
    /// # Errors
    ///
    /// When the guest cannot be loaded.
    pub fn open(root: &Path, options: Options) -> Result<Self, LoadError> {
        let progress = Arc::new(Progress::default());
        let loaded = load(&options.guest)?;
        let workspace = Workspace::open(root, options.state_dir.as_deref(), options.proof, Arc::clone(&progress));
        Ok(Runtime { loaded, workspace: Arc::new(workspace), limits: options.limits, progress })
    }

    /// How far long work has come; for another thread to show.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Records a boundary: once per user message, before the agent acts on it.
    ///
    /// # Errors
    ///
    /// See [`MethodError`]; no boundary was recorded then.
    pub fn capture(
        &self,
        session_id: &str,
        boundary_id: &str,
        in_flight: InFlight,
    ) -> Result<CaptureReceipt, MethodError> {
        let receipt =
            self.call(session_id, |api, store| api.call_capture(store, session_id, boundary_id, in_flight.into()))?;
        Ok(CaptureReceipt {
            available: Available,
            boundary_id: receipt.boundary_id,
            scanned_files: receipt.scanned_files,
            stored_files: receipt.stored_files,
            stored_bytes: receipt.stored_bytes,
            unrestorable_files: receipt.unrestorable_files,
            scan_errors: receipt.scan_errors,
            scan_ms: receipt.scan_ms,
            closed_calls: receipt.closed_calls,
        })
    }

    /// Looks at the workspace before a tool or shell call.
    ///
    /// # Errors
    ///
    /// See [`MethodError`]; the call has not begun then.
    pub fn call_begin(&self, session_id: &str, call_id: &str) -> Result<BeginReceipt, MethodError> {
        let receipt = self.call(session_id, |api, store| api.call_call_begin(store, session_id, call_id))?;
        Ok(BeginReceipt {
            available: Available,
            call_id: receipt.call_id,
            scanned_files: receipt.scanned_files,
            scan_errors: receipt.scan_errors,
            scan_ms: receipt.scan_ms,
        })
    }

    /// Looks again, and attributes each changed path to the call.
    ///
    /// # Errors
    ///
    /// See [`MethodError`]; the call is still open then.
    pub fn call_end(
        &self,
        session_id: &str,
        call_id: &str,
        side_effect: Option<SideEffect>,
    ) -> Result<EndReceipt, MethodError> {
        let receipt = self.call(session_id, |api, store| {
            api.call_call_end(store, session_id, call_id, side_effect.map(Into::into))
        })?;
        Ok(EndReceipt {
            available: Available,
            call_id: receipt.call_id,
            changes: into(receipt.changes),
            scan_errors: receipt.scan_errors,
        })
    }

    /// What a restore to the boundary would do. Touches nothing.
    ///
    /// # Errors
    ///
    /// See [`MethodError`].
    pub fn plan(&self, session_id: &str, boundary_id: &str, in_flight: InFlight) -> Result<PlanReceipt, MethodError> {
        let receipt =
            self.call(session_id, |api, store| api.call_plan(store, session_id, boundary_id, in_flight.into()))?;
        Ok(PlanReceipt {
            available: Available,
            session_id: receipt.session_id,
            boundary_id: receipt.boundary_id,
            entries: into(receipt.entries),
            irreversible: into(receipt.irreversible),
            closed_calls: receipt.closed_calls,
        })
    }

    /// Carries the plan out, for the selected paths or for every path that the session changed. A folder selects all
    /// that is below it.
    ///
    /// # Errors
    ///
    /// See [`MethodError`]. A path that could not be restored is no error: it is in the receipt.
    pub fn restore(
        &self,
        session_id: &str,
        boundary_id: &str,
        paths: Option<&[String]>,
        in_flight: InFlight,
    ) -> Result<RestoreReceipt, MethodError> {
        let receipt = self
            .call(session_id, |api, store| api.call_restore(store, session_id, boundary_id, paths, in_flight.into()));
        let receipt = receipt.map_err(|error| match error {
            MethodError::Component(why) => {
                MethodError::Component(format!("{why}; files may have been restored before that: look at the plan"))
            }
            other => other,
        })?;
        Ok(RestoreReceipt {
            available: Available,
            boundary_id: receipt.boundary_id,
            restored: into(receipt.restored),
            refused: into(receipt.refused),
            skipped: into(receipt.skipped),
            failed: into(receipt.failed),
            irreversible: into(receipt.irreversible),
            removed_directories: receipt.removed_directories,
            closed_calls: receipt.closed_calls,
        })
    }

    /// Releases the session's state and stored files. The workspace stays as it is.
    ///
    /// # Errors
    ///
    /// See [`MethodError`]. State that could not be removed is no error: the receipt says it.
    pub fn drop_session(&self, session_id: &str) -> Result<DropReceipt, MethodError> {
        let receipt = self.call(session_id, |api, store| api.call_drop(store, session_id))?;
        Ok(DropReceipt { available: Available, dropped: receipt.dropped, error: receipt.error })
    }

    fn call<R>(
        &self,
        session_id: &str,
        method: impl FnOnce(&api::Guest, &mut Store<Data>) -> wasmtime::Result<Result<R, wit::Error>>,
    ) -> Result<R, MethodError> {
        let mut store = self.store(session_id);
        let instance: Checkpoint = self.loaded.pre.instantiate(&mut store).map_err(component_error)?;
        let answer = method(instance.turnback_checkpoint_checkpoints(), &mut store).map_err(component_error)?;
        answer.map_err(MethodError::from)
    }

    fn store(&self, session_id: &str) -> Store<Data> {
        let data = Data {
            context: Context::new(Arc::clone(&self.workspace), session_id, self.limits.import_calls),
            table: ResourceTable::new(),
            limits: self.limits,
        };
        let mut store = Store::new(&self.loaded.engine, data);
        store.limiter(|data| data);
        store.set_hostcall_fuel(self.limits.hostcall_bytes);
        store.set_max_component_handles(self.limits.handles);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|store| {
            let Data { context, limits, .. } = store.data();
            if context.last_import.elapsed() > limits.compute_time + TICK {
                return Err(wasmtime::Error::msg("it computed longer than it may (limit compute_time)"));
            }
            Ok(UpdateDeadline::Continue(1))
        });
        store
    }
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").field("limits", &self.limits).finish_non_exhaustive()
    }
}

fn into<A, B: From<A>>(list: Vec<A>) -> Vec<B> {
    list.into_iter().map(B::from).collect()
}

fn component_error(error: wasmtime::Error) -> MethodError {
    MethodError::Component(format!("{:#}", error.root_cause()))
}
