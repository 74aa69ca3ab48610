//! A progress bar on the terminal for long operations.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::time::Duration;

/// The time that an operation runs before the bar is shown.
pub const QUIET: Duration = Duration::from_millis(700);

/// Creates a bar for `total` bytes, which is not shown yet.
pub fn hidden(total: u64) -> ProgressBar {
    ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden())
}

/// Shows the bar, only if stderr is a terminal. `what` names the operation.
pub fn show(bar: &ProgressBar, what: &str) {
    if !io::stderr().is_terminal() {
        return;
    }
    let template = format!("{what} {{bar:40}} {{bytes}}/{{total_bytes}} {{binary_bytes_per_sec}}");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar.set_draw_target(ProgressDrawTarget::stderr());
}
