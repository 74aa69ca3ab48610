//! The values and nodes of a graph.

use crate::flatbuffer::any::{AnyField, AnyNumber, AnyTable, Value};
use crate::schema::ScalarType;
use crate::schema::xnnpack::{
    NO_ID, XNNDatatype, XNNGraph, XNNQuantParams, XNNTensorValue, XNode, XNodeUnion, XValue, XValueUnion,
};
use crate::sorted::set;
use crate::tensor::TensorShape;
use alloc::collections::BTreeMap;
use alloc::{string::String, vec::Vec};
use core::fmt;

impl<'a> XValue<'a> {
    /// Returns the tensor, quantized or not, or `None` for a value without one.
    pub fn tensor(&self) -> Option<&XNNTensorValue<'a>> {
        match &self.xvalue_union {
            XValueUnion::XNNTensorValue(tensor) => Some(tensor),
            XValueUnion::XNNQuantizedTensorValue(quantized) => quantized.tensor_value.as_ref(),
            XValueUnion::None | XValueUnion::Unknown(_) => None,
        }
    }

    /// Returns the tensor, mutable.
    pub fn tensor_mut(&mut self) -> Option<&mut XNNTensorValue<'a>> {
        match &mut self.xvalue_union {
            XValueUnion::XNNTensorValue(tensor) => Some(tensor),
            XValueUnion::XNNQuantizedTensorValue(quantized) => quantized.tensor_value.as_mut(),
            XValueUnion::None | XValueUnion::Unknown(_) => None,
        }
    }

    /// Returns the parameters of quantization, if the tensor is quantized.
    pub fn quant_params(&self) -> Option<&XNNQuantParams<'a>> {
        match &self.xvalue_union {
            XValueUnion::XNNQuantizedTensorValue(quantized) => Some(&quantized.quant_params),
            _ => None,
        }
    }
}

impl XNNTensorValue<'_> {
    /// Returns `true` for an input or output of the graph.
    pub fn is_external(&self) -> bool {
        self.external_id != NO_ID
    }

    /// Returns the size of the elements in bytes, or `None` if it is unknown or overflows 64 bits.
    pub fn byte_size(&self) -> Option<u64> {
        tensor_bytes(self.datatype, self.dims())
    }

    /// Returns the type and shape in PyTorch's terms, or `None` if PyTorch has no such type, or a size does not fit in 31 bits.
    pub fn shape(&self) -> Option<TensorShape<'_>> {
        const NATURAL: [u8; 6] = [0, 1, 2, 3, 4, 5];
        let sizes: &[i32] = bytemuck::must_cast_slice(self.dims());
        let dim_order = NATURAL.get(..sizes.len())?;
        sizes.iter().all(|size| *size >= 0).then_some(())?;
        Some(TensorShape { scalar_type: self.datatype.scalar_type()?, sizes, dim_order })
    }
}

impl<'a> XNNGraph<'a> {
    /// Maps ids to tensors. If two have the same id, the runtime uses the first.
    pub(crate) fn tensors_by_id(&self) -> BTreeMap<u32, &XNNTensorValue<'a>> {
        let mut tensors = BTreeMap::new();
        for tensor in self.xvalues().iter().filter_map(|value| value.tensor()) {
            tensors.entry(tensor.id_out).or_insert(tensor);
        }
        tensors
    }

    /// Maps ids to the indices of values with a tensor. If two have the same id, the runtime uses the first.
    pub(crate) fn values_by_id(&self) -> BTreeMap<u32, usize> {
        let mut ids = BTreeMap::new();
        for (index, value) in self.xvalues().iter().enumerate() {
            if let Some(tensor) = value.tensor() {
                ids.entry(tensor.id_out).or_insert(index);
            }
        }
        ids
    }

    /// Returns the ids of the values that XNNPACK copies when the delegate is loaded, sorted: weights and biases. It reads all other constants
    /// when it runs (`getPackedValueIds` in `XNNCompiler.cpp`).
    pub(crate) fn packed_ids(&self) -> Vec<u32> {
        let of_node = |node: &XNode<'_>| match &node.xnode_union {
            XNodeUnion::XNNFullyConnected(linear) => Some([linear.filter_id, linear.bias_id]),
            XNodeUnion::XNNConv2d(conv)
            | XNodeUnion::XNNDepthwiseConv2d(conv)
            | XNodeUnion::XNNConvTranspose2d(conv) => Some([conv.filter_id, conv.bias_id]),
            _ => None,
        };
        set(self.xnodes().iter().filter_map(of_node).flatten().collect())
    }

    /// Returns the nodes that take each value, with the argument's name.
    #[cfg(feature = "inspect")]
    pub(crate) fn takers(&self) -> Takers {
        let ids = self.values_by_id();
        let mut takers = Takers::new();
        for (index, node) in self.xnodes().iter().enumerate() {
            for (name, id) in node.xnode_union.ids().inputs {
                let role = match name.trim_end_matches("_id") {
                    "filter" => "weight",
                    other => other,
                };
                if let Some(value) = ids.get(&id) {
                    takers.entry(*value).or_default().push((index, role));
                }
            }
        }
        takers
    }
}

/// The nodes that take each value, with the argument's name.
#[cfg(feature = "inspect")]
pub(crate) type Takers = BTreeMap<usize, Vec<(usize, &'static str)>>;

/// Displays it as `qcint8[5, 3]`.
impl fmt::Display for XNNTensorValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.dims().iter().map(|size| alloc::format!("{size}")).collect();
        f.pad(&alloc::format!("{}[{}]", self.datatype.short_name(), dims.join(", ")))
    }
}

