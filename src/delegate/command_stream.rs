//! The command stream of an Ethos-U: writes to registers, and operations that use their content.
//!
//! The commands and registers are those of `ethosu55_interface.h` of Arm's driver, also published with Vela as `ethos_u55_regs.py`. The words
//! before the stream follow Vela's `driver_actions.py`.
//!
//! | word | content |
//! |---|---|
//! | first | `COP1` |
//! | action, by its lowest byte: 1 | the configuration: one word with it, and one with the version follow |
//! | 2 | the stream: as many words as bits 16..32 state, with bits 8..16 above them |
//! | 3, 4, 5 | a read of registers, a dump, padding: nothing follows |
//!
//! In the stream, bits 0..10 are the code of a command. A command with bit 14 has a second word.

use crate::error::{Error, ErrorKind, Result};
use alloc::{format, string::String, vec::Vec};

/// The accelerators whose registers are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Product {
    U55,
    U65,
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperationKind {
    Convolution,
    Depthwise,
    /// With the mode of pooling.
    Pool(u16),
    /// With the mode.
    Elementwise(u16),
    Dma,
}

/// The actions of the driver before the stream.
const CONFIGURATION: u32 = 1;
const STREAM: u32 = 2;
const WITHOUT_MORE: [u32; 3] = [3, 4, 5];

/// The code of the command that ends a stream.
const STOP: usize = 0;

/// Calls `found` with each operation of a stream and the registers at its time, in time proportional to the stream. Returns the accelerator, or
/// `None` if it has other registers.
///
/// Fails with [`ErrorKind::Header`] if a word is unknown to the driver, with [`ErrorKind::Truncated`] if the stream ends inside a command, and as
/// `found` does. Offsets count from the start of the data.
pub(super) fn read(
    data: &[u8],
    found: &mut dyn FnMut(OperationKind, &Registers) -> Result<()>,
) -> Result<Option<Product>> {
    let bad = |at: usize, found: String| {
        Error::at(at.saturating_mul(4), ErrorKind::Header(format!("a command stream: {found}").into()))
    };
    match data.get(..4) {
        Some(b"COP1") => {}
        // That of an Ethos-U85.
        Some(b"COP2") => return Ok(None),
        start => {
            let start = start.unwrap_or(data).escape_ascii();
            return Err(bad(0, format!("its first bytes are '{start}', expected 'COP1' or 'COP2'")));
        }
    }
    let words = data.chunks_exact(4).map(|word| word.first_chunk().map_or(0, |word| u32::from_le_bytes(*word)));
    let all: Vec<u32> = words.collect();
    let (mut at, mut product) = (1usize, Product::U55);
    while let Some(word) = all.get(at).copied() {
        match word & 0xff {
            CONFIGURATION => {
                // The number of the product is in the highest bits of the first word.
                product = match all.get(at.saturating_add(1)).map(|config| config >> 28) {
                    Some(0) => Product::U55,
                    Some(1) => Product::U65,
                    Some(_) => return Ok(None),
                    None => return Err(truncated(at.saturating_add(3), data)),
                };
                at = at.saturating_add(3);
            }
            STREAM => {
                let count = (word >> 16) as usize | ((word >> 8 & 0xff) as usize) << 16;
                let start = at.saturating_add(1);
                let end = start.saturating_add(count);
                let stream = all.get(start..end).ok_or_else(|| truncated(end, data))?;
                commands(stream, found, &|word| truncated(start.saturating_add(word), data))?;
                return Ok(Some(product));
            }
            action if WITHOUT_MORE.contains(&action) => at = at.saturating_add(1),
            action => return Err(bad(at, format!("the driver has no action {action}, expected one from 1 to 5"))),
        }
    }
    Err(bad(at, "its words end before the commands".into()))
}

/// Returns the error for data that ends before a word.
fn truncated(word: usize, data: &[u8]) -> Error {
    let (end, available) = (word as u64 * 4, data.len() as u64);
    Error::at(data.len(), ErrorKind::Truncated { what: "a command stream", end, available })
}

/// Runs the commands of a stream. `missing` makes the error for a stream that ends before a word, by its index.
fn commands(
    stream: &[u32],
    found: &mut dyn FnMut(OperationKind, &Registers) -> Result<()>,
    missing: &dyn Fn(usize) -> Error,
) -> Result<()> {
    const HAS_DATA: u32 = 1 << 14;
    let mut registers = Registers::default();
    let mut words = stream.iter().copied();
    while let Some(word) = words.next() {
        let (code, parameter) = (word as usize & 0x3ff, (word >> 16) as u16);
        if word & HAS_DATA != 0 {
            let data = words.next().ok_or_else(|| missing(stream.len().saturating_add(1)))?;
            if let Some(register) = registers.long.get_mut(code) {
                // Addresses of an Ethos-U65 have more than 32 bits.
                *register = u64::from(parameter) << 32 | u64::from(data);
            }
            continue;
        }
        let kind = match code {
            STOP => break,
            2 => OperationKind::Convolution,
            3 => OperationKind::Depthwise,
            5 => OperationKind::Pool(parameter),
            6 => OperationKind::Elementwise(parameter),
            0x10 => OperationKind::Dma,
            _ => {
                // The codes below are interrupts, waits and masks of counters, which compute nothing.
                let register = code.checked_sub(FIRST_SHORT).and_then(|index| registers.short.get_mut(index));
                if let Some(register) = register {
                    *register = parameter;
                }
                continue;
            }
        };
        found(kind, &registers)?;
    }
    Ok(())
}

/// The code of the first register of 16 bits.
const FIRST_SHORT: usize = 0x100;

/// The content of all registers, by the codes of the commands that set them.
pub(super) struct Registers {
    short: [u16; 0x90],
    long: [u64; 0x94],
}

impl Default for Registers {
    fn default() -> Self {
        Self { short: [0; 0x90], long: [0; 0x94] }
    }
}

impl Registers {
    /// Returns the content of a register of 16 bits, by its command, such as 0x105 for `NPU_SET_IFM_PRECISION`.
    pub(super) fn short(&self, code: usize) -> u16 {
        code.checked_sub(FIRST_SHORT).and_then(|index| self.short.get(index)).copied().unwrap_or_default()
    }

    /// Returns the content of an address, stride or length, by its command, such as 0x000 for `NPU_SET_IFM_BASE0`.
    pub(super) fn long(&self, code: usize) -> u64 {
        self.long.get(code).copied().unwrap_or_default()
    }

    /// Returns a size, which a register of 16 bits has less one.
    pub(super) fn size(&self, code: usize) -> u64 {
        u64::from(self.short(code)).saturating_add(1)
    }
}
