//! The command stream of an Ethos-U: writes to registers, and operations that use their content.
//!
//! The commands and registers are those of `ethosu55_interface.h`, `ethosu65_interface.h` and `ethosu85_interface.h` of Arm's driver. The words
//! before the stream follow Vela's `custom_operator_ethosu.hpp`, which writes either of two formats for any accelerator.
//!
//! | word | content |
//! |---|---|
//! | first | `COP1` |
//! | action, by its lowest byte: 1 | the configuration: one word with it, and one with the version follow |
//! | 2 | the stream: as many words as bits 16..32 state, with bits 8..16 above them |
//! | 3, 4, 5 | a read of registers, a dump, padding: nothing follows |
//!
//! | word | content |
//! |---|---|
//! | 0 | `COP2` |
//! | 4, 5 | the kind of an entry, which is 1 for a stream, and the bytes that follow |
//! | 6 | the bytes of metadata that follow; the stream is after them |
//! | 10 | the configuration |
//!
//! In the stream, bits 0..10 are the code of a command. A command with bit 14 has a second word.

use crate::error::{Error, ErrorKind, Result};
use alloc::{format, string::String, vec::Vec};

/// The accelerators whose registers are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Product {
    U55,
    U65,
    U85,
}

impl Product {
    /// Returns the accelerator that a configuration is for, or `None` if its registers are not known.
    fn of(configuration: u32) -> Option<Self> {
        // The highest bits are the product, bits 4..8 the version of the commands.
        match (configuration >> 28, configuration >> 4 & 0xf) {
            (0, 0) => Some(Self::U55),
            (1, 0) => Some(Self::U65),
            (2, 1) => Some(Self::U85),
            _ => None,
        }
    }
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperationKind {
    /// With `true` if the weights are the second input.
    Convolution(bool),
    Depthwise,
    /// With the mode of pooling.
    Pool(u16),
    /// With the mode.
    Elementwise(u16),
    /// With the mode.
    Resize(u16),
    Dma,
    /// A jump, with the condition and the target, in bytes from the start of the stream.
    Branch(u16, u32),
}

/// The actions of the driver before the stream.
const CONFIGURATION: u32 = 1;
const STREAM: u32 = 2;
const WITHOUT_MORE: [u32; 3] = [3, 4, 5];

/// The kind of an entry that is a stream.
const STREAM_ENTRY: u32 = 1;

/// The code of the command that ends a stream.
const STOP: usize = 0;

/// The commands of a payload.
struct Stream<'w> {
    product: Product,
    words: &'w [u32],
    /// The index of the first word in the payload.
    start: usize,
}

/// Calls `found` with each operation of a stream and the registers at its time, in time proportional to the stream. Returns the accelerator, or
/// `None` if it has other registers.
///
/// Fails with [`ErrorKind::Header`] if a word is unknown to the driver, with [`ErrorKind::Truncated`] if the stream ends inside a command, and as
/// `found` does. Offsets count from the start of the data.
pub(super) fn read(
    data: &[u8],
    found: &mut dyn FnMut(OperationKind, &Registers) -> Result<()>,
) -> Result<Option<Product>> {
    let words = data.chunks_exact(4).map(|word| word.first_chunk().map_or(0, |word| u32::from_le_bytes(*word)));
    let all: Vec<u32> = words.collect();
    let stream = match data.get(..4) {
        Some(b"COP1") => after_actions(&all, data)?,
        Some(b"COP2") => in_entry(&all, data)?,
        start => {
            let start = start.unwrap_or(data).escape_ascii();
            return Err(bad(0, format!("its first bytes are '{start}', expected 'COP1' or 'COP2'")));
        }
    };
    let Some(Stream { product, words, start }) = stream else { return Ok(None) };
    commands(words, product, found, &|word| truncated(start.saturating_add(word), data))?;
    Ok(Some(product))
}

