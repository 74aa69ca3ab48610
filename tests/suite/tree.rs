//! Strategies for whole trees: every table, every member of every union, what is unknown, absent and empty.

use executorch_format::schema::flat_tensor::{self, FlatTensor, Legacy, LegacySchema, TensorLayout, TensorMetadata};
use executorch_format::schema::program::*;
use executorch_format::schema::{DataSegment, ScalarType, Unknown};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::borrow::Cow;

type Text = Option<Cow<'static, str>>;
type List<T> = Option<Cow<'static, [T]>>;

fn text() -> impl Strategy<Value = Text> {
    let text = prop_oneof!["", "forward", "[a-z:_.]{1,12}", "\\PC{0,6}", "[\0\n\"\\\\é語🦀]{1,5}"];
    option::weighted(0.8, text.prop_map(Cow::from))
}

fn list<T: Clone + std::fmt::Debug + 'static>(item: impl Strategy<Value = T>) -> impl Strategy<Value = List<T>> {
    option::weighted(0.8, vec(item, 0..5).prop_map(Cow::from))
}

fn tables<T: std::fmt::Debug>(item: impl Strategy<Value = T>) -> impl Strategy<Value = Option<Vec<T>>> {
    option::weighted(0.8, vec(item, 0..4))
}

/// Numbers from the edges as often as from between.
fn int() -> impl Strategy<Value = i32> {
    prop_oneof![Just(0), Just(-1), Just(i32::MIN), Just(i32::MAX), any::<i32>()]
}

fn unsigned() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(1), Just(u32::MAX), any::<u32>()]
}

fn long() -> impl Strategy<Value = i64> {
    prop_oneof![Just(0), Just(-1), Just(i64::MIN), Just(i64::MAX), any::<i64>()]
}

fn unsigned_long() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(u64::MAX), any::<u64>()]
}

/// Every bit pattern: −0.0, infinities, and NaNs that carry something.
fn double() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(-0.0), Just(f64::INFINITY), Just(f64::NAN), any::<u64>().prop_map(f64::from_bits)]
}

fn scalar_type() -> impl Strategy<Value = ScalarType> {
    any::<i8>().prop_map(ScalarType)
}

fn unknown(first: u8) -> impl Strategy<Value = Unknown> {
    (first..=u8::MAX).prop_map(|tag| Unknown { tag, has_fields: false })
}

fn allocation() -> impl Strategy<Value = AllocationDetails> {
    (unsigned(), unsigned(), unsigned()).prop_map(|(memory_id, memory_offset_low, memory_offset_high)| {
        AllocationDetails { memory_id, memory_offset_low, memory_offset_high }
    })
}

fn extra() -> impl Strategy<Value = ExtraTensorInfo<'static>> {
    (unsigned_long(), text(), any::<i8>(), any::<i8>(), any::<i8>()).prop_map(
        |(index, name, location, device, number)| ExtraTensorInfo {
            mutable_data_segments_idx: index,
            fully_qualified_name: name,
            location: TensorDataLocation(location),
            device_type: DeviceType(device),
            device_index: number,
        },
    )
}

fn tensor() -> impl Strategy<Value = Tensor<'static>> {
    let shape = (scalar_type(), int(), list(int()), list(any::<u8>()), any::<bool>());
    let place = (unsigned(), option::of(allocation()), any::<i8>(), any::<i8>(), option::of(extra()));
    (shape, place).prop_map(
        |((scalar_type, storage_offset, sizes, dim_order, requires_grad), (index, place, layout, dynamism, extra))| {
            Tensor {
                scalar_type,
                storage_offset,
                sizes,
                dim_order,
                requires_grad,
                data_buffer_idx: index,
                allocation_info: place,
                layout,
                shape_dynamism: TensorShapeDynamism(dynamism),
                extra_tensor_info: extra.map(Box::new),
            }
        },
    )
}

fn value() -> impl Strategy<Value = EValue<'static>> {
    let val = prop_oneof![
        Just(KernelTypes::None),
        Just(Null {}.into()),
        long().prop_map(|int_val| Int { int_val }.into()),
        any::<bool>().prop_map(|bool_val| Bool { bool_val }.into()),
        double().prop_map(|double_val| Double { double_val }.into()),
        tensor().prop_map(KernelTypes::Tensor),
        tensor().prop_map(KernelTypes::Tensor),
        text().prop_map(|string_val| String { string_val }.into()),
        list(long()).prop_map(|items| IntList { items }.into()),
        list(double()).prop_map(|items| DoubleList { items }.into()),
        list(any::<bool>()).prop_map(|items| BoolList { items }.into()),
        list(int()).prop_map(|items| TensorList { items }.into()),
        list(int()).prop_map(|items| OptionalTensorList { items }.into()),
        unknown(12).prop_map(KernelTypes::Unknown),
    ];
    val.prop_map(|val| EValue { val })
}

fn instruction() -> impl Strategy<Value = Instruction<'static>> {
    let instr_args = prop_oneof![
        Just(InstructionArguments::None),
        (int(), list(int())).prop_map(|(op_index, args)| KernelCall { op_index, args }.into()),
        (int(), list(int())).prop_map(|(delegate_index, args)| DelegateCall { delegate_index, args }.into()),
        (int(), int()).prop_map(|(move_from, move_to)| MoveCall { move_from, move_to }.into()),
        (int(), int()).prop_map(|(cond_value_index, destination_instruction)| {
            JumpFalseCall { cond_value_index, destination_instruction }.into()
        }),
        int().prop_map(|value_index| FreeCall { value_index }.into()),
        unknown(6).prop_map(InstructionArguments::Unknown),
    ];
    instr_args.prop_map(|instr_args| Instruction { instr_args })
}

