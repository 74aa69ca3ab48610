//! The share of a program that delegates compute, and what is left for kernels.

use super::{TensorUse, macs, macs::Macs};
use crate::analysis::Analysis;
use crate::delegate::{DelegateGraph, OpenPayload, delegate_at};
use crate::names::short;
use crate::schema::program::{ExecutionPlan, InstructionArguments, KernelCall, Tensor, TensorShapeDynamism};
use alloc::collections::BTreeMap;
use alloc::{format, string::String, vec::Vec};
use core::cmp::Reverse;

/// The shares that delegates compute of the methods of a program.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Delegation<'t> {
    /// The methods that call kernels or delegates, in the file's order.
    pub methods: Vec<MethodDelegation<'t>>,
}

/// The share that delegates compute of a method.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MethodDelegation<'t> {
    /// The method's name.
    #[serde(serialize_with = "crate::names::serialize_shortened")]
    pub name: &'t str,
    /// The operators that delegates compute: the nodes inside payloads, once for each call of a delegate. A call of a delegate whose payload is not
    /// read counts as one.
    pub delegated_calls: u64,
    /// The calls of kernels, without those of the runtime's own operators (`executorch_prim::…`), which compute sizes and make views.
    pub other_calls: u64,
    /// `true` if the operators inside every delegate are known.
    pub is_complete: bool,
    /// The known multiply-accumulates inside delegates; `None` if none is known.
    pub delegated_macs: Option<u64>,
    /// The number of nodes inside delegates, and of calls of delegates that are not read, whose multiply-accumulates are not known.
    pub delegated_unknown: u64,
    /// The known multiply-accumulates of kernels; `None` if none is known.
    pub other_macs: Option<u64>,
    /// The number of calls of kernels whose multiply-accumulates are not known.
    pub other_unknown: u64,
    /// The backends, the most operators first.
    pub backends: Vec<BackendShare<'t>>,
    /// The operators that kernels compute, by types, dim orders and dynamic shapes: the most multiply-accumulates first, then the most calls.
    pub left: Vec<LeftOperator>,
}

/// The share of a backend.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BackendShare<'t> {
    /// The backend's name.
    #[serde(serialize_with = "crate::names::serialize_shortened")]
    pub id: &'t str,
    /// The number of instructions that call one of its delegates.
    pub calls: u64,
    /// The number of operators in these calls; `None` if a payload is not read.
    pub operators: Option<u64>,
}

/// Calls of an operator that no delegate takes, with tensors of the same types, dim orders and dynamism.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LeftOperator {
    /// The name and overload, such as `aten::add.out`.
    pub operator: String,
    /// The number of calls.
    pub calls: u64,
    /// The multiply-accumulates of the calls; `None` if they are not known.
    pub macs: Option<u64>,
    /// The tensors among the arguments, in their order.
    pub tensors: Vec<LeftTensor>,
    /// The chain of the first call, and the index of its instruction.
    pub first: (usize, usize),
    /// The same operator inside the program's delegates, by kind and types, the most nodes first: at most eight.
    pub taken: Vec<TakenOperator>,
}

/// A tensor of a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LeftTensor {
    /// The type and dim order.
    #[serde(flatten)]
    pub tensor: TensorUse,
    /// `true` if its shape is dynamic.
    pub is_dynamic: bool,
}

/// An operator inside delegates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TakenOperator {
    /// The backend's name.
    pub backend: String,
    /// The name in the payload's schema, such as `XNNAdd`.
    pub operator: String,
    /// The tensors that it takes, as type and number of dimensions: `f32 4-D`.
    pub inputs: Vec<String>,
    /// The number of nodes. A payload that several delegates share counts once.
    pub nodes: u64,
}

