//! The page of `pte report`: scripts and styles that draw the JSON of `executorch_format`'s report, in one HTML file that works offline.

#![forbid(unsafe_code)]

use base64::engine::general_purpose::{GeneralPurpose, STANDARD};
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::{self, BufWriter, Write};

const TEMPLATE: &str = include_str!("../page.html");

/// The styles of the views.
pub const STYLE: &str = include_str!("../viewer.css");

macro_rules! scripts {
    ($($name:literal)*) => { &[$(include_str!(concat!("../", $name, ".js"))),*] };
}

/// The scripts, each after its dependencies.
const SCRIPTS: &[&str] = scripts! {
    "vendor/d3-color.min" "vendor/d3-dispatch.min" "vendor/d3-ease.min" "vendor/d3-timer.min" "vendor/d3-selection.min"
    "vendor/d3-interpolate.min" "vendor/d3-drag.min" "vendor/d3-transition.min" "vendor/d3-zoom.min" "vendor/d3-hierarchy.min"
    "base" "text" "elements" "table" "names" "search" "show"
    "overview" "size-tree" "size" "memory-plan" "memory" "graph-data" "graph-draw" "graph-panel" "graph" "operators" "weights" "findings" "releases" "models"
};

/// Returns the scripts that draw. They define `viewer`, whose `show` takes a report.
pub fn scripts() -> String {
    SCRIPTS.concat()
}

/// A writer for the report in a page. It compresses the report, for browsers to decompress, and encodes it so that no text from a file is
/// interpreted as markup.
pub struct Data<W: Write>(BufWriter<ZlibEncoder<EncoderWriter<'static, GeneralPurpose, W>>>);

impl<W: Write> Data<W> {
    fn new(out: W) -> Self {
        let compressed = ZlibEncoder::new(EncoderWriter::new(out, &STANDARD), Compression::new(6));
        // A document is written in many small pieces.
        Self(BufWriter::with_capacity(1 << 16, compressed))
    }

    fn finish(self) -> io::Result<()> {
        self.0.into_inner()?.finish()?.finish()?;
        Ok(())
    }
}

impl<W: Write> Write for Data<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes the page that shows a report. The function `report` writes the report, as a JSON document.
pub fn write_page<W: Write>(mut out: W, report: impl FnOnce(&mut Data<&mut W>) -> io::Result<()>) -> io::Result<()> {
    let mut rest = TEMPLATE;
    let mut until = |place| {
        let (before, after) = rest.split_once(place).unwrap_or((rest, ""));
        rest = after;
        before
    };
    write!(out, "{}{STYLE}{}{}{}", until("{{style}}"), until("{{script}}"), scripts(), until("{{data}}"))?;
    let mut data = Data::new(&mut out);
    report(&mut data)?;
    data.finish()?;
    out.write_all(rest.as_bytes())
}
