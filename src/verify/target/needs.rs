//! Everything that a program needs from a device.

use super::Target;
use crate::analysis::{Analysis, Device};
use crate::delegate::{Payload, delegate_at};
use crate::inspect::{Content, NameText, Operators, PlannedBuffer, Value};
use crate::names::shortened;
use crate::path::Path;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{string::String, vec::Vec};

/// Everything that a program needs from a device, whether the device has it or not.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Needs {
    /// The size of the file, in bytes; `None` for a program that was built in memory.
    pub file_size: Option<u64>,
    /// The needs of each method that computes something.
    pub methods: Vec<MethodNeeds>,
}

/// The needs of a method.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MethodNeeds {
    /// The method's name.
    pub name: String,
    /// The operators with their kernels, and the backends.
    #[serde(flatten)]
    pub operators: Operators,
    /// The planned buffers.
    pub buffers: Vec<PlannedBuffer>,
    /// The number of bytes that the runtime takes from the method allocator, with the target's pointers and temporary allocator.
    pub method_allocator: u64,
    /// The number of delegates of backends other than XNNPACK, which take an unknown number of further bytes.
    pub other_delegates: usize,
    /// The accelerators that payloads for Ethos-U are compiled for, without duplicates.
    pub accelerators: Vec<String>,
    /// The scratch memory of the largest delegate for an Ethos-U in bytes, if the payloads state it.
    pub scratch: Option<u64>,
    /// The inputs, in order.
    pub inputs: Vec<CallerValue>,
    /// The outputs, in order.
    pub outputs: Vec<CallerValue>,
}

/// An input or output of a method.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CallerValue {
    /// The name, as in [`Value`]; at most 1,000 characters.
    pub name: Option<NameText<'static>>,
    /// The type and shape as text, such as `f32[1, 3]`, or the schema's name of a kind other than a tensor.
    pub shape: NameText<'static>,
    /// The number of bytes of a tensor, at most if the shape is dynamic.
    pub size: Option<u64>,
    /// `true` if it is a tensor without planned memory, which the caller has to provide before a run.
    pub caller_memory: bool,
}

/// The texts and sizes of values that were described before: many inputs can be one value, or have one long name.
#[derive(Default)]
struct Described<'v> {
    shapes: BTreeMap<i32, (NameText<'static>, Option<u64>)>,
    names: BTreeMap<&'v str, NameText<'static>>,
}

impl CallerValue {
    fn of<'v>(value: &'v Value<'_>, described: &mut Described<'v>) -> Self {
        let tensor = value.tensor.as_ref();
        let names = &mut described.names;
        let short = |name| names.entry(name).or_insert_with(|| shortened(name).into_owned().into()).clone();
        let name = value.name.as_deref().map(short);
        let (shape, size) = described.shapes.entry(value.value).or_insert_with(|| match tensor {
            Some(tensor) => {
                let shape = tensor.shape().to_string_with(tensor.shape_dynamism);
                (shape.into(), tensor.shape().byte_size().ok())
            }
            None => (value.kind.unwrap_or("unknown").into(), None),
        });
        Self { name, shape: shape.clone(), size: *size, caller_memory: value.caller_memory }
    }
}

impl Needs {
    pub(in crate::verify) fn of(analysis: &Analysis<'_>, target: &Target) -> Self {
        let pte = analysis.pte();
        let file_size = pte.source.as_ref().map(|source| source.bytes.len() as u64);
        let Content::Program(program) = analysis.summary().content else {
            return Self { file_size, ..Self::default() };
        };
        let (pointers, temporary) = target.allocators();
        let mut ethos_u = ethos_u(analysis);
        let mut summaries = program.methods.iter();
        let mut methods = Vec::new();
        for (index, plan) in pte.methods().iter().enumerate().filter(|(_, plan)| !plan.is_constant()) {
            let Some(summary) = summaries.next() else { break };
            let mut operators = Operators::default();
            operators.add(plan, &Path::ROOT.item("execution_plan", index));
            let taken = &summary.method_allocator;
            let (accelerators, scratch) = ethos_u.remove(&index).unwrap_or_default();
            let mut described = Described::default();
            methods.push(MethodNeeds {
                name: plan.name().into(),
                operators,
                buffers: summary.planned_memory.buffers.clone(),
                method_allocator: taken.known(pointers, temporary),
                other_delegates: taken.other_delegates,
                accelerators,
                scratch,
                inputs: summary.inputs.iter().map(|value| CallerValue::of(value, &mut described)).collect(),
                outputs: summary.outputs.iter().map(|value| CallerValue::of(value, &mut described)).collect(),
            });
        }
        Self { file_size, methods }
    }
}

/// Returns the accelerators and the scratch memory of the delegates for Ethos-U in each method.
fn ethos_u(analysis: &Analysis<'_>) -> BTreeMap<usize, (Vec<String>, Option<u64>)> {
    let mut methods: BTreeMap<usize, (Vec<String>, Option<u64>)> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for opened in analysis.payloads() {
        let Ok(Payload::EthosU(payload)) = &opened.payload else { continue };
        for place in &opened.delegates {
            let (accelerators, scratch) = methods.entry(place.0).or_default();
            *scratch = (*scratch).max(payload.scratch_size());
            let compiled_for = Device::of(delegate_at(analysis.pte(), *place).1, None).accelerator;
            accelerators.extend(compiled_for.filter(|name| seen.insert((place.0, *name))).map(String::from));
        }
    }
    methods
}
