//! Answers about a file, with the size of their output.

use crate::limits::Output;
use executorch_format::convert::{CArray, CBytes, COptions};
use executorch_format::inspect::salvage as find_parts;
use executorch_format::pictures::model_explorer;
use executorch_format::{Analysis, FileKind, Model};
use std::io::Write;

/// Describes what is left of a damaged file of any kind.
pub fn salvage(bytes: &[u8]) {
    for kind in [FileKind::Pte, FileKind::Ptd, FileKind::Bpte, FileKind::Etdp, FileKind::Xnnpack] {
        Output::of(bytes.len()).json(&find_parts(bytes, kind));
    }
}

/// Makes the contents of a page about a file, and shows its tree branch by branch.
pub fn report(bytes: &[u8]) {
    /// The branches that are opened.
    const MOST: usize = 64;
    let Ok(model) = Model::parse(bytes) else { return };
    let report = model.report();
    Output::of(bytes.len()).json(&report);
    let mut paths = vec![String::new()];
    let mut opened = 0;
    while let Some(path) = paths.pop().filter(|_| opened < MOST) {
        opened += 1;
        let Ok(branch) = model.branch(&path, 0, 100) else { continue };
        Output::of(bytes.len()).json(&branch);
        paths.extend(branch.entries.iter().map(|entry| entry.path.to_string()));
    }
}

/// Draws planned memory and graphs.
pub fn pictures(bytes: &[u8]) {
    let Ok(Model::Pte(pte)) = Model::parse(bytes) else { return };
    let mut out = Output::of(bytes.len());
    let analysis = Analysis::new(&pte);
    write!(out, "{}", analysis.memory().svg("model.pte")).expect("it is counted");
    let graphs = analysis.graphs();
    for graph in &graphs {
        write!(Output::of(bytes.len()), "{}{}", graph.svg(), graph.dot()).expect("it is counted");
    }
    Output::of(bytes.len()).json(&model_explorer("model.pte", &graphs));
}

/// Counts multiply-accumulates.
pub fn macs(bytes: &[u8]) {
    let Ok(Model::Pte(pte)) = Model::parse(bytes) else { return };
    let macs = Analysis::new(&pte).macs();
    let mut out = Output::of(bytes.len());
    out.json(&macs);
    out.json(&macs.summary());
    for method in &macs.methods {
        out.json(&method.by_operator());
    }
}

/// Reads quantized weights as numbers.
pub fn dequantized(bytes: &[u8]) {
    let Ok(Model::Pte(pte)) = Model::parse(bytes) else { return };
    Analysis::new(&pte).visit_numbers(&mut |constant| {
        let Ok(numbers) = &constant.numbers else { return };
        // Types of 4 bits have two elements in a byte.
        assert!(numbers.elements() <= 2 * bytes.len() || numbers.elements() == 0);
        assert_eq!(numbers.values().count(), numbers.elements());
        numbers.scales().for_each(drop);
        assert_eq!(numbers.to_vec().len(), numbers.elements());
    });
}

/// Writes a file as C, in each form.
pub fn c_array(bytes: &[u8]) {
    let Ok(model) = Model::parse(bytes) else { return };
    for form in [CBytes::Numbers, CBytes::Incbin, CBytes::Embed] {
        let options = COptions::default().with_name("model".into()).with_bytes(form);
        let Ok(array) = CArray::new(&model, bytes, &options) else { continue };
        let mut out = Output::of(bytes.len());
        array.header("model.pte").for_each(|piece| out.count(piece.len() as u64));
        array.source("model.h", "model.pte").for_each(|line| out.count(line.len() as u64));
    }
}
