use crate::limits::Output;
use executorch_format::Model;
use executorch_format::delegate::{
    AotInductor, CoreMl, EthosU, NamedBlobs, Payload, PayloadKind, Vulkan, Xnnpack, payload_metadata,
    unpack as files_of,
};

/// Unpacks a payload as that of each backend, and the payloads of a program.
pub fn unpack(bytes: &[u8]) {
    for kind in PayloadKind::all() {
        let _ = kind.is_in(bytes);
        let Ok(Some(unpacked)) = files_of(kind.id(), bytes, &NamedBlobs::NONE) else { continue };
        let mut out = Output::of(bytes.len());
        unpacked.files.iter().for_each(|file| out.count((file.name.len() + file.bytes.len()) as u64));
    }
    // Bytes with the mark of a format belong to it.
    let marks = [Xnnpack::is_one(bytes), Vulkan::is_one(bytes), EthosU::is_one(bytes), CoreMl::is_one(bytes)];
    let (_, _) = (CoreMl::parse(bytes), PayloadKind::of_bytes(bytes));
    assert!(Vulkan::parse(bytes).is_err() || marks[1]);
    assert!(Xnnpack::parse(bytes).is_err() || marks[0]);
    if let Ok(payload) = EthosU::parse(bytes) {
        let _ = (payload.inputs(), payload.outputs(), payload.command_stream(), payload.weights());
    }
    if let Ok(payload) = Payload::parse(bytes) {
        if let Ok(Some(graph)) = payload.graph(bytes, &NamedBlobs::NONE) {
            assert_eq!(graph.count_nodes().iter().map(|(_, count)| count).sum::<usize>(), graph.nodes.len());
            let mut out = Output::of(bytes.len());
            out.json(&graph.nodes);
        }
        let references = payload.key_references().unwrap_or_default();
        let names: usize = references.iter().map(|reference| reference.key.len()).sum();
        // A key that is not UTF-8 is shown with replacement characters.
        assert!(names <= 3 * bytes.len());
    }
    assert!(AotInductor::parse(bytes).is_err() || AotInductor::is_one(bytes));
    if let Ok(payload) = AotInductor::parse(bytes) {
        let storage = bytes.get(..64).unwrap_or(bytes);
        for tensor in &payload.tensors {
            if let Ok(elements) = tensor.elements(storage) {
                assert_eq!(Ok(elements.len() as u64), tensor.shape().byte_size().map_err(drop));
                assert!(tensor.needed_bytes().is_some_and(|needed| needed <= storage.len() as u64));
            }
        }
    }
    let range = payload_metadata(bytes, bytes.len() as u64);
    assert!(range.start <= range.end && range.end <= bytes.len() as u64);
    let Ok(model) = Model::parse(bytes) else { return };
    let Ok(mut extraction) = model.extraction() else { return };
    let _ = extraction.unpack(&model, []);
    let mut out = Output::of(bytes.len());
    out.json(&extraction.files);
}
