//! Selection of the data to replace, and the new data.

use super::report::User;
use crate::analysis::ModelTensor;
use crate::error::{Error, Result, counted};
use crate::file::references::DataUser;
use crate::schema::flat_tensor::TensorLayout;
use crate::tensor::{TensorShape, TensorView};
use crate::write::collect::NewEntry;
use alloc::{borrow::Cow, format, string::String, vec::Vec};

/// A selection of a blob to replace in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Selector<'t> {
    /// The data of a method's value.
    Value {
        /// The method's name.
        method: &'t str,
        /// The index into the method's values.
        value: usize,
    },
    /// The data of every tensor with this name in the file or, if there is none, the named data with this key. Bytes for a key are in the
    /// layout in which the delegate takes them.
    Name(&'t str),
    /// All copies of a tensor of the model, as values and inside payloads of XNNPACK. New data is a tensor in PyTorch's layout, and is
    /// permuted for each copy.
    Tensor(&'t ModelTensor),
}

impl Selector<'_> {
    pub(super) fn is(&self, user: &DataUser<'_>) -> bool {
        match (self, user) {
            (Selector::Value { method, value }, DataUser::Tensor { plan, value: other, .. }) => {
                plan.name() == *method && value == other
            }
            (Selector::Name(name), DataUser::Tensor { tensor, .. }) => tensor.fully_qualified_name() == Some(*name),
            (Selector::Name(name), DataUser::NamedData { named, .. }) => named.key() == *name,
            (Selector::Tensor(model), DataUser::Tensor { method, value, .. }) => model.at(*method, *value).is_some(),
            _ => false,
        }
    }
}

/// New bytes for a blob.
///
/// ```
/// use executorch_format::edit::{NewData, Selector};
/// use executorch_format::{NewEntry, Pte, TensorData};
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
/// let mut pte = Pte::parse(&file)?;
/// let method = pte.method("forward").unwrap();
/// let constants = method.tensors().filter(|(_, tensor)| matches!(pte.tensor_data(tensor), Ok(TensorData::Constant(_))));
/// let (value, shape) = constants.map(|(value, tensor)| (value, tensor.shape().to_string())).next().unwrap();
/// assert_eq!(shape, "f32[2, 2]");
///
/// let ones = NewEntry::from_slice("ones", vec![2, 2], &[1f32; 4]);
/// let report = pte.replace(&Selector::Value { method: "forward", value }, &NewData::from(ones))?;
/// assert_eq!(report.changes.len(), 1);
///
/// // Another shape is refused, with what was expected.
/// let wrong = NewEntry::from_slice("three", vec![3], &[1f32; 3]).into();
/// let error = pte.replace(&Selector::Value { method: "forward", value }, &wrong).unwrap_err();
/// assert!(error.to_string().contains("is f32[2, 2], three holds f32[3]"), "{error}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NewData<'a> {
    /// The name of the data in errors, such as the name of its file.
    pub source: String,
    /// The type and shape. `None`: plain bytes, which fit anything of their size.
    pub tensor_layout: Option<TensorLayout<'a>>,
    /// The bytes.
    pub bytes: Cow<'a, [u8]>,
    /// `true` to permute a tensor in another dim order. Otherwise it is refused.
    pub permute: bool,
    /// The new key for named data that XNNPACK looks up. Such data needs a new key because XNNPACK caches packed weights by key.
    pub key: NewKey,
    /// `true` if the data comes from NumPy, which stores types that it does not support as integers: see
    /// [`ScalarType::numpy_type`](crate::schema::ScalarType::numpy_type).
    pub numpy: bool,
    /// `true` to give the new bytes to all users of the old bytes. Otherwise only the selected blob gets them, and the
    /// others keep the old bytes.
    pub shared: bool,
}

impl<'a> NewData<'a> {
    /// Creates plain bytes.
    pub fn bytes(source: impl Into<String>, bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        let (source, bytes) = (source.into(), bytes.into());
        Self { source, tensor_layout: None, bytes, permute: false, key: NewKey::None, numpy: false, shared: false }
    }

    /// Creates a tensor.
    pub fn tensor(source: impl Into<String>, view: &TensorView<'a>) -> Self {
        Self { tensor_layout: Some(view.shape().into()), ..Self::bytes(source, view.bytes()) }
    }

    /// Sets the type and shape; `None` for plain bytes.
    pub fn with_tensor_layout(self, tensor_layout: Option<TensorLayout<'a>>) -> Self {
        Self { tensor_layout, ..self }
    }

    /// Sets [`permute`](Self::permute).
    #[must_use]
    pub fn with_permute(self) -> Self {
        Self { permute: true, ..self }
    }

    /// Sets [`shared`](Self::shared).
    #[must_use]
    pub fn with_shared(self) -> Self {
        Self { shared: true, ..self }
    }

    /// Sets the new key.
    pub fn with_key(self, key: impl Into<NewKey>) -> Self {
        Self { key: key.into(), ..self }
    }

    /// Fails for bytes without a type, which do not show if they are in PyTorch's layout.
    pub(super) fn expect_type(&self, user: &User, shape: &TensorShape<'_>) -> Result<()> {
        match self.tensor_layout {
            Some(_) => Ok(()),
            None => Err(Error::tensor(format!(
                "{user} is {shape}, {} holds {} without a type: a name needs a tensor; raw bytes are taken for a value or a key",
                self.source,
                counted(self.bytes.len(), "byte")
            ))),
        }
    }

