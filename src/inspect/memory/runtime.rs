//! The memory that ExecuTorch's runtime takes to load a method, besides the memory planned for its tensors.

use crate::file::pte::Pte;
use crate::schema::program::{ExecutionPlan, InstructionArguments, KernelTypes, Tensor, TensorShapeDynamism};

/// The memory that ExecuTorch 1.5's `Method::init` takes from a method's allocator (`MemoryManager::method_allocator`), in bytes.
///
/// The figures are exact for the portable build of that release, if the allocator's memory starts at a multiple of 8. The 64-bit figures
/// were compared with measurements of that build on the files of `tests/data`, with and without a temporary allocator. The 32-bit figures
/// are computed from the same structures, for machines that align 64-bit numbers to 8 bytes, such as ARM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MethodAllocator {
    /// The memory of the runtime itself, with 8-byte pointers and a temporary allocator.
    pub bits_64: u64,
    /// The same with 4-byte pointers.
    pub bits_32: u64,
    /// The additional memory without a temporary allocator (`MemoryManager::temp_allocator`), with 8-byte pointers: the runtime then looks up
    /// kernels in this memory and does not free it.
    pub without_temporary_64: u64,
    /// The same with 4-byte pointers.
    pub without_temporary_32: u64,
    /// The additional memory of XNNPACK's delegates: 272 bytes each with 8-byte pointers, and at most that with 4-byte pointers.
    pub xnnpack: u64,
    /// The number of delegates of other backends, whose memory is not known.
    pub other_delegates: usize,
}

impl MethodAllocator {
    /// Returns the sum, without the memory of backends other than XNNPACK.
    pub fn known(&self, pointers: PointerSize, temporary: TempAllocator) -> u64 {
        let (own, besides) = match pointers {
            PointerSize::Bits64 => (self.bits_64, self.without_temporary_64),
            PointerSize::Bits32 => (self.bits_32, self.without_temporary_32),
        };
        let besides = match temporary {
            TempAllocator::Given => 0,
            TempAllocator::Missing => besides,
        };
        own.saturating_add(besides).saturating_add(self.xnnpack)
    }
}

/// The size of a machine's pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PointerSize {
    /// 4 bytes.
    Bits32,
    /// 8 bytes.
    Bits64,
}

/// The presence of a temporary allocator (`MemoryManager::temp_allocator`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TempAllocator {
    /// The runtime has a temporary allocator.
    Given,
    /// The runtime has no temporary allocator.
    Missing,
}

/// The memory of an XNNPACK delegate: its `XNNExecutor`, in the build for the Python wheel of 1.5.1.
const XNNPACK: u64 = 272;

/// The sizes of the runtime's structures, in bytes, from the headers of ExecuTorch 1.5.1. The sizes on 64-bit machines were measured with a
/// C++ compiler.
#[derive(Clone, Copy)]
struct Sizes {
    pointer: u64,
    /// `FreeableBuffer`: a variant of two pairs of data and function, a pointer, a size.
    freeable_buffer: u64,
    /// `TensorImpl`: seven words, and four bytes of types.
    tensor_impl: u64,
}

const SIZES_64: Sizes = Sizes { pointer: 8, freeable_buffer: 40, tensor_impl: 64 };
const SIZES_32: Sizes = Sizes { pointer: 4, freeable_buffer: 32, tensor_impl: 32 };

/// `EValue`: eight bytes of content, and a tag.
const VALUE: u64 = 16;
/// The largest alignment of a structure: that of a 64-bit number.
const WIDE: u64 = 8;

impl Pte<'_> {
    /// Returns the amount of memory that the runtime allocates to load a method of this file.
    pub fn method_allocator(&self, plan: &ExecutionPlan<'_>) -> MethodAllocator {
        method_allocator(self, plan)
    }
}

fn method_allocator(pte: &Pte<'_>, plan: &ExecutionPlan<'_>) -> MethodAllocator {
    let named = !pte.named_data().is_empty();
    let external = plan.tensors().filter(|(_, tensor)| is_external_constant(tensor)).count();
    let size = |sizes| Bump { end: 0, end_without: 0, sizes }.method(plan, external, named);
    let ((bits_64, without_64), (bits_32, without_32)) = (size(SIZES_64), size(SIZES_32));
    let delegates = plan.delegates();
    let xnnpack = delegates.iter().filter(|delegate| delegate.backend() == "XnnpackBackend").count();
    MethodAllocator {
        bits_64,
        bits_32,
        without_temporary_64: without_64.saturating_sub(bits_64),
        without_temporary_32: without_32.saturating_sub(bits_32),
        xnnpack: XNNPACK.saturating_mul(xnnpack as u64),
        other_delegates: delegates.len() - xnnpack,
    }
}

/// A bump allocator, like the runtime's, for both cases: with a temporary allocator and without.
struct Bump {
    /// The end of the memory with a temporary allocator.
    end: u64,
    /// The end of the memory without one.
    end_without: u64,
    sizes: Sizes,
}