impl XNNDatatype {
    /// Returns the number of bits in an element, or `None` for an unknown type.
    pub fn element_bits(self) -> Option<u32> {
        Some(match self {
            Self::QCINT4 | Self::QBINT4 => 4,
            Self::QINT8 | Self::QUINT8 | Self::QCINT8 | Self::QDINT8 | Self::QPINT8 => 8,
            Self::FP16 | Self::BF16 => 16,
            Self::FP32 | Self::QINT32 | Self::QCINT32 | Self::INT32 | Self::PFP32 => 32,
            _ => return None,
        })
    }

    /// Returns the name in texts: that of [`ScalarType::short_name`] if PyTorch has the type too, such as `f32`, and otherwise the schema's without
    /// its prefix, such as `qcint8`. A number without a name stays a number.
    pub fn short_name(self) -> String {
        match self {
            Self::FP32 => "f32".into(),
            Self::FP16 => "f16".into(),
            Self::INT32 => "i32".into(),
            _ => alloc::format!("{self}").trim_start_matches("xnn_datatype_").into(),
        }
    }

    /// Returns PyTorch's type with the same storage, or `None` if PyTorch has no such type.
    pub fn scalar_type(self) -> Option<ScalarType> {
        Some(match self {
            Self::FP32 => ScalarType::FLOAT,
            Self::FP16 => ScalarType::HALF,
            Self::BF16 => ScalarType::BFLOAT16,
            Self::QINT8 | Self::QCINT8 | Self::QDINT8 => ScalarType::CHAR,
            Self::QUINT8 => ScalarType::BYTE,
            Self::INT32 | Self::QINT32 | Self::QCINT32 => ScalarType::INT,
            _ => return None,
        })
    }
}

/// Computes the size in bytes of a tensor. Two 4-bit elements share a byte, and each row starts at a new byte. Returns `None` if the
/// type is unknown or the product overflows.
pub fn tensor_bytes(datatype: XNNDatatype, dims: &[u32]) -> Option<u64> {
    let bits = u64::from(datatype.element_bits()?);
    let (last, outer) = match dims.split_last() {
        Some((last, outer)) => (u64::from(*last), outer),
        None => (1, dims),
    };
    let row = last.checked_mul(bits)?.div_ceil(8);
    outer.iter().try_fold(row, |bytes, size| bytes.checked_mul(u64::from(*size)))
}

/// The ids of the values that a node reads and writes, with the names of its fields.
///
/// ```
/// use executorch_format::Pte;
/// use executorch_format::delegate::Payload;
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/linear_xnnpack/linear_xnnpack.pte")?;
/// let pte = Pte::parse(&file)?;
/// let Payload::Xnnpack(payload) = pte.delegate(&pte.methods()[0].delegates()[0])? else { panic!("not XNNPACK") };
/// let ids = payload.graph.xnodes()[0].xnode_union.ids();
/// let fields: Vec<_> = ids.inputs.iter().map(|(field, _)| *field).collect();
/// assert_eq!(fields, ["input1_id", "filter_id", "bias_id"]);
/// assert_eq!(ids.outputs[0].0, "output_id");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeIds {
    /// The inputs, as field and id. [`NO_ID`] stands for no value.
    pub inputs: Vec<(&'static str, u32)>,
    /// The outputs, as field and id.
    pub outputs: Vec<(&'static str, u32)>,
}

impl<'a> XNodeUnion<'a> {
    /// Returns the member as a table, or `None` if it is absent or unknown to the schema.
    pub fn member(&self) -> Option<&dyn AnyTable> {
        match AnyField::value(self) {
            Value::Union { member, .. } => member,
            _ => None,
        }
    }

    /// Returns the ids of the node's values. A concatenation has as many inputs as its name states: in files from before ExecuTorch
    /// 0.6, the other fields read as id 0.
    pub fn ids(&self) -> NodeIds {
        let most = match self {
            Self::XNNConcatenate2(_) => 2,
            Self::XNNConcatenate3(_) => 3,
            Self::XNNConcatenate4(_) => 4,
            _ => usize::MAX,
        };
        let mut ids = NodeIds::default();
        if let Some(member) = self.member() {
            member.for_each_field(&mut |name, value| {
                if let (true, Value::Number(AnyNumber::Unsigned(id))) = (name.ends_with("_id"), value) {
                    let list = if name.starts_with("output") { &mut ids.outputs } else { &mut ids.inputs };
                    list.push((name, id as u32));
                }
            });
        }
        ids.inputs.truncate(most);
        ids
    }
}

impl<'a> XNNGraph<'a> {
    /// Returns the values that are arguments of the delegate's call, in the order of the arguments: the index into `xvalues`, and the
    /// tensor, whose `external_id` is the index of the argument.
    pub fn externals(&self) -> Vec<(usize, &XNNTensorValue<'a>)> {
        let tensors = self.xvalues().iter().enumerate().filter_map(|(index, value)| Some((index, value.tensor()?)));
        let mut externals: Vec<_> = tensors.filter(|(_, tensor)| tensor.is_external()).collect();
        externals.sort_by_key(|(_, tensor)| tensor.external_id);
        externals
    }

    /// Counts the nodes of each kind, the most frequent kind first.
    pub fn count_nodes(&self) -> Vec<(&'static str, usize)> {
        let mut counts = BTreeMap::<&'static str, usize>::new();
        for node in self.xnodes() {
            *counts.entry(node.name()).or_default() += 1;
        }
        let mut counts = counts.into_iter().collect::<Vec<_>>();
        counts.sort_by_key(|(_, count)| core::cmp::Reverse(*count));
        counts
    }
}

impl XNode<'_> {
    /// Returns the name of the kind, such as `XNNAdd`, or `unknown` for a kind of a newer schema.
    pub fn name(&self) -> &'static str {
        self.xnode_union.name().unwrap_or("unknown")
    }
}
