//! Tests a reader of one's own: it takes good files, and no damage of them makes it panic. `read` stands for that reader.
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
        // A file is made from bytes: the same ones make the same file.
        let choices = [seed; 64];
        let pte = valid_program(&mut Choices::new(&choices))?;
        let file = pte.image()?.to_vec()?;
        read(&file)?;
        let mut try_it = |file: &[u8]| if read(file).is_ok() { taken += 1 } else { refused += 1 };
        // Fields with values that are wrong, in a file that is whole.
        for damage in Damage::all(&pte.program) {
            let mut damaged = pte.clone();
            if damage.apply(&mut damaged.program) {
                // A segment that is said to be far away would make a large file.
                match damaged.image_as_is() {
                    Ok(image) if image.size() < 1 << 20 => try_it(&image.to_vec()?),
                    _ => (),
                }
            }
        }
        // Words of the file, which can be offsets and lengths.
        for at in (0..file.len().saturating_sub(4)).step_by(4) {
            let mut damaged = file.clone();
            damaged.iter_mut().skip(at).take(4).for_each(|byte| *byte = 0xff);
            try_it(&damaged);
        }
    }
    println!("of {} damaged files {refused} were refused, and none ended the program", refused + taken);
    Ok(())
}
