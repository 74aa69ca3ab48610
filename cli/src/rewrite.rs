//! `pte rewrite`: writes a file again, unchanged or with a recomputed layout.

use crate::context::Context;
use crate::edit::{self, EditReport, How, Output, only_a_file};
use crate::failure::Failure;
use crate::lock;
use crate::open::Input;
use crate::save::{LastArgument, Pending};
use crate::text;
use clap::ValueEnum;
use executorch_format::delegate::Xnnpack;
use executorch_format::edit::{Action, Change, Subject};
use executorch_format::schema::program::DataLocation;
use executorch_format::{Error, Image, Model, PtdOptions, PteOptions, WriteStyle};
use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Write a file again: unchanged, or with a recomputed layout if any option is given
///
/// The new layout is that of ExecuTorch's current exporter, except where options change it. Tables and
/// fields keep their order.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte rewrite model.pte copy.pte
  pte rewrite --segment-alignment 4096 --delegate segment model.pte -i
  curl -s https://example.com/model.pte | pte rewrite --relayout - - > model.pte")]
#[command(mut_arg("last", |argument| {
    argument.required_unless_present_any(["to", "in_place", "dry_run"]).conflicts_with("in_place")
}))]
#[command(mut_arg("to", |argument| argument.conflicts_with("in_place")))]
pub struct Arguments {
    /// A .pte, .ptd, .bpte or .etdp file, or an XNNPACK payload cut out of a .pte; - is standard input
    input: PathBuf,
    #[command(flatten)]
    output: LastArgument,
    /// Replace the file itself; if that fails, it is unchanged
    #[arg(short, long)]
    in_place: bool,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    options: Options,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Layout options")]
struct Options {
    /// Recompute the layout, even without another option
    #[arg(long)]
    relayout: bool,
    /// Drop bytes at the end that the file does not refer to, which a new layout does not keep. The rest of a bundle, a trace or a payload
    /// stays as it is
    #[arg(long)]
    drop_trailing: bool,
    /// Align segments to this many bytes, a power of two [default: 128]; a segment also keeps the alignment of its old
    /// offset, up to 4096
    #[arg(long, value_name = "BYTES", value_parser = alignment)]
    segment_alignment: Option<u32>,
    /// Align constants within their segment to this many bytes [default: keep their offsets] (.pte)
    #[arg(long, value_name = "BYTES", value_parser = alignment)]
    constant_alignment: Option<u32>,
    /// Move constants out of the FlatBuffer into a segment, as runtimes since 1.3 require [default: where they are] (.pte)
    #[arg(long, value_name = "WHERE")]
    constants: Option<Constants>,
    /// Align delegate payloads to this many bytes [default: 16] (.pte)
    #[arg(long, value_name = "BYTES", value_parser = alignment)]
    delegate_alignment: Option<u32>,
    /// Place of delegate payloads [default: where they are] (.pte)
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
enum Constants {
    /// In a separate segment
    Segment,
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
    // The file must be readable on a 32-bit machine.
    const MAX_ALIGNMENT: u32 = 1 << 30;
    let fits = |alignment: &u32| alignment.is_power_of_two() && *alignment <= MAX_ALIGNMENT;
    text.parse().ok().filter(fits).ok_or_else(|| format!("expected a power of two up to {MAX_ALIGNMENT}"))
}

fn header_length(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|length| [24, 32].contains(length)).ok_or_else(|| "expected 24 or 32".to_owned())
}

/// Writes the file again.
pub fn run<'a>(context: &Context, arguments: &'a Arguments) -> Result<Pending<'a>, Failure> {
    if arguments.in_place {
        only_a_file(&arguments.input)?;
    }
    let output = if arguments.in_place { Some(&*arguments.input) } else { arguments.output.given() };
    if let Some(output) = output.filter(|_| !arguments.how.dry_run) {
        lock::before_reading(context, output)?;
    }
    let input = Input::open(context, &arguments.input)?;
    let options = &arguments.options;
    let unwritable = |error: Error| Failure::unwritable(output.unwrap_or(input.path()), error);
    let finish = |image: executorch_format::Result<Image<'_>>, notes: Vec<String>| {
        let image = image.map_err(unwritable)?;
        let (before, after) = (input.bytes().len() as u64, image.size());
        let mut report = EditReport::default();
        if !image.is_from_source() || before != after {
            report.changes.push(Change::new(Action::Replaced, Subject::Layout, "", before, after));
        }
        report.notes = notes;
        edit::finish(context, &[&input], vec![Output::of_image(output, image)], report, &arguments.how)
    };
    let model = input.parse()?;
    if !matches!(model, Model::Pte(_) | Model::Ptd(_)) && options.only_drops_trailing() {
        let trailing = model.trailing_bytes();
        options.check_trailing(context, &trailing, input.path())?;
        let kept = cut(&model, input.bytes(), &trailing);
        let cut = Model::parse(&kept).map_err(|error| Failure::bad(input.path(), &error))?;
        return finish(cut.image(), Vec::new());
    }
    match model {
        Model::Pte(pte) => {
            options.check_trailing(context, &pte.trailing_bytes(), input.path())?;
            let pte = if options.any() { pte.lay_out(&options.for_pte()).map_err(unwritable)? } else { pte };
            finish(pte.image(), Vec::new())
        }
        Model::Ptd(ptd) => {
            if let Some(option) = options.for_programs() {
                let file = text::path(input.path());
                return Err(Failure::Usage(format!("{option} applies only to .pte files, and {file} is a .ptd")));
            }
            options.check_trailing(context, &ptd.trailing_bytes(), input.path())?;
            let notes = edit::old_schema(&ptd).filter(|_| options.any()).into_iter().collect();
            let ptd = if options.any() { ptd.lay_out(&options.for_ptd()).map_err(unwritable)? } else { ptd };
            finish(ptd.image(), notes)
        }
        Model::Bpte(bpte) if !options.any() => {
            // The program is copied as bytes of the bundle, so damage in it would otherwise go unnoticed.
            bpte.program().map_err(|error| Failure::bad(input.path(), &error))?;
            finish(bpte.image(), Vec::new())
        }
        Model::Bpte(_) => {
            let file = text::path(input.path());
            Err(Failure::Usage(format!(
                "{file}: the layout of a bundle cannot be recomputed: extract the program first"
            )))
        }
        Model::Xnnpack(payload) => {
            let payload = options.for_payload(payload, input.path())?;
            finish(payload.image(), Vec::new())
        }
        Model::Etdp(etdp) if !options.any() => finish(etdp.image(), Vec::new()),
        _ => Err(Failure::Usage(format!("{}: files of this kind cannot be written", text::path(input.path())))),
    }
}

