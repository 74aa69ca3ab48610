//! The nodes of a payload for Vulkan.

use super::budget::GraphBudget;
use super::{
    InsideArgument, InsideData, InsideNode, InsideTensorType, MAX_ARGUMENTS, convolution_macs, list_text, quoted,
};
use crate::delegate::Vulkan;
use crate::error::Result;
use crate::names::short;
use crate::operators;
use crate::schema::program::Operator;
use crate::schema::vulkan::{GraphTypes, OperatorCall, VkDataType, VkGraph, VkMemoryLayout, VkStorageType, VkTensor};
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::{format, string::String, sync::Arc, vec::Vec};

pub(super) fn nodes(payload: &Vulkan<'_>, budget: &mut GraphBudget) -> Result<Vec<InsideNode>> {
    let (mut reader, mut nodes) = (Reader::of(&payload.graph), Vec::new());
    for call in payload.graph.chain() {
        budget.push(&mut nodes, reader.node(call))?;
    }
    Ok(nodes)
}

struct Reader<'g, 'a> {
    graph: &'g VkGraph<'a>,
    /// The positions of the delegate's arguments, by value.
    positions: BTreeMap<usize, u32>,
    /// The types of the tensors that were asked for.
    types: BTreeMap<usize, Arc<InsideTensorType>>,
    /// The arguments of operators by name; `true` if the operator sums products.
    operators: BTreeMap<String, (&'static [operators::Argument], bool)>,
    keys: BTreeMap<i32, Arc<str>>,
}

impl<'g, 'a> Reader<'g, 'a> {
    fn of(graph: &'g VkGraph<'a>) -> Self {
        let ends = graph.input_ids().iter().chain(graph.output_ids());
        let positions = ends.zip(0..).filter_map(|(id, position)| Some((usize::try_from(*id).ok()?, position)));
        // A value that is an input and an output is an input.
        let positions = positions.collect::<Vec<_>>().into_iter().rev().collect();
        let (types, operators, keys) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { graph, positions, types, operators, keys }
    }

    fn node(&mut self, call: &'g OperatorCall<'a>) -> InsideNode {
        // Many calls can share a long name or a long list.
        let operator = short(call.name());
        let look_up = || (known(call.name()), operators::sums_products(base(&operator).1));
        let (names, has_products) = *self.operators.entry(operator.clone()).or_insert_with(look_up);
        let mut node = InsideNode { profile_id: Some(call.node_id), ..InsideNode::new(operator) };
        // Names are known for calls that have all arguments.
        let is_complete = names.len() == call.args().len();
        let name = |index: usize| match names.get(index).filter(|_| is_complete) {
            Some(argument) => Cow::Borrowed(argument.name),
            None => Cow::Owned(format!("{index}")),
        };
        for (index, arg) in call.args().iter().enumerate().take(MAX_ARGUMENTS) {
            let output = index + 1 == call.args().len();
            let name = if output && !is_complete { "out".into() } else { name(index) };
            match self.value(*arg) {
                Some((id, GraphTypes::VkTensor(tensor))) => {
                    let argument = self.argument(name, id, tensor, output);
                    node.arguments.push(argument);
                }
                Some((_, GraphTypes::ValueList(list))) => {
                    let items = list.items();
                    let shown = items.len().min(MAX_ARGUMENTS.saturating_sub(node.arguments.len()));
                    let mut others = items.len() > shown;
                    for item in items.iter().take(shown) {
                        match self.value(*item) {
                            Some((id, GraphTypes::VkTensor(tensor))) => {
                                let argument = self.argument(name.clone(), id, tensor, output);
                                node.arguments.push(argument);
                            }
                            _ => others = true,
                        }
                    }
                    if others {
                        node.set(name, list_text(items.len(), items.iter().map(|item| self.item_text(*item))));
                    }
                }
                Some((_, value)) => node.set(name, text(value)),
                None => node.set(name, format!("value {arg}, out of range")),
            }
        }
        node.macs = macs(&node, has_products);
        node
    }

    /// Returns a value and its index.
    fn value(&self, index: i32) -> Option<(usize, &'g GraphTypes<'a>)> {
        let index = usize::try_from(index).ok()?;
        Some((index, &self.graph.values().get(index)?.value))
    }

    fn item_text(&self, item: i32) -> String {
        match self.value(item) {
            Some((_, GraphTypes::VkTensor(_))) => format!("#{item}"),
            Some((_, GraphTypes::ValueList(_))) | None => "?".into(),
            Some((_, value)) => text(value),
        }
    }

