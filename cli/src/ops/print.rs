//! Operators as text.

use crate::context::{Context, Out};
use crate::failure::Failure;
use crate::table::{Column, Table};
use crate::text;
use executorch_format::inspect::{KernelUse, ModuleTotal, OperatorUse, Operators, TensorUse};
use executorch_format::schema::ScalarType;
use std::cmp::Reverse;
use std::io::{self, Write};
use std::path::Path;

/// At most this many operators are shown on a terminal, and this many combinations of types for each.
const MAX_SHOWN: usize = 30;
const MAX_KERNELS: usize = 4;

/// The characters of a name shown on a terminal.
const NAME: usize = 48;

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
    let most = top.unwrap_or_else(|| context.most(MAX_SHOWN));
    crate::modules::write(&mut out, modules, column, most, number)?;
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
    for (name, operator) in rows.iter().take(context.most(MAX_SHOWN)) {
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
            count if count > most => table.row([calls, name, format!("… {} more", count - most)]),
            _ => {}
        }
    }
    table.write(out)?;
    if rows.len() > context.most(MAX_SHOWN) {
        writeln!(out, "  … {} more", rows.len() - MAX_SHOWN)?;
    }
    let mut table = Table::new([("CALLS", Column::Right), ("BACKEND", Column::Left), ("DELEGATES", Column::Right)]);
    for (name, backend) in &operators.backends {
        table.row([backend.calls.to_string(), context.name(name, NAME), backend.delegates.to_string()]);
    }
    table.write(out)?;
    for (name, backend) in operators.backends.iter().filter(|(_, backend)| !backend.operators.is_empty()) {
        let mut table = Table::new([("COUNT", Column::Right), ("OPERATOR INSIDE", Column::Left)]);
        let mut rows: Vec<(&String, &usize)> = backend.operators.iter().collect();
        rows.sort_by_key(|(_, count)| Reverse(**count));
        table
            .rows(rows, context.most(MAX_SHOWN), |(operator, count)| [count.to_string(), context.name(operator, NAME)]);
        writeln!(out, "  inside {}", context.name(name, NAME))?;
        table.write(out)?;
    }
    Ok(())
}

/// Formats types, ranks and dim orders. Equal neighbours are counted: `4 × f32 2-D contiguous`.
fn tensors(tensors: &[TensorUse]) -> String {
    let runs = tensors.chunk_by(|one, other| one == other).map(|run| {
        let tensor = run.first().map(tensor).unwrap_or_default();
        if run.len() > 1 { format!("{} × {tensor}", run.len()) } else { tensor }
    });
    let text = runs.collect::<Vec<_>>().join(", ");
    if text.is_empty() { "none".to_owned() } else { text }
}

fn tensor(tensor: &TensorUse) -> String {
    let order = match &tensor.dim_order[..] {
        [] | [0] => String::new(),
        [0, 2, 3, 1] => " channels last".to_owned(),
        order if order.iter().copied().eq(0..order.len() as u8) => " contiguous".to_owned(),
        order => format!(" dim order {}", order.iter().map(u8::to_string).collect::<Vec<_>>().join(",")),
    };
    format!("{} {}-D{order}", scalar_type(tensor.scalar_type), tensor.dim_order.len())
}

fn scalar_type(scalar_type: ScalarType) -> String {
    scalar_type.short_name().map_or_else(|| scalar_type.to_string(), str::to_owned)
}