/// Returns the bytes of a file without those at its end. The size prefix of a trace counts all that is left.
fn cut<'t>(model: &Model<'_>, bytes: &'t [u8], trailing: &Range<u64>) -> Cow<'t, [u8]> {
    let end = usize::try_from(trailing.start).ok().filter(|_| !trailing.is_empty());
    let kept = end.and_then(|end| bytes.get(..end)).unwrap_or(bytes);
    match (model, u32::try_from(kept.len().saturating_sub(SIZE_PREFIX))) {
        (Model::Etdp(_), Ok(size)) => {
            let mut kept = kept.to_vec();
            kept.iter_mut().zip(size.to_le_bytes()).for_each(|(byte, new)| *byte = new);
            kept.into()
        }
        _ => kept.into(),
    }
}

/// The bytes of the size prefix of a trace.
const SIZE_PREFIX: usize = 4;

impl Options {
    fn any(&self) -> bool {
        self.drop_trailing || self.any_of_layout()
    }

    /// Returns `true` if a layout is asked for.
    fn any_of_layout(&self) -> bool {
        self.relayout || self.segment_alignment.is_some() || self.order.is_some() || self.for_programs().is_some()
    }

    fn only_drops_trailing(&self) -> bool {
        self.drop_trailing && !self.any_of_layout()
    }

    /// Encodes a payload again, or keeps it unchanged. Fails if another option is given.
    fn for_payload<'a>(&self, payload: Xnnpack<'a>, file: &Path) -> Result<Xnnpack<'a>, Failure> {
        let others = self.segment_alignment.is_some() || self.order.is_some() || self.drop_trailing;
        if others || self.for_programs().is_some() {
            let file = text::path(file);
            return Err(Failure::Usage(format!(
                "{file} is a payload: either --relayout or --drop-trailing applies to it"
            )));
        }
        Ok(if self.relayout { Xnnpack { source: None, ..payload } } else { payload })
    }

    fn for_pte(&self) -> PteOptions {
        let default = PteOptions::default();
        PteOptions::default()
            .with_segment_alignment(self.segment_alignment.unwrap_or(default.segment_alignment))
            .with_constant_alignment(self.constant_alignment.or(default.constant_alignment))
            .with_constants(self.constants.map(|Constants::Segment| DataLocation::SEGMENT))
            .with_delegate_alignment(self.delegate_alignment.unwrap_or(default.delegate_alignment))
            .with_delegates(self.delegate.map(DataLocation::from).or(default.delegates))
            .with_style(self.order.map(WriteStyle::from))
            .with_header_length(self.header_length.unwrap_or(default.header_length))
    }

    fn for_ptd(&self) -> PtdOptions {
        let default = PtdOptions::default();
        PtdOptions::default()
            .with_segment_alignment(self.segment_alignment.unwrap_or(default.segment_alignment))
            .with_style(self.order.map(WriteStyle::from))
    }

    /// Fails if a new layout would lose bytes that the user did not ask to drop.
    fn check_trailing(&self, context: &Context, trailing: &Range<u64>, file: &Path) -> Result<(), Failure> {
        if !self.any() || trailing.is_empty() {
            return Ok(());
        }
        if !self.drop_trailing {
            return Err(Failure::loses(file, trailing, "--drop-trailing drops them"));
        }
        let (count, start) = (trailing.end - trailing.start, trailing.start);
        let file = text::path(file);
        context.say(format_args!("{file}: {count} trailing bytes, from byte {start}, dropped"));
        Ok(())
    }

    /// Returns the first given option that does not apply to a `.ptd`.
    fn for_programs(&self) -> Option<&'static str> {
        let given = [
            (self.constant_alignment.is_some(), "--constant-alignment"),
            (self.constants.is_some(), "--constants"),
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