/// Returns the stream of a payload in the first format.
fn after_actions<'w>(all: &'w [u32], data: &[u8]) -> Result<Option<Stream<'w>>> {
    let (mut at, mut product) = (1usize, Product::U55);
    while let Some(word) = all.get(at).copied() {
        match word & 0xff {
            CONFIGURATION => {
                let configuration = all.get(at.saturating_add(1));
                let configuration = configuration.ok_or_else(|| truncated(at.saturating_add(3), data))?;
                let Some(known) = Product::of(*configuration) else { return Ok(None) };
                product = known;
                at = at.saturating_add(3);
            }
            STREAM => {
                let count = (word >> 16) as usize | ((word >> 8 & 0xff) as usize) << 16;
                let start = at.saturating_add(1);
                let end = start.saturating_add(count);
                let words = all.get(start..end).ok_or_else(|| truncated(end, data))?;
                return Ok(Some(Stream { product, words, start }));
            }
            action if WITHOUT_MORE.contains(&action) => at = at.saturating_add(1),
            action => return Err(bad(at, format!("the driver has no action {action}, expected one from 1 to 5"))),
        }
    }
    Err(bad(at, "its words end before the commands".into()))
}

/// Returns the stream of a payload in the second format.
fn in_entry<'w>(all: &'w [u32], data: &[u8]) -> Result<Option<Stream<'w>>> {
    let [_, _, _, _, kind, size, metadata, _, _, _, configuration, ..] = *all else {
        return Err(truncated(11, data));
    };
    if kind != STREAM_ENTRY {
        return Err(bad(4, format!("its first entry is of kind {kind}, expected {STREAM_ENTRY}, commands")));
    }
    let Some(product) = Product::of(configuration) else { return Ok(None) };
    let words = |bytes: u32| (bytes / 4) as usize;
    let start = words(metadata).saturating_add(7);
    let end = words(size).saturating_add(6);
    let words = all.get(..end).ok_or_else(|| truncated(end, data))?;
    let words = words.get(start..).ok_or_else(|| truncated(start, data))?;
    Ok(Some(Stream { product, words, start }))
}

/// Returns the error for a word that the driver does not know.
fn bad(word: usize, found: String) -> Error {
    Error::at(word.saturating_mul(4), ErrorKind::Header(format!("a command stream: {found}").into()))
}

/// Returns the error for data that ends before a word.
fn truncated(word: usize, data: &[u8]) -> Error {
    let (end, available) = (word as u64 * 4, data.len() as u64);
    Error::at(data.len(), ErrorKind::Truncated { what: "a command stream", end, available })
}

/// Runs the commands of a stream. `missing` makes the error for a stream that ends before a word, by its index.
fn commands(
    stream: &[u32],
    product: Product,
    found: &mut dyn FnMut(OperationKind, &Registers) -> Result<()>,
    missing: &dyn Fn(usize) -> Error,
) -> Result<()> {
    const HAS_DATA: u32 = 1 << 14;
    let mut registers = Registers { product, short: [0; 0x90], long: [0; 0x98] };
    let mut words = stream.iter().copied();
    while let Some(word) = words.next() {
        let (code, parameter) = (word as usize & 0x3ff, (word >> 16) as u16);
        if word & HAS_DATA != 0 {
            let data = words.next().ok_or_else(|| missing(stream.len().saturating_add(1)))?;
            if code == BRANCH {
                found(OperationKind::Branch(parameter, data), &registers)?;
            } else if let Some(register) = registers.long.get_mut(code) {
                // Addresses have more than 32 bits, but for those of an Ethos-U55.
                *register = u64::from(parameter) << 32 | u64::from(data);
            }
            continue;
        }
        let kind = match code {
            STOP => break,
            2 => OperationKind::Convolution(parameter & 1 == 1),
            3 => OperationKind::Depthwise,
            5 => OperationKind::Pool(parameter),
            6 => OperationKind::Elementwise(parameter),
            7 => OperationKind::Resize(parameter),
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

/// The code of a jump, which has a second word.
const BRANCH: usize = 0x100;

/// The content of all registers, by the codes of the commands that set them.
pub(super) struct Registers {
    pub(super) product: Product,
    short: [u16; 0x90],
    long: [u64; 0x98],
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
