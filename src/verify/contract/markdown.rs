//! A contract as Markdown, for a model card.

use super::{Contract, ContractMethod, ContractValue};
use crate::error::counted;
use crate::inspect::{ParameterPrecision, PointerSize, Returned, TempAllocator};
use crate::names::{Escaped, shortened};
use crate::sizes::format_size;
use alloc::{format, string::String, string::ToString, vec::Vec};
use core::fmt;

/// The most operators, settings and constants in a list: a model card is read by people.
const MAX_SHOWN: usize = 100;

/// Formats a contract. A string of all of it could take more memory than the contract.
struct Markdown<'c, 't>(&'c Contract<'t>);

impl fmt::Display for Markdown<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f)
    }
}

impl Contract<'_> {
    /// Returns the contract as Markdown, for a model card.
    pub fn markdown(&self) -> impl fmt::Display {
        Markdown(self)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("# Contract\n\n")?;
        if let (Some(size), Some(sha256)) = (self.file_size, &self.sha256) {
            writeln!(f, "- File: {} ({size} bytes), SHA-256 `{sha256}`", format_size(size))?;
        }
        writeln!(f, "- Loads in ExecuTorch {}", self.loads_in)?;
        for kernels in &self.loads_in.kernels {
            writeln!(f, "- Needs kernels of {}", escaped(&kernels.to_string()))?;
        }
        writeln!(f, "- In {}: {}", super::super::Release::LATEST, escaped(&self.verdict.to_string()))?;
        for backend in &self.backends {
            let accelerators: Vec<String> = backend.accelerators.iter().map(|name| escaped(name)).collect();
            let accelerators = match accelerators.is_empty() {
                true => String::new(),
                false => format!(", for {}", accelerators.join(", ")),
            };
            writeln!(f, "- Backend {}: {}{accelerators}", escaped(backend.id), counted(backend.delegates, "delegate"))?;
            for setting in backend.compile_specs.iter().take(MAX_SHOWN) {
                writeln!(f, "  - {}", escaped(&setting.to_string()))?;
            }
        }
        if let Some(data) = &self.external_data {
            writeln!(f, "- External data: {}", escaped(&data.to_string()))?;
        }
        self.methods.iter().try_for_each(|method| method.write(f))?;
        if !self.metadata.is_empty() {
            f.write_str("\n## Metadata\n\n| name | value | meaning |\n|---|---|---|\n")?;
            for constant in self.metadata.iter().take(MAX_SHOWN) {
                let value = escaped(&value(&constant.value));
                let meaning = constant.meaning.unwrap_or_default();
                writeln!(f, "| {} | {value} | {meaning} |", escaped(constant.name))?;
            }
        }
        Ok(())
    }
}

impl ContractMethod<'_> {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n## Method {}", escaped(self.name))?;
        for (what, values) in [("Input", &self.inputs), ("Output", &self.outputs)] {
            if values.is_empty() {
                continue;
            }
            writeln!(f, "\n| {what} | name | type | dimensions |\n|---|---|---|---|")?;
            for (index, value) in values.iter().enumerate() {
                let name = value.name.as_deref().map(escaped).unwrap_or_default();
                writeln!(f, "| {index} | {name} | {} | {} |", value.type_text(), value.dims_text())?;
            }
        }
        f.write_str("\n")?;
        for buffer in &self.buffers {
            writeln!(f, "- Planned memory, memory id {}: {}", buffer, format_size(buffer.size))?;
        }
        let [wide, narrow] = [PointerSize::Bits64, PointerSize::Bits32]
            .map(|pointers| self.method_allocator.known(pointers, TempAllocator::Given));
        write!(f, "- Method memory: {wide} bytes, {narrow} bytes on 32-bit targets")?;
        f.write_str(match self.method_allocator.other_delegates {
            0 => "\n",
            _ => ", and what backends other than XNNPACK take\n",
        })?;
        if let Some(compute) = &self.compute {
            let number = |number: Option<u64>| number.map_or_else(|| "not known".into(), |number| number.to_string());
            let precision = match compute.parameters_are {
                ParameterPrecision::About => "about ",
                ParameterPrecision::AtLeast => "at least ",
                _ => "",
            };
            let bound = if compute.is_bound { "at most " } else { "" };
            writeln!(f, "- Multiply-accumulates: {bound}{}", number(compute.macs))?;
            writeln!(f, "- Parameters: {precision}{}", number(compute.parameters))?;
        }
        let operators: Vec<String> =
            self.operators.iter().take(MAX_SHOWN).map(|operator| format!("`{}`", escaped(&operator.name))).collect();
        if !operators.is_empty() {
            writeln!(f, "- Operators ({}): {}", self.operators.len(), operators.join(", "))?;
        }
        Ok(())
    }
}

impl ContractValue<'_> {
    /// Returns the sizes of a tensor's dimensions, and its dim order unless it is contiguous.
    fn dims_text(&self) -> String {
        let Some(dims) = self.dims else { return String::new() };
        let dims: Vec<String> = dims.ranges().map(|range| range.to_string()).collect();
        let order = self.dim_order.unwrap_or_default();
        match order.windows(2).all(|pair| matches!(pair, [left, right] if left < right)) {
            true => dims.join(" × "),
            false => format!("{}, dim order {order:?}", dims.join(" × ")),
        }
    }
}

fn value(value: &Returned<'_>) -> String {
    match value {
        Returned::Null => "none".into(),
        Returned::Int(number) => number.to_string(),
        Returned::Bool(bit) => bit.to_string(),
        Returned::Double(number) => format!("{number:?}"),
        Returned::NotFinite(name) => (*name).into(),
        Returned::String(text) => shortened(text).into_owned(),
        Returned::Tensor(tensor) => tensor.shape().to_string_with(tensor.shape_dynamism),
        Returned::List(items) => {
            let shown: Vec<String> = items.iter().take(MAX_SHOWN).map(self::value).collect();
            let more = if items.len() > MAX_SHOWN { ", …" } else { "" };
            format!("[{}{more}]", shown.join(", "))
        }
    }
}

/// Shortens a text of the file, and escapes the characters that act in Markdown, in HTML or on a terminal.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in Escaped(&shortened(text)).to_string().chars() {
        match character {
            '<' => escaped += "&lt;",
            '&' => escaped += "&amp;",
            '|' | '*' | '`' | '[' | ']' => escaped.extend(['\\', character]),
            '\n' | '\r' => escaped.push(' '),
            _ => escaped.push(character),
        }
    }
    escaped
}