impl<'t> Analysis<'t> {
    /// Returns the share of each method that delegates compute, of calls and of multiply-accumulates, and the operators that are left.
    ///
    /// ```
    /// use executorch_format::{Analysis, Pte};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/etrecord/net_xnnpack.pte")?;
    /// let pte = Pte::parse(&file)?;
    /// for method in Analysis::new(&pte).delegation().methods {
    ///     println!("{}: {} operators delegated, {} left", method.name, method.delegated_calls, method.other_calls);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn delegation(&self) -> Delegation<'t> {
        delegation(self)
    }
}

/// The operators of the runtime itself, which compute sizes and make views.
const RUNTIME: &str = "executorch_prim::";

/// The maximum number of operators inside delegates that are listed beside an operator.
const MAX_TAKEN: usize = 8;

/// The maximum number of inputs of such an operator that are listed.
const MAX_INPUTS: usize = 16;

fn delegation<'t>(analysis: &Analysis<'t>) -> Delegation<'t> {
    let pte = analysis.pte();
    let mut payloads: BTreeMap<(usize, usize), Option<u64>> = BTreeMap::new();
    let mut taken = Taken::default();
    for (opened, graph) in analysis.payloads_with_graphs() {
        let count = graph.and_then(|graph| taken.add(analysis, opened, graph));
        payloads.extend(opened.delegates.iter().map(|place| (*place, count)));
    }
    let (macs, taken) = (InstructionMacs::of(&analysis.macs()), taken.by_operator());
    let mut found = Delegation::default();
    for (index, plan) in pte.methods().iter().enumerate() {
        let mut method = MethodDelegation { name: plan.name(), is_complete: true, ..MethodDelegation::default() };
        method.add_calls(index, plan, &payloads, &macs);
        if method.delegated_calls + method.other_calls > 0 {
            for left in &mut method.left {
                let name = left.operator.split_once("::").map_or(&*left.operator, |(_, name)| name);
                left.taken = taken.get(base(name)).cloned().unwrap_or_default();
            }
            found.methods.push(method);
        }
    }
    found
}

/// The multiply-accumulates of instructions, with those inside delegates, by method, chain and index.
struct InstructionMacs(BTreeMap<(usize, usize, usize), CountedMacs>);

/// The sum of the known multiply-accumulates of several calls, and the number of other calls.
#[derive(Clone, Copy, Default)]
struct CountedMacs {
    known: Option<u64>,
    unknown: u64,
}

impl CountedMacs {
    fn add(&mut self, other: Self) {
        self.known = macs::add(self.known, other.known);
        self.unknown = self.unknown.saturating_add(other.unknown);
    }

    /// Returns the sum if all are known.
    fn all(self) -> Option<u64> {
        self.known.filter(|_| self.unknown == 0)
    }
}

impl InstructionMacs {
    fn of(macs: &Macs<'_>) -> Self {
        let mut sums: BTreeMap<(usize, usize, usize), CountedMacs> = BTreeMap::new();
        for method in &macs.methods {
            for call in &method.calls {
                let sum = sums.entry((method.index, call.chain, call.instruction)).or_default();
                sum.add(CountedMacs { known: call.macs, unknown: u64::from(call.macs.is_none()) });
            }
        }
        Self(sums)
    }

    fn get(&self, method: usize, (chain, instruction): (usize, usize)) -> CountedMacs {
        let counted = self.0.get(&(method, chain, instruction)).copied();
        counted.unwrap_or(CountedMacs { known: None, unknown: 1 })
    }
}

