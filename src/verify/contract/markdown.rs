//! A contract as Markdown, for a model card.

use super::{Contract, ContractMethod, ContractValue};
use crate::inspect::{ParameterPrecision, PointerSize, Returned, TempAllocator};
use crate::names::{Escaped, shortened};
use crate::sizes::format_size;
use alloc::{format, string::String, string::ToString, vec::Vec};

/// The most operators, settings and constants in a list: a model card is read by people.
const MAX_SHOWN: usize = 100;

impl Contract<'_> {
    /// Returns the contract as Markdown, for a model card.
    pub fn markdown(&self) -> String {
        let mut text = String::from("# Contract\n\n");
        if let (Some(size), Some(sha256)) = (self.file_size, &self.sha256) {
            text += &format!("- File: {} ({size} bytes), SHA-256 `{sha256}`\n", format_size(size));
        }
        text += &format!("- Loads in ExecuTorch {}\n", self.loads_in);
        for kernels in &self.loads_in.kernels {
            text += &format!("- Needs kernels of {}\n", escaped(&kernels.to_string()));
        }
        text += &format!("- In {}: {}\n", super::super::Release::LATEST, escaped(&self.verdict.to_string()));
        for backend in &self.backends {
            let accelerators: Vec<String> = backend.accelerators.iter().map(|name| escaped(name)).collect();
            let accelerators = match accelerators.is_empty() {
                true => String::new(),
                false => format!(", for {}", accelerators.join(", ")),
            };
            text += &format!("- Backend {}: {} delegates{accelerators}\n", escaped(backend.id), backend.delegates);
            for setting in backend.compile_specs.iter().take(MAX_SHOWN) {
                text += &format!("  - {}\n", escaped(&setting.to_string()));
            }
        }
        if let Some(data) = &self.external_data {
            text += &format!("- External data: {}\n", escaped(&data.to_string()));
        }
        self.methods.iter().for_each(|method| method.markdown(&mut text));
        if !self.metadata.is_empty() {
            text += "\n## Metadata\n\n| name | value | meaning |\n|---|---|---|\n";
            for constant in self.metadata.iter().take(MAX_SHOWN) {
                let value = escaped(&value(&constant.value));
                let meaning = constant.meaning.unwrap_or_default();
                text += &format!("| {} | {value} | {meaning} |\n", escaped(constant.name));
            }
        }
        text
    }
}

impl ContractMethod<'_> {
    fn markdown(&self, text: &mut String) {
        *text += &format!("\n## Method {}\n", escaped(self.name));
        for (what, values) in [("Input", &self.inputs), ("Output", &self.outputs)] {
            if values.is_empty() {
                continue;
            }
            *text += &format!("\n| {what} | name | type | dimensions |\n|---|---|---|---|\n");
            for (index, value) in values.iter().enumerate() {
                let name = value.name.as_deref().map(escaped).unwrap_or_default();
                *text += &format!("| {index} | {name} | {} | {} |\n", value.type_text(), value.dims_text());
            }
        }
        *text += "\n";
        for buffer in &self.buffers {
            *text += &format!("- Planned memory, memory id {}: {}\n", buffer, format_size(buffer.size));
        }
        let [wide, narrow] = [PointerSize::Bits64, PointerSize::Bits32]
            .map(|pointers| self.method_allocator.known(pointers, TempAllocator::Given));
        *text += &format!("- Method memory: {wide} bytes, {narrow} bytes on 32-bit targets");
        *text += match self.method_allocator.other_delegates {
            0 => "\n",
            _ => ", and what backends other than XNNPACK take\n",
        };
        if let Some(compute) = &self.compute {
            let number = |number: Option<u64>| number.map_or_else(|| "not known".into(), |number| number.to_string());
            let precision = match compute.parameters_are {
                ParameterPrecision::About => "about ",
                ParameterPrecision::AtLeast => "at least ",
                _ => "",
            };
            let bound = if compute.is_bound { "at most " } else { "" };
            *text += &format!("- Multiply-accumulates: {bound}{}\n", number(compute.macs));
            *text += &format!("- Parameters: {precision}{}\n", number(compute.parameters));
        }
        let operators: Vec<String> =
            self.operators.iter().take(MAX_SHOWN).map(|operator| format!("`{}`", escaped(&operator.name))).collect();
        if !operators.is_empty() {
            *text += &format!("- Operators ({}): {}\n", self.operators.len(), operators.join(", "));
        }
    }
}

impl ContractValue<'_> {
    /// Returns the sizes of a tensor's dimensions, and its dim order unless it is contiguous.
    fn dims_text(&self) -> String {
        let Some(dims) = &self.dims else { return String::new() };
        let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
        let order = self.dim_order.as_deref().unwrap_or_default();
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
