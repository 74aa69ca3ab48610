//! The requirements of programs on a runtime: operators with the types of their tensors, and backends.

pub(super) mod delegation;
pub(super) mod macs;
pub(super) mod parameters;

use super::Fault;
use crate::analysis::Analysis;
use crate::delegate::delegate_at;
use crate::error::{Error, Result};
use crate::names::check_operator_name;
use crate::operators::KernelPlace;
use crate::path::{FieldPath, Path};
use crate::schema::ScalarType;
use crate::schema::program::{EValue, ExecutionPlan, InstructionArguments, Operator, Tensor};
use crate::sorted;
use crate::tensor::RUNTIME_RANK;
use alloc::collections::BTreeMap;
use alloc::{format, string::String, vec, vec::Vec};

/// The operators and backends that one program needs, or several together.
///
/// ```
/// use executorch_format::{Analysis, Pte};
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/multi_method/multi_method.pte")?;
/// let pte = Pte::parse(&file)?;
/// let operators = Analysis::new(&pte).operators();
/// for (name, operator) in &operators.operators {
///     println!("{name}: {} calls", operator.calls);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Operators {
    /// The operators by name with overload, such as `aten::add.out`: all operators that methods list, including those that no instruction
    /// calls.
    #[serde(serialize_with = "by_name")]
    #[cfg_attr(feature = "schemars", schemars(with = "Vec<Named<'static, OperatorUse>>"))]
    pub operators: BTreeMap<String, OperatorUse>,
    /// The backends by name.
    #[serde(serialize_with = "by_name")]
    #[cfg_attr(feature = "schemars", schemars(with = "Vec<Named<'static, BackendUse>>"))]
    pub backends: BTreeMap<String, BackendUse>,
    /// References that are out of range. Calls with such arguments are counted, without these arguments.
    pub errors: Vec<Fault>,
}

/// The use of an operator.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OperatorUse {
    /// The number of instructions that call it.
    pub calls: usize,
    /// The place of its kernels; `None` if it is in no library of ExecuTorch.
    pub place: Option<KernelPlace>,
    /// The combinations of tensors in its calls, by ExecuTorch's kernel key, such as `v1/6;0,1|6;0,1`: the numbers of scalar types with dim orders.
    #[serde(serialize_with = "by_name")]
    #[cfg_attr(feature = "schemars", schemars(with = "Vec<Named<'static, KernelUse>>"))]
    pub kernels: BTreeMap<String, KernelUse>,
}

/// A combination of types and dim orders in calls of an operator.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct KernelUse {
    /// The number of instructions that call the operator with this combination.
    pub calls: usize,
    /// The type and dim order of each tensor among the arguments, in their order: inputs, outputs, and the result, which a call repeats. A
    /// list of tensors is represented by its first.
    pub tensors: Vec<TensorUse>,
}

/// The type and dim order of an argument.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TensorUse {
    /// The type of the elements.
    pub scalar_type: ScalarType,
    /// The dimensions in the order of storage, outermost first.
    pub dim_order: Vec<u8>,
}

/// The use of a backend.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BackendUse {
    /// The number of delegates.
    pub delegates: usize,
    /// The number of instructions that call one of them.
    pub calls: usize,
    /// The number of uses of each operator in the payloads that this crate reads, by its name in the payload's schema. A payload that several
    /// delegates share is counted once.
    #[serde(serialize_with = "calls_by_name")]
    #[cfg_attr(feature = "schemars", schemars(with = "Vec<super::OperatorCalls>"))]
    pub operators: BTreeMap<String, usize>,
}

/// A value of a map, with its name.
#[derive(serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct Named<'t, V> {
    name: &'t str,
    #[serde(flatten)]
    value: &'t V,
}

/// Serializes a map as a list of its values with their names, like all lists of named things.
fn by_name<V: serde::Serialize, S: serde::Serializer>(
    map: &BTreeMap<String, V>,
    serializer: S,
) -> core::result::Result<S::Ok, S::Error> {
    serializer.collect_seq(map.iter().map(|(name, value)| Named { name, value }))
}

