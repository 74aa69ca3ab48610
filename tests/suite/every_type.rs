//! All types of the tree, for what is written for each of them: `every_table!(name)` calls the macro `name!` with all
//! tables and their fields, and so on. Where a pattern without `..` takes the fields, a new one does not compile until it
//! is listed here. Used by the suite, by the benchmarks' walk and by the fuzz targets; each needs `program` and
//! `flat_tensor` in scope. Not listed is what only the early `.ptd` schemas have, and `FlatTensor` and `Unknown`.

macro_rules! every_table {
    ($for_each:ident) => {
        $for_each! {
            DataSegment { offset, size }
            Program<'_> {
                version, execution_plan, constant_buffer, backend_delegate_data, segments, constant_segment,
                mutable_data_segments, named_data
            }
            ExecutionPlan<'_> {
                name, container_meta_type, values, inputs, outputs, chains, operators, delegates, non_const_buffer_sizes,
                non_const_buffer_device
            }
            ContainerMetadata<'_> { encoded_inp_str, encoded_out_str }
            EValue<'_> { val }
            Null {}
            Int { int_val }
            Bool { bool_val }
            Double { double_val }
            program::String<'_> { string_val }
            IntList<'_> { items }
            DoubleList<'_> { items }
            BoolList<'_> { items }
            TensorList<'_> { items }
            OptionalTensorList<'_> { items }
            Tensor<'_> {
                scalar_type, storage_offset, sizes, dim_order, requires_grad, data_buffer_idx, allocation_info, layout,
                shape_dynamism, extra_tensor_info
            }
            AllocationDetails { memory_id, memory_offset_low, memory_offset_high }
            ExtraTensorInfo<'_> { mutable_data_segments_idx, fully_qualified_name, location, device_type, device_index }
            Operator<'_> { name, overload }
            Chain<'_> { inputs, outputs, instructions, stacktrace }
            Instruction<'_> { instr_args }
            KernelCall<'_> { op_index, args }
            DelegateCall<'_> { delegate_index, args }
            MoveCall { move_from, move_to }
            JumpFalseCall { cond_value_index, destination_instruction }
            FreeCall { value_index }
            FrameList<'_> { items }
            Frame<'_> { filename, lineno, name, context }
            BackendDelegate<'_> { id, processed, compile_specs }
            BackendDelegateDataReference { location, index }
            CompileSpec<'_> { key, value }
            NonConstBufferDevice { buffer_idx, device_type, device_index }
            Buffer<'_> { storage }
            BackendDelegateInlineData<'_> { data }
            SubsegmentOffsets<'_> { segment_index, offsets }
            program::NamedData<'_> { key, segment_index }
            flat_tensor::NamedData<'_> { key, segment_index, tensor_layout }
            flat_tensor::TensorLayout<'_> { scalar_type, sizes, dim_order }
        }
    };
}

macro_rules! every_enum {
    ($for_each:ident) => {
        $for_each! { ScalarType TensorShapeDynamism TensorDataLocation DeviceType DataLocation }
    };
}

/// The members with their tags.
macro_rules! every_union {
    ($for_each:ident) => {
        $for_each! {
            KernelTypes {
                1 Null 2 Int 3 Bool 4 Double 5 Tensor 6 String 7 IntList 8 DoubleList 9 BoolList 10 TensorList
                11 OptionalTensorList
            }
            InstructionArguments { 1 KernelCall 2 DelegateCall 3 MoveCall 4 JumpFalseCall 5 FreeCall }
        }
    };
}