fn chain() -> impl Strategy<Value = Chain<'static>> {
    let frame = (text(), int(), text(), text()).prop_map(|(filename, lineno, name, context)| Frame {
        filename,
        lineno,
        name,
        context,
    });
    let frames = tables(frame).prop_map(|items| FrameList { items });
    (list(int()), list(int()), tables(instruction()), tables(frames))
        .prop_map(|(inputs, outputs, instructions, stacktrace)| Chain { inputs, outputs, instructions, stacktrace })
}

fn delegate() -> impl Strategy<Value = BackendDelegate<'static>> {
    let processed = (any::<i8>(), unsigned())
        .prop_map(|(location, index)| BackendDelegateDataReference { location: DataLocation(location), index });
    let spec = (text(), list(any::<u8>())).prop_map(|(key, value)| CompileSpec { key, value });
    (text(), option::of(processed), tables(spec)).prop_map(|(id, processed, compile_specs)| BackendDelegate {
        id,
        processed,
        compile_specs,
    })
}

fn plan() -> impl Strategy<Value = ExecutionPlan<'static>> {
    let meta = (text(), text())
        .prop_map(|(encoded_inp_str, encoded_out_str)| ContainerMetadata { encoded_inp_str, encoded_out_str });
    let operator = (text(), text()).prop_map(|(name, overload)| Operator { name, overload });
    let device = (int(), any::<i8>(), any::<i8>()).prop_map(|(buffer_idx, device_type, device_index)| {
        NonConstBufferDevice { buffer_idx, device_type: DeviceType(device_type), device_index }
    });
    let first = (text(), option::of(meta), tables(value()), list(int()), list(int()));
    let second = (tables(chain()), tables(operator), tables(delegate()), list(long()), tables(device));
    (first, second).prop_map(
        |((name, container_meta_type, values, inputs, outputs), (chains, operators, delegates, sizes, devices))| {
            ExecutionPlan {
                name,
                container_meta_type,
                values,
                inputs,
                outputs,
                chains,
                operators,
                delegates,
                non_const_buffer_sizes: sizes,
                non_const_buffer_device: devices,
            }
        },
    )
}

fn segment() -> impl Strategy<Value = DataSegment> {
    (unsigned_long(), unsigned_long()).prop_map(|(offset, size)| DataSegment { offset, size })
}

fn offsets() -> impl Strategy<Value = SubsegmentOffsets<'static>> {
    (unsigned(), list(unsigned_long()))
        .prop_map(|(segment_index, offsets)| SubsegmentOffsets { segment_index, offsets })
}

/// Any program.
pub fn program() -> impl Strategy<Value = Program<'static>> {
    let buffer = list(any::<u8>()).prop_map(|storage| Buffer { storage });
    let data = list(any::<u8>()).prop_map(|data| BackendDelegateInlineData { data });
    let named = (text(), unsigned()).prop_map(|(key, segment_index)| NamedData { key, segment_index });
    let first = (unsigned(), tables(plan()), tables(buffer), tables(data));
    let second = (tables(segment()), option::of(offsets()), tables(offsets()), tables(named));
    (first, second).prop_map(
        |((version, execution_plan, constant_buffer, inline), (segments, constants, mutable, named_data))| Program {
            version,
            execution_plan,
            constant_buffer,
            backend_delegate_data: inline,
            segments,
            constant_segment: constants,
            mutable_data_segments: mutable,
            named_data,
        },
    )
}

/// Any keys, under any of the three schemas.
pub fn flat_tensor() -> impl Strategy<Value = FlatTensor<'static>> {
    let layout = (scalar_type(), list(int()), list(any::<u8>()))
        .prop_map(|(scalar_type, sizes, dim_order)| TensorLayout { scalar_type, sizes, dim_order });
    let named = (text(), unsigned(), option::of(layout))
        .prop_map(|(key, segment_index, tensor_layout)| flat_tensor::NamedData { key, segment_index, tensor_layout });
    let legacy = (any::<bool>(), unsigned(), tables(metadata()), vec(segment(), 0..3));
    (unsigned(), tables(segment()), tables(named), option::of(legacy)).prop_map(
        |(version, segments, named_data, legacy)| match legacy {
            None => FlatTensor { version, segments, named_data, legacy: None },
            Some((first, tensor_alignment, tensors, some)) => {
                let schema = if first { LegacySchema::V0_5 } else { LegacySchema::V0_6 };
                // What tells the schemas apart is there.
                let named_data = if first { None } else { Some(named_data.unwrap_or_default()) };
                let segments = if first { Some(some) } else { segments };
                FlatTensor { version, segments, named_data, legacy: Some(Legacy { schema, tensor_alignment, tensors }) }
            }
        },
    )
}

fn metadata() -> impl Strategy<Value = TensorMetadata<'static>> {
    (text(), scalar_type(), list(int()), list(any::<u8>()), unsigned(), unsigned_long()).prop_map(
        |(fully_qualified_name, scalar_type, sizes, dim_order, segment_index, offset)| TensorMetadata {
            fully_qualified_name,
            scalar_type,
            sizes,
            dim_order,
            segment_index,
            offset,
        },
    )
}