impl Bump {
    fn list(&mut self, count: usize, size: u64, alignment: u64) {
        self.end = allocate(self.end, count, size, alignment);
        self.list_without(count, size, alignment);
    }

    /// Allocates `count` structures of `pointers` pointers each.
    fn pointers(&mut self, count: usize, pointers: u64) {
        self.list(count, pointers * self.sizes.pointer, self.sizes.pointer);
    }

    /// Allocates what is in this memory only without a temporary allocator.
    fn list_without(&mut self, count: usize, size: u64, alignment: u64) {
        self.end_without = allocate(self.end_without, count, size, alignment);
    }

    fn pointers_without(&mut self, count: usize, pointers: u64) {
        self.list_without(count, pointers * self.sizes.pointer, self.sizes.pointer);
    }

    /// Allocates in the runtime's order, because padding depends on it. Returns both ends.
    fn method(mut self, plan: &ExecutionPlan<'_>, external: usize, named: bool) -> (u64, u64) {
        let sizes = self.sizes;
        // `PlatformMemoryAllocator`: a table of functions, three pointers, a size, a pointer.
        self.pointers_without(1, 6);
        self.list(plan.values().len(), VALUE, WIDE);
        self.list(plan.inputs().len(), 1, 1);
        if external > 0 {
            // A key and a `FreeableBuffer`.
            self.list(external, (sizes.pointer + sizes.freeable_buffer).next_multiple_of(WIDE), WIDE);
        }
        plan.values().iter().for_each(|value| self.value(&value.val));
        // A `FreeableBuffer`, the backend and its handle.
        self.list(plan.delegates().len(), (2 * sizes.pointer + sizes.freeable_buffer).next_multiple_of(WIDE), WIDE);
        if external > 0 && named {
            // `MergedDataMap`.
            self.pointers(1, 3);
        }
        plan.delegates().iter().for_each(|delegate| self.pointers(delegate.compile_specs().len(), 3));
        self.pointers(plan.chains().len(), 4);
        for chain in plan.chains() {
            let instructions = chain.instructions();
            self.pointers(instructions.len(), 1);
            self.pointers(instructions.len(), 2);
            for instruction in instructions {
                match &instruction.instr_args {
                    InstructionArguments::KernelCall(call) => {
                        self.pointers(call.args().len(), 1);
                        self.look_up(plan, call.args());
                    }
                    InstructionArguments::DelegateCall(call) => self.pointers(call.args().len(), 1),
                    _ => {}
                }
            }
        }
        (self.end, self.end_without)
    }

    /// Allocates the memory for looking up a kernel (`Method::resolve_operator`): a `TensorMeta` for each argument, and the dim order of each
    /// tensor.
    fn look_up(&mut self, plan: &ExecutionPlan<'_>, args: &[i32]) {
        self.pointers_without(args.len(), 3);
        for arg in args {
            if let Some(tensor) = plan.tensor(*arg) {
                self.list_without(tensor.sizes().len(), 1, 1);
            }
        }
    }

    fn value(&mut self, value: &KernelTypes<'_>) {
        match value {
            KernelTypes::IntList(list) => {
                self.pointers(list.items().len(), 1);
                self.list(list.items().len(), 8, WIDE);
                self.pointers(1, 3);
            }
            KernelTypes::BoolList(_) | KernelTypes::DoubleList(_) | KernelTypes::String(_) => self.pointers(1, 2),
            KernelTypes::TensorList(list) => {
                self.pointers(list.items().len(), 1);
                self.pointers(list.items().len(), 1);
                self.pointers(1, 3);
            }
            KernelTypes::OptionalTensorList(list) => {
                self.pointers(list.items().len(), 2);
                self.pointers(list.items().len(), 1);
                self.pointers(1, 3);
            }
            KernelTypes::Tensor(tensor) => self.tensor(tensor),
            _ => {}
        }
    }

    fn tensor(&mut self, tensor: &Tensor<'_>) {
        let rank = tensor.sizes().len();
        if tensor.shape_dynamism != TensorShapeDynamism::STATIC {
            self.list(rank, 4, 4);
            self.list(rank, 1, 1);
        }
        // Strides.
        self.list(rank, 4, 4);
        self.list(1, self.sizes.tensor_impl, self.sizes.pointer);
    }
}

/// Returns the end after allocating `count` structures. `alignment` is a power of two.
fn allocate(end: u64, count: usize, size: u64, alignment: u64) -> u64 {
    let start = end.saturating_add(alignment - 1) & !(alignment - 1);
    start.saturating_add(size.saturating_mul(count as u64))
}

/// Returns `true` if the runtime looks the tensor up in a `.ptd` and keeps it.
fn is_external_constant(tensor: &Tensor<'_>) -> bool {
    tensor.is_external() && tensor.allocation_info.is_none()
}
