//! Replaces a constant of a program, without other changes to the file: every element is multiplied by a factor.
//!
//! cargo run --example swap_weight -- model.pte forward 1 0.5 other.pte

use executorch_format::edit::{NewData, Selector};
use executorch_format::{NewEntry, Pte};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, method, value, factor, output] = &arguments[..] else {
        return Err("usage: swap_weight FILE.pte METHOD VALUE FACTOR OUTPUT.pte".into());
    };
    let (value, factor): (usize, f32) = (value.parse()?, factor.parse()?);
    let bytes = std::fs::read(path)?;
    let mut pte = Pte::parse(&bytes)?;
    let plan = pte.method(method).ok_or("no such method")?;
    let (_, tensor) = plan.tensors().find(|(index, _)| *index == value).ok_or("no such tensor")?;
    let view = pte.tensor_view(tensor)?.ok_or("the tensor has no data in the file")?;
    let numbers: Vec<f32> = view.to_vec::<f32>()?.iter().map(|number| number * factor).collect();

    let sizes = view.shape().sizes.to_vec();
    // Without `with_permute`, data in a dim order other than the tensor's is refused.
    let new = NewData::from(NewEntry::from_slice("the product", sizes, &numbers)).with_permute();
    let report = pte.replace(&Selector::Value { method, value }, &new)?;
    for change in &report.changes {
        println!("{change:?}");
    }
    pte.image()?.save(output)?;
    Ok(())
}
