//! The page of `pte report`: scripts and styles that draw the JSON of `executorch_format`'s report, in one HTML file that needs no network.

#![forbid(unsafe_code)]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const TEMPLATE: &str = include_str!("../page.html");

/// The styles of the views.
pub const STYLE: &str = include_str!("../viewer.css");

macro_rules! scripts {
    ($($name:literal)*) => { &[$(include_str!(concat!("../", $name, ".js"))),*] };
}

/// The scripts, each after those that it uses.
const SCRIPTS: &[&str] = scripts! {
    "vendor/d3-color.min" "vendor/d3-dispatch.min" "vendor/d3-ease.min" "vendor/d3-timer.min" "vendor/d3-selection.min"
    "vendor/d3-interpolate.min" "vendor/d3-drag.min" "vendor/d3-transition.min" "vendor/d3-zoom.min" "vendor/d3-hierarchy.min"
    "base" "overview" "size" "memory" "graph" "lists"
};

/// The scripts that draw. They define `viewer`, whose `show` takes a report.
pub fn scripts() -> String {
    SCRIPTS.concat()
}

/// The page that shows `report`, a JSON document. Its data is compressed, for browsers to decompress, and encoded so
/// that no text from a file is interpreted as markup.
pub fn page(report: &[u8]) -> String {
    let data = miniz_oxide::deflate::compress_to_vec_zlib(report, 6);
    let parts = [("{{style}}", STYLE.to_owned()), ("{{script}}", scripts()), ("{{data}}", STANDARD.encode(data))];
    let mut html = String::new();
    let mut rest = TEMPLATE;
    for (place, part) in parts {
        let (before, after) = rest.split_once(place).unwrap_or((rest, ""));
        html += before;
        html += &part;
        rest = after;
    }
    html + rest
}
