//! Identifies the backend of a payload, by its delegate's id or by its bytes.
//!
//! The bytes are those that ExecuTorch 1.5.1 writes. Backends marked "not seen" were implemented without a real file.

use super::{AotInductor, CoreMl, EthosU, Vulkan, Xnnpack};
use core::fmt;

/// The backends whose payloads are known, at least by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum PayloadKind {
    /// XNNPACK: kernels for CPUs.
    Xnnpack,
    /// Vulkan: GPUs.
    Vulkan,
    /// Arm Ethos-U: NPUs of microcontrollers.
    EthosU,
    /// Apple Core ML.
    CoreMl,
    /// ExecuTorch's native backend.
    Native,
    /// TOSA: an intermediate form for Arm's backends. No runtime executes it.
    Tosa,
    /// Arm's VGF, for Vulkan's extensions for machine learning.
    Vgf,
    /// Qualcomm's AI Engine.
    Qnn,
    /// Intel's OpenVINO.
    OpenVino,
    /// Apple MLX. Not seen.
    Mlx,
    /// Apple Metal Performance Shaders. Not seen.
    Mps,
    /// MediaTek's NeuroPilot. Not seen.
    Neuropilot,
    /// NXP's Neutron. Not seen.
    Neutron,
    /// Samsung's ENN. Not seen.
    Enn,
    /// Native code for CUDA, compiled by AOTInductor.
    Cuda,
    /// Native code for Metal, compiled by AOTInductor. Not seen.
    Metal,
}

use PayloadKind as Kind;

/// The kinds, each with the id of its delegates and its name.
const KINDS: [(Kind, &str, &str); 16] = [
    (Kind::Xnnpack, "XnnpackBackend", "XNNPACK"),
    (Kind::Vulkan, "VulkanBackend", "Vulkan"),
    (Kind::EthosU, "EthosUBackend", "Ethos-U"),
    (Kind::CoreMl, "CoreMLBackend", "Core ML"),
    (Kind::Native, "NativeBackend", "native"),
    (Kind::Tosa, "TOSABackend", "TOSA"),
    (Kind::Vgf, "VgfBackend", "VGF"),
    (Kind::Qnn, "QnnBackend", "QNN"),
    (Kind::OpenVino, "OpenvinoBackend", "OpenVINO"),
    (Kind::Mlx, "MLXBackend", "MLX"),
    (Kind::Mps, "MPSBackend", "MPS"),
    (Kind::Neuropilot, "NeuropilotBackend", "NeuroPilot"),
    (Kind::Neutron, "NeutronBackend", "Neutron"),
    (Kind::Enn, "EnnBackend", "ENN"),
    (Kind::Cuda, "CudaBackend", "CUDA (AOTInductor)"),
    (Kind::Metal, "MetalBackend", "Metal (AOTInductor)"),
];

impl PayloadKind {
    /// Returns all kinds.
    pub fn all() -> impl Iterator<Item = Self> {
        KINDS.iter().map(|(kind, ..)| *kind)
    }

    /// Returns the kind for a delegate's id.
    pub fn of_id(id: &str) -> Option<Self> {
        KINDS.iter().find(|(_, known, _)| *known == id).map(|(kind, ..)| *kind)
    }

    /// Identifies the kind by the first bytes. Those of some backends are not distinctive.
    pub fn of_bytes(payload: &[u8]) -> Option<Self> {
        Self::all().find(|kind| kind.is_in(payload) == Some(true))
    }

    /// Returns the id of the delegates.
    pub fn id(self) -> &'static str {
        self.entry().1
    }

    /// Returns whether a payload starts like one of this kind, or `None` if the first bytes of this kind are not known.
    pub fn is_in(self, payload: &[u8]) -> Option<bool> {
        let at = |start: usize, magic: &[u8]| payload.get(start..).is_some_and(|bytes| bytes.starts_with(magic));
        Some(match self {
            Self::Xnnpack => Xnnpack::is_one(payload),
            Self::Vulkan => Vulkan::is_one(payload),
            Self::EthosU => EthosU::is_one(payload),
            Self::CoreMl => CoreMl::is_one(payload),
            Self::Native => at(4, b"NPTG"),
            Self::Tosa => at(4, b"TOSA"),
            Self::Qnn => at(0, &[0xcd, 0xab, 0x78, 0x56]),
            Self::Mlx => at(4, b"MLX0"),
            Self::Mps => at(4, b"MP00"),
            Self::Vgf => at(0, b"VGF1"),
            // A payload of early releases may be empty.
            Self::Cuda | Self::Metal if payload.is_empty() => return None,
            Self::Cuda | Self::Metal => AotInductor::is_one(payload),
            Self::OpenVino | Self::Neuropilot | Self::Neutron | Self::Enn => return None,
        })
    }

    /// Returns `true` if such a payload contains machine code that runs on the CPU when it is loaded.
    pub fn is_native_code(self) -> bool {
        matches!(self, Self::Cuda | Self::Metal)
    }

    fn entry(self) -> (Self, &'static str, &'static str) {
        KINDS.into_iter().find(|(kind, ..)| *kind == self).unwrap_or((self, "", ""))
    }
}

impl fmt::Display for PayloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.entry().2)
    }
}
