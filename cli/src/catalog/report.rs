//! `pte catalog report`: a summary of a catalogue, as one page.

use crate::context::Context;
use crate::failure::Failure;
use crate::save::save_with;
use executorch_format_stores::catalog::{Overview, Use};
use std::io::{self, Write};
use std::path::PathBuf;

/// Write a page about a catalogue: sizes, releases, duplicates, operators, growth, errors
///
/// Everything on the page is read from the tables, which hold it for programs.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  pte catalog report catalog -o catalog.html")]
pub struct Arguments {
    /// The folder that `pte catalog` wrote
    #[arg(value_name = "DIR")]
    catalog: PathBuf,
    /// The page to write; - is standard output
    #[arg(short, long, value_name = "HTML")]
    output: PathBuf,
}

/// Writes the page.
pub fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let overview = Overview::read(&arguments.catalog).map_err(|error| Failure::Unreadable {
        file: arguments.catalog.clone(),
        error: io::Error::other(error.to_string()),
    })?;
    let name = arguments.catalog.display().to_string();
    save_with(context, &arguments.output, |out| page(out, &name, &overview))
}

/// A text, with invisible characters, those that HTML interprets and those that change the direction of text escaped.
struct Escaped<'t>(&'t str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for character in crate::text::message(self.0).chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                other => write!(f, "{other}")?,
            }
        }
        Ok(())
    }
}

fn page(out: &mut dyn Write, name: &str, overview: &Overview) -> io::Result<()> {
    let title = Escaped(name);
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>Catalogue {title}</title>\n<style>{}\nhtml, body {{ height: auto; }} main {{ display: block; padding: 16px 20px; }}</style>\n</head>\n<body>\n",
        executorch_format_viewer::STYLE
    )?;
    let (files, size, run) = (overview.files, crate::text::size(overview.bytes), overview.run);
    writeln!(out, "<header><h1>{title}</h1><p>{files} files, {size}; run {run}</p></header>\n<main>")?;
    table(out, "Kinds of file", &["KIND", "FILES", "BYTES"], overview.kinds.iter(), |(kind, count)| {
        vec![kind.clone(), count.files.to_string(), count.bytes.to_string()]
    })?;
    table(
        out,
        "Releases of ExecuTorch",
        &["RELEASE", "LOADS", "REFUSES", "CRASHES", "COMPUTES WRONG RESULTS", "EXAMPLES"],
        overview.releases.iter(),
        |(release, count)| {
            let numbers = [count.loads, count.refuses, count.dies, count.miscomputes].map(|count| count.to_string());
            [vec![release.clone()], numbers.to_vec(), vec![count.examples.join(", ")]].concat()
        },
    )?;
    match overview.duplicate_bytes {
        None => writeln!(
            out,
            "<h2>Duplicates</h2>\n<p class=\"note\">The catalogue has no hashes: write it with --hash.</p>"
        )?,
        Some(bytes) => {
            let title = format!("Duplicates: {} stored more than once", crate::text::size(bytes));
            let columns = ["BYTES WASTED", "COPIES", "BYTES EACH", "SHA-256", "ONE OF THE FILES"];
            table(out, &title, &columns, overview.duplicates.iter(), |known| {
                let numbers = [known.wasted, known.copies, known.size].map(|number| number.to_string());
                [numbers.to_vec(), vec![known.sha256.clone(), known.file.clone()]].concat()
            })?;
        }
    }
    let title = format!("Changed in run {run}: {} new files, and these", overview.added);
    table(out, &title, &["FILE", "BYTES BEFORE", "BYTES NOW", "GROWTH"], overview.changed.iter(), |file| {
        let share = format!("{:+.1} %", 100.0 * file.share());
        vec![file.file.clone(), file.before.to_string(), file.after.to_string(), share]
    })?;
    for (title, column, uses) in [
        ("Operators", "OPERATOR", &overview.operators),
        ("Backends", "BACKEND", &overview.backends),
        ("Broken rules", "RULE", &overview.findings),
    ] {
        let row = |item: &Use| vec![item.name.clone(), item.files.to_string(), item.times.to_string()];
        table(out, title, &[column, "FILES", "TIMES"], uses.iter(), row)?;
    }
    let title = format!("Files that cannot be read: {}", overview.errors);
    table(out, &title, &["FILE", "REASON"], overview.failed.iter(), |failed| {
        vec![failed.file.clone(), failed.error.clone()]
    })?;
    out.write_all(b"</main>\n</body>\n</html>\n")
}

/// Writes a titled table, or a note if it has no rows. Columns of numbers are aligned to the right.
fn table<T>(
    out: &mut dyn Write,
    title: &str,
    columns: &[&str],
    items: impl Iterator<Item = T>,
    row: impl Fn(T) -> Vec<String>,
) -> io::Result<()> {
    writeln!(out, "<h2>{}</h2>", Escaped(title))?;
    let mut items = items.peekable();
    if items.peek().is_none() {
        return writeln!(out, "<p class=\"note\">None.</p>");
    }
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.% ".contains(&byte));
    writeln!(out, "<table>\n<tr>{}</tr>", columns.iter().map(|name| format!("<th>{name}</th>")).collect::<String>())?;
    for item in items {
        out.write_all(b"<tr>")?;
        for cell in row(item) {
            let class = if !cell.is_empty() && is_number(&cell) { " class=\"number\"" } else { "" };
            write!(out, "<td{class}>{}</td>", Escaped(&cell))?;
        }
        out.write_all(b"</tr>\n")?;
    }
    out.write_all(b"</table>\n")
}
