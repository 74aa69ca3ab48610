//! The backends of ExecuTorch's repository, and the releases whose source has a runtime for each.

use crate::file::pte::Pte;
use crate::path::{FieldPath, Path};
use crate::verify::release::{Behaviour, Release};
use Behaviour::{Loads, Refuses};
use alloc::vec::Vec;

/// A backend of ExecuTorch's repository.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct KnownBackend {
    /// The id in delegates.
    pub id: &'static str,
    /// The behaviour of releases with a delegate of this backend, if everything in their repository is linked: each entry holds from
    /// its release until the next entry.
    pub since: &'static [(Release, Behaviour)],
    /// The file of ExecuTorch's repository that registers it.
    pub source: &'static str,
}

const fn backend(id: &'static str, since: &'static [(Release, Behaviour)], source: &'static str) -> KnownBackend {
    KnownBackend { id, since, source }
}

const ALWAYS: &[(Release, Behaviour)] = &[(Release::V0_2, Loads)];
const SINCE_1_0: &[(Release, Behaviour)] = &[(Release::V0_2, Refuses), (Release::V1_0, Loads)];
const SINCE_1_1: &[(Release, Behaviour)] = &[(Release::V0_2, Refuses), (Release::V1_1, Loads)];

/// The backends that the repository registers (`register_backend`) at the release tags 0.2.0 to 1.4.0 or in the source of 1.5. Any other
/// backend is the application's own.
pub const BACKENDS: &[KnownBackend] = &[
    backend(
        "ArmBackend",
        &[(Release::V0_2, Loads), (Release::V0_6, Refuses)],
        "backends/arm/runtime/ArmBackendEthosU.cpp",
    ),
    backend("CoreMLBackend", ALWAYS, "backends/apple/coreml/runtime/delegate/coreml_backend_delegate.mm"),
    backend("CudaBackend", SINCE_1_1, "backends/cuda/runtime/cuda_backend.cpp"),
    backend("EnnBackend", SINCE_1_0, "backends/samsung/runtime/enn_backend.cpp"),
    backend(
        "EthosUBackend",
        &[(Release::V0_2, Refuses), (Release::V0_6, Loads)],
        "backends/arm/runtime/EthosUBackend.cpp",
    ),
    backend("MLXBackend", &[(Release::V0_2, Refuses), (Release::V1_3, Loads)], "backends/mlx/runtime/MLXBackend.cpp"),
    backend("MPSBackend", ALWAYS, "backends/apple/mps/runtime/MPSBackend.mm"),
    backend("MetalBackend", SINCE_1_1, "backends/apple/metal/runtime/metal_backend.cpp"),
    backend(
        "NeuropilotBackend",
        &[(Release::V0_2, Refuses), (Release::V0_4, Loads)],
        "backends/mediatek/runtime/NeuronBackend.cpp",
    ),
    backend("NeutronBackend", SINCE_1_0, "backends/nxp/runtime/NeutronBackend.cpp"),
    backend(
        "OpenvinoBackend",
        &[(Release::V0_2, Refuses), (Release::V0_7, Loads)],
        "backends/openvino/runtime/OpenvinoBackend.cpp",
    ),
    backend("QnnBackend", ALWAYS, "backends/qualcomm/runtime/QnnExecuTorchBackend.cpp"),
    backend("VgfBackend", SINCE_1_0, "backends/arm/runtime/VGFBackend.cpp"),
    // The WebGPU runtime, since 1.3, registers the same id (`backends/webgpu/runtime/WebGPUBackend.cpp`).
    backend("VulkanBackend", ALWAYS, "backends/vulkan/runtime/VulkanBackend.cpp"),
    backend("XnnpackBackend", ALWAYS, "backends/xnnpack/runtime/XNNPACKBackend.cpp"),
];

/// Returns the known backends that a program delegates to, each with its first delegate.
pub(super) fn used(pte: &Pte<'_>) -> Vec<(&'static KnownBackend, FieldPath)> {
    let mut found: Vec<(&'static KnownBackend, FieldPath)> = Vec::new();
    for (method, plan) in pte.methods().iter().enumerate() {
        for (index, delegate) in plan.delegates().iter().enumerate() {
            let Some(known) = BACKENDS.iter().find(|known| known.id == delegate.backend()) else { continue };
            if found.iter().all(|(other, _)| other.id != known.id) {
                let path = Path::ROOT.item("execution_plan", method);
                found.push((known, path.item("delegates", index).to_field_path()));
            }
        }
    }
    found
}
