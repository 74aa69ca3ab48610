//! Constructors for the tables that most programs have.

use super::ScalarType;
use super::program::{
    AllocationDetails, BackendDelegate, BackendDelegateDataReference, Bool, BoolList, Chain, CompileSpec,
    ContainerMetadata, DelegateCall, Double, DoubleList, EValue, ExecutionPlan, ExtraTensorInfo, Instruction, Int,
    IntList, KernelCall, KernelTypes, Null, Operator, String, Tensor, TensorDataLocation, TensorList,
};
use crate::flatbuffer::text::{Text, c_string};
use alloc::{borrow::Cow, boxed::Box, vec, vec::Vec};

impl<'a> ExecutionPlan<'a> {
    /// Creates a method with one chain of instructions. `planned` is the size of its planned memory, in bytes.
    pub fn new(
        name: impl Into<Text<'a>>,
        values: Vec<EValue<'a>>,
        operators: Vec<Operator<'a>>,
        instructions: Vec<Instruction<'a>>,
        planned: i64,
    ) -> Self {
        let chain = Chain {
            inputs: Some(Cow::Borrowed(&[])),
            outputs: Some(Cow::Borrowed(&[])),
            instructions: Some(instructions),
            stacktrace: None,
        };
        Self {
            name: Some(name.into()),
            container_meta_type: Some(ContainerMetadata {
                encoded_inp_str: Some("".into()),
                encoded_out_str: Some("".into()),
            }),
            values: Some(values),
            inputs: Some(Cow::Borrowed(&[])),
            outputs: Some(Cow::Borrowed(&[])),
            chains: Some(vec![chain]),
            operators: Some(operators),
            delegates: Some(Vec::new()),
            non_const_buffer_sizes: Some(vec![0, planned].into()),
            non_const_buffer_device: None,
        }
    }

    /// Sets the inputs: indices of values.
    pub fn with_inputs(self, inputs: impl Into<Cow<'a, [i32]>>) -> Self {
        Self { inputs: Some(inputs.into()), ..self }
    }

    /// Sets the outputs: indices of values.
    pub fn with_outputs(self, outputs: impl Into<Cow<'a, [i32]>>) -> Self {
        Self { outputs: Some(outputs.into()), ..self }
    }
}

impl<'a> Tensor<'a> {
    /// Creates a tensor in the natural dim order, outermost dimension first, whose data is given at run time.
    pub fn new(scalar_type: ScalarType, sizes: impl Into<Cow<'a, [i32]>>) -> Self {
        let sizes = sizes.into();
        let dim_order = Some((0..sizes.len()).map(|dim| dim as u8).collect());
        Self { scalar_type, sizes: Some(sizes), dim_order, ..Self::default() }
    }

    /// Places the tensor in planned memory, at `offset` bytes of buffer `memory_id`, which counts from 1.
    pub fn with_planned(self, memory_id: u32, offset: u64) -> Self {
        let allocation = AllocationDetails {
            memory_id,
            memory_offset_low: offset as u32,
            memory_offset_high: (offset >> 32) as u32,
        };
        Self { allocation_info: Some(allocation), ..self }
    }

    /// Sets the tensor's data, or its initial state if it also has planned memory: an index from a
    /// [`DataCollector`](crate::DataCollector).
    pub fn with_data(self, data_buffer_idx: u32) -> Self {
        Self { data_buffer_idx, ..self }
    }

    /// Makes the tensor external: its data is in a `.ptd`, under `key`.
    pub fn with_external(self, key: impl Into<Text<'a>>) -> Self {
        let extra = ExtraTensorInfo {
            fully_qualified_name: Some(key.into()),
            location: TensorDataLocation::EXTERNAL,
            ..ExtraTensorInfo::default()
        };
        Self { extra_tensor_info: Some(Box::new(extra)), ..self }
    }
}

impl<'a> BackendDelegate<'a> {
    /// Creates a delegate, a part of a method for the backend `id`, such as `XnnpackBackend`, without compile specs. The reference to
    /// the payload is from a [`DataCollector`](crate::DataCollector).
    pub fn new(id: impl Into<Text<'a>>, processed: BackendDelegateDataReference) -> Self {
        // Runtimes before 1.3 read the list without checking that it is present.
        Self { id: Some(id.into()), processed: Some(processed), compile_specs: Some(Vec::new()) }
    }

