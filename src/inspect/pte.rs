//! Questions about a program.

use super::{
    Blobs, DelegateConstants, Graph, Memory, Operators, PayloadFacts, QuantizedTensor, SizeReport, Summary, Weight,
    blobs, delegates, graph, memory, operators, size, summary, weights,
};
use crate::analysis::Analysis;
use crate::error::Result;
#[cfg(doc)]
use crate::model::Model;
use alloc::vec::Vec;

impl<'t> Analysis<'t> {
    /// Returns a summary of the file.
    pub fn summary(&self) -> Summary<'t> {
        summary::of_pte(self)
    }

    /// Returns every blob of the file, with its users.
    pub fn blobs(&self) -> Blobs<'t> {
        blobs::of_pte(self.pte(), self.answer_names())
    }

    /// Reports how the bytes of the source file are used. Later changes to the tree are not included: write the file and read it again.
    ///
    /// Takes time in proportion to the metadata and the graphs in payloads. [`Model::savings`] lists possible size savings.
    ///
    /// If only the metadata was given, unclaimed bytes of the data count as padding, unless there are too many.
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if the program was not read from a whole file and the
    /// size of the file is not known.
    pub fn size_report(&self) -> Result<SizeReport<'t>> {
        size::of_pte(self)
    }

    /// Returns the operators and backends that the program needs, with the types of the tensors that its instructions refer to.
    pub fn operators(&self) -> Operators {
        operators::of_pte(self)
    }

    /// Returns every method that computes something, as a graph. The first call of an XNNPACK delegate is shown as the nodes
    /// inside it, and later calls as one node each.
    pub fn graphs(&self) -> Vec<Graph<'t>> {
        graph::of_pte(self)
    }

    /// Returns the planned memory of all methods: each tensor's place, and the period during which it is needed. Takes O(n log n) time.
    pub fn memory(&self) -> Memory<'t> {
        memory::memory(self)
    }

    /// Returns the values of each method that are in planned memory and keep their content from run to run: those with [`PlannedTensor::kept`](super::PlannedTensor::kept) in
    /// the answer of [`memory`](Self::memory), which takes longer.
    ///
    /// ```
    /// use executorch_format::{Analysis, Pte};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/linear/linear.pte")?;
    /// let pte = Pte::parse(&file)?;
    /// assert_eq!(Analysis::new(&pte).kept_values(), [[0; 0]]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn kept_values(&self) -> Vec<Vec<usize>> {
        memory::kept_values(self)
    }

    /// Returns a summary of each payload in the file, in the order of the delegates. A shared payload is listed once.
    pub fn payload_facts(&self) -> Vec<PayloadFacts<'t>> {
        delegates::payloads::facts(self.pte(), self.payloads(), &self.named_blobs())
    }

    /// Returns the constants inside the payloads that this crate can parse. The payloads themselves are among the [`blobs`](Self::blobs).
    pub fn delegate_constants(&self) -> DelegateConstants<'t> {
        delegates::of_pte(self.pte(), self.payloads(), &self.named_blobs(), self.answer_names())
    }

    /// Returns the tensors in the file, the largest first, and those that it takes from the `.ptd` files, if these are
    /// [given](Analysis::with_data). Reads the values of tensors of up to 16 MiB, 128 MiB in all.
    ///
    /// ```
    /// use executorch_format::{Analysis, Pte, Ptd};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let folder = "tests/data/1.5.1/linear_xnnpack_external";
    /// let program = std::fs::read(format!("{folder}/linear_xnnpack_external.pte"))?;
    /// let data = std::fs::read(format!("{folder}/xnn_weights.ptd"))?;
    /// let (pte, ptd) = (Pte::parse(&program)?, Ptd::parse(&data)?);
    /// for weight in Analysis::new(&pte).with_data([&ptd]).weights() {
    ///     println!("{:?}: {:?}", weight.key, weight.inside.first().map(|used| used.to_string()));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn weights(&self) -> Vec<Weight<'t>> {
        weights::of_pte(self)
    }

    /// Returns the numbers of the constants and initial states that dequantizing operators of `quantized_decomposed` and quantized embeddings
    /// take. Each is listed once, in the order of the instructions. Data in a `.ptd` file is not included, and neither are the
    /// constants of delegates: see [`Xnnpack::dequantized`](crate::delegate::xnnpack::Xnnpack::dequantized).
    ///
    /// ```
    /// use executorch_format::{Analysis, Pte};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/multi_method/multi_method.pte")?;
    /// let pte = Pte::parse(&file)?;
    /// for tensor in Analysis::new(&pte).dequantized() {
    ///     if let Some(spread) = tensor.numbers?.histogram(1) {
    ///         println!("{}:%{}: {} to {}", tensor.method, tensor.value, spread.min, spread.max);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn dequantized(&self) -> Vec<QuantizedTensor<'t>> {
        crate::analysis::dequantized(self.pte())
    }
}
