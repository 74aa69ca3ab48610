//! The references of a program to data. Other modules do not resolve such references themselves.

use super::pte::{Pte, TensorData};
use super::segment::DataRef;
use crate::error::Result;
use crate::path::{FieldPath, Path};
use crate::schema::Program;
use crate::schema::program::{
    BackendDelegate, BackendDelegateDataReference, DataLocation, ExecutionPlan, KernelTypes, NamedData, Tensor,
};
use alloc::{vec, vec::Vec};

/// A reference to data in a program's file, or in a `.ptd` file.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum DataUser<'t> {
    /// A tensor with data: a constant, an initial state, or an external one.
    Tensor {
        /// Index into the methods.
        method: usize,
        /// The method.
        plan: &'t ExecutionPlan<'t>,
        /// Index into the method's values.
        value: usize,
        /// The tensor.
        tensor: &'t Tensor<'t>,
    },
    /// A delegate, with its payload.
    Delegate {
        /// Index into the methods.
        method: usize,
        /// The method.
        plan: &'t ExecutionPlan<'t>,
        /// Index into the method's delegates.
        index: usize,
        /// The delegate.
        delegate: &'t BackendDelegate<'t>,
    },
    /// A blob with a key.
    NamedData {
        /// Index into `named_data`.
        index: usize,
        /// The entry.
        named: &'t NamedData<'t>,
    },
}

impl DataUser<'_> {
    /// Returns the path in the tree.
    pub fn path(&self) -> FieldPath {
        let plan = |method| Path::ROOT.item("execution_plan", method);
        match *self {
            Self::Tensor { method, value, .. } => {
                plan(method).item("values", value).field("val.Tensor").to_field_path()
            }
            Self::Delegate { method, index, .. } => {
                plan(method).item("delegates", index).field("processed").to_field_path()
            }
            Self::NamedData { index, .. } => Path::ROOT.item("named_data", index).to_field_path(),
        }
    }
}

impl<'a> Pte<'a> {
    /// Returns the reference of each delegate to its payload.
    pub(crate) fn payloads(&self) -> Vec<BackendDelegateDataReference> {
        let mut payloads = Vec::new();
        for plan in self.methods() {
            for delegate in plan.delegates() {
                if let Some(payload) = delegate.processed {
                    payloads.push(payload);
                }
            }
        }
        payloads
    }

    /// Returns the segment of each delegate's payload.
    pub(crate) fn payload_segments(&self) -> Vec<u32> {
        let mut segments = Vec::new();
        for payload in self.payloads() {
            if payload.location == DataLocation::SEGMENT {
                segments.push(payload.index);
            }
        }
        segments
    }

    /// Counts the references to each segment, in the order of the list of segments.
    pub(crate) fn segment_users(&self) -> Vec<u32> {
        let program = &self.program;
        let mut indices = self.payload_segments();
        for list in program.constant_segment.iter().chain(program.mutable_data_segments()) {
            // A list without a placeholder, as ExecuTorch 0.2 writes it, is in no segment.
            if !list.offsets().is_empty() {
                indices.push(list.segment_index);
            }
        }
        for named in self.named_data() {
            indices.push(named.segment_index);
        }
        let mut users = vec![0u32; program.segments().len()];
        for index in indices {
            if let Some(count) = users.get_mut(index as usize) {
                *count += 1;
            }
        }
        users
    }

    /// Checks that the indices of segments and payloads are in range and the keys of named data are unique.
    pub(crate) fn check_references(&self) -> Result<()> {
        let program = &self.program;
        if let Some(list) = program.constant_segment.as_ref().filter(|list| list.offsets().len() > 1) {
            self.whole_segment(list.segment_index).map_err(|error| error.in_field("constant_segment"))?;
        }
        for (index, list) in program.mutable_data_segments().iter().enumerate() {
            self.whole_segment(list.segment_index)
                .map_err(|error| error.in_item(index).in_field("mutable_data_segments"))?;
        }
        for (index, named) in self.named_data().iter().enumerate() {
            self.named_data_ref(named).map_err(|error| error.in_item(index).in_field("named_data"))?;
        }
        self.named_data_index().check_unique().map_err(|error| error.in_field("named_data"))?;
        for (plan, method) in self.methods().iter().enumerate() {
            for (index, delegate) in method.delegates().iter().enumerate() {
                self.delegate_data(delegate).map_err(|error| {
                    error.in_item(index).in_field("delegates").in_item(plan).in_field("execution_plan")
                })?;
            }
        }
        Ok(())
    }
}