    /// Sets the compile specs.
    pub fn with_compile_specs(self, specs: Vec<CompileSpec<'a>>) -> Self {
        Self { compile_specs: Some(specs), ..self }
    }

    /// Returns the backend that the runtime looks up: the [id](Self::id) up to its first NUL.
    pub fn backend(&self) -> &str {
        c_string(self.id())
    }

    /// Returns the value of the first compile spec with a key.
    #[cfg(feature = "verify")]
    pub(crate) fn compile_spec(&self, key: &str) -> Option<&[u8]> {
        self.compile_specs().iter().find(|spec| spec.key() == key).map(CompileSpec::value)
    }
}

impl<'a> CompileSpec<'a> {
    /// Creates a setting for a backend.
    pub fn new(key: impl Into<Text<'a>>, value: impl Into<Cow<'a, [u8]>>) -> Self {
        Self { key: Some(key.into()), value: Some(value.into()) }
    }
}

impl<'a> Operator<'a> {
    /// Creates the name of a kernel: its operator, such as `aten::add`, and overload, such as `out`.
    pub fn new(name: impl Into<Text<'a>>, overload: impl Into<Text<'a>>) -> Self {
        Self { name: Some(name.into()), overload: Some(overload.into()) }
    }
}

impl<'a> Instruction<'a> {
    /// Creates an instruction that runs the operator `op_index` on the values `args`, outputs last.
    pub fn kernel_call(op_index: i32, args: impl Into<Cow<'a, [i32]>>) -> Self {
        Self { instr_args: KernelCall { op_index, args: Some(args.into()) }.into() }
    }

    /// Creates an instruction that runs a delegate on the values `args`, outputs last.
    pub fn delegate_call(delegate_index: i32, args: impl Into<Cow<'a, [i32]>>) -> Self {
        Self { instr_args: DelegateCall { delegate_index, args: Some(args.into()) }.into() }
    }
}

impl<'a> EValue<'a> {
    /// Creates a value for Python's `None`.
    pub fn null() -> Self {
        Self { val: Null {}.into() }
    }

    /// Creates a list of integers, each a separate value, by index.
    pub fn int_list(items: impl Into<Cow<'a, [i64]>>) -> Self {
        Self { val: IntList { items: Some(items.into()) }.into() }
    }

    /// Creates a list of tensors, each a separate value, by index.
    pub fn tensor_list(items: impl Into<Cow<'a, [i32]>>) -> Self {
        Self { val: TensorList { items: Some(items.into()) }.into() }
    }

    /// Creates a list of floats.
    pub fn double_list(items: impl Into<Cow<'a, [f64]>>) -> Self {
        Self { val: DoubleList { items: Some(items.into()) }.into() }
    }

    /// Creates a list of booleans.
    pub fn bool_list(items: impl Into<Cow<'a, [bool]>>) -> Self {
        Self { val: BoolList { items: Some(items.into()) }.into() }
    }
}

impl<'a> From<KernelTypes<'a>> for EValue<'a> {
    fn from(val: KernelTypes<'a>) -> Self {
        Self { val }
    }
}

impl<'a> From<Tensor<'a>> for EValue<'a> {
    fn from(tensor: Tensor<'a>) -> Self {
        Self { val: tensor.into() }
    }
}

impl From<i64> for EValue<'_> {
    fn from(int_val: i64) -> Self {
        Self { val: Int { int_val }.into() }
    }
}

impl From<bool> for EValue<'_> {
    fn from(bool_val: bool) -> Self {
        Self { val: Bool { bool_val }.into() }
    }
}

impl From<f64> for EValue<'_> {
    fn from(double_val: f64) -> Self {
        Self { val: Double { double_val }.into() }
    }
}

impl<'a> From<&'a str> for EValue<'a> {
    fn from(text: &'a str) -> Self {
        Self { val: String { string_val: Some(text.into()) }.into() }
    }
}
