//! The peer of the benchmarks: the Rust code that flatc generates for `program.fbs` and `flat_tensor.fbs` of ExecuTorch 1.5, on the
//! `flatbuffers` crate. For each table it has the same `visit_field` and `visit_union` calls in the same order, and the same accessors
//! on `Table::get`. An enum is its base type, which the generated newtypes compile to.
//!
//! In addition, [`Walk`] reads every field through the accessors.

#![allow(missing_docs)]

mod walk;

use flatbuffers::{
    Follow, ForwardsUOffset, InvalidFlatbuffer, Table, Vector, Verifiable, Verifier, VerifierOptions, root_unchecked,
    root_with_opts,
};

/// Verifies the program in a FlatBuffer and returns it.
pub fn root_as_program(bytes: &[u8]) -> Result<program::Program<'_>, InvalidFlatbuffer> {
    root_with_opts::<program::Program<'_>>(&options(bytes), bytes)
}

/// Verifies the FlatBuffer of a `.ptd` file of ExecuTorch 0.7 or later and returns its keys.
pub fn root_as_flat_tensor(bytes: &[u8]) -> Result<flat_tensor::FlatTensor<'_>, InvalidFlatbuffer> {
    root_with_opts::<flat_tensor::FlatTensor<'_>>(&options(bytes), bytes)
}

/// Verifies a program without returning it.
pub fn verify_program(bytes: &[u8]) -> Result<(), InvalidFlatbuffer> {
    root_as_program(bytes).map(drop)
}

/// Verifies the FlatBuffer of a `.ptd` file without returning it.
pub fn verify_flat_tensor(bytes: &[u8]) -> Result<(), InvalidFlatbuffer> {
    root_as_flat_tensor(bytes).map(drop)
}

/// Returns the options of the generated `root_as_…` functions, except for `max_tables`: a large program has more tables than the default
/// limit of a million. A table takes at least 4 bytes.
fn options(bytes: &[u8]) -> VerifierOptions {
    let options = VerifierOptions::default();
    VerifierOptions { max_tables: options.max_tables.max(bytes.len() / 4), ..options }
}

/// A checksum over everything reachable from a value: the sum of its numbers, of the bits of its doubles, of the lengths
/// of its strings and lists, and of the tags of its unions.
pub trait Walk {
    fn walk(&self) -> u64;
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Walk for $type {
            #[inline]
            fn walk(&self) -> u64 {
                *self as u64
            }
        }
    )*};
}

numbers!(bool, i8, u8, i32, u32, i64, u64);

impl Walk for f64 {
    #[inline]
    fn walk(&self) -> u64 {
        self.to_bits()
    }
}

impl Walk for &str {
    #[inline]
    fn walk(&self) -> u64 {
        self.len() as u64
    }
}

impl<T: Walk> Walk for Option<T> {
    #[inline]
    fn walk(&self) -> u64 {
        self.as_ref().map_or(0, Walk::walk)
    }
}

#[inline]
pub fn walk_list<T: Walk>(len: usize, items: impl Iterator<Item = T>) -> u64 {
    items.fold(len as u64, |sum, item| sum.wrapping_add(item.walk()))
}

macro_rules! vectors {
    ($($type:ty),*) => {$(
        impl Walk for Vector<'_, $type> {
            #[inline]
            fn walk(&self) -> u64 {
                walk_list(self.len(), self.iter())
            }
        }
    )*};
}

vectors!(bool, i32, i64, u64, f64);

impl Walk for Vector<'_, u8> {
    #[inline]
    fn walk(&self) -> u64 {
        walk_list(self.len(), self.bytes().iter().copied())
    }
}

impl<'a, T: Follow<'a, Inner = T> + Walk> Walk for Vector<'a, ForwardsUOffset<T>> {
    #[inline]
    fn walk(&self) -> u64 {
        walk_list(self.len(), self.iter())
    }
}

