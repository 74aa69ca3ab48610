//! All questions of `inspect` work for any file that can be parsed: every byte is in one part, and every index in an answer was checked.

use executorch_format::{Analysis, Model};

/// Calls all functions of `inspect` for a file.
pub fn inspect(bytes: &[u8]) {
    let Ok(model) = Model::parse(bytes) else { return };
    if !matches!(model, Model::Pte(_) | Model::Ptd(_)) {
        return;
    }
    let size = model.size_report().expect("the whole file was given");
    assert_eq!(size.parts.iter().map(|part| part.size).sum::<u64>(), bytes.len() as u64);
    assert_eq!(size.groups().iter().map(|group| group.size).sum::<u64>(), bytes.len() as u64);
    assert!(size.growth(&size).iter().all(|growth| growth.bytes() == 0));
    let Model::Pte(pte) = &model else { return };
    let analysis = Analysis::new(pte);
    for method in analysis.memory().methods {
        for buffer in method.buffers {
            let end = buffer.tensors.iter().map(|tensor| tensor.end()).max().unwrap_or_default();
            assert!(buffer.needed <= end);
            assert!(buffer.tensors.iter().all(|tensor| tensor.first <= tensor.last));
        }
    }
    let operators = analysis.operators();
    let mut twice = operators.clone();
    twice.merge(operators.clone());
    assert!(twice.operators.keys().eq(operators.operators.keys()));
    for method in analysis.disassembly().methods {
        for code in method.chains.iter().flat_map(|chain| &chain.instructions) {
            assert!(code.operation.values().count() <= bytes.len());
        }
    }
}
