//! Multiply-accumulates and parameters, computed from the shapes of tensors.

use super::parameters::{self, ParameterPrecision};
use crate::analysis::Analysis;
use crate::analysis::{MethodNames, TrainingOutput, TrainingRole, training_outputs};
use crate::dataflow::{Access, Accesses, Calls};
use crate::delegate::{AotInductor, DelegateGraph, InsideData, Payload};
use crate::file::pte::{Pte, TensorData};
use crate::numbers::ByText;
use crate::operators::sums_products;
use crate::schema::program::{ExecutionPlan, InstructionArguments, KernelTypes, Tensor, TensorShapeDynamism};
use crate::tensor::RUNTIME_RANK;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{borrow::Cow, string::String, vec::Vec};
use core::cmp::Reverse;

/// The multiply-accumulates of a program.
///
/// Counts the multiplications whose products are summed: those of convolutions, of matrix products, and of attention (queries by keys,
/// and weights by values, without a mask). A bias, a normalization, a pooling or an activation counts zero; the elements that these write
/// are in [`elements`](CallMacs::elements). A dynamic shape counts with its upper bound, and attention over a cache, such as `llama::custom_sdpa`,
/// with a full one.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Macs<'t> {
    /// The methods that run something, in the file's order.
    pub methods: Vec<MethodMacs<'t>>,
}

/// The multiply-accumulates of a method.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MethodMacs<'t> {
    /// Index of the method.
    pub index: usize,
    /// The method's name.
    #[serde(serialize_with = "crate::names::serialize_shortened")]
    pub name: &'t str,
    /// The sum over all calls with known counts; `None` if no product is known. Instructions in a loop count once.
    pub macs: Option<u64>,
    /// The number of the model's parameters, as PyTorch counts them: the model's own number if an ETRecord or a state dict has it, or else the
    /// elements of the constants that the calls take, without running statistics and scales. Equal constants of several dimensions count once,
    /// as tied weights do; equal vectors, such as those of two new normalizations, do not. `None` if none is known.
    pub parameters: Option<u64>,
    /// The precision of `parameters`.
    pub parameters_are: ParameterPrecision,
    /// `true` if a counted shape is dynamic, so that the sum is an upper bound.
    pub is_bound: bool,
    /// `true` if the multiply-accumulates of every call are known.
    pub is_complete: bool,
    /// The calls of kernels and delegates, in order. The call of a delegate whose graph is read is listed as its nodes, and a second call of the
    /// same delegate as one row.
    pub calls: Vec<CallMacs<'t>>,
}

/// The multiply-accumulates of an instruction, or of a node inside a delegate.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CallMacs<'t> {
    /// Index of the chain.
    pub chain: usize,
    /// Index into the chain's instructions.
    pub instruction: usize,
    /// Index of the delegate, for the call of a delegate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegate: Option<usize>,
    /// Index of the node inside the delegate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<usize>,
    /// The operator without its overload, the kind of the node, or the backend.
    #[serde(serialize_with = "crate::names::serialize_shortened")]
    pub operator: Cow<'t, str>,
    /// The multiply-accumulates; `None` if they are not known, such as those of a delegate whose graph is not read.
    pub macs: Option<u64>,
    /// The number of elements that the call writes.
    pub elements: u64,
    /// The number of parameters in the constants that the call takes; `None` if they are inside a delegate that is not read.
    pub parameters: Option<u64>,
}

/// The multiply-accumulates of a method, by operator.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MacsSummary<'t> {
    /// The method's name.
    #[serde(serialize_with = "crate::names::serialize_shortened")]
    pub name: &'t str,
    /// The sum, as in [`MethodMacs`].
    pub macs: Option<u64>,
    /// The parameters, as in [`MethodMacs`].
    pub parameters: Option<u64>,
    /// The precision of `parameters`.
    pub parameters_are: ParameterPrecision,
    /// `true` if the sum is an upper bound.
    pub is_bound: bool,
    /// `true` if the multiply-accumulates of each call are known.
    pub is_complete: bool,
    /// Those of each operator, the most first.
    pub operators: Vec<OperatorMacs<'t>>,
}

