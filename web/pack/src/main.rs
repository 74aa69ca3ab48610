//! Builds the page's files: `pack MODULE.wasm OUTPUT`, where MODULE.wasm is the compiled web/page.
//!
//! It writes three outputs: `pte.html`, the page in one file; `site/`, the page as files for a server; and `module/`, its module
//! alone, uncompressed and compressed as in the page. If `wasm-opt` is installed, it shrinks the module.

mod order;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wasm_bindgen_cli_support::Bindgen;

/// The page's own scripts, each after those that it uses.
const SCRIPTS: &[&str] = &[
    include_str!("../../page/start.js"),
    include_str!("../../page/roles.js"),
    include_str!("../../page/files.js"),
    include_str!("../../page/ranges.js"),
    include_str!("../../page/bytes.js"),
    include_str!("../../page/fault.js"),
    include_str!("../../page/compare.js"),
    include_str!("../../page/times.js"),
    include_str!("../../page/cases.js"),
    include_str!("../../page/payloads.js"),
    include_str!("../../page/tree.js"),
];

/// The worker's scripts, after that of the module.
const WORKER: &[&str] = &[
    include_str!("../../page/vendor/fflate.min.js"),
    include_str!("../../page/zip.js"),
    include_str!("../../page/worker.js"),
];

/// The files of the sample on the first page.
const SAMPLE: &[(&str, &[u8])] = &[
    ("net_portable.pte", include_bytes!("../../../tests/data/etrecord/net_portable.pte")),
    ("net_portable.etrecord", include_bytes!("../../../tests/data/etrecord/net_portable.etrecord")),
];

const TEMPLATE: &str = include_str!("../../page/page.html");

const STYLE: &str = include_str!("../../page/page.css");

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(module), Some(output), None) = (arguments.next(), arguments.next(), arguments.next()) else {
        return Err("usage: pack MODULE.wasm OUTPUT".into());
    };
    fs::create_dir_all(output.join("site"))?;
    let alone = output.join("module");
    Bindgen::new().input_path(&module).no_modules(true)?.out_name("page").typescript(false).generate(&alone)?;
    let wasm = alone.join("page_bg.wasm");
    if !smaller(&wasm)? {
        eprintln!("no wasm-opt: the module stays as it is");
    }
    fs::write(&wasm, order::ordered(&fs::read(&wasm)?)?)?;
    let wasm = fs::read(&wasm)?;
    let mut packed = Vec::new();
    // Four times the usual number of blocks: code and tables of different kinds follow each other. It saves 2,900 bytes.
    let options = zopfli::Options { maximum_block_splits: 60, ..Default::default() };
    zopfli::compress(options, zopfli::Format::Gzip, wasm.as_slice(), &mut packed)?;
    fs::write(alone.join("page_bg.wasm.gz"), &packed)?;
    println!("module: {} bytes, {} compressed", wasm.len(), packed.len());
    let glue = fs::read_to_string(alone.join("page.js"))?;
    // A string in a script, escaped so that it cannot end the script.
    let worker = text(&format!("{glue}\n{}", WORKER.join("\n")));
    let start = format!(
        "{}\nconst packedModule = \"{}\";\nconst workerSource = {worker};\nconst sampleFiles = [{}];\n{}",
        executorch_format_viewer::scripts(),
        STANDARD.encode(packed),
        SAMPLE
            .iter()
            .map(|(name, content)| format!("[{}, \"{}\"],", text(name), STANDARD.encode(content)))
            .collect::<String>(),
        SCRIPTS.concat(),
    );
    let style = format!("{}{STYLE}", executorch_format_viewer::STYLE);
    let place = |html: &str, style_tag: &str, script_tag: &str, sources: [String; 2]| {
        let [script_source, style_source] = sources;
        html.replace("{{script-src}}", &script_source)
            .replace("{{style-src}}", &style_source)
            .replace("{{style}}", style_tag)
            .replace("{{script}}", script_tag)
    };
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())));
    let single = place(
        TEMPLATE,
        &format!("<style>{style}</style>"),
        &format!("<script>{start}</script>"),
        [hash(&start), hash(&style)],
    );
    fs::write(output.join("pte.html"), &single)?;
    let site = output.join("site");
    fs::write(site.join("pte.js"), &start)?;
    fs::write(site.join("pte.css"), &style)?;
    let linked = place(
        TEMPLATE,
        "<link rel=\"stylesheet\" href=\"pte.css\">",
        "<script src=\"pte.js\"></script>",
        ["'self'".into(), "'self'".into()],
    );
    fs::write(site.join("index.html"), linked)?;
    println!("{}: {} bytes", output.join("pte.html").display(), single.len());
    Ok(())
}

/// Quotes a text as a JavaScript string.
fn text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '<' => quoted.push_str("\\x3c"),
            '\r' | '\u{2028}' | '\u{2029}' => quoted.push_str(&format!("\\u{{{:x}}}", character as u32)),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Shrinks a module. Returns `false` if `wasm-opt` is not installed.
fn smaller(module: &Path) -> Result<bool, Box<dyn Error>> {
    let features = ["bulk-memory", "mutable-globals", "sign-ext", "nontrapping-float-to-int", "multivalue"];
    let mut command = Command::new("wasm-opt");
    // Compressed, functions are smallest without inlined functions that are called once: their locals have short numbers. Loads and stores
    // compress better without a stated alignment, which no machine needs. The first bytes of the memory are the end of the stack.
    let options = "-O2 --shrink-level 0 --one-caller-inline-max-function-size 0 --low-memory-unused --dealign --strip-producers \
         --converge";
    command
        .args(options.split(' '))
        .args(features.map(|feature| format!("--enable-{feature}")))
        .arg(module)
        .arg("-o")
        .arg(module);
    match command.status() {
        Ok(status) if status.success() => Ok(true),
        Ok(status) => Err(format!("wasm-opt: {status}").into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}
