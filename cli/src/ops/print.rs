//! Operators as text.

use crate::context::{Context, Out, more};
use crate::failure::Failure;
use crate::table::{Column, MAX_SHOWN, Table};
use crate::text;
use executorch_format::inspect::{KernelUse, ModuleTotal, OperatorUse, Operators, TensorUse};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// At most this many combinations of types are shown for each operator on a terminal.
const MAX_KERNELS: usize = 4;

/// The characters of an operator's name shown on a terminal, which is enough for PyTorch's: `aten::_native_batch_norm_legit_no_training.out`.
pub(super) const NAME: usize = 48;

/// Prints the operators and backends that a file needs, after an empty line if `apart`.
pub(super) fn text(context: &Context, path: &Path, operators: &Operators, apart: bool) -> Result<(), Failure> {
    let mut out = context.out();
    if apart {
        writeln!(out)?;
    }
    writeln!(out, "{}: {}", text::path(path), needs(operators))?;
    print(&mut out, operators)?;
    Ok(out.flush()?)
}

/// Prints an amount for each module of a file, after an empty line if `apart`. `what` describes the amount, `column` heads the numbers.
pub(super) fn modules(
    context: &Context,
    path: &Path,
    (what, column): (&str, &str),
    modules: &[ModuleTotal<'_>],
    top: Option<usize>,
    apart: bool,
    number: fn(u64) -> String,
) -> Result<(), Failure> {
    let mut out = context.out();
    if apart {
        writeln!(out)?;
    }
    writeln!(out, "{}: {what}", text::path(path))?;
    crate::modules::write(&mut out, modules, column, context.rows(top, MAX_SHOWN), number)?;
    Ok(out.flush()?)
}

/// Prints the operators and backends that several files need together.
pub(super) fn merged(context: &Context, files: usize, operators: &Operators) -> Result<(), Failure> {
    let mut out = context.out();
    writeln!(out, "{}: {}", text::count(files, "file"), needs(operators))?;
    print(&mut out, operators)?;
    Ok(out.flush()?)
}

fn needs(operators: &Operators) -> String {
    format!(
        "{}, {}",
        text::count(operators.operators.len(), "operator"),
        text::count(operators.backends.len(), "backend")
    )
}

fn print(out: &mut Out, operators: &Operators) -> io::Result<()> {
    let context = out.context;
    let mut table = Table::new([("CALLS", Column::Right), ("OPERATOR", Column::Name), ("TENSORS", Column::Left)]);
    let mut rows: Vec<(&String, &OperatorUse)> = operators.operators.iter().collect();
    rows.sort_by_key(|(_, operator)| Reverse(operator.calls));
    let most = context.rows(None, MAX_SHOWN);
    for (name, operator) in rows.iter().take(most.count) {
        let mut kernels: Vec<&KernelUse> = operator.kernels.values().collect();
        kernels.sort_by_key(|kernel| Reverse(kernel.calls));
        let mut cells = [operator.calls.to_string(), context.name(name, NAME)];
        let most = context.most(MAX_KERNELS);
        for kernel in kernels.iter().take(most) {
            let [calls, name] = std::mem::take(&mut cells);
            table.row([calls, name, tensors(&kernel.tensors)]);
        }
        let [calls, name] = cells;
        match kernels.len() {
            0 => table.row([calls, name, "never called".to_owned()]),
            count if count > most => table.row([calls, name, more(count - most)]),
            _ => {}
        }
    }
    table.leave_out(rows.len().saturating_sub(most.count), most, "");
    table.write(out)?;
    places(out, operators)?;
    let mut table = Table::new([("CALLS", Column::Right), ("BACKEND", Column::Left), ("DELEGATES", Column::Right)]);
    for (name, backend) in &operators.backends {
        table.row([backend.calls.to_string(), context.name(name, NAME), backend.delegates.to_string()]);
    }
    table.write(out)?;
    for (name, backend) in operators.backends.iter().filter(|(_, backend)| !backend.operators.is_empty()) {
        let mut table = Table::new([("COUNT", Column::Right), ("OPERATOR INSIDE", Column::Left)]);
        let mut rows: Vec<(&String, &usize)> = backend.operators.iter().collect();
        rows.sort_by_key(|(_, count)| Reverse(**count));
        table.rows(rows, most, |(operator, count)| [count.to_string(), context.name(operator, NAME)]);
        writeln!(out, "  inside {}", context.name(name, NAME))?;
        table.write(out)?;
    }
    Ok(())
}

/// Prints the places of kernels outside the portable library and the runtime, on a line for each.
fn places(out: &mut Out, operators: &Operators) -> io::Result<()> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for operator in operators.operators.values() {
        let place = match operator.place {
            Some(place) if ["portable", "runtime"].contains(&place.library) => continue,
            Some(place) if place.library == "none" => place.to_string(),
            Some(place) => format!("{}, {place}", place.library),
            None => "in no library of ExecuTorch: kernels of the application's own".to_owned(),
        };
        *counts.entry(place).or_default() += 1;
    }
    counts.iter().try_for_each(|(place, count)| writeln!(out, "  {}: {place}", text::count(*count, "operator")))
}

/// Formats types, ranks and dim orders. Equal neighbours are counted: `4 × f32 2-D contiguous`.
fn tensors(tensors: &[TensorUse]) -> String {
    let runs = text::runs(tensors).map(|run| match run {
        (item, 1) => tensor(item),
        (item, count) => format!("{count} × {}", tensor(item)),
    });
    let text = runs.collect::<Vec<_>>().join(", ");
    if text.is_empty() { "none".to_owned() } else { text }
}

pub(super) fn tensor(tensor: &TensorUse) -> String {
    let order = match &tensor.dim_order[..] {
        [] | [0] => String::new(),
        [0, 2, 3, 1] => " channels last".to_owned(),
        order if order.iter().copied().eq(0..order.len() as u8) => " contiguous".to_owned(),
        order => format!(" dim order {}", order.iter().map(u8::to_string).collect::<Vec<_>>().join(",")),
    };
    format!("{} {}-D{order}", text::scalar_type(tensor.scalar_type), tensor.dim_order.len())
}