/// The multiply-accumulates of an operator, or of a kind of node.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OperatorMacs<'t> {
    /// The operator without its overload, the kind of the node, or the backend.
    #[serde(serialize_with = "crate::names::serialize_shortened")]
    pub operator: Cow<'t, str>,
    /// The number of calls.
    pub calls: usize,
    /// The sum of the known counts; `None` if none is known.
    pub macs: Option<u64>,
    /// The number of calls whose multiply-accumulates are not known.
    pub unknown: usize,
    /// The number of elements that the calls write.
    pub elements: u64,
    /// The number of parameters in the constants that the calls take; `None` if none is known.
    pub parameters: Option<u64>,
}

impl<'t> Macs<'t> {
    /// Adds up the calls of each method by operator.
    pub fn summary(&self) -> Vec<MacsSummary<'t>> {
        let summary = |method: &MethodMacs<'t>| {
            let MethodMacs { name, macs, parameters, parameters_are, is_bound, is_complete, .. } = *method;
            MacsSummary {
                name,
                macs,
                parameters,
                parameters_are,
                is_bound,
                is_complete,
                operators: method.by_operator(),
            }
        };
        self.methods.iter().map(summary).collect()
    }
}

impl<'t> MethodMacs<'t> {
    /// Adds up the calls of each operator, the most multiply-accumulates first.
    pub fn by_operator(&self) -> Vec<OperatorMacs<'t>> {
        let mut operators = ByText::default();
        for call in &self.calls {
            let new = || OperatorMacs { operator: call.operator.clone(), ..OperatorMacs::default() };
            let sum = operators.get(&call.operator, new);
            sum.calls += 1;
            sum.macs = add(sum.macs, call.macs);
            sum.unknown += usize::from(call.macs.is_none());
            sum.elements = sum.elements.saturating_add(call.elements);
            sum.parameters = add(sum.parameters, call.parameters);
        }
        let mut operators = operators.items;
        operators.sort_by(|left, right| {
            let most = |operator: &OperatorMacs<'_>| Reverse((operator.macs.unwrap_or_default(), operator.elements));
            most(left).cmp(&most(right)).then_with(|| left.operator.cmp(&right.operator))
        });
        operators
    }
}

impl<'t> Analysis<'t> {
    /// Returns the multiply-accumulates of all methods.
    ///
    /// ```
    /// use executorch_format::{Analysis, Pte};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/linear/linear.pte")?;
    /// let pte = Pte::parse(&file)?;
    /// let macs = Analysis::new(&pte).macs();
    /// // A row of 8 elements by 5 columns, with a bias.
    /// assert_eq!((macs.methods[0].macs, macs.methods[0].parameters), (Some(40), Some(45)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn macs(&self) -> Macs<'t> {
        let pte = self.pte();
        let mut payloads = BTreeMap::new();
        for (payload, graph) in self.payloads_with_graphs() {
            for place in &payload.delegates {
                payloads.insert(*place, (&payload.payload, graph));
            }
        }
        let training = training_outputs(pte);
        let mut macs = Macs::default();
        let plans = pte.methods().iter().zip(&training);
        for (index, (plan, outputs)) in plans.enumerate() {
            let calls = Calls::new(plan, index, self.outputs());
            let mut accesses = Accesses::default();
            let instructions = plan.chains().iter().map(|chain| chain.instructions().len()).sum();
            let mut counter = Counter {
                pte,
                plan,
                trained: trained(plan, outputs),
                seen: BTreeSet::new(),
                called: BTreeMap::new(),
                products: ByText::default(),
                macs: 0,
                parameters: 0,
                precision: ParameterPrecision::Exact,
                found: MethodMacs {
                    is_complete: true,
                    calls: Vec::with_capacity(instructions),
                    ..MethodMacs::default()
                },
            };
            for ((chain, instruction), called) in plan.instructions() {
                let call = CallMacs { chain, instruction, ..CallMacs::default() };
                calls.find(called, &mut accesses);
                let arguments = &accesses.list;
                match called {
                    InstructionArguments::KernelCall(called) => {
                        let operator = plan.operator(called).map_or("", |operator| operator.name());
                        counter.kernel(CallMacs { operator: operator.into(), ..call }, operator, arguments);
                    }
                    InstructionArguments::DelegateCall(called) => {
                        let backend = plan.delegate(called).map_or("", |delegate| delegate.id());
                        let delegate = usize::try_from(called.delegate_index).ok();
                        let call = CallMacs { operator: backend.into(), delegate, ..call };
                        let payload = delegate.and_then(|delegate| payloads.get(&(index, delegate)));
                        counter.delegate_arguments(arguments);
                        match (delegate, payload.copied()) {
                            (Some(delegate), Some((payload, Some(graph)))) => {
                                let is_packed = counter.are_packed(payload.as_ref().ok());
                                let counted = counter.delegate(call, delegate, graph, is_packed);
                                counter.found.is_bound |= counted && counter.is_dynamic(arguments);
                            }
                            (Some(_), Some((Ok(Payload::AotInductor(aot)), _))) => counter.aot_inductor(call, aot),
                            _ => {
                                counter.precision = ParameterPrecision::AtLeast;
                                counter.add(call);
                            }
                        }
                    }
                    _ => {}
                }
            }
            if !counter.found.calls.is_empty() {
                let names = self.answer_names().and_then(|names| names.methods.get(index));
                macs.methods.push(counter.finish(index, names));
            }
        }
        macs
    }
}