fn calls_by_name<S: serde::Serializer>(
    map: &BTreeMap<String, usize>,
    serializer: S,
) -> core::result::Result<S::Ok, S::Error> {
    serializer.collect_seq(map.iter().map(|(name, calls)| super::OperatorCalls { name: name.clone(), calls: *calls }))
}

/// Returns ExecuTorch's name for a combination of types and dim orders: `v1/6;0,1|6;0,1`, numbers of scalar types with dim orders.
fn kernel_key(tensors: &[TensorUse]) -> String {
    let tensor = |tensor: &TensorUse| {
        let order: Vec<String> = tensor.dim_order.iter().map(|dimension| format!("{dimension}")).collect();
        format!("{};{}", tensor.scalar_type.0, order.join(","))
    };
    // The official tool cuts off the last character, which is the slash if the list is empty.
    match tensors {
        [] => "v1".into(),
        tensors => format!("v1/{}", tensors.iter().map(tensor).collect::<Vec<_>>().join("|")),
    }
}

/// The type and dim order of each tensor of a call.
type CallTensors<'t> = Vec<(ScalarType, &'t [u8])>;

impl OperatorUse {
    /// Creates the use of an operator from the number of its calls with each combination of tensors: many calls have the same.
    fn new(operator: &Operator<'_>, calls: BTreeMap<CallTensors<'_>, usize>) -> Self {
        let mut operator = Self { place: KernelPlace::of(operator), ..Self::default() };
        for (tensors, calls) in calls {
            let tensors = tensors.into_iter();
            let tensors: Vec<_> = tensors
                .map(|(scalar_type, dim_order)| TensorUse { scalar_type, dim_order: dim_order.to_vec() })
                .collect();
            operator.calls += calls;
            operator.kernels.insert(kernel_key(&tensors), KernelUse { calls, tensors });
        }
        operator
    }

    fn merge(&mut self, other: Self) {
        self.calls += other.calls;
        self.place = other.place;
        for (key, other) in other.kernels {
            let kernel = self.kernels.entry(key).or_default();
            kernel.calls += other.calls;
            kernel.tensors = other.tensors;
        }
    }
}

impl BackendUse {
    fn merge(&mut self, other: Self) {
        self.delegates += other.delegates;
        self.calls += other.calls;
        for (name, count) in other.operators {
            *self.operators.entry(name).or_default() += count;
        }
    }
}

impl TensorUse {
    pub(super) fn of(tensor: &Tensor<'_>) -> Self {
        Self { scalar_type: tensor.scalar_type, dim_order: tensor.dim_order().to_vec() }
    }
}

pub(super) fn of_pte(analysis: &Analysis<'_>) -> Operators {
    let pte = analysis.pte();
    let mut operators = Operators::default();
    for (index, plan) in pte.methods().iter().enumerate() {
        operators.add(plan, &Path::ROOT.item("execution_plan", index));
    }
    operators.add_inside(analysis);
    operators
}

impl Operators {
    /// Adds the requirements of another program: a runtime for both needs all of them.
    pub fn merge(&mut self, other: Self) {
        for (name, other) in other.operators {
            self.operators.entry(name).or_default().merge(other);
        }
        for (name, other) in other.backends {
            self.backends.entry(name).or_default().merge(other);
        }
        self.errors.extend(other.errors);
    }

