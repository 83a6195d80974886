//! How far long work has come, on standard error, once it has lasted half a second; on a terminal only.

use std::{
    io::{IsTerminal, stderr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget};
use turnback::{Phase, Progress};

const PATIENCE: Duration = Duration::from_millis(500);
const REDRAW: Duration = Duration::from_millis(100);

/// The bar is gone when this is.
pub(super) struct Shown {
    ended: Arc<AtomicBool>,
    drawer: Option<JoinHandle<()>>,
}

/// Shows the progress until the answer is dropped.
pub(super) fn show(progress: Arc<Progress>) -> Shown {
    let ended = Arc::new(AtomicBool::new(false));
    let drawer = stderr().is_terminal().then(|| {
        let ended = Arc::clone(&ended);
        thread::spawn(move || draw(&progress, &ended))
    });
    Shown { ended, drawer }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(drawer) = self.drawer.take() {
            drawer.thread().unpark();
            // A bar that panicked is no reason to fail.
            let _best_effort = drawer.join();
        }
    }
}

fn draw(progress: &Progress, ended: &AtomicBool) {
    let mut bar: Option<ProgressBar> = None;
    let mut busy = Duration::ZERO;
    while !ended.load(Ordering::Relaxed) {
        thread::park_timeout(REDRAW);
        let (phase, done) = progress.now();
        let what = match phase {
            Phase::Idle => {
                busy = Duration::ZERO;
                if let Some(bar) = bar.take() {
                    bar.finish_and_clear();
                }
                continue;
            }
            Phase::Scanning => "scanning: names",
            Phase::Storing => "keeping contents: files",
            Phase::Comparing => "comparing contents",
            Phase::Restoring => "restoring: files",
        };
        busy += REDRAW;
        if busy >= PATIENCE {
            let bar = bar.get_or_insert_with(|| {
                let bar = ProgressBar::new_spinner();
                bar.set_draw_target(ProgressDrawTarget::stderr());
                bar
            });
            bar.set_message(if done > 0 { format!("{what} {done}") } else { what.to_owned() });
            bar.tick();
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}