pub(super) fn data_users<'t>(pte: &'t Pte<'_>) -> impl Iterator<Item = (DataUser<'t>, Result<TensorData<'t>>)> {
    let methods = pte.methods().iter().enumerate().flat_map(move |(method, plan)| {
        let tensors = plan.tensors().filter(|(_, tensor)| tensor.has_data());
        let tensors = tensors
            .map(move |(value, tensor)| (DataUser::Tensor { method, plan, value, tensor }, pte.tensor_data(tensor)));
        let delegates = plan.delegates().iter().enumerate().map(move |(index, delegate)| {
            let data = pte.delegate_data(delegate).map(TensorData::Constant);
            (DataUser::Delegate { method, plan, index, delegate }, data)
        });
        tensors.chain(delegates)
    });
    let named = pte.named_data().iter().enumerate().map(move |(index, named)| {
        let data = pte.named_data_ref(named).map(TensorData::Constant);
        (DataUser::NamedData { index, named }, data)
    });
    methods.chain(named)
}

/// Returns the reference of each delegate to its payload, mutable; see [`Pte::payloads`].
pub(crate) fn payloads_mut<'t>(program: &'t mut Program<'_>) -> Vec<&'t mut BackendDelegateDataReference> {
    let mut payloads = Vec::new();
    for plan in program.execution_plan.as_deref_mut().unwrap_or_default() {
        for delegate in plan.delegates.as_deref_mut().unwrap_or_default() {
            if let Some(payload) = &mut delegate.processed {
                payloads.push(payload);
            }
        }
    }
    payloads
}

/// An offset table for constants or initial states. The runtime takes initial states from list 0 only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DataList {
    /// Constants: in `constant_segment` or, in early files, `constant_buffer`.
    Constants,
    /// Initial states: in `mutable_data_segments[0]`.
    InitialStates,
}

impl DataList {
    pub(crate) const ALL: [Self; 2] = [Self::Constants, Self::InitialStates];
}

impl DataList {
    /// Returns the list for a tensor's `data_buffer_idx`, if the tensor uses it; see [`Pte::tensor_data`].
    pub(crate) fn of(tensor: &Tensor<'_>) -> Option<Self> {
        let list = tensor.extra_tensor_info.as_deref().map_or(0, |extra| extra.mutable_data_segments_idx);
        match tensor.allocation_info {
            _ if tensor.is_external() || tensor.data_buffer_idx == 0 => None,
            None => Some(Self::Constants),
            Some(_) => (list == 0).then_some(Self::InitialStates),
        }
    }
}

/// Returns every tensor of every method.
pub(crate) fn tensors_mut<'t, 'a>(program: &'t mut Program<'a>) -> Vec<&'t mut Tensor<'a>> {
    let mut tensors = Vec::new();
    for plan in program.execution_plan.as_deref_mut().unwrap_or_default() {
        for value in plan.values.as_deref_mut().unwrap_or_default() {
            if let KernelTypes::Tensor(tensor) = &mut value.val {
                tensors.push(tensor);
            }
        }
    }
    tensors
}

/// Returns the tensor that is value `value` of method `method`.
pub(crate) fn tensor_mut<'t, 'a>(
    program: &'t mut Program<'a>,
    method: usize,
    value: usize,
) -> Option<&'t mut Tensor<'a>> {
    match &mut program.execution_plan.as_mut()?.get_mut(method)?.values.as_mut()?.get_mut(value)?.val {
        KernelTypes::Tensor(tensor) => Some(tensor),
        _ => None,
    }
}

/// Replaces every index of a segment with the new index. The counterpart of [`Pte::segment_users`].
pub(crate) fn renumber_segments(program: &mut Program<'_>, new_index: &dyn Fn(u32) -> u32) {
    if let Some(list) = &mut program.constant_segment {
        list.segment_index = new_index(list.segment_index);
    }
    for list in program.mutable_data_segments.as_deref_mut().unwrap_or_default() {
        list.segment_index = new_index(list.segment_index);
    }
    for named in program.named_data.as_deref_mut().unwrap_or_default() {
        named.segment_index = new_index(named.segment_index);
    }
    for payload in payloads_mut(program) {
        if payload.location == DataLocation::SEGMENT {
            payload.index = new_index(payload.index);
        }
    }
}

impl TensorData<'_> {
    /// Returns the place of the bytes, if they are in this file.
    pub fn data_ref(&self) -> Option<DataRef> {
        match *self {
            Self::Constant(data) | Self::InitialState(data) => Some(data),
            Self::None | Self::Planned(_) | Self::External(_) => None,
        }
    }
}
