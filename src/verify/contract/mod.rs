//! The contract of a program: what its callers give and get, and what it needs from a runtime.

mod changes;
mod markdown;
mod metadata;

pub use changes::ContractChange;

use super::releases;
use super::{LoadsIn, MissingData, Target, Verdict};
use crate::analysis::Analysis;
use crate::inspect::{
    Backend, CompileSetting, Content, MacsSummary, Method, MethodAllocator, NameText, OperatorCalls, PlannedBuffer,
    Returned, TrainingOutput, Value,
};
use crate::schema::ScalarType;
use crate::schema::program::TensorShapeDynamism;
use crate::sha256::{hex, sha256};
use crate::tensor::RUNTIME_RANK;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{format, string::String, vec::Vec};
use metadata::meaning;

/// The values that callers of a program give and get, and its needs from a runtime.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Contract<'t> {
    /// The SHA-256 of the file in hexadecimal; `None` for a program that was built in memory.
    pub sha256: Option<String>,
    /// The size of the file, in bytes.
    pub file_size: Option<u64>,
    /// The methods that compute something, in the file's order.
    pub methods: Vec<ContractMethod<'t>>,
    /// The methods that return constants, which runners read.
    pub metadata: Vec<ContractMetadata<'t>>,
    /// The backends that the program delegates to, by name.
    pub backends: Vec<ContractBackend<'t>>,
    /// The releases of ExecuTorch that load the program, and the libraries of operators that it needs.
    pub loads_in: LoadsIn,
    /// The verdict of the newest release with all its libraries.
    pub verdict: Verdict,
    /// The keys that the program looks up in `.ptd` files and that are not in the given ones; `None` if it looks up none.
    pub external_data: Option<MissingData>,
}

/// The contract of a method.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ContractMethod<'t> {
    /// The name.
    pub name: &'t str,
    /// The inputs, in order.
    pub inputs: Vec<ContractValue<'t>>,
    /// The outputs, in order.
    pub outputs: Vec<ContractValue<'t>>,
    /// The operators that it calls, the most called first.
    pub operators: Vec<OperatorCalls>,
    /// The planned buffers.
    pub buffers: Vec<PlannedBuffer>,
    /// The additional memory that the runtime allocates to load the method.
    pub method_allocator: MethodAllocator,
    /// The multiply-accumulates and parameters; `None` if it runs nothing.
    pub compute: Option<MacsSummary<'t>>,
}

/// An input or output.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ContractValue<'t> {
    /// The name: a keyword argument, the keys that lead to it, or that of an ETRecord.
    pub name: Option<NameText<'t>>,
    /// The schema's name of its kind, such as `Tensor` or `Int`.
    #[serde(rename = "type")]
    pub kind: Option<&'static str>,
    /// The type of a tensor's elements.
    pub scalar_type: Option<ScalarType>,
    /// The sizes of a tensor's dimensions; `None` for other values.
    #[cfg_attr(feature = "schemars", schemars(with = "Option<Vec<DimRange>>"))]
    pub dims: Option<Dims<'t>>,
    /// The dimensions of a tensor in the order of storage, outermost first.
    pub dim_order: Option<&'t [u8]>,
    /// `true` if it is a tensor without planned memory, which the caller has to provide before a run.
    pub caller_memory: bool,
    /// The meaning of an output of a method for training.
    pub training: Option<TrainingOutput<'t>>,
}

/// The sizes that the dimensions of a tensor can have, written as a list of [`DimRange`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dims<'t> {
    /// The size of each dimension: an upper bound if the shape is dynamic.
    pub sizes: &'t [i32],
    /// The kind of change of the sizes that is allowed at run time.
    pub shape_dynamism: TensorShapeDynamism,
}

impl<'t> Dims<'t> {
    /// Returns the sizes that each dimension can have.
    pub fn ranges(self) -> impl ExactSizeIterator<Item = DimRange> + use<'t> {
        self.sizes.iter().map(move |size| match self.shape_dynamism {
            TensorShapeDynamism::STATIC => DimRange { min: Some(*size), max: Some(*size) },
            TensorShapeDynamism::DYNAMIC_BOUND => DimRange { min: None, max: Some(*size) },
            _ => DimRange { min: None, max: None },
        })
    }
}

impl serde::Serialize for Dims<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.ranges())
    }
}

/// The sizes that a dimension can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DimRange {
    /// The smallest size; `None` if the program does not state it, as of all dynamic shapes.
    pub min: Option<i32>,
    /// The largest size; `None` if it has no bound.
    pub max: Option<i32>,
}

/// A constant that runners read.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ContractMetadata<'t> {
    /// The name of the method.
    pub name: &'t str,
    /// The value.
    pub value: Returned<'t>,
    /// The meaning for ExecuTorch's runners, if they read it.
    pub meaning: Option<&'static str>,
}

