//! Puts functions that begin alike side by side: what compresses the module finds there what they have in common.

use std::convert::Infallible;
use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{CodeSection, FunctionSection, Module};
use wasmparser::{CodeSectionReader, FunctionSectionReader, Parser, Payload, TypeRef};

/// The module with its functions in another order.
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
    let mut order: Vec<usize> = (0..bodies.len()).collect();
    order.sort_by_key(|function| bodies[*function]);
    let mut index: Vec<u32> = (0..(imported + order.len()) as u32).collect();
    for (at, function) in order.iter().enumerate() {
        index[imported + function] = (imported + at) as u32;
    }
    let mut ordered = Module::new();
    Order { order, index }.parse_core_module(&mut ordered, Parser::new(0), module)?;
    Ok(ordered.finish())
}

struct Order {
    /// The functions that are not imported, in their new order.
    order: Vec<usize>,
    /// The new index of each function, imported ones among them.
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
