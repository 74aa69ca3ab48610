//! Other formats that data may begin with: programs, archives, scripts and pickles.
//!
//! Weights can be any bytes, so known first bytes are not enough: each format is confirmed by more of its structure.
//! Each function states the probability that random bytes pass.

use alloc::vec::Vec;

/// A format that a reader may run or unpack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Pickle,
    Elf,
    MachO,
    Pe,
    Zip,
    Gzip,
    Script,
}

impl Format {
    /// Returns the description of the format in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pickle => "a Python pickle that imports and calls what it names",
            Self::Elf => "an ELF file: a program or a library",
            Self::MachO => "a Mach-O file: a program or a library",
            Self::Pe => "a PE file: a program or a library for Windows",
            Self::Zip => "a ZIP archive",
            Self::Gzip => "a file compressed with gzip",
            Self::Script => "a script with the path of its interpreter",
        }
    }

    /// Returns `true` if the format is machine code.
    pub(super) fn is_machine_code(self) -> bool {
        matches!(self, Self::Elf | Self::MachO | Self::Pe)
    }

    /// Detects the format that `bytes` begin with. Reads at most a few KiB, except for a pickle, of which it reads up to `budget`
    /// opcodes; `budget` is reduced by their number.
    pub(super) fn of(bytes: &[u8], budget: &mut u64) -> Option<Self> {
        Some(match bytes {
            [0x7f, b'E', b'L', b'F', ..] if is_elf(bytes) => Self::Elf,
            [0xfe | 0xce | 0xcf | 0xca, ..] if is_mach_o(bytes) => Self::MachO,
            [b'M', b'Z', ..] if is_pe(bytes) => Self::Pe,
            [b'P', b'K', 3, 4, ..] if is_zip(bytes) => Self::Zip,
            [0x1f, 0x8b, 8, ..] if is_gzip(bytes) => Self::Gzip,
            [b'#', b'!', ..] if is_script(bytes) => Self::Script,
            _ if is_pickle(bytes, budget) => Self::Pickle,
            _ => return None,
        })
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

/// Checks class, byte order and a type from 1 to 4: 2^-60.
fn is_elf(bytes: &[u8]) -> bool {
    let kind = match bytes.get(4..6) {
        Some([1 | 2, 1]) => u16_at(bytes, 16),
        Some([1 | 2, 2]) => array(bytes, 16).map(u16::from_be_bytes),
        _ => None,
    };
    kind.is_some_and(|kind| (1..=4).contains(&kind))
}

/// Checks for a file type from 1 to 16 and at most 65,536 commands or, in a fat file, at most 32 architectures (class files of
/// Java start with the same bytes and have 45 or more there): 2^-56.
fn is_mach_o(bytes: &[u8]) -> bool {
    let Some(magic) = array::<4>(bytes, 0) else { return false };
    let number = |at: usize, little: bool| {
        array(bytes, at).map_or(u32::MAX, if little { u32::from_le_bytes } else { u32::from_be_bytes })
    };
    match magic {
        [0xca, 0xfe, 0xba, 0xbe | 0xbf] => (1..=32).contains(&number(4, false)),
        [0xfe, 0xed, 0xfa, 0xce | 0xcf] => (1..=16).contains(&number(12, false)) && number(16, false) <= 1 << 16,
        [0xce | 0xcf, 0xfa, 0xed, 0xfe] => (1..=16).contains(&number(12, true)) && number(16, true) <= 1 << 16,
        _ => false,
    }
}

/// Checks for the signature of the PE header at the offset that the DOS header gives: 2^-48 at most, and less in a blob below 4
/// GiB.
fn is_pe(bytes: &[u8]) -> bool {
    let start = u32_at(bytes, 60).and_then(|start| usize::try_from(start).ok());
    start.and_then(|start| bytes.get(start..)).is_some_and(|header| header.starts_with(b"PE\0\0"))
}

/// Checks for a known compression method, a version up to 100 and a complete name: 2^-52.
fn is_zip(bytes: &[u8]) -> bool {
    let (version, method, name) = (u16_at(bytes, 4), u16_at(bytes, 8), u16_at(bytes, 26));
    let known = matches!(method, Some(0..=6 | 8..=10 | 12 | 14 | 16 | 18..=20 | 93..=99));
    let name = name.is_some_and(|size| size > 0 && bytes.len() >= 30 + usize::from(size));
    known && name && version.is_some_and(|version| version & 0xff <= 100)
}

/// Checks for defined flags, extra flags and system, and a defined kind of block: 2^-38.
fn is_gzip(bytes: &[u8]) -> bool {
    /// The longest accepted name or comment.
    const LONGEST: usize = 1 << 10;
    let [_, _, _, flags, _, _, _, _, 0 | 2 | 4, 0..=13 | 255, ref rest @ ..] = *bytes else { return false };
    let mut rest = rest;
    if flags & 4 != 0 {
        let size = u16_at(rest, 0).map_or(usize::MAX, usize::from);
        rest = rest.get(2..).and_then(|rest| rest.get(size..)).unwrap_or_default();
    }
    for _ in 0..(flags >> 3 & 1) + (flags >> 4 & 1) {
        let end = rest.iter().take(LONGEST).position(|byte| *byte == 0);
        rest = end.and_then(|end| rest.get(end + 1..)).unwrap_or_default();
    }
    if flags & 2 != 0 {
        rest = rest.get(2..).unwrap_or_default();
    }
    flags & 0xe0 == 0 && rest.first().is_some_and(|block| block >> 1 & 3 != 3)
}

/// Checks for a first line of at most 127 printable characters with an absolute path, with or without arguments: 2^-33.
fn is_script(bytes: &[u8]) -> bool {
    let line = bytes.get(2..).unwrap_or_default();
    let end = line.iter().take(127).position(|byte| *byte == b'\n');
    let line = end.and_then(|end| line.get(..end)).unwrap_or_default();
    let path = line.trim_ascii();
    path.len() > 2 && path.first() == Some(&b'/') && line.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\r'))
}

/// The start of PyTorch's old checkpoints: a pickle of this number. The pickle after it contains the imports.
const OLD_CHECKPOINT: &[u8] = b"\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";

/// An item on the stack of a pickle, as far as it matters here.
#[derive(Clone, Copy, PartialEq)]
enum Item {
    Mark,
    /// A text that can name a module or one of its items.
    Name,
    Other,
}

/// Returns `true` if the opcodes from the first byte import something by name and then call it, or end there, without unknown
/// opcodes and without taking more than the stack contains. Opcodes after the first call are not read: at that point the
/// pickle has run code. 2^-33.
fn is_pickle(bytes: &[u8], budget: &mut u64) -> bool {
    let old_checkpoint = bytes.strip_prefix(&[0x80, 2]).is_some_and(|rest| rest.starts_with(OLD_CHECKPOINT));
    old_checkpoint || walk(bytes, budget).unwrap_or(false)
}

fn walk(bytes: &[u8], budget: &mut u64) -> Option<bool> {
    let mut rest = bytes;
    let mut stack: Vec<Item> = Vec::new();
    // `imported` is `true` after an import, `put` after storing an item in the memo.
    let (mut imported, mut put) = (false, false);
    loop {
        *budget = budget.checked_sub(1)?;
        let (opcode, after) = rest.split_first()?;
        rest = after;
        match *opcode {
            // PROTO, FRAME.
            0x80 => drop(take(&mut rest, 1).filter(|version| version.first().is_some_and(|one| *one <= 5))?),
            0x95 => drop(take(&mut rest, 8)?),
            // STOP.
            b'.' => return Some(imported && stack.len() == 1),
            // REDUCE, BUILD, NEWOBJ; NEWOBJ_EX; OBJ.
            b'R' | b'b' | 0x81 => return Some(imported && stack.len() >= 2),
            0x92 => return Some(imported && stack.len() >= 3),
            b'o' => return Some(imported && stack.contains(&Item::Mark)),
            // GLOBAL, INST: a module and a name, one per line.
            b'c' | b'i' => {
                let names = name(line(&mut rest)?) && name(line(&mut rest)?);
                if *opcode == b'i' {
                    return Some(names && stack.contains(&Item::Mark));
                }
                imported |= names.then_some(true)?;
                stack.push(Item::Other);
            }
            // STACK_GLOBAL.
            0x93 => {
                let (name, module) = (stack.pop()?, stack.pop()?);
                imported |= (name == Item::Name && module == Item::Name).then_some(true)?;
                stack.push(Item::Other);
            }
            // Texts: SHORT_BINUNICODE, BINUNICODE, BINUNICODE8; SHORT_BINSTRING, BINSTRING; UNICODE, STRING.
            0x8c | b'U' => text(&mut rest, 1, &mut stack)?,
            b'X' | b'T' => text(&mut rest, 4, &mut stack)?,
            0x8d => text(&mut rest, 8, &mut stack)?,
            b'V' | b'S' => {
                let found = line(&mut rest)?;
                stack.push(if name(found) { Item::Name } else { Item::Other });
            }
            // Numbers and bytes: BININT1, BININT2, BININT, BINFLOAT, LONG1, LONG4, SHORT_BINBYTES, BINBYTES, BINBYTES8, BYTEARRAY8.
            b'K' => fixed(&mut rest, 1, &mut stack)?,
            b'M' => fixed(&mut rest, 2, &mut stack)?,
            b'J' => fixed(&mut rest, 4, &mut stack)?,
            b'G' => fixed(&mut rest, 8, &mut stack)?,
            0x8a | b'C' => counted(&mut rest, 1, &mut stack)?,
            0x8b | b'B' => counted(&mut rest, 4, &mut stack)?,
            0x8e | 0x96 => counted(&mut rest, 8, &mut stack)?,
            b'I' | b'L' | b'F' | b'P' => {
                let digits = line(&mut rest)?;
                let number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'L');
                (*opcode == b'P' || !digits.is_empty() && digits.iter().all(number)).then_some(())?;
                stack.push(Item::Other);
            }
            // NONE, NEWTRUE, NEWFALSE, EMPTY_TUPLE, EMPTY_LIST, EMPTY_DICT, EMPTY_SET.
            b'N' | 0x88 | 0x89 | b')' | b']' | b'}' | 0x8f => stack.push(Item::Other),
            b'(' => stack.push(Item::Mark),
            // POP, POP_MARK, DUP.
            b'0' => drop(stack.pop()?),
            b'1' => to_mark(&mut stack)?,
            b'2' => stack.push(*stack.last()?),
            // TUPLE1, TUPLE2, TUPLE3; TUPLE, LIST, DICT, FROZENSET.
            0x85..=0x87 => {
                (0..=*opcode - 0x85).try_for_each(|_| stack.pop().map(drop))?;
                stack.push(Item::Other);
            }
            b't' | b'l' | b'd' | 0x91 => {
                to_mark(&mut stack)?;
                stack.push(Item::Other);
            }
            // APPEND, SETITEM; APPENDS, SETITEMS, ADDITEMS.
            b'a' => drop(stack.pop().filter(|_| !stack.is_empty())?),
            b's' => {
                stack.pop()?;
                stack.pop()?;
                stack.last()?;
            }
            b'e' | b'u' | 0x90 => to_mark(&mut stack).filter(|()| !stack.is_empty())?,
            // PUT, BINPUT, LONG_BINPUT, MEMOIZE: the stack does not change.
            b'p' | b'q' | b'r' | 0x94 => {
                memo(*opcode, &mut rest)?;
                stack.last()?;
                put = true;
            }
            // GET, BINGET, LONG_BINGET: the stored item may be a name.
            b'g' | b'h' | b'j' => {
                memo(*opcode, &mut rest).filter(|()| put)?;
                stack.push(Item::Name);
            }
            // BINPERSID.
            b'Q' => {
                stack.pop()?;
                stack.push(Item::Other);
            }
            _ => return None,
        }
    }
}