/// Defines the common part of all tables: the struct and its `Follow`.
macro_rules! record {
    ($name:ident<$a:lifetime>) => {
        #[derive(Clone, Copy)]
        pub struct $name<$a> {
            pub table: Table<$a>,
        }

        impl<$a> Follow<$a> for $name<$a> {
            type Inner = Self;

            #[inline]
            unsafe fn follow(buf: &$a [u8], loc: usize) -> Self {
                // SAFETY: the caller's promise.
                Self { table: unsafe { Table::new(buf, loc) } }
            }
        }
    };
}

/// Defines a table: its fields with their vtable slots, each a `scalar` (0 if absent) or an `offset` (`None` if absent).
macro_rules! table {
    ($name:ident<$a:lifetime> { $( $slot:literal $field:ident: $kind:ident $type:ty, )* }) => {
        record!($name<$a>);

        impl<$a> $name<$a> {
            $( field!($kind $a $slot $field $type); )*
        }

        impl<$a> Verifiable for $name<$a> {
            #[inline]
            fn run_verifier(v: &mut Verifier<'_, '_>, pos: usize) -> Result<(), InvalidFlatbuffer> {
                v.visit_table(pos)?
                    $( .visit_field::<wire!($kind $type)>(stringify!($field), $slot, false)? )*
                    .finish();
                Ok(())
            }
        }

        impl Walk for $name<'_> {
            #[inline]
            fn walk(&self) -> u64 {
                0u64 $( .wrapping_add(self.$field().walk()) )*
            }
        }
    };
}

macro_rules! wire {
    (scalar $type:ty) => { $type };
    (offset $type:ty) => { ForwardsUOffset<$type> };
}

macro_rules! field {
    (scalar $a:lifetime $slot:literal $field:ident $type:ty) => {
        #[inline]
        pub fn $field(&self) -> $type {
            // SAFETY: the table was verified, this field as this type.
            unsafe { self.table.get::<$type>($slot, Some(Default::default())).unwrap() }
        }
    };
    (offset $a:lifetime $slot:literal $field:ident $type:ty) => {
        #[inline]
        pub fn $field(&self) -> Option<$type> {
            // SAFETY: the table was verified, this field as this type.
            unsafe { self.table.get::<ForwardsUOffset<$type>>($slot, None) }
        }
    };
}

/// Defines a table with only a union: its tag in slot 4, its value in slot 6.
macro_rules! union_table {
    ($name:ident<$a:lifetime> { $key:ident, $value:ident: $union:ident { $( $tag:literal $member:ident, )* } }) => {
        record!($name<$a>);

        impl<$a> $name<$a> {
            field!(scalar $a 4 $key u8);
            field!(offset $a 6 $value Table<$a>);

            /// Returns a member, like the generated `…_as_…` functions.
            #[inline]
            pub fn member<T: Follow<$a, Inner = T>>(&self, tag: u8) -> Option<T> {
                if self.$key() == tag {
                    // SAFETY: the value was verified as the member of its tag.
                    self.$value().map(|table| unsafe { T::follow(table.buf(), table.loc()) })
                } else {
                    None
                }
            }
        }

        impl<$a> Verifiable for $name<$a> {
            #[inline]
            fn run_verifier(v: &mut Verifier<'_, '_>, pos: usize) -> Result<(), InvalidFlatbuffer> {
                v.visit_table(pos)?
                    .visit_union::<u8, _>(stringify!($key), 4, stringify!($value), 6, false, |key, v, pos| match key {
                        $( $tag => v.verify_union_variant::<ForwardsUOffset<$member<'_>>>(
                            concat!(stringify!($union), "::", stringify!($member)),
                            pos,
                        ), )*
                        _ => Ok(()),
                    })?
                    .finish();
                Ok(())
            }
        }

        impl Walk for $name<'_> {
            #[inline]
            fn walk(&self) -> u64 {
                let tag = self.$key();
                let member = match tag {
                    $( $tag => self.member::<$member<'_>>($tag).walk(), )*
                    _ => 0,
                };
                tag.walk().wrapping_add(member)
            }
        }
    };
}

