//! Sources of the model author's names: ETRecords and state dicts. [`Analysis::with_names`](crate::Analysis::with_names) takes them.
//!
//! ```
//! use executorch_format::naming::NameSource;
//! use executorch_format::{Analysis, Pte};
//!
//! # fn main() -> executorch_format::Result<()> {
//! let file = std::fs::read("tests/data/etrecord/net_portable.pte")?;
//! let pte = Pte::parse(&file)?;
//! let analysis = Analysis::new(&pte);
//! assert_eq!(analysis.names().value(0, 2).unwrap().name, "convolution.1 weight");
//!
//! let record = std::fs::read("tests/data/etrecord/net_portable.etrecord")?;
//! let sources = [NameSource::parse(&record)?];
//! let analysis = Analysis::new(&pte).with_names(&sources);
//! assert!(analysis.names().rejected.is_empty());
//! assert_eq!(analysis.names().value(0, 2).unwrap().name, "layers.0.conv.weight");
//! let convolution = &analysis.disassembly().methods[0].chains[0].instructions[1];
//! assert_eq!(convolution.name.as_ref().unwrap().module, Some("layers.0.conv"));
//! # Ok(())
//! # }
//! ```

mod etrecord;
mod inside;
mod weights;

pub use crate::analysis::{
    EtRecord, ModelPlace, ModelTensor, NameSource, Parameter, RecordedMethod, RecordedNode, StateTensor,
};
pub use inside::{InsideTensor, Strides};

use crate::convert::{SafeTensor, Safetensors};
#[cfg(feature = "etrecord")]
use crate::{error::Result, file::foreign::ZIP};

impl<'a> NameSource<'a> {
    /// Reads an ETRecord or a safetensors file.
    ///
    /// Fails as [`EtRecord::parse`] and [`Safetensors::parse`] do.
    #[cfg(feature = "etrecord")]
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        match bytes.starts_with(ZIP) {
            true => EtRecord::parse(bytes).map(Self::Record),
            false => Safetensors::parse(bytes).map(Self::from),
        }
    }
}

/// A state dict.
impl<'a> From<Safetensors<'a>> for NameSource<'a> {
    fn from(state: Safetensors<'a>) -> Self {
        let tensor = |tensor: SafeTensor<'a>| StateTensor {
            scalar_type: tensor.dtype.scalar_type(),
            name: tensor.name,
            sizes: tensor.shape,
            bytes: tensor.bytes,
        };
        Self::StateDict(state.tensors.into_iter().map(tensor).collect())
    }
}
