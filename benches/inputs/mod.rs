//! The input files.

use executorch_format::probe;

/// A file and the end of its FlatBuffer.
pub struct Input {
    pub name: &'static str,
    pub file: Vec<u8>,
    pub metadata: usize,
}

impl Input {
    /// Returns the FlatBuffer alone, which is the peer's input.
    pub fn metadata(&self) -> &[u8] {
        &self.file[..self.metadata]
    }
}

/// Returns a program of 712 KB.
pub fn llama48_narrow() -> Input {
    input("llama48_narrow", include_bytes!("../data/llama48_narrow.program"))
}

/// Returns a program of 95 KB.
pub fn llama6_external() -> Input {
    input("llama6_external", include_bytes!("../data/llama6_external.pte"))
}

/// Returns a file with the given metadata, and zeros for the segments.
pub fn input(name: &'static str, metadata: &[u8]) -> Input {
    let probe = probe(metadata).expect("a header");
    let size = metadata.len() as u64;
    let metadata_end = probe.metadata(size).unwrap().end as usize;
    // The header states the end of the segments, which is beyond the given bytes.
    let file_end = probe.data(u64::MAX).unwrap().map_or(metadata.len(), |data| data.end as usize);
    let mut file = metadata.to_vec();
    file.resize(file_end, 0);
    Input { name, file, metadata: metadata_end }
}
