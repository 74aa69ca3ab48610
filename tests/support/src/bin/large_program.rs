//! Writes the programs that `benches/run commands` reads: `large_program FOLDER`.

use executorch_format_support::networks;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: large_program FOLDER")?);
    std::fs::write(folder.join("llama48_narrow.pte"), networks::llama48_narrow())?;
    // 1 GiB.
    networks::large(1 << 28).image()?.save(folder.join("large.pte"))?;
    Ok(())
}