fn take<'t>(rest: &mut &'t [u8], count: usize) -> Option<&'t [u8]> {
    let (taken, after) = rest.split_at_checked(count)?;
    *rest = after;
    Some(taken)
}

/// Returns the bytes of a line, without its end.
fn line<'t>(rest: &mut &'t [u8]) -> Option<&'t [u8]> {
    const LONGEST: usize = 1 << 10;
    let end = rest.iter().take(LONGEST).position(|byte| *byte == b'\n')?;
    let found = take(rest, end)?;
    take(rest, 1)?;
    Some(found)
}

fn name(text: &[u8]) -> bool {
    (1..256).contains(&text.len())
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'))
}

/// Skips the index into the memo.
fn memo(opcode: u8, rest: &mut &[u8]) -> Option<()> {
    match opcode {
        b'p' | b'g' => line(rest).filter(|digits| digits.iter().all(u8::is_ascii_digit)).map(drop),
        b'q' | b'h' => take(rest, 1).map(drop),
        b'r' | b'j' => take(rest, 4).map(drop),
        _ => Some(()),
    }
}

fn fixed(rest: &mut &[u8], size: usize, stack: &mut Vec<Item>) -> Option<()> {
    take(rest, size)?;
    stack.push(Item::Other);
    Some(())
}