    fn argument(&mut self, name: Cow<'static, str>, id: usize, tensor: &VkTensor<'_>, output: bool) -> InsideArgument {
        let index = u32::try_from(tensor.constant_id).ok();
        let data = index.map(|index| {
            let constant = self.graph.constants().get(index as usize);
            match constant.and_then(|constant| constant.named_key.as_deref()) {
                Some(key) => InsideData::Key(self.keys.entry(tensor.constant_id).or_insert_with(|| key.into()).clone()),
                None => InsideData::Index(index.into()),
            }
        });
        InsideArgument {
            name,
            // A file has fewer values than 2^32.
            id: id as u32,
            value_name: None,
            output,
            tensor: self.types.entry(id).or_insert_with(|| Arc::new(of_tensor(tensor))).clone(),
            argument: self.positions.get(&id).copied(),
            constant: data.is_some(),
            data,
        }
    }
}

/// Returns the arguments of PyTorch's operator with that name, such as `aten.linear.default`; none if it is not known.
fn known(name: &str) -> &'static [operators::Argument] {
    /// The longest name of an operator that is looked up.
    const MAX_NAME: usize = 200;
    let mut parts = name.splitn(3, '.');
    let (Some(space), Some(base), Some(overload), true) =
        (parts.next(), parts.next(), parts.next(), name.len() <= MAX_NAME)
    else {
        return &[];
    };
    let find = |overload: &str| {
        let operator = Operator { name: Some(format!("{space}::{base}").into()), overload: Some(overload.into()) };
        operators::find(&operator).map(|found| found.arguments)
    };
    // The table has the overloads that write into an argument.
    [&*format!("{overload}_out"), "out", overload].into_iter().find_map(find).unwrap_or_default()
}

fn of_tensor(tensor: &VkTensor<'_>) -> InsideTensorType {
    let datatype = match tensor.datatype {
        VkDataType::BOOL => "bool".into(),
        VkDataType::UINT8 => "u8".into(),
        VkDataType::INT8 => "i8".into(),
        VkDataType::INT32 => "i32".into(),
        VkDataType::INT64 => "i64".into(),
        VkDataType::FLOAT16 => "f16".into(),
        VkDataType::FLOAT32 => "f32".into(),
        VkDataType::FLOAT64 => "f64".into(),
        other => Cow::Owned(format!("type {}", other.0)),
    };
    let mut found = InsideTensorType::new(datatype, tensor.dims().iter().map(|size| Some(u64::from(*size))));
    let mut storage = Vec::new();
    if tensor.storage_type != VkStorageType::DEFAULT_STORAGE {
        storage.push(format!("{}", tensor.storage_type).to_ascii_lowercase());
    }
    if tensor.memory_layout != VkMemoryLayout::DEFAULT_LAYOUT {
        storage.push(format!("{}", tensor.memory_layout).to_ascii_lowercase());
    }
    found.storage = storage.join(" ");
    found
}

/// Formats a value that is not a tensor.
fn text(value: &GraphTypes<'_>) -> String {
    match value {
        GraphTypes::Null(_) => "none".into(),
        GraphTypes::Int(value) => format!("{}", value.int_val),
        GraphTypes::Double(value) => format!("{:?}", value.double_val),
        GraphTypes::Bool(value) => format!("{}", value.bool_val),
        GraphTypes::IntList(list) => list_text(list.items().len(), list.items().iter().map(|item| format!("{item}"))),
        GraphTypes::DoubleList(list) => {
            list_text(list.items().len(), list.items().iter().map(|item| format!("{item:?}")))
        }
        GraphTypes::BoolList(list) => list_text(list.items().len(), list.items().iter().map(|item| format!("{item}"))),
        GraphTypes::String(value) => quoted(value.string_val()),
        GraphTypes::SymInt(value) => format!("{} when exported, computed when it runs", value.value),
        _ => "a value of a newer schema".into(),
    }
}

/// Splits an operator's name into its namespace and its name without the overload.
fn base(operator: &str) -> (&str, &str) {
    let (space, rest) = operator.split_once('.').unwrap_or(("", operator));
    (space, rest.split_once('.').map_or(rest, |(base, _)| base))
}

/// Returns the multiply-accumulates of a node, or `None` if its operator has products that are not counted here.
fn macs(node: &InsideNode, has_products: bool) -> Option<u64> {
    let per_output = |factor: Option<u64>| Some(node.output()?.elements()?.saturating_mul(factor?));
    let (space, base) = base(&node.operator);
    // The arguments of the backend's own operators have no names here: the first is the input.
    let first = node.arguments.iter().find(|argument| !argument.output).map(|argument| &*argument.tensor);
    let named = |name: &str| node.input(name);
    match (space, base) {
        ("aten", "linear") => per_output(named("input")?.dim(-1)),
        ("aten", "mm" | "bmm" | "matmul") => per_output(first?.dim(-1)),
        ("aten", "addmm") => per_output(named("mat1")?.dim(-1)),
        ("aten", "baddbmm") => per_output(named("batch1")?.dim(-1)),
        ("aten", "convolution") | ("et_vk", "conv_with_clamp") => {
            let weight = node.arguments.iter().filter(|argument| !argument.output).nth(1)?;
            let is_transposed = node.settings.iter().any(|set| set.name == "transposed" && set.value == "true")
                || space != "aten" && node.settings.iter().any(|set| set.name == "6" && set.value == "true");
            let positions = if is_transposed { first? } else { node.output()? };
            convolution_macs(positions, &weight.tensor)
        }
        ("et_vk", base) if base.starts_with("linear_") => per_output(first?.dim(-1)),
        _ => (!has_products).then_some(0),
    }
}