pub mod program {
    use super::*;

    type Tables<'a, T> = Vector<'a, ForwardsUOffset<T>>;

    /// Returns the program in a FlatBuffer without verifying it.
    ///
    /// # Safety
    ///
    /// [`root_as_program`] must have accepted the same bytes.
    pub unsafe fn root_as_program_unchecked(bytes: &[u8]) -> Program<'_> {
        // SAFETY: the caller's promise.
        unsafe { root_unchecked::<Program<'_>>(bytes) }
    }

    table! { Program<'a> {
        4 version: scalar u32,
        6 execution_plan: offset Tables<'a, ExecutionPlan<'a>>,
        8 constant_buffer: offset Tables<'a, Buffer<'a>>,
        10 backend_delegate_data: offset Tables<'a, BackendDelegateInlineData<'a>>,
        12 segments: offset Tables<'a, DataSegment<'a>>,
        14 constant_segment: offset SubsegmentOffsets<'a>,
        16 mutable_data_segments: offset Tables<'a, SubsegmentOffsets<'a>>,
        18 named_data: offset Tables<'a, NamedData<'a>>,
    } }

    table! { ExecutionPlan<'a> {
        4 name: offset &'a str,
        6 container_meta_type: offset ContainerMetadata<'a>,
        8 values: offset Tables<'a, EValue<'a>>,
        10 inputs: offset Vector<'a, i32>,
        12 outputs: offset Vector<'a, i32>,
        14 chains: offset Tables<'a, Chain<'a>>,
        16 operators: offset Tables<'a, Operator<'a>>,
        18 delegates: offset Tables<'a, BackendDelegate<'a>>,
        20 non_const_buffer_sizes: offset Vector<'a, i64>,
        22 non_const_buffer_device: offset Tables<'a, NonConstBufferDevice<'a>>,
    } }

    table! { ContainerMetadata<'a> {
        4 encoded_inp_str: offset &'a str,
        6 encoded_out_str: offset &'a str,
    } }

    union_table! { EValue<'a> {
        val_type, val: KernelTypes {
            1 Null,
            2 Int,
            3 Bool,
            4 Double,
            5 Tensor,
            6 String,
            7 IntList,
            8 DoubleList,
            9 BoolList,
            10 TensorList,
            11 OptionalTensorList,
        }
    } }

    table! { Null<'a> {} }
    table! { Int<'a> { 4 int_val: scalar i64, } }
    table! { Bool<'a> { 4 bool_val: scalar bool, } }
    table! { Double<'a> { 4 double_val: scalar f64, } }
    table! { String<'a> { 4 string_val: offset &'a str, } }
    table! { IntList<'a> { 4 items: offset Vector<'a, i64>, } }
    table! { DoubleList<'a> { 4 items: offset Vector<'a, f64>, } }
    table! { BoolList<'a> { 4 items: offset Vector<'a, bool>, } }
    table! { TensorList<'a> { 4 items: offset Vector<'a, i32>, } }
    table! { OptionalTensorList<'a> { 4 items: offset Vector<'a, i32>, } }

    table! { Tensor<'a> {
        4 scalar_type: scalar i8,
        6 storage_offset: scalar i32,
        8 sizes: offset Vector<'a, i32>,
        10 dim_order: offset Vector<'a, u8>,
        12 requires_grad: scalar bool,
        14 data_buffer_idx: scalar u32,
        16 allocation_info: offset AllocationDetails<'a>,
        18 layout: scalar i8,
        20 shape_dynamism: scalar i8,
        22 extra_tensor_info: offset ExtraTensorInfo<'a>,
    } }

    table! { AllocationDetails<'a> {
        4 memory_id: scalar u32,
        6 memory_offset_low: scalar u32,
        8 memory_offset_high: scalar u32,
    } }

    table! { ExtraTensorInfo<'a> {
        4 mutable_data_segments_idx: scalar u64,
        6 fully_qualified_name: offset &'a str,
        8 location: scalar i8,
        10 device_type: scalar i8,
        12 device_index: scalar i8,
    } }

    table! { Operator<'a> {
        4 name: offset &'a str,
        6 overload: offset &'a str,
    } }

    table! { Chain<'a> {
        4 inputs: offset Vector<'a, i32>,
        6 outputs: offset Vector<'a, i32>,
        8 instructions: offset Tables<'a, Instruction<'a>>,
        10 stacktrace: offset Tables<'a, FrameList<'a>>,
    } }

    union_table! { Instruction<'a> {
        instr_args_type, instr_args: InstructionArguments {
            1 KernelCall,
            2 DelegateCall,
            3 MoveCall,
            4 JumpFalseCall,
            5 FreeCall,
        }
    } }

    table! { KernelCall<'a> {
        4 op_index: scalar i32,
        6 args: offset Vector<'a, i32>,
    } }

    table! { DelegateCall<'a> {
        4 delegate_index: scalar i32,
        6 args: offset Vector<'a, i32>,
    } }

    table! { MoveCall<'a> {
        4 move_from: scalar i32,
        6 move_to: scalar i32,
    } }

    table! { JumpFalseCall<'a> {
        4 cond_value_index: scalar i32,
        6 destination_instruction: scalar i32,
    } }

    table! { FreeCall<'a> { 4 value_index: scalar i32, } }

    table! { FrameList<'a> { 4 items: offset Tables<'a, Frame<'a>>, } }

    table! { Frame<'a> {
        4 filename: offset &'a str,
        6 lineno: scalar i32,
        8 name: offset &'a str,
        10 context: offset &'a str,
    } }

    table! { BackendDelegate<'a> {
        4 id: offset &'a str,
        6 processed: offset BackendDelegateDataReference<'a>,
        8 compile_specs: offset Tables<'a, CompileSpec<'a>>,
    } }

    table! { BackendDelegateDataReference<'a> {
        4 location: scalar i8,
        6 index: scalar u32,
    } }

    table! { CompileSpec<'a> {
        4 key: offset &'a str,
        6 value: offset Vector<'a, u8>,
    } }

    table! { NonConstBufferDevice<'a> {
        4 buffer_idx: scalar i32,
        6 device_type: scalar i8,
        8 device_index: scalar i8,
    } }

    table! { Buffer<'a> { 4 storage: offset Vector<'a, u8>, } }

    table! { BackendDelegateInlineData<'a> { 4 data: offset Vector<'a, u8>, } }

    table! { DataSegment<'a> {
        4 offset: scalar u64,
        6 size: scalar u64,
    } }

    table! { SubsegmentOffsets<'a> {
        4 segment_index: scalar u32,
        6 offsets: offset Vector<'a, u64>,
    } }

    table! { NamedData<'a> {
        4 key: offset &'a str,
        6 segment_index: scalar u32,
    } }
}

pub mod flat_tensor {
    use super::*;

    type Tables<'a, T> = Vector<'a, ForwardsUOffset<T>>;

    table! { FlatTensor<'a> {
        4 version: scalar u32,
        6 segments: offset Tables<'a, DataSegment<'a>>,
        8 named_data: offset Tables<'a, NamedData<'a>>,
    } }

    table! { DataSegment<'a> {
        4 offset: scalar u64,
        6 size: scalar u64,
    } }

    table! { NamedData<'a> {
        4 key: offset &'a str,
        6 segment_index: scalar u32,
        8 tensor_layout: offset TensorLayout<'a>,
    } }

    table! { TensorLayout<'a> {
        4 scalar_type: scalar i8,
        6 sizes: offset Vector<'a, i32>,
        8 dim_order: offset Vector<'a, u8>,
    } }
}
