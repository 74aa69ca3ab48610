//! Recorded values and their differences as tables.

use crate::context::{Context, LONG_NAME, Out};
use crate::failure::Failure;
use crate::table::{Column, Table};
use crate::{modules, text};
use executorch_format::TensorShape;
use executorch_format::inspect::{
    ComparedValue, DebugValue, DebugValues, GapOutcome, ModuleGap, NumericGap, Returned, RunGaps,
};
use std::io::{self, Write};

/// At most this many values are shown on a terminal: more than of other tables, since they are in the order of execution.
const MAX_SHOWN: usize = 60;

/// Prints the values of each run.
pub(super) fn values(context: &Context, values: &DebugValues<'_>, top: Option<usize>) -> Result<(), Failure> {
    let mut out = context.out();
    for (index, run) in values.runs.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        let (method, case) = of(context, run.method, run.test_case);
        writeln!(
            out,
            "{} (run {}){method}{case}: {}",
            context.name(run.name, LONG_NAME),
            run.index,
            text::count(run.values.len(), "value")
        )?;
        let mut table = Table::new([
            ("INSTRUCTION", Column::Left),
            ("TYPE", Column::Left),
            ("MIN", Column::Right),
            ("MAX", Column::Right),
            ("MEAN", Column::Detail),
            ("NAME", Column::Left),
        ]);
        table.rows(&run.values, context.rows(top, MAX_SHOWN), |value| row(context, value));
        table.write(&mut out)?;
    }
    Ok(out.flush()?)
}

fn of(context: &Context, method: Option<&str>, test_case: Option<i32>) -> (String, String) {
    let method = method.map(|method| format!(" of method {}", context.name(method, LONG_NAME))).unwrap_or_default();
    (method, test_case.map(|case| format!(", test case {case}")).unwrap_or_default())
}

fn row(context: &Context, value: &DebugValue<'_>) -> [String; 6] {
    let kind = value.tensor.as_ref().map(|tensor| tensor.shape().to_string()).unwrap_or_default();
    let [min, max, mean] = match (&value.tensor, &value.number) {
        (_, Some(value)) => [self::value(value), String::new(), String::new()],
        (Some(tensor), _) => match &tensor.histogram {
            Some(histogram) => {
                let odd = match histogram.not_finite {
                    0 => String::new(),
                    count => format!(" ({count} not finite)"),
                };
                [number(histogram.min), format!("{}{odd}", number(histogram.max)), number(histogram.mean)]
            }
            None if tensor.size == 0 => ["empty".to_owned(), String::new(), String::new()],
            None if tensor.bytes.is_some() => ["not finite".to_owned(), String::new(), String::new()],
            None => Default::default(),
        },
        _ => Default::default(),
    };
    let name = named(context, &value.title(), value.module);
    [place(value.chain.zip(value.instruction)), kind, min, max, mean, name]
}

fn named(context: &Context, name: &str, module: Option<&str>) -> String {
    let module = module.filter(|module| !module.is_empty() && *module != name);
    let module = module.map(|module| format!("  {}", context.name(module, LONG_NAME))).unwrap_or_default();
    format!("{}{module}", context.name(name, LONG_NAME))
}

fn place(place: Option<(usize, usize)>) -> String {
    place.map_or_else(|| "-".to_owned(), crate::profile::place)
}

fn value(value: &Returned<'_>) -> String {
    match value {
        Returned::Int(number) => number.to_string(),
        Returned::Bool(is) => is.to_string(),
        Returned::Double(value) => number(*value),
        Returned::NotFinite(text) => (*text).to_owned(),
        _ => "none".to_owned(),
    }
}

/// Prints a head for each run, and below it what `print` writes of it.
pub(super) fn of_runs(
    context: &Context,
    runs: &[RunGaps],
    mut print: impl FnMut(&mut Out, usize, &RunGaps) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut out = context.out();
    for (index, run) in runs.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        let (method, case) = of(context, run.method.as_deref(), run.test_case);
        let of_outcome = |outcome| run.values.iter().filter(|gap| gap.outcome == outcome).count();
        let (equal, different) = (of_outcome(GapOutcome::Equal), of_outcome(GapOutcome::Different));
        let others = run.values.len() - equal - different;
        let runs = match run.runs {
            [Some(before), Some(after)] => format!("runs {before} and {after}"),
            [_, Some(after)] => format!("run {after}"),
            [Some(before), None] => format!("run {before}, which the other trace does not have"),
            [None, None] => String::new(),
        };
        let rest = if others > 0 { format!(", {others} not compared") } else { String::new() };
        writeln!(out, "{runs}{method}{case}: {equal} equal, {different} different{rest}")?;
        print(&mut out, index, run)?;
    }
    Ok(out.flush()?)
}

