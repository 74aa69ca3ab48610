//! Conversion to and from safetensors and NumPy's `.npy`, and to C arrays.
//!
//! Weights are converted through a [`Ptd`](crate::Ptd): with [`Safetensors::into_ptd`], [`Safetensors::of_ptd`], and
//! [`Pte::weights`](crate::Pte::weights) for a program's constants and initial states. Bytes stay borrowed until they
//! are written, except those of permuted tensors.
//!
//! ```
//! use executorch_format::convert::{Safetensors, Unsupported};
//! use executorch_format::{Pte, Ptd, PtdOptions};
//!
//! # fn main() -> executorch_format::Result<()> {
//! let file = std::fs::read("tests/data/1.5.1/linear/linear.pte")?;
//! let pte = Pte::parse(&file)?;
//! let (weights, _) = pte.weights()?;
//! let (safetensors, _) = Safetensors::of_ptd(&weights, Unsupported::Refuse)?;
//! let bytes = safetensors.image()?.to_vec()?;
//!
//! let (back, _) = Safetensors::parse(&bytes)?.into_ptd(&PtdOptions::default(), Unsupported::Refuse)?;
//! let tensor = |entry: executorch_format::Entry<'_>| format!("{} {:?}", entry.key(), entry.shape);
//! let tensors = |ptd: &Ptd| ptd.entries().map(tensor).collect::<std::collections::BTreeSet<_>>();
//! assert_eq!(tensors(&back), tensors(&weights));
//! # Ok(())
//! # }
//! ```
//!
//! # Scalar types
//!
//! | here | safetensors | numpy |
//! |---|---|---|
//! | `BOOL` | `BOOL` | `bool` |
//! | `BYTE`, `UINT16`, `UINT32`, `UINT64` | `U8`, `U16`, `U32`, `U64` | `uint8`, `uint16`, `uint32`, `uint64` |
//! | `CHAR`, `SHORT`, `INT`, `LONG` | `I8`, `I16`, `I32`, `I64` | `int8`, `int16`, `int32`, `int64` |
//! | `HALF`, `FLOAT`, `DOUBLE` | `F16`, `F32`, `F64` | `float16`, `float32`, `float64` |
//! | `BFLOAT16` | `BF16` | `uint16` |
//! | `FLOAT8E5M2`, `FLOAT8E4M3FN` | `F8_E5M2`, `F8_E4M3` | `uint8` |
//! | `FLOAT8E5M2FNUZ`, `FLOAT8E4M3FNUZ` | `F8_E5M2FNUZ`, `F8_E4M3FNUZ` | `uint8` |
//! | 9 (complex64) | `C64` | `complex64` |
//! | 10 (complex128) | none | `complex128` |
//! | 8 (complex32) | none | `uint32` |
//! | `QINT8`, `QINT32` | none | `int8`, `int32` |
//! | `QUINT8`, `QUINT4X2`, `QUINT2X4`, 8-bit bits | none | `uint8` |
//! | `BITS16` | none | `uint16` |
//! | none | `F4`, `F6_E2M3`, `F6_E3M2`, `F8_E8M0` | |
//!
//! # Metadata and dim orders
//!
//! The entries of `__metadata__` become blobs with keys under `metadata.` in a `.ptd`, and are restored from them. A
//! safetensors tensor is always in the natural dim order: other tensors are permuted, and their dim order is stored in
//! `__metadata__` under `executorch.dim_order.NAME`, such as `0,2,3,1`, from which it is restored. The permuted tensors
//! of a file are all held in memory; the others are borrowed from the source and written in pieces. Safetensors cannot
//! store other blobs, or keys that are not UTF-8.

mod c;
mod npy;
mod safetensors;

pub use c::{CArray, CBytes, COptions, operator_lines};
pub use npy::Npy;
pub use safetensors::{Dtype, SafeTensor, Safetensors, ShardIndex, Skipped, Unsupported};
