//! The events of a trace as SVG: a row of instructions for each run, and below it the events inside them.

use super::DARK;
use super::xml::Xml;
use crate::inspect::{EventKind, TimelineEvent};
use crate::names::shortened;
use alloc::{format, vec::Vec};
use core::fmt;

/// The width of the plot, in pixels, and the margin for labels.
const WIDTH: f64 = 880.0;
const LEFT: f64 = 90.0;

/// The heights of the head, of a run, and of a row of it.
const HEAD: f64 = 82.0;
const RUN: f64 = 66.0;
const ROW: f64 = 22.0;

/// The maximum number of runs in a picture, and of events in a run.
const MAX_RUNS: usize = 40;
const MAX_EVENTS: usize = 4000;

/// The narrowest bar with a text, and the width of a letter, in pixels.
const LABELLED: f64 = 40.0;
const LETTER: f64 = 6.6;

/// The fill colours, as in pictures of planned memory.
const COLOURS: [&str; 6] = ["#8ecae6", "#f6c667", "#9bd3ae", "#f2a69e", "#c9b6e4", "#d9d4a3"];

const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#22272e}.h{font-size:15px;font-weight:600}.s{fill:#57606a}\
.a{text-anchor:end}.g{fill:#fafbfc;stroke:#d0d7de}.o{stroke:#22272e;stroke-opacity:.45;stroke-width:.6}.l{pointer-events:none}";

/// A trace as an SVG picture, written by its `Display` implementation: time goes from left to right, on the same scale for all runs. Each event is
/// a bar, with its name and time in a tooltip.
#[derive(Clone, Copy)]
pub struct TimelineSvg<'t> {
    events: &'t [TimelineEvent],
    file: &'t str,
    time: &'t dyn Fn(f64) -> alloc::string::String,
}

impl<'t> TimelineSvg<'t> {
    /// Creates the picture of the events of [`Etdp::timeline`](crate::Etdp::timeline). `file` is the name in its title, and `time` formats ticks.
    pub fn new(events: &'t [TimelineEvent], file: &'t str, time: &'t dyn Fn(f64) -> alloc::string::String) -> Self {
        Self { events, file, time }
    }
}

impl fmt::Debug for TimelineSvg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimelineSvg").field("events", &self.events.len()).field("file", &self.file).finish()
    }
}

impl fmt::Display for TimelineSvg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_shown = |event: &&TimelineEvent| event.instruction.is_some() && event.kind != EventKind::Method;
        let events: Vec<&TimelineEvent> = self.events.iter().filter(is_shown).collect();
        // The events of a run are neighbours.
        let runs: Vec<&[&TimelineEvent]> = events.chunk_by(|left, right| left.run == right.run).collect();
        let length = |run: &&[&TimelineEvent]| bounds(run).1 - bounds(run).0;
        let longest = runs.iter().map(length).max().unwrap_or_default().max(1);
        let (width, height) = (LEFT + WIDTH + 30.0, HEAD + RUN * runs.len().clamp(1, MAX_RUNS) as f64);
        writeln!(
            f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">"
        )?;
        writeln!(f, "<style>{STYLE}{DARK}</style><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>")?;
        let text = |f: &mut fmt::Formatter<'_>, class: &str, x: f64, y: f64, text: &str| {
            writeln!(f, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", Xml(text))
        };
        text(f, "h", LEFT, 28.0, &format!("Timeline of {}", shortened(self.file)))?;
        let scale = format!(
            "The whole width is {}. Above: instructions. Below: the events inside them.",
            (self.time)(longest as f64)
        );
        text(f, "s", LEFT, 48.0, &scale)?;
        let left_out = runs.len().saturating_sub(MAX_RUNS);
        if left_out > 0 {
            text(f, "s", LEFT, 65.0, &format!("{left_out} later runs are left out."))?;
        }
        if runs.is_empty() {
            text(f, "", LEFT, HEAD + ROW, "No instruction was timed.")?;
        }
        for (at, run) in runs.iter().take(MAX_RUNS).enumerate() {
            let (top, start) = (HEAD + RUN * at as f64, bounds(run).0);
            let number = run.first().map_or(0, |event| event.run);
            text(f, "s a", LEFT - 8.0, top + 15.0, &format!("run {number}"))?;
            writeln!(f, "<rect class=\"g\" x=\"{LEFT}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{}\"/>", 2.0 * ROW)?;
            for (event, colour) in run.iter().take(MAX_EVENTS).zip(COLOURS.into_iter().cycle()) {
                let scaled = |ticks: u64| ticks as f64 / longest as f64 * WIDTH;
                let (x, bar) = (LEFT + scaled(event.start - start), scaled(event.ticks).max(0.3));
                let y = top + if event.kind == EventKind::Instruction { 0.0 } else { ROW };
                let name = shortened(&event.name);
                let place = event.instruction.map(|index| format!("instruction {index}: ")).unwrap_or_default();
                writeln!(
                    f,
                    "<rect class=\"o\" x=\"{x:.2}\" y=\"{y}\" width=\"{bar:.2}\" height=\"{ROW}\" fill=\"{colour}\"><title>{}{}, {}</title></rect>",
                    place,
                    Xml(&name),
                    Xml(&(self.time)(event.ticks as f64)),
                )?;
                if bar >= LABELLED {
                    let cut: alloc::string::String = name.chars().take((bar / LETTER) as usize - 1).collect();
                    text(f, "l", x + 4.0, y + 15.0, &cut)?;
                }
            }
        }
        writeln!(f, "</svg>")
    }
}

/// Returns the first start and the last end of a run's events.
fn bounds(run: &[&TimelineEvent]) -> (u64, u64) {
    let start = run.iter().map(|event| event.start).min().unwrap_or_default();
    let end = run.iter().map(|event| event.start.saturating_add(event.ticks)).max().unwrap_or_default();
    (start, end.max(start))
}
