//! Multiply-accumulates as text.

use super::print::NAME;
use crate::context::Context;
use crate::failure::Failure;
use crate::table::{Column, MAX_SHOWN, Table, bar, percent};
use crate::text;
use executorch_format::inspect::{Macs, MacsSummary, ParameterPrecision};
use std::io::Write;
use std::path::Path;

/// Prints the multiply-accumulates of each method by operator, after an empty line if `apart`.
pub(super) fn text(context: &Context, path: &Path, macs: &Macs<'_>, apart: bool) -> Result<(), Failure> {
    let mut out = context.out();
    if apart {
        writeln!(out)?;
    }
    writeln!(out, "{}: multiply-accumulates of convolutions, matrix products and attention", text::path(path))?;
    let methods = macs.summary();
    if methods.is_empty() {
        writeln!(out, "no method computes anything")?;
    }
    for method in &methods {
        writeln!(out, "method {}: {}", context.name(method.name, NAME), total(method))?;
        let operators = &method.operators;
        let mut table = Table::new([
            ("MACS", Column::Right),
            ("SHARE", Column::Right),
            ("", Column::Bar),
            ("PARAMETERS", Column::Right),
            ("ELEMENTS", Column::Detail),
            ("CALLS", Column::Right),
            ("OPERATOR", Column::Name),
        ]);
        table.rows(operators, context.rows(None, MAX_SHOWN), |operator| {
            let is_unknown = operator.unknown == operator.calls;
            let (own, all) = (operator.macs.unwrap_or_default(), method.macs.unwrap_or_default());
            let share = if is_unknown { String::new() } else { percent(own, all) };
            let (bar, calls) = (bar(own, all), operator.calls.to_string());
            let (macs, parameters, elements) =
                (known(operator.macs), known(operator.parameters), grouped(operator.elements));
            [macs, share, bar, parameters, elements, calls, context.name(&operator.operator, NAME)]
        });
        table.write(&mut out)?;
        let unknown = operators.iter().filter(|operator| operator.unknown > 0);
        for operator in unknown.take(context.most(MAX_SHOWN)) {
            let calls = text::count(operator.unknown, "call");
            writeln!(out, "not counted: {calls} of {}", context.name(&operator.operator, NAME))?;
        }
    }
    Ok(out.flush()?)
}

/// Formats the sums of a method.
pub fn total(method: &MacsSummary<'_>) -> String {
    let bound = match method.is_bound {
        true => "at most, with dynamic shapes at their upper bounds and attention over full caches, ",
        false => "",
    };
    let macs = match method.macs {
        Some(macs) => format!("{bound}{} MACs", grouped(macs)),
        None => "MACs not known".to_owned(),
    };
    let part = match (method.macs, method.is_complete) {
        (Some(_), false) => " without the operators that are not counted",
        _ => "",
    };
    format!("{macs}{part}, {}", parameters(method))
}

/// Formats the number of parameters, with its precision.
fn parameters(method: &MacsSummary<'_>) -> String {
    let Some(parameters) = method.parameters else { return "parameters not known".to_owned() };
    let precision = match method.parameters_are {
        ParameterPrecision::About => "about ",
        ParameterPrecision::AtLeast => "at least ",
        _ => "",
    };
    format!("{precision}{} parameter{}", grouped(parameters), if parameters == 1 { "" } else { "s" })
}

/// Formats a number that may not be known.
fn known(number: Option<u64>) -> String {
    number.map_or_else(|| "not known".to_owned(), grouped)
}

/// Formats a number with commas between groups of three digits.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn digits_are_in_groups_of_three() {
        assert_eq!([0, 999, 1000, 300_774_272].map(grouped), ["0", "999", "1,000", "300,774,272"]);
    }
}
