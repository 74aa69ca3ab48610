//! Puts similar functions side by side, so that the module compresses better.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{CodeSection, FunctionSection, Module};
use wasmparser::{CodeSectionReader, FunctionSectionReader, Parser, Payload, TypeRef};

/// Returns the module with its functions in another order.
pub fn ordered(module: &[u8]) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let (mut bodies, mut imported) = (Vec::new(), 0);
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    imported += usize::from(matches!(import?.ty, TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionEntry(body) => bodies.push(body.as_bytes()),
            _ => {}
        }
    }
    let order = alike(&bodies);
    let mut index: Vec<u32> = (0..(imported + order.len()) as u32).collect();
    for (at, function) in order.iter().enumerate() {
        index[imported + function] = (imported + at) as u32;
    }
    let mut ordered = Module::new();
    Order { order, index }.parse_core_module(&mut ordered, Parser::new(0), module)?;
    Ok(ordered.finish())
}

/// Returns an order in which each function follows similar functions. The next function is the one that shares the largest part of its
/// runs of bytes with the last function and, with decreasing weight, those before.
fn alike(bodies: &[&[u8]]) -> Vec<usize> {
    const RUN: usize = 5;
    // A run in more functions is no sign of similarity.
    const MAX_USERS: usize = 1000;
    let runs: Vec<BTreeSet<&[u8]>> = bodies.iter().map(|body| body.windows(RUN).collect()).collect();
    let mut users: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
    for (function, runs) in runs.iter().enumerate() {
        for run in runs {
            users.entry(run).or_default().push(function);
        }
    }
    users.retain(|_, users| (2..=MAX_USERS).contains(&users.len()));
    let mut sorted: Vec<usize> = (0..bodies.len()).collect();
    sorted.sort_by_key(|function| bodies[*function]);
    let mut rest = sorted.into_iter();
    let mut placed = vec![false; bodies.len()];
    let mut order = Vec::new();
    let mut shared = vec![0usize; bodies.len()];
    let mut score = vec![0.0; bodies.len()];
    let mut next = rest.next();
    while let Some(function) = next {
        placed[function] = true;
        order.push(function);
        let mut near = Vec::new();
        for other in runs[function].iter().filter_map(|run| users.get(run)).flatten().copied() {
            if !placed[other] {
                near.push(other);
                shared[other] += 1;
            }
        }
        score.iter_mut().for_each(|score| *score *= 0.6);
        for other in &near {
            let both = std::mem::take(&mut shared[*other]);
            if both > 0 {
                score[*other] += both as f64 / (runs[function].len() + runs[*other].len() - both) as f64;
            }
        }
        let best = near.into_iter().max_by(|one, other| score[*one].total_cmp(&score[*other]).then(other.cmp(one)));
        next = best.or_else(|| rest.find(|function| !placed[*function]));
    }
    order
}

struct Order {
    /// The functions that are not imported, in their new order.
    order: Vec<usize>,
    /// The new index of each function, including imported ones.
    index: Vec<u32>,
}

impl Reencode for Order {
    type Error = Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32, Error<Infallible>> {
        Ok(self.index[function as usize])
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: FunctionSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        let types = section.into_iter().collect::<Result<Vec<u32>, _>>()?;
        for function in self.order.clone() {
            functions.function(self.type_index(types[function])?);
        }
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: CodeSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        let bodies = section.into_iter().collect::<Result<Vec<_>, _>>()?;
        for function in self.order.clone() {
            self.parse_function_body(code, bodies[function].clone())?;
        }
        Ok(())
    }
}