impl<'t> MethodDelegation<'t> {
    fn add_calls(
        &mut self,
        index: usize,
        plan: &'t ExecutionPlan<'_>,
        payloads: &BTreeMap<(usize, usize), Option<u64>>,
        macs: &InstructionMacs,
    ) {
        let (mut inside, mut other) = (CountedMacs::default(), CountedMacs::default());
        let mut backends: BTreeMap<&'t str, BackendShare<'t>> = BTreeMap::new();
        let mut left: BTreeMap<(usize, Vec<LeftTensor>), LeftOperator> = BTreeMap::new();
        let names: Vec<String> = plan.operators().iter().map(|operator| short(&operator.full_name())).collect();
        for (place, instruction) in plan.instructions() {
            match instruction {
                InstructionArguments::DelegateCall(call) => {
                    let Ok(delegate) = usize::try_from(call.delegate_index) else { continue };
                    let Some(id) = plan.delegates().get(delegate).map(|delegate| delegate.id()) else { continue };
                    let operators = payloads.get(&(index, delegate)).copied().flatten();
                    let new = || BackendShare { id, operators: Some(0), ..BackendShare::default() };
                    let backend = backends.entry(id).or_insert_with(new);
                    backend.calls += 1;
                    backend.operators = backend.operators.zip(operators).map(|(sum, count)| sum.saturating_add(count));
                    self.is_complete &= operators.is_some();
                    self.delegated_calls = self.delegated_calls.saturating_add(operators.unwrap_or(1));
                    inside.add(macs.get(index, place));
                }
                InstructionArguments::KernelCall(call) => {
                    let operator = usize::try_from(call.op_index).unwrap_or(usize::MAX);
                    let Some(name) = names.get(operator).filter(|name| !name.starts_with(RUNTIME)) else { continue };
                    let macs = macs.get(index, place);
                    self.other_calls += 1;
                    other.add(macs);
                    let new =
                        || LeftOperator { operator: name.clone(), first: place, macs: Some(0), ..Default::default() };
                    let found = left.entry((operator, tensors(plan, call))).or_insert_with(new);
                    found.calls += 1;
                    found.macs = found.macs.zip(macs.all()).map(|(sum, macs)| sum.saturating_add(macs));
                }
                _ => {}
            }
        }
        (self.delegated_macs, self.delegated_unknown) = (inside.known, inside.unknown);
        (self.other_macs, self.other_unknown) = (other.known, other.unknown);
        self.backends = backends.into_values().collect();
        self.backends.sort_by_key(|backend| Reverse(backend.operators));
        self.left = left.into_iter().map(|((_, tensors), left)| LeftOperator { tensors, ..left }).collect();
        self.left.sort_by_key(|left| Reverse((left.macs, left.calls)));
    }
}

/// Returns the tensors among the arguments of a call. The result, which a call repeats as its last argument, is left out.
fn tensors(plan: &ExecutionPlan<'_>, call: &KernelCall<'_>) -> Vec<LeftTensor> {
    let tensor = |tensor: &Tensor<'_>| LeftTensor {
        tensor: TensorUse::of(tensor),
        is_dynamic: tensor.shape_dynamism != TensorShapeDynamism::STATIC,
    };
    let args = match call.args() {
        [args @ .., before, last] if before == last => [args, &[*before]].concat(),
        args => args.to_vec(),
    };
    args.iter().filter_map(|index| plan.tensor(*index)).map(tensor).collect()
}

/// Returns the operator's name without its overload and the suffix of copies: `permute` for `permute_copy.out`.
fn base(name: &str) -> &str {
    let name = name.split_once('.').map_or(name, |(name, _)| name);
    name.strip_suffix("_copy").unwrap_or(name)
}

/// The operators inside delegates.
#[derive(Default)]
struct Taken {
    counts: BTreeMap<(String, String, Vec<String>), u64>,
}