/// Returns the bytes that follow a length of `width` bytes.
fn sized<'t>(rest: &mut &'t [u8], width: usize) -> Option<&'t [u8]> {
    let count = take(rest, width)?
        .iter()
        .rev()
        .try_fold(0usize, |count, byte| count.checked_mul(256).map(|count| count | usize::from(*byte)))?;
    take(rest, count)
}

fn counted(rest: &mut &[u8], width: usize, stack: &mut Vec<Item>) -> Option<()> {
    sized(rest, width)?;
    stack.push(Item::Other);
    Some(())
}

fn text(rest: &mut &[u8], width: usize, stack: &mut Vec<Item>) -> Option<()> {
    let found = sized(rest, width)?;
    stack.push(if name(found) { Item::Name } else { Item::Other });
    Some(())
}

fn to_mark(stack: &mut Vec<Item>) -> Option<()> {
    let mark = stack.iter().rposition(|item| *item == Item::Mark)?;
    stack.truncate(mark);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn of(bytes: &[u8]) -> Option<Format> {
        let mut budget = u64::MAX;
        Format::of(bytes, &mut budget)
    }

    #[test]
    fn random_weights_are_not_taken_for_another_format() {
        let mut state = 88_172_645_463_325_252u64;
        let bytes = core::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        });
        let bytes: Vec<u8> = bytes.take(1 << 18).collect();
        assert!((0..bytes.len()).all(|start| bytes.get(start..).and_then(of).is_none()));
    }

    #[test]
    fn first_bytes_alone_are_not_enough() {
        for start in [&b"\x7fELF"[..], b"MZ", b"PK\x03\x04", b"\x1f\x8b\x08", b"#!", b"\x80\x02", b"\xcf\xfa\xed\xfe"] {
            let weights = [start, &[0x3f; 256]].concat();
            assert_eq!(of(&weights), None, "{start:?}");
            assert_eq!(of(start), None, "{start:?}");
        }
        // The header of a file in an archive, with and without a name.
        let zip = |size: u8| [&b"PK\x03\x04\x14\0\0\0\x08\0"[..], &[0; 16], &[size, 0, 0, 0], b"a"].concat();
        assert_eq!((of(&zip(1)), of(&zip(0))), (Some(Format::Zip), None));
        // A class file of Java.
        assert_eq!(of(b"\xca\xfe\xba\xbe\0\0\0\x34\0\x1d"), None);
        assert_eq!(of(b"\xca\xfe\xba\xbe\0\0\0\x02\x01\0\0\x07"), Some(Format::MachO));
    }

    #[test]
    fn only_pickles_that_import_are_detected() {
        let call =
            b"\x80\x04\x95\x1d\0\0\0\0\0\0\0\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x02id\x94\x85\x94R\x94.";
        assert_eq!(of(call), Some(Format::Pickle));
        assert_eq!(of(b"N0cos\nsystem\n(S'id'\ntR."), Some(Format::Pickle));
        assert_eq!(of(b"(S'id'\nios\nsystem\n."), Some(Format::Pickle));
        assert_eq!(of(b"cos\nsystem\n."), Some(Format::Pickle));
        // Names that were stored in the memo before.
        assert_eq!(of(b"X\x02\0\0\0osq\0X\x06\0\0\0systemq\x01h\0h\x01\x93)R."), Some(Format::Pickle));
        // An import that is duplicated on the stack, and one that is removed.
        assert_eq!(of(b"cos\nsystem\n20."), Some(Format::Pickle));
        // Numbers of each width before the import.
        let numbers = b"(K\x01M\x01\0J\x01\0\0\0G\0\0\0\0\0\0\0\0\x8a\x01\x011cos\nsystem\n.";
        assert_eq!(of(numbers), Some(Format::Pickle));
        // A list of numbers, a call without a callee, an import of something that is not a name.
        for harmless in [&b"\x80\x02]q\0(K\x01K\x02e."[..], b"\x80\x02)R.", b"c\xff\nsystem\n.", b"R", b""] {
            assert_eq!(of(harmless), None, "{harmless:?}");
        }
    }

    #[test]
    fn reading_a_long_pickle_stops_at_the_budget() {
        let (marks, mut budget) = (vec![b'('; 1000], 600);
        assert_eq!(Format::of(&marks, &mut budget), None);
        assert_eq!(budget, 0);
    }
}
