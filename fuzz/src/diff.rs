use crate::limits::Output;
use crate::pair::pair;
use executorch_format::Model;
use executorch_format::inspect::{DiffOptions, Side};

/// Compares two files, with the values of their weights.
pub fn diff(bytes: &[u8]) {
    let files = pair(bytes);
    let [Ok(before), Ok(after)] = files.each_ref().map(|file| Model::parse(file)) else { return };
    let sides = [Side::new(&before, &[]), Side::new(&after, &[])];
    let found = executorch_format::inspect::diff(&sides[0], &sides[1], &DiffOptions::default().with_tensors());
    Output::of(files[0].len() + files[1].len()).json(&found);
}
