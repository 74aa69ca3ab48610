//! Questions about a program.

use super::{
    Blobs, DelegateConstants, Disassembly, Graph, Memory, MethodAllocator, Operators, PayloadFacts, QuantizedTensor,
    SizeReport, Summary, blobs, delegates, dequantized, disassembly, graph, memory, operators, payloads,
    runtime_memory, size, summary,
};
use crate::error::Result;
use crate::file::pte::Pte;
#[cfg(doc)]
use crate::model::Model;
use crate::schema::program::ExecutionPlan;
use alloc::vec::Vec;

impl Pte<'_> {
    /// Returns a summary of the file.
    pub fn summary(&self) -> Summary<'_> {
        summary::of_pte(self)
    }

    /// Returns every blob of the file, with its users.
    pub fn blobs(&self) -> Blobs<'_> {
        blobs::of_pte(self)
    }

    /// Reports how the bytes of the source file are used. Later changes to the tree are not included: write the file and read it again.
    ///
    /// Takes time in proportion to the metadata and the graphs in payloads. [`Model::savings`] lists possible size savings.
    ///
    /// If only the metadata was given, unclaimed bytes of the data count as padding, unless there are too many.
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if the program was not read from a whole file and the
    /// size of the file is not known.
    pub fn size_report(&self) -> Result<SizeReport<'_>> {
        size::of_pte(self)
    }

    /// Returns the operators and backends that the program needs, with the types of the tensors that its instructions refer to.
    pub fn operators(&self) -> Operators {
        operators::of_pte(self)
    }

    /// Returns every instruction of every method. Arguments of known operators have names.
    pub fn disassembly(&self) -> Disassembly<'_> {
        disassembly::disassembly(self)
    }

    /// Returns every method that computes something, as a graph. The first call of an XNNPACK delegate is shown as the nodes
    /// inside it, and later calls as one node each.
    pub fn graphs(&self) -> Vec<Graph<'_>> {
        graph::of_pte(self)
    }

    /// Returns the planned memory of all methods: each tensor's place, and the period during which it is needed. Takes O(n log n) time.
    pub fn memory(&self) -> Memory<'_> {
        memory::memory(self)
    }

    /// Returns the amount of memory that the runtime allocates to load a method of this file.
    pub fn method_allocator(&self, plan: &ExecutionPlan<'_>) -> MethodAllocator {
        runtime_memory::method_allocator(self, plan)
    }

    /// Returns a summary of each payload in the file, in the order of the delegates. A shared payload is listed once.
    pub fn payload_facts(&self) -> Vec<PayloadFacts<'_>> {
        payloads::facts(self, &self.open_payloads())
    }

    /// Returns the constants inside the payloads that this crate can parse. The payloads themselves are among the [`blobs`](Self::blobs).
    pub fn delegate_constants(&self) -> DelegateConstants<'_> {
        delegates::of_pte(self)
    }

    /// Returns the numbers of the constants and initial states that dequantizing operators of `quantized_decomposed` and quantized embeddings
    /// take. Each is listed once, in the order of the instructions. Data in a `.ptd` file is not included, and neither are the
    /// constants of delegates: see [`Xnnpack::dequantized`](crate::delegate::xnnpack::Xnnpack::dequantized).
    ///
    /// ```
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/multi_method/multi_method.pte")?;
    /// let pte = executorch_format::Pte::parse(&file)?;
    /// for tensor in pte.dequantized() {
    ///     if let Some(spread) = tensor.numbers?.histogram(1) {
    ///         println!("{}:%{}: {} to {}", tensor.method, tensor.value, spread.min, spread.max);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn dequantized(&self) -> Vec<QuantizedTensor<'_>> {
        dequantized::dequantized(self)
    }
}