/// Prints the differences of a run.
pub(super) fn gaps(out: &mut Out, run: &RunGaps, top: Option<usize>) -> io::Result<()> {
    let context = out.context;
    let mut table = Table::new([
        ("INSTRUCTION", Column::Left),
        ("SNR", Column::Right),
        ("MSE", Column::Right),
        ("L1", Column::Detail),
        ("MAX DIFF", Column::Right),
        ("COSINE", Column::Detail),
        ("NAME", Column::Left),
    ]);
    table.rows(&run.values, context.rows(top, MAX_SHOWN), |gap| gap_row(context, gap));
    table.write(out)
}

/// Prints the differences by module.
pub fn modules(out: &mut Out, modules: &[ModuleGap], top: Option<usize>) -> io::Result<()> {
    let context = out.context;
    let mut table = Table::new([
        ("SNR", Column::Right),
        ("COSINE", Column::Right),
        ("MAX DIFF", Column::Right),
        ("DIFFERENT", Column::Right),
        ("MODULE", Column::Left),
        ("WORST VALUE", Column::Left),
    ]);
    table.rows(modules, context.rows(top, MAX_SHOWN), |gap| {
        let dash = || "-".to_owned();
        let module = modules::name(context, gap.module.as_deref());
        let worst = gap.worst.as_ref().map_or_else(String::new, |name| context.name(name, LONG_NAME));
        let [snr, cosine, most] = match gap.distance {
            None => ["equal".to_owned(), dash(), dash()],
            Some(distance) => [
                distance.snr.map_or_else(dash, |snr| format!("{snr:.1} dB")),
                distance.cosine.map_or_else(dash, |cosine| format!("{cosine:.6}")),
                number(distance.absolute),
            ],
        };
        [snr, cosine, most, format!("{} of {}", gap.different, gap.values), module, worst]
    });
    table.write(out)
}

fn gap_row(context: &Context, gap: &NumericGap) -> [String; 7] {
    let reference = gap.values[0].as_ref().and_then(|value| value.reference.as_deref());
    let reference = reference.filter(|reference| !reference.ends_with(&gap.name.replace(' ', ".")));
    let mut name = named(context, &gap.name, gap.module.as_deref().filter(|module| Some(*module) != reference));
    if let Some(reference) = reference {
        name += &format!("  from {}", context.name(reference, LONG_NAME));
    }
    let [before, after] = gap.values.each_ref().map(|value| value.as_ref().map(shape).unwrap_or_default());
    match gap.outcome {
        GapOutcome::Shape => name += &format!("  {before} -> {after}"),
        GapOutcome::Kind => name += &format!("  {before} -> {after}, not comparable"),
        GapOutcome::NoData => name += "  no bytes in the debug buffer",
        GapOutcome::OnlyBefore
            if reference.is_some() || gap.values[0].as_ref().is_some_and(|value| value.reference.is_some()) =>
        {
            name += "  no value of this name";
        }
        GapOutcome::OnlyBefore => name += "  only before",
        GapOutcome::OnlyAfter => name += "  only after",
        _ if before != after => name += &format!("  {before} -> {after}"),
        _ => {}
    }
    let Some(distance) = gap.distance else {
        let mark = if gap.outcome == GapOutcome::Equal { "equal" } else { "-" };
        let dash = || "-".to_owned();
        return [place(gap.instruction), mark.to_owned(), dash(), dash(), dash(), dash(), name];
    };
    let snr = match (gap.outcome, distance.snr) {
        (GapOutcome::Equal, _) => "equal".to_owned(),
        (_, Some(snr)) => format!("{snr:.1} dB"),
        (_, None) => "-".to_owned(),
    };
    if distance.not_finite != [0, 0] {
        let [before, after] = distance.not_finite;
        name += &format!("  not finite: {before} before, {after} after");
    }
    let cosine = distance.cosine.map_or_else(|| "-".to_owned(), |cosine| format!("{cosine:.6}"));
    let [mse, l1, most] = [distance.mse, distance.l1, distance.absolute].map(number);
    [place(gap.instruction), snr, mse, l1, most, cosine, name]
}

fn shape(value: &ComparedValue) -> String {
    let Some((scalar_type, sizes)) = value.scalar_type.zip(value.sizes.as_deref()) else {
        return "a number".to_owned();
    };
    TensorShape { scalar_type, sizes, dim_order: &[] }.to_string()
}

/// Formats a number with four digits, which is enough to see where a value goes wrong; JSON has all.
fn number(number: f64) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        1e-3..1e5 => {
            let text = format!("{number:.4}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => format!("{number:.3e}"),
    }
}