    /// Returns the bytes for a copy of a tensor of the model, and a sentence about the permutation that was made.
    pub(super) fn bytes_for_model(
        &self,
        model: &ModelTensor,
        user: &User,
        shape: &TensorShape<'_>,
        transposed: bool,
    ) -> Result<(Cow<'a, [u8]>, Option<String>)> {
        let (name, mut sizes) = (&model.name, shape.sizes.to_vec());
        if transposed {
            sizes.reverse();
        }
        let own = model
            .sizes
            .as_ref()
            .is_none_or(|own| own.iter().map(|size| i64::from(*size)).eq(sizes.iter().map(|size| i64::from(*size))));
        if !own {
            let found = format!("{name} has the sizes {:?} in the model, but {user} is {shape}", model.sizes);
            return Err(Error::tensor(format!("{found}: the exporter computed one from the other")));
        }
        if !transposed {
            return Ok((self.bytes_for(user, shape)?, None));
        }
        // The rows of the one are the columns of the other.
        let dim_order: Vec<u8> = shape.dim_order.iter().map(|dim| 1u8.saturating_sub(*dim)).collect();
        let bytes = self
            .clone()
            .with_permute()
            .bytes_for(user, &TensorShape { sizes: &sizes, dim_order: &dim_order, ..*shape })?;
        Ok((bytes, Some(format!("{name}: permuted OI to IO"))))
    }

    /// Returns a sentence about the permutation that [`bytes_for`](Self::bytes_for) makes.
    pub(super) fn permutation(&self, user: &User, shape: &TensorShape<'_>) -> Option<String> {
        let own = self.tensor_layout.as_ref().map(|layout| layout.shape())?;
        let is_permuted = self.permute && own.sizes == shape.sizes && own.dim_order != shape.dim_order;
        is_permuted.then(|| format!("{user}: permuted dim order {:?} to {:?}", own.dim_order, shape.dim_order))
    }

    /// Returns the bytes for a tensor of this type and shape.
    pub(super) fn bytes_for(&self, user: &User, shape: &TensorShape<'_>) -> Result<Cow<'a, [u8]>> {
        let (source, size) = (&self.source, shape.byte_size()?);
        let Some(layout) = &self.tensor_layout else {
            if self.bytes.len() as u64 != size {
                let found = self.bytes.len();
                return Err(Error::tensor(format!("{user} is {shape}, {size} bytes; {source} holds {found} bytes")));
            }
            return Ok(self.bytes.clone());
        };
        let own = layout.shape();
        let is_its_numpy_type = self.numpy && shape.scalar_type.numpy_type() == Some(own.scalar_type);
        if own.scalar_type != shape.scalar_type && !is_its_numpy_type || own.sizes != shape.sizes {
            return Err(Error::tensor(format!("{user} is {shape}, {source} holds {own}")));
        }
        let view = TensorView::new(own, &self.bytes)
            .map_err(|error| Error::tensor(format!("{source}: {}", error.kind().detail())))?;
        if own.dim_order == shape.dim_order {
            return Ok(self.bytes.clone());
        }
        if !self.permute {
            let reason = "the same elements in another dim order: allow a permutation";
            return Err(Error::tensor(format!("{user} is {shape}, {source} holds {own}, {reason}")));
        }
        view.in_dim_order(shape.dim_order).map(Cow::Owned)
    }
}

/// The new key of named data that XNNPACK looks up.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum NewKey {
    /// None: such data is not replaced.
    #[default]
    None,
    /// The old key, kept on purpose.
    Same,
    /// This key.
    Exact(String),
    /// The digest of the bytes, as text: the exporter's keys are their SHA-256 in hex. Keys of scales, which start with `scale_`, keep this
    /// start.
    Digest(Digest),
}

/// A function that returns the digest of bytes as text.
#[derive(Clone, Copy, Debug)]
pub struct Digest(pub fn(&[u8]) -> String);

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl From<Option<String>> for NewKey {
    fn from(key: Option<String>) -> Self {
        key.map_or(Self::None, Self::Exact)
    }
}

impl NewKey {
    /// Returns the key of these bytes, which had an old key.
    ///
    /// Fails for `None`.
    pub(super) fn of(&self, old: &str, bytes: &[u8]) -> Result<String> {
        const SCALES: &str = "scale_";
        match self {
            Self::Same => Ok(old.into()),
            Self::Exact(key) => Ok(key.clone()),
            Self::Digest(digest) => {
                let start = if old.starts_with(SCALES) { SCALES } else { "" };
                Ok(format!("{start}{}", (digest.0)(bytes)))
            }
            Self::None => Err(Error::unwritable(format!(
                "XNNPACK looks {old:?} up and may have cached the packed old bytes under that key: other bytes need a new key"
            ))),
        }
    }
}

/// Converts an entry to its tensor or bytes, named after its key.
impl<'a> From<NewEntry<'a>> for NewData<'a> {
    fn from(entry: NewEntry<'a>) -> Self {
        let NewEntry { key, tensor_layout, bytes, .. } = entry;
        Self { tensor_layout, ..Self::bytes(key.as_str(), bytes) }
    }
}