/// A counter for the calls of a method.
struct Counter<'t> {
    pte: &'t Pte<'t>,
    plan: &'t ExecutionPlan<'t>,
    /// The values that training changes: parameters, although they are initial states.
    trained: BTreeSet<usize>,
    /// The constants already counted.
    seen: BTreeSet<CountedWeight>,
    /// The sums of the delegates already called.
    called: BTreeMap<usize, CallMacs<'t>>,
    /// The products of each operator that was called.
    products: ByText<'t, Products>,
    /// The sum over all calls.
    macs: u64,
    /// The sum over all constants.
    parameters: u64,
    precision: ParameterPrecision,
    found: MethodMacs<'t>,
}

/// The products that an operator sums.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Products {
    /// Those of each position with a filter.
    Convolution,
    QuantizedConvolution,
    QuantizedLinear,
    /// For each element of the output, a row of the argument with this name.
    Rows(&'static str),
    /// Those with a cache of keys and values whose filled part only the runtime knows.
    Attention,
    /// Some, which are not counted.
    Unknown,
    /// None, if the arguments of the operator are known.
    None,
}

impl Products {
    fn of(operator: &str) -> Self {
        match operator {
            "aten::convolution" | "aten::_convolution" => Self::Convolution,
            _ if operator.contains("::quantized_") && operator.contains("conv") => Self::QuantizedConvolution,
            _ if ["::quantized_linear", "::quantized_fully_connected"].iter().any(|name| operator.contains(name)) => {
                Self::QuantizedLinear
            }
            "aten::mm" | "aten::bmm" | "aten::matmul" => Self::Rows("self"),
            "aten::addmm" => Self::Rows("mat1"),
            "aten::baddbmm" => Self::Rows("batch1"),
            "aten::linear" | "quantized_decomposed::mixed_linear" | "quantized_decomposed::mixed_mm" => {
                Self::Rows("input")
            }
            "cortex_m::quantized_batch_matmul" => Self::Rows("lhs"),
            _ if operator.starts_with("cadence::quantized_matmul") => Self::Rows("X"),
            "llama::custom_sdpa" | "llama::custom_quantized_sdpa" | "llama::sdpa_with_kv_cache" => Self::Attention,
            _ if sums_products(operator.rsplit_once("::").map_or(operator, |(_, name)| name)) => Self::Unknown,
            _ => Self::None,
        }
    }
}

/// A constant's identity: the value, its data, its key, or its place in a delegate as a value or as data.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum CountedWeight {
    Value(usize),
    Data(u32),
    Key(String),
    InsideValue(usize, u32),
    Inside(usize, u64),
}

