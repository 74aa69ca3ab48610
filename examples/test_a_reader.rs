//! Tests your own reader: it must accept valid files, and must not panic on damaged files. `read` stands for your reader.
//!
//! cargo run --example test_a_reader --features testing

use executorch_format::Pte;
use executorch_format::testing::{Choices, Damage, valid_program};

fn read(file: &[u8]) -> Result<usize, String> {
    Pte::parse(file).map(|pte| pte.methods().len()).map_err(|error| error.to_string())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut refused, mut taken) = (0, 0);
    for seed in 0u8..8 {
        // The bytes determine the file: the same bytes give the same file.
        let choices = [seed; 64];
        let pte = valid_program(&mut Choices::new(&choices))?;
        let file = pte.image()?.to_vec()?;
        read(&file)?;
        let mut try_it = |file: &[u8]| if read(file).is_ok() { taken += 1 } else { refused += 1 };
        // Intact files with wrong values in their fields.
        for damage in Damage::all(&pte.program) {
            let mut damaged = pte.clone();
            if damage.apply(&mut damaged.program) {
                // A segment with a large offset would make a large file.
                match damaged.image_as_is() {
                    Ok(image) if image.size() < 1 << 20 => try_it(&image.to_vec()?),
                    _ => (),
                }
            }
        }
        // Damaged words, which may be offsets and lengths.
        for at in (0..file.len().saturating_sub(4)).step_by(4) {
            let mut damaged = file.clone();
            damaged.iter_mut().skip(at).take(4).for_each(|byte| *byte = 0xff);
            try_it(&damaged);
        }
    }
    println!("{} damaged files: {refused} refused, {taken} accepted, no panic", refused + taken);
    Ok(())
}