/// A backend and its demands.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ContractBackend<'t> {
    /// The name.
    pub id: &'t str,
    /// The number of delegates in all methods.
    pub delegates: usize,
    /// The settings that its delegates were compiled with, without duplicates.
    pub compile_specs: Vec<CompileSetting<'t>>,
    /// The accelerators that its delegates were compiled for.
    pub accelerators: Vec<&'t str>,
}

impl<'t> Analysis<'t> {
    /// Returns the contract of the program. Names of positional inputs need an ETRecord among the [sources](Self::with_names).
    ///
    /// ```
    /// use executorch_format::{Analysis, Pte};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/linear/linear.pte")?;
    /// let pte = Pte::parse(&file)?;
    /// let contract = Analysis::new(&pte).contract();
    /// assert_eq!(contract.methods[0].inputs[0].dims.unwrap().sizes, [1, 8]);
    /// assert!(contract.breaks(&contract).is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn contract(&self) -> Contract<'t> {
        let (pte, target) = (self.pte(), Target::default());
        let facts = self.facts(&target);
        let verdict = facts.verdict(super::Release::LATEST).verdict;
        let bytes = pte.source.as_ref().map(|source| &*source.bytes);
        let mut compute: BTreeMap<&str, MacsSummary<'t>> = BTreeMap::new();
        for summary in self.macs().summary() {
            compute.entry(summary.name).or_insert(summary);
        }
        let (mut methods, mut metadata, mut backends) = (Vec::new(), Vec::new(), BTreeMap::new());
        if let Content::Program(program) = self.summary().content {
            for method in program.methods {
                count_backends(&method.delegates, &mut backends);
                methods.push(ContractMethod::of(method, &mut compute));
            }
            let (mut settings, mut accelerators) = (BTreeSet::new(), BTreeSet::new());
            for payload in program.payloads {
                let Some(backend) = backends.get_mut(payload.id) else { continue };
                for setting in payload.compile_specs {
                    if settings.insert((payload.id, setting.key.clone(), setting.text.clone(), setting.size)) {
                        backend.compile_specs.push(setting);
                    }
                }
                let accelerator = payload.device.accelerator.filter(|name| accelerators.insert((payload.id, *name)));
                backend.accelerators.extend(accelerator);
            }
            let constant = |method: crate::inspect::ConstantMethod<'t>| ContractMetadata {
                name: method.name,
                value: method.value,
                meaning: meaning(method.name),
            };
            metadata.extend(program.metadata.into_iter().map(constant));
        }
        Contract {
            sha256: bytes.map(|bytes| hex(&sha256(&[bytes]))),
            file_size: bytes.map(|bytes| bytes.len() as u64),
            methods,
            metadata,
            backends: backends.into_values().collect(),
            loads_in: releases::of_facts(&facts).loads_in,
            verdict,
            external_data: pte.missing_data(self.data().unwrap_or_default()),
        }
    }
}

/// Adds the delegates of a method.
fn count_backends<'t>(found: &[Backend<'t>], backends: &mut BTreeMap<&'t str, ContractBackend<'t>>) {
    for backend in found {
        let empty =
            || ContractBackend { id: backend.id, delegates: 0, compile_specs: Vec::new(), accelerators: Vec::new() };
        backends.entry(backend.id).or_insert_with(empty).delegates += backend.delegates;
    }
}

impl<'t> ContractMethod<'t> {
    fn of(method: Method<'t>, compute: &mut BTreeMap<&str, MacsSummary<'t>>) -> Self {
        Self {
            name: method.name,
            inputs: method.inputs.into_iter().map(ContractValue::of).collect(),
            outputs: method.outputs.into_iter().map(ContractValue::of).collect(),
            operators: method.operators,
            buffers: method.planned_memory.buffers,
            method_allocator: method.method_allocator,
            compute: compute.remove(method.name),
        }
    }
}

impl ContractValue<'_> {
    /// Returns the type of a tensor's elements, or the kind of another value.
    fn type_text(&self) -> String {
        match self.scalar_type {
            Some(scalar_type) => scalar_type.short_name().map_or_else(|| format!("{scalar_type}"), String::from),
            None => self.kind.unwrap_or("unknown").into(),
        }
    }
}

/// Returns the dimensions that a runtime takes: no release loads a tensor with more.
fn taken<T>(dims: &[T]) -> &[T] {
    dims.get(..RUNTIME_RANK).unwrap_or(dims)
}

impl<'t> ContractValue<'t> {
    fn of(value: Value<'t>) -> Self {
        let tensor = value.tensor;
        Self {
            name: value.name,
            kind: value.kind,
            scalar_type: tensor.as_ref().map(|tensor| tensor.scalar_type),
            dims: tensor
                .as_ref()
                .map(|tensor| Dims { sizes: taken(tensor.sizes), shape_dynamism: tensor.shape_dynamism }),
            dim_order: tensor.as_ref().map(|tensor| taken(tensor.dim_order)),
            caller_memory: value.caller_memory,
            training: value.training,
        }
    }
}
