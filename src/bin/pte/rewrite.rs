//! `pte rewrite`: writes a file again, unchanged or with a recomputed layout.

use crate::failure::Failure;
use crate::open::Input;
use crate::progress;
use clap::ValueEnum;
use executorch_format::schema::program::DataLocation;
use executorch_format::{Error, Image, Model, Ptd, PtdOptions, Pte, PteOptions, WriteStyle};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Write a file again: unchanged, or with a recomputed layout if any option is given
///
/// A new layout is the one that ExecuTorch's current exporter would write, except for what the options change. Tables and
/// fields keep their order.
#[derive(clap::Args)]
pub struct Arguments {
    /// A .pte or .ptd file
    input: PathBuf,
    /// The file to write; may be the same file
    output: PathBuf,
    #[command(flatten)]
    options: Options,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Layout options")]
struct Options {
    /// Recompute the layout, even without another option
    #[arg(long)]
    relayout: bool,
    /// Align segments to this many bytes, a power of two [default: 128]; a segment also keeps the alignment of its old
    /// offset, up to 4096
    #[arg(long, value_name = "BYTES", value_parser = alignment)]
    segment_alignment: Option<u32>,
    /// Align constants within their segment to this many bytes [default: keep their offsets] (.pte)
    #[arg(long, value_name = "BYTES", value_parser = alignment)]
    constant_alignment: Option<u32>,
    /// Align delegate payloads to this many bytes [default: 16] (.pte)
    #[arg(long, value_name = "BYTES", value_parser = alignment)]
    delegate_alignment: Option<u32>,
    /// Where to put delegate payloads [default: where they are] (.pte)
    #[arg(long, value_name = "WHERE")]
    delegate: Option<Delegate>,
    /// Write tables and fields in this order [default: keep their order]
    #[arg(long)]
    order: Option<Order>,
    /// Length of the extended header in bytes: 24 up to ExecuTorch 0.7, 32 since 1.0 [default: 32] (.pte)
    #[arg(long, value_name = "BYTES", value_parser = header_length)]
    header_length: Option<u32>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Delegate {
    /// Inside the FlatBuffer
    Inline,
    /// In separate segments
    Segment,
}

#[derive(Clone, Copy, ValueEnum)]
enum Order {
    /// By field id, as ExecuTorch's Python exporter does since 1.2
    ById,
    /// By size, as flatc does
    BySize,
}

fn alignment(text: &str) -> Result<u32, String> {
    // A 32-bit machine must be able to read the file.
    const MOST: u32 = 1 << 30;
    let fits = |alignment: &u32| alignment.is_power_of_two() && *alignment <= MOST;
    text.parse().ok().filter(fits).ok_or_else(|| format!("expected a power of two up to {MOST}"))
}

fn header_length(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|length| [24, 32].contains(length)).ok_or_else(|| "expected 24 or 32".to_owned())
}

/// Writes the file again.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = Input::open(&arguments.input)?;
    let bad = |error: Error| Failure::bad(input.path(), &error);
    let options = &arguments.options;
    match input.parse()? {
        Model::Pte(pte) => {
            let pte = program(pte, &input, options)?;
            save(&pte.image().map_err(bad)?, &arguments.output)
        }
        Model::Ptd(ptd) => {
            let ptd = flat_tensor(ptd, &input, options)?;
            save(&ptd.image().map_err(bad)?, &arguments.output)
        }
        _ => Err(Failure::Usage(format!("{}: files of this kind cannot be written", input.path().display()))),
    }
}

fn program<'a>(pte: Pte<'a>, input: &Input, options: &Options) -> Result<Pte<'a>, Failure> {
    if !options.any() {
        return Ok(pte);
    }
    let bad = |error: Error| Failure::bad(input.path(), &error);
    let default = PteOptions::default();
    let options = PteOptions {
        segment_alignment: options.segment_alignment.unwrap_or(default.segment_alignment),
        constant_alignment: options.constant_alignment.or(default.constant_alignment),
        delegate_alignment: options.delegate_alignment.unwrap_or(default.delegate_alignment),
        delegates: options.delegate.map(DataLocation::from).or(default.delegates),
        style: options.order.map(WriteStyle::from),
        header_length: options.header_length.unwrap_or(default.header_length),
    };
    pte.lay_out(&options).map_err(bad)
}

fn flat_tensor<'a>(ptd: Ptd<'a>, input: &Input, options: &Options) -> Result<Ptd<'a>, Failure> {
    if let Some(option) = options.for_programs() {
        return Err(Failure::Usage(format!(
            "{}: {option} is for .pte files, but this is a .ptd file",
            input.path().display()
        )));
    }
    if !options.any() {
        return Ok(ptd);
    }
    let default = PtdOptions::default();
    let options = PtdOptions {
        segment_alignment: options.segment_alignment.unwrap_or(default.segment_alignment),
        style: options.order.map(WriteStyle::from),
    };
    ptd.lay_out(&options).map_err(|error| Failure::bad(input.path(), &error))
}

impl Options {
    fn any(&self) -> bool {
        self.relayout || self.segment_alignment.is_some() || self.order.is_some() || self.for_programs().is_some()
    }

    /// An option that was given and does not apply to a `.ptd`.
    fn for_programs(&self) -> Option<&'static str> {
        let given = [
            (self.constant_alignment.is_some(), "--constant-alignment"),
            (self.delegate_alignment.is_some(), "--delegate-alignment"),
            (self.delegate.is_some(), "--delegate"),
            (self.header_length.is_some(), "--header-length"),
        ];
        given.into_iter().find_map(|(given, option)| given.then_some(option))
    }
}

impl From<Delegate> for DataLocation {
    fn from(delegate: Delegate) -> Self {
        match delegate {
            Delegate::Inline => Self::INLINE,
            Delegate::Segment => Self::SEGMENT,
        }
    }
}

impl From<Order> for WriteStyle {
    fn from(order: Order) -> Self {
        match order {
            Order::ById => Self::PYTHON,
            Order::BySize => Self::FLATC,
        }
    }
}

fn save(image: &Image<'_>, output: &Path) -> Result<(), Failure> {
    let bar = progress::hidden(image.size());
    let start = Instant::now();
    let saved = image.save_with(output, |done, _| {
        if bar.is_hidden() && start.elapsed() > progress::QUIET {
            progress::show(&bar, "writing");
        }
        bar.set_position(done);
    });
    bar.finish_and_clear();
    saved.map_err(|error| Failure::Unwritable { file: output.to_owned(), error: error.into() })?;
    Ok(writeln!(io::stdout(), "{}: {} bytes", output.display(), image.size())?)
}
