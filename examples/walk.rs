//! Visits every field of a file of any kind, independently of its schema: counts its tables, texts and numbers, and prints its texts.
//!
//! cargo run --example walk -- model.pte

use executorch_format::Escaped;
use executorch_format::schema::any::{Value, visit};
use executorch_format::{Model, Path};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: walk FILE")?;
    let bytes = std::fs::read(&path)?;
    let model = Model::parse(&bytes)?;
    let (mut tables, mut texts, mut others) = (0, 0, 0);
    visit(model.root(), &Path::ROOT, &mut |path, value| match value {
        Value::Table(_) => tables += 1,
        Value::Tables(list) => tables += list.len(),
        Value::Text(text) => {
            texts += 1;
            println!("{}: {}", path.to_field_path(), Escaped(text.as_str()));
        }
        _ => others += 1,
    });
    println!("{tables} tables, {texts} texts, {others} other fields");
    Ok(())
}