impl<'t> Counter<'t> {
    fn add(&mut self, call: CallMacs<'t>) {
        self.macs = self.macs.saturating_add(call.macs.unwrap_or_default());
        self.found.is_complete &= call.macs.is_some();
        self.found.calls.push(call);
    }

    /// Counts a constant for the method, the first time that it is used.
    fn parameter(&mut self, seen: CountedWeight, elements: u64) {
        if self.seen.insert(seen) {
            self.parameters = self.parameters.saturating_add(elements);
        }
    }

    /// Returns the sums. `names` may have the model's own number of parameters.
    fn finish(self, index: usize, names: Option<&MethodNames<'_>>) -> MethodMacs<'t> {
        use ParameterPrecision::{About, AtLeast, Exact, Unknown};
        let own =
            names.and_then(|names| Some((names.parameters?, if names.may_count_buffers { About } else { Exact })));
        let (parameters, parameters_are) = match (own, self.precision) {
            (Some((own, precision)), _) => (Some(own), precision),
            (None, AtLeast) if self.parameters == 0 => (None, Unknown),
            (None, precision) => (Some(self.parameters), precision),
        };
        let macs = (self.found.is_complete || self.macs > 0).then_some(self.macs);
        MethodMacs { index, name: self.plan.name(), macs, parameters, parameters_are, ..self.found }
    }

    /// Returns `true` if the constants of a payload are in a form of the accelerator's own, as those of an Ethos-U, which are compressed. Notes that
    /// an exporter may have folded those of others than XNNPACK.
    fn are_packed(&mut self, payload: Option<&Payload<'_>>) -> bool {
        match payload {
            Some(Payload::EthosU(_)) => {
                self.precision = ParameterPrecision::AtLeast;
                return true;
            }
            Some(Payload::Vulkan(_) | Payload::CoreMl(_)) => self.is_about(),
            _ => {}
        }
        false
    }

    /// Notes that the model may have other parameters, unless even less is known.
    fn is_about(&mut self) {
        if self.precision == ParameterPrecision::Exact {
            self.precision = ParameterPrecision::About;
        }
    }

    /// Returns the identity of an argument that has data of the model.
    fn weight(&self, argument: &Access, tensor: &Tensor<'_>) -> Option<CountedWeight> {
        if argument.role.writes() || !tensor.has_data() {
            return None;
        }
        let is_vector = tensor.sizes().len() < 2;
        let own = usize::try_from(argument.value).ok()?;
        match self.pte.tensor_data(tensor).ok()? {
            TensorData::Constant(_) if !is_vector => Some(CountedWeight::Data(tensor.data_buffer_idx)),
            TensorData::External(key) if !is_vector => Some(CountedWeight::Key(key.into())),
            TensorData::Constant(_) | TensorData::External(_) => Some(CountedWeight::Value(own)),
            TensorData::InitialState(_) => self.trained.contains(&own).then_some(CountedWeight::Value(own)),
            _ => None,
        }
    }

    /// Counts the constants that are passed to a delegate.
    fn delegate_arguments(&mut self, arguments: &[Access]) {
        for argument in arguments {
            let Some(tensor) = self.plan.tensor(argument.value) else { continue };
            let Some(weight) = self.weight(argument, tensor) else { continue };
            self.parameter(weight, product(tensor.sizes()));
        }
    }

    fn kernel(&mut self, mut call: CallMacs<'t>, operator: &'t str, arguments: &[Access]) {
        let (mut last, mut is_dynamic, mut counted) = (None, false, 0u64);
        // Many calls can share a long name, which is searched for each of them.
        let operator = if operator.len() <= MAX_OPERATOR { operator } else { "" };
        for argument in arguments {
            let Some(tensor) = self.plan.tensor(argument.value) else { continue };
            is_dynamic |= tensor.shape_dynamism != TensorShapeDynamism::STATIC;
            let is_output = argument.role.writes() && !argument.role.is_in_place();
            if is_output && last.replace(argument.value) != Some(argument.value) {
                call.elements = call.elements.saturating_add(product(tensor.sizes()));
            }
            let Some(weight) = self.weight(argument, tensor) else { continue };
            let elements = parameters::of_constant(operator, argument.name, tensor, product(tensor.sizes()));
            if elements > 0 {
                counted = counted.saturating_add(elements);
                self.parameter(weight, elements);
                if parameters::is_about(operator, argument.name) {
                    self.is_about();
                }
            }
        }
        call.parameters = Some(counted);
        let products = *self.products.get(operator, || Products::of(operator));
        call.macs = self.kernel_macs(products, operator, arguments);
        // The keys of a cache are only counted by the runtime.
        is_dynamic |= products == Products::Attention;
        self.found.is_bound |= is_dynamic && call.macs.is_none_or(|macs| macs > 0);
        self.add(call);
    }

    /// Returns the sizes of an argument that is a tensor.
    fn sizes(&self, argument: &Access) -> Option<&'t [i32]> {
        Some(self.plan.tensor(argument.value)?.sizes())
    }