/// The kinds of XNNPACK's nodes, with the operators of PyTorch that become them.
const KINDS: [(&str, &[&str]); 45] = [
    ("XNNAdd", &["add"]),
    ("XNNSubtract", &["sub"]),
    ("XNNMultiply", &["mul"]),
    ("XNNDiv", &["div"]),
    ("XNNMinimum", &["minimum"]),
    ("XNNMaximum", &["maximum"]),
    ("XNNFullyConnected", &["linear", "addmm", "mm"]),
    ("XNNBatchMatrixMultiply", &["bmm", "mm", "matmul"]),
    ("XNNConv2d", &["convolution"]),
    ("XNNDepthwiseConv2d", &["convolution"]),
    ("XNNConvTranspose2d", &["convolution"]),
    ("XNNSoftmax", &["_softmax"]),
    ("XNNSigmoid", &["sigmoid"]),
    ("XNNStaticTranspose", &["permute", "transpose", "t"]),
    ("XNNClamp", &["clamp", "relu", "hardtanh"]),
    ("XNNStaticResizeBilinear2D", &["upsample_bilinear2d"]),
    ("XNNStaticConstantPad", &["constant_pad_nd"]),
    ("XNNAvgPooling2d", &["avg_pool2d"]),
    ("XNNMaxPooling2d", &["max_pool2d_with_indices", "max_pool2d"]),
    ("XNNArgMaxPooling2d", &["max_pool2d_with_indices"]),
    ("XNNGlobalAvgPooling2d", &["mean", "adaptive_avg_pool2d"]),
    ("XNNFloor", &["floor"]),
    ("XNNCeiling", &["ceil"]),
    (
        "XNNConvert",
        &["quantize_per_tensor", "dequantize_per_tensor", "choose_qparams_per_token_asymmetric", "_to_dim_order"],
    ),
    ("XNNStaticReshape", &["view", "reshape", "unsqueeze", "squeeze"]),
    ("XNNSquareRoot", &["sqrt"]),
    ("XNNReciprocalSquareRoot", &["rsqrt"]),
    ("XNNHardswish", &["hardswish"]),
    ("XNNLeakyReLU", &["leaky_relu"]),
    ("XNNNegate", &["neg"]),
    ("XNNSquare", &["pow", "square"]),
    ("XNNELU", &["elu"]),
    ("XNNAbs", &["abs"]),
    ("XNNPReLU", &["_prelu_kernel", "prelu"]),
    ("XNNConcatenate2", &["cat"]),
    ("XNNConcatenate3", &["cat"]),
    ("XNNConcatenate4", &["cat"]),
    ("XNNConcatenate5", &["cat"]),
    ("XNNStaticSlice", &["slice"]),
    ("XNNLog", &["log"]),
    ("XNNGelu", &["gelu"]),
    ("XNNTanh", &["tanh"]),
    ("XNNExp", &["exp"]),
    ("XNNSin", &["sin"]),
    ("XNNCos", &["cos"]),
];

impl Taken {
    /// Adds the operators of a payload. Returns their number.
    fn add(&mut self, analysis: &Analysis<'_>, opened: &OpenPayload<'_>, graph: &DelegateGraph) -> Option<u64> {
        let backend = delegate_at(analysis.pte(), *opened.delegates.first()?).1.id();
        for node in &graph.nodes {
            let inputs = node.arguments.iter().filter(|argument| !argument.output).take(MAX_INPUTS);
            let inputs = inputs.map(|argument| format!("{} {}-D", argument.tensor.datatype, argument.tensor.rank));
            *self.counts.entry((short(backend), short(&node.operator), inputs.collect())).or_default() += 1;
        }
        Some(graph.nodes.len() as u64)
    }

    /// Returns the operators inside delegates by the operators of PyTorch that become them, the most nodes first.
    fn by_operator(self) -> BTreeMap<String, Vec<TakenOperator>> {
        let mut all: BTreeMap<String, Vec<TakenOperator>> = BTreeMap::new();
        for ((backend, operator, inputs), nodes) in self.counts {
            let bases = match KINDS.iter().find(|(kind, _)| *kind == operator) {
                Some((_, operators)) => operators.iter().map(|base| String::from(*base)).collect(),
                // Vulkan's graph has the operator itself, such as `aten.linear.default`; Core ML's a name of its own.
                None => [base(operator.split_once('.').map_or(&*operator, |(_, name)| name)).into()].to_vec(),
            };
            for base in bases {
                let (backend, operator, inputs) = (backend.clone(), operator.clone(), inputs.clone());
                all.entry(base).or_default().push(TakenOperator { backend, operator, inputs, nodes });
            }
        }
        for taken in all.values_mut() {
            taken.sort_by_key(|taken| Reverse(taken.nodes));
            taken.truncate(MAX_TAKEN);
        }
        all
    }
}
