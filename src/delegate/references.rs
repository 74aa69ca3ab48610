//! The data that payloads look up by key: in the program's named data, or in a `.ptd` file.

use super::xnnpack::ConstantPlace;
use super::{CoreMl, OpenPayload, Payload, PayloadKind, VulkanPlace};
use crate::file::pte::Pte;
use alloc::{borrow::Cow, string::String, vec::Vec};

/// A reference of a payload to data under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyReference<'p> {
    /// The key.
    pub key: Cow<'p, str>,
    /// The name of the data: a weight's, a block's, or a general one such as `library`.
    pub name: Cow<'p, str>,
    /// The size that the payload states, in bytes.
    pub size: Option<u64>,
    /// `false` if the backend never looks it up: a constant that no value uses.
    pub is_used: bool,
}

impl<'p> KeyReference<'p> {
    fn new(key: impl Into<Cow<'p, str>>, name: impl Into<Cow<'p, str>>, size: Option<u64>) -> Self {
        Self { key: key.into(), name: name.into(), size, is_used: true }
    }
}

impl Payload<'_> {
    /// Returns the data that the backend looks up by key, in the order of the payload: constants of XNNPACK and Vulkan, blocks of an Ethos-U,
    /// the library and the weights of AOTInductor, and the package of a Core ML function. `None` if only the backend knows its keys.
    ///
    /// ```
    /// use executorch_format::Pte;
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/linear_xnnpack_external/linear_xnnpack_external.pte")?;
    /// let pte = Pte::parse(&file)?;
    /// let payload = pte.delegate(&pte.methods()[0].delegates()[0])?;
    /// let sizes: Vec<_> = payload.key_references().unwrap().iter().map(|reference| reference.size).collect();
    /// assert_eq!(sizes, [Some(160), Some(20)]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn key_references(&self) -> Option<Vec<KeyReference<'_>>> {
        let mut found = Vec::new();
        match self {
            Self::Xnnpack(xnnpack) => {
                for constant in xnnpack.constants() {
                    let Some(ConstantPlace::Named { key, size }) = xnnpack.constant(constant.index) else { continue };
                    let reference = KeyReference::new(key, "constant", Some(size));
                    found.push(KeyReference { is_used: !constant.uses.is_empty(), ..reference });
                }
            }
            Self::Vulkan(vulkan) => {
                for (name, list) in [("constant", vulkan.graph.constants()), ("shader", vulkan.graph.shaders())] {
                    for bytes in list {
                        if let Some(VulkanPlace::Named(key)) = vulkan.place(bytes) {
                            found.push(KeyReference::new(key, name, Some(bytes.length)));
                        }
                    }
                }
            }
            Self::EthosU(ethos_u) => {
                for block in ethos_u.blocks.iter().filter(|block| block.external) {
                    let (key, name) = (String::from_utf8_lossy(block.data), String::from_utf8_lossy(block.name));
                    found.push(KeyReference::new(key, name, None));
                }
            }
            Self::AotInductor(aot) => {
                found.push(KeyReference::new(aot.library, "library", None));
                found.extend(aot.weights.map(|key| KeyReference::new(key, "weights", None)));
                let tensors = aot.tensors.iter();
                found.extend(
                    tensors.map(|tensor| KeyReference::new(tensor.key, tensor.name, Some(tensor.storage_size))),
                );
            }
            Self::CoreMl(CoreMl::Function { key, .. }) => found.push(KeyReference::new(&**key, "package", None)),
            Self::CoreMl(CoreMl::Package(_)) => {}
            Self::Opaque(_) => return None,
        }
        Some(found)
    }
}

impl OpenPayload<'_> {
    /// Returns the kind if the bytes are those of the backend that a delegate's id names. Payloads of other backends may start with the same
    /// bytes.
    pub(crate) fn kind(&self, pte: &Pte<'_>) -> Option<PayloadKind> {
        let payload = self.payload.as_ref().ok()?;
        let is_its = |kind: PayloadKind| match payload.kind() {
            Some(own) => own == kind,
            // The lines of AOTInductor are the same for its backends.
            None => matches!(payload, Payload::AotInductor(_)) && kind.is_native_code(),
        };
        self.delegates_of(pte).filter_map(|(_, delegate)| PayloadKind::of_id(delegate.id())).find(|kind| is_its(*kind))
    }
}