    /// Returns `true` if the argument with this name is the constant `true`.
    fn is_true(&self, arguments: &[Access], name: &str) -> bool {
        let value = named(arguments, name).and_then(|argument| self.plan.value(argument.value));
        matches!(value.map(|value| &value.val), Some(KernelTypes::Bool(value)) if value.bool_val)
    }

    /// Returns the products of attention over a whole cache: each query with all keys, and the weights with all values.
    fn attention_macs(&self, operator: &str, arguments: &[Access]) -> Option<u64> {
        let sizes = |name| self.sizes(named(arguments, name)?);
        let keys = match operator {
            "llama::sdpa_with_kv_cache" => sizes("key_cache")?,
            _ => sizes("key")?,
        };
        // Batch, context, heads, size of a head; or with the heads before the context.
        let is_second = self.is_true(arguments, "is_seq_at_dim_2");
        let context = size(keys.get(if is_second { 2 } else { 1 })?);
        let products = |sizes: &[i32]| product(sizes).saturating_mul(context);
        Some(products(sizes("query")?).saturating_add(products(sizes("out")?)))
    }

    /// Returns the products of a call.
    fn kernel_macs(&self, products: Products, operator: &str, arguments: &[Access]) -> Option<u64> {
        let argument = |name| self.sizes(named(arguments, name)?);
        let output = || self.sizes(arguments.iter().find(|argument| argument.role.writes())?);
        let is_true = |name| self.is_true(arguments, name);
        match products {
            Products::Convolution => {
                let is_transposed = is_true("transposed");
                let (weight, input) = (argument("weight")?, argument("input")?);
                // Each position of the output, or of the input of a transposed convolution, is multiplied by the whole filter.
                let (positions, channels) =
                    if is_transposed { (input, weight.first()) } else { (output()?, weight.first()) };
                Some((product(positions) / size(channels?).max(1)).saturating_mul(product(weight)))
            }
            // In every layout, each channel of the output, or of the input of a transposed convolution, has its own part of the weight.
            Products::QuantizedConvolution => {
                let sizes = if operator.contains("transpose") { argument("input")? } else { output()? };
                let is_last = operator.contains("nhwc") || operator.contains("nlc") || is_true("channel_last");
                let channels = if is_last { sizes.last() } else { sizes.get(1) };
                Some((product(sizes) / size(channels?).max(1)).saturating_mul(product(argument("weight")?)))
            }
            Products::QuantizedLinear => {
                let weight = argument("weight").or_else(|| argument("weights"))?;
                Some((product(output()?) / size(output()?.last()?).max(1)).saturating_mul(product(weight)))
            }
            Products::Rows(name) => {
                let row = argument(name)?.last().map(size);
                Some(product(output()?).saturating_mul(row?))
            }
            Products::Attention => self.attention_macs(operator, arguments),
            Products::None if arguments.iter().any(|argument| argument.name.is_some()) => Some(0),
            Products::None | Products::Unknown => None,
        }
    }

    /// Returns `true` if the shape of any argument is dynamic. XNNPACK computes all other shapes from those of the arguments.
    fn is_dynamic(&self, arguments: &[Access]) -> bool {
        let mut tensors = arguments.iter().filter_map(|argument| self.plan.tensor(argument.value));
        tensors.any(|tensor| tensor.shape_dynamism != TensorShapeDynamism::STATIC)
    }