    /// Checks that a build system accepts each operator's name: letters, digits, `_`, `:` and `.`.
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable), which has the operator's name.
    pub fn check_names(&self) -> Result<()> {
        self.operators.keys().try_for_each(|name| check_operator_name(name))
    }

    /// Returns the types of elements in the calls of all operators: each once, in the order of their numbers.
    pub fn scalar_types(&self) -> Vec<ScalarType> {
        let mut types = Vec::new();
        for operator in self.operators.values() {
            for kernel in operator.kernels.values() {
                types.extend(kernel.tensors.iter().map(|tensor| tensor.scalar_type));
            }
        }
        sorted::set(types)
    }

    /// Adds the requirements of a method.
    pub(crate) fn add(&mut self, plan: &ExecutionPlan<'_>, path: &Path<'_>) {
        // Collected by index, because a name may be long and called often.
        let mut operators: Vec<BTreeMap<CallTensors<'_>, usize>> = vec![BTreeMap::new(); plan.operators().len()];
        let mut backends = vec![BackendUse { delegates: 1, ..BackendUse::default() }; plan.delegates().len()];
        let mut tensors = tensors(plan);
        for (value, tensor) in tensors.iter_mut().enumerate() {
            let high = |tensor: &mut &Tensor<'_>| tensor.dim_order().len() > RUNTIME_RANK;
            if let Some(tensor) = tensor.take_if(high) {
                let found = format!("{} dimensions, expected at most {RUNTIME_RANK}", tensor.dim_order().len());
                self.fault(&path.item("values", value).field("val"), found);
            }
        }
        for ((chain, index), instruction) in plan.instructions() {
            let path = path.item("chains", chain);
            let path = path.item("instructions", index);
            match instruction {
                InstructionArguments::KernelCall(call) => {
                    for arg in call.args().iter().filter(|arg| plan.value(**arg).is_none()) {
                        let found = format!("value {arg}, but there are {}", plan.values().len());
                        self.fault(&path.field("instr_args.KernelCall.args"), found);
                    }
                    let args = call.args().iter().filter_map(|arg| *tensors.get(usize::try_from(*arg).ok()?)?);
                    match usize::try_from(call.op_index).ok().and_then(|index| operators.get_mut(index)) {
                        Some(calls) => {
                            let tensors = args.map(|tensor| (tensor.scalar_type, tensor.dim_order())).collect();
                            *calls.entry(tensors).or_default() += 1;
                        }
                        None => {
                            let found = format!("operator {}, but there are {}", call.op_index, operators.len());
                            self.fault(&path.field("instr_args.KernelCall.op_index"), found);
                        }
                    }
                }
                InstructionArguments::DelegateCall(call) => {
                    match usize::try_from(call.delegate_index).ok().and_then(|index| backends.get_mut(index)) {
                        Some(backend) => backend.calls += 1,
                        None => {
                            let found = format!("delegate {}, but there are {}", call.delegate_index, backends.len());
                            self.fault(&path.field("instr_args.DelegateCall.delegate_index"), found);
                        }
                    }
                }
                _ => {}
            }
        }
        for (operator, calls) in plan.operators().iter().zip(operators) {
            let found = OperatorUse::new(operator, calls);
            self.operators.entry(operator.full_name()).or_default().merge(found);
        }
        for (delegate, found) in plan.delegates().iter().zip(backends) {
            self.backends.entry(delegate.id().into()).or_default().merge(found);
        }
    }

    /// Adds the operators inside payloads.
    fn add_inside(&mut self, analysis: &Analysis<'_>) {
        for (opened, graph) in analysis.payloads_with_graphs() {
            let (Some(place), Some(graph)) = (opened.delegates.first(), graph) else { continue };
            let (_, delegate) = delegate_at(analysis.pte(), *place);
            let Some(backend) = self.backends.get_mut(delegate.id()) else { continue };
            for (name, count) in graph.count_nodes() {
                *backend.operators.entry(name.into()).or_default() += count;
            }
        }
    }

    fn fault(&mut self, path: &Path<'_>, found: String) {
        let path: FieldPath = path.to_field_path();
        self.errors.push(Fault { path, error: Error::reference(found) });
    }
}

/// Returns the tensor that represents each value in a kernel key: the value itself, or the first tensor of a list.
fn tensors<'t, 'a>(plan: &'t ExecutionPlan<'a>) -> Vec<Option<&'t Tensor<'a>>> {
    let first =
        |value: &EValue<'_>| value.val.tensors().and_then(|list| list.iter().find_map(|item| plan.tensor(*item)));
    let values = plan.values().iter().enumerate();
    values.map(|(index, value)| plan.tensor(index).or_else(|| first(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_call_without_tensors_has_the_version_alone() {
        assert_eq!(kernel_key(&[]), "v1");
    }
}