    /// Counts the tensors of a payload for CUDA. Only its native code knows what is multiplied.
    fn aot_inductor(&mut self, mut call: CallMacs<'t>, aot: &AotInductor<'_>) {
        for tensor in &aot.tensors {
            let elements = product(&tensor.sizes);
            call.parameters = add(call.parameters, Some(elements));
            self.parameter(CountedWeight::Key(tensor.key.into()), elements);
        }
        self.add(call);
    }

    /// Counts the call of a delegate; returns `true` if it has multiply-accumulates. The constants are not parameters if they `is_packed`.
    fn delegate(&mut self, call: CallMacs<'t>, delegate: usize, graph: &DelegateGraph, is_packed: bool) -> bool {
        if let Some(sum) = self.called.get(&delegate) {
            let sum = CallMacs { chain: call.chain, instruction: call.instruction, ..sum.clone() };
            let counted = sum.macs != Some(0);
            self.add(sum);
            return counted;
        }
        let mut sum = CallMacs { macs: Some(0), ..call.clone() };
        for (index, node) in graph.nodes.iter().enumerate() {
            let elements = node.elements();
            let mut parameters = Some(0u64);
            for argument in node.arguments.iter().filter(|argument| argument.constant) {
                let count = argument.tensor.elements().filter(|_| !is_packed);
                parameters = parameters.zip(count).map(|(sum, count)| sum.saturating_add(count));
                let Some(count) = count else { continue };
                let seen = match &argument.data {
                    Some(_) if argument.tensor.rank < 2 => CountedWeight::InsideValue(delegate, argument.id),
                    Some(InsideData::Key(key)) => CountedWeight::Key((&**key).into()),
                    Some(InsideData::Index(index)) => CountedWeight::Inside(delegate, *index),
                    None => CountedWeight::InsideValue(delegate, argument.id),
                };
                self.parameter(seen, count);
                if argument.name == "bias" && parameters::may_be_folded(&node.operator) {
                    self.is_about();
                }
            }
            let operator = Cow::Owned(node.operator.clone().into_owned());
            let inside =
                CallMacs { node: Some(index), operator, macs: node.macs, elements, parameters, ..call.clone() };
            sum.macs = sum.macs.zip(node.macs).map(|(sum, macs)| sum.saturating_add(macs));
            sum.elements = sum.elements.saturating_add(elements);
            sum.parameters = add(sum.parameters, parameters);
            self.add(inside);
        }
        let counted = sum.macs != Some(0);
        self.called.insert(delegate, sum);
        counted
    }
}

/// Returns the argument with this name.
fn named<'c>(arguments: &'c [Access], name: &str) -> Option<&'c Access> {
    arguments.iter().find(|argument| argument.name == Some(name))
}

/// Returns the values that a method for training returns as its parameters.
fn trained(plan: &ExecutionPlan<'_>, outputs: &[Option<TrainingOutput<'_>>]) -> BTreeSet<usize> {
    let mut values = BTreeSet::new();
    for (value, output) in plan.outputs().iter().zip(outputs) {
        if let (Ok(value), Some(TrainingRole::Parameter)) = (usize::try_from(*value), output.map(|output| output.role))
        {
            values.insert(value);
        }
    }
    values
}

/// The length of the longest name of an operator that is compared with those that are known.
const MAX_OPERATOR: usize = 200;

/// Adds known counts; `None` if neither is known.
pub(super) fn add(sum: Option<u64>, more: Option<u64>) -> Option<u64> {
    match (sum, more) {
        (Some(sum), Some(more)) => Some(sum.saturating_add(more)),
        (sum, more) => sum.or(more),
    }
}

fn size(size: &i32) -> u64 {
    u64::try_from(*size).unwrap_or_default()
}

/// Returns the number of elements. Sizes beyond the runtime's rank are ignored: many tensors of a hostile file may share a long list.
fn product(sizes: &[i32]) -> u64 {
    sizes.iter().take(RUNTIME_RANK).map(size).fold(1, u64::saturating_mul)
}
