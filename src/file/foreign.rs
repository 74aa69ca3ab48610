//! Recognizes other files that people pass to a reader of `.pte` and `.ptd` files, and suggests what to do with them.

use super::header::{PROBE_SIZE, chunk};
use crate::error::{Error, ErrorKind, ForeignFormat};
use alloc::{borrow::Cow, format};

/// A format with fixed bytes at a fixed offset.
struct Format {
    at: usize,
    magic: &'static [u8],
    name: &'static str,
}

const fn format(at: usize, magic: &'static [u8], name: &'static str) -> Format {
    Format { at, magic, name }
}

/// The first bytes of a ZIP file, which may be an ETRecord.
pub(crate) const ZIP: &[u8] = b"PK\x03\x04";

/// The formats, those with a longer magic first.
const FORMATS: &[Format] = &[
    format(0, b"version https://git-lfs", "a Git LFS pointer: run `git lfs pull` to fetch the file itself"),
    format(0, b"\x93NUMPY", "a NumPy array (.npy)"),
    format(0, b"\x89HDF\r\n\x1a\n", "an HDF5 file, such as a Keras model: export it with ExecuTorch"),
    format(0, ZIP, "a zip archive: if a model is in it, unpack it first"),
    format(0, b"GGUF", "a GGUF file, which llama.cpp runs"),
    format(0, b"\x7fELF", "an ELF file: a program or a library"),
    format(0, b"\x28\xb5\x2f\xfd", "a file compressed with zstd: decompress it first"),
    format(0, b"\xfd7zXZ\0", "a file compressed with xz: decompress it first"),
    format(0, b"BZh", "a file compressed with bzip2: decompress it first"),
    format(0, b"\x1f\x8b\x08", "a file compressed with gzip: decompress it first"),
    format(4, b"21TE", "a program with the bytes of each 32-bit word reversed"),
    format(4, b"TE21", "a program with the bytes of each 16-bit word reversed"),
    format(4, b"TFL3", "a TensorFlow Lite model (.tflite)"),
    format(4, b"NPTG", "a program of ExecuTorch's native backend (program.ptg of a .ptn package)"),
    format(4, b"VH00", "a Vulkan payload, extracted from a .pte"),
];

/// Creates the error for bytes that are not a file of the `expected` kind.
#[cold]
pub(super) fn error(bytes: &[u8], expected: &'static str) -> Error {
    // Looks only at the first `PROBE_SIZE` bytes.
    match name(bytes.get(..PROBE_SIZE).unwrap_or(bytes)) {
        Some(found) => {
            let format = if is_checkpoint(bytes) { ForeignFormat::PyTorchCheckpoint } else { ForeignFormat::default() };
            Error::at(bytes.len().min(4), ErrorKind::Foreign { expected, found, format })
        }
        None => {
            let available = bytes.len() as u64;
            Error::at(0, ErrorKind::Truncated { what: "the root offset and identifier", end: 8, available })
        }
    }
}

/// Returns `true` for a file of `torch.save`: a zip archive with its entries, or an old one, a pickle.
fn is_checkpoint(bytes: &[u8]) -> bool {
    zip_entry(bytes).is_some_and(|name| CHECKPOINT_ENTRIES.iter().any(|end| name.ends_with(end))) || is_pickle(bytes)
}

/// The ends of the names of the first entries in archives of `torch.save`.
const CHECKPOINT_ENTRIES: [&[u8]; 3] = [b"/data.pkl", b"/.format_version", b"/version"];

fn is_pickle(bytes: &[u8]) -> bool {
    matches!(bytes, [0x80, 2..=5, ..])
}

/// Names the format of the bytes, if there are enough of them.
fn name(bytes: &[u8]) -> Option<Cow<'static, str>> {
    if bytes.is_empty() {
        return Some("an empty file".into());
    }
    // Without `std`, the identifier is given instead: firmware does not meet other files, and the texts and their search would take 4 kB there.
    if cfg!(feature = "std") {
        if let Some(name) = of_other_program(bytes) {
            return Some(name);
        }
    }
    let identifier = chunk::<4>(bytes, 4)?;
    Some(match identifier {
        [b'E', b'T', ..] => version(&identifier, "ET12"),
        [b'F', b'T', ..] => version(&identifier, "FT01"),
        [b'B', b'P', ..] => version(&identifier, "BP08"),
        [b'E', b'D', b'0', b'0'] => "an ETDump without its size: put that before it, as a little-endian u32".into(),
        _ if is_onnx(bytes) => "probably an ONNX model: export the original model with ExecuTorch".into(),
        _ if is_pickle(bytes) => {
            "a Python pickle, such as an old PyTorch checkpoint: save its weights as safetensors".into()
        }
        _ => format!("unknown identifier '{}'", identifier.escape_ascii()).into(),
    })
}

/// Names a format of other programs by its first bytes.
fn of_other_program(bytes: &[u8]) -> Option<Cow<'static, str>> {
    if let Some(name) = zip_entry(bytes) {
        let (entry, ends) = (name.escape_ascii(), |endings: &[&[u8]]| endings.iter().any(|end| name.ends_with(end)));
        if ends(&[b"program.ptg"]) {
            return Some(format!("a package of ExecuTorch's native backend (.ptn): a zip archive with {entry}").into());
        }
        if ends(&[b".pte", b".ptd", b".bpte"]) {
            return Some(format!("a zip archive with {entry}: unpack it first").into());
        }
        if name.starts_with(b"ETRECORD_") {
            return Some(
                "an ETRecord, which names the parts of a program: ask about the program, with `--names` and this file"
                    .into(),
            );
        }
        if ends(&CHECKPOINT_ENTRIES) {
            let found = "a PyTorch checkpoint (.pt): export it with ExecuTorch, or save its weights as safetensors";
            return Some(found.into());
        }
    }
    let known = |format: &&Format| bytes.get(format.at..).is_some_and(|bytes| bytes.starts_with(format.magic));
    if let Some(format) = FORMATS.iter().find(known) {
        return Some(format.name.into());
    }
    if bytes.get(8) == Some(&b'{') && chunk(bytes, 4) == Some([0; 4]) {
        return Some("a safetensors file: convert it to a .ptd first".into());
    }
    if bytes.len() >= 8 && bytes.iter().all(|byte| *byte == 0) {
        let found = format!("its first {} bytes are zero: its content was never written; fetch it again", bytes.len());
        return Some(found.into());
    }
    text(bytes).map(Cow::Borrowed)
}

/// Returns `true` if a file with these first bytes is of a kind that this crate reads, in any version.
fn is_known(first: &[u8]) -> bool {
    match chunk::<4>(first, 4) {
        Some([b'E' | b'F', b'T', version @ ..] | [b'B', b'P', version @ ..]) => version.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Names the encoding of a text if a file that this crate reads is encoded in it.
fn encoding(text: &[u8]) -> Option<&'static str> {
    let from_digits = |text: &[u8], bits: u32, value: fn(u8) -> Option<u32>| {
        let mut digits = text.iter().filter(|byte| !byte.is_ascii_whitespace()).map(|byte| value(*byte));
        let mut pending = (0, 0);
        core::array::from_fn::<u8, 8, _>(|_| {
            while pending.1 < 8 {
                pending = (pending.0 << bits | digits.next().flatten().unwrap_or_default(), pending.1 + bits);
            }
            pending.1 -= 8;
            (pending.0 >> pending.1) as u8
        })
    };
    if is_known(&from_digits(text, 6, base64_digit)) {
        return Some("base64 of a file of ExecuTorch: decode it first");
    }
    let hex = |byte| char::from(byte).to_digit(16);
    // `xxd` and `hexdump -C` begin each line with an offset.
    let digits = text.strip_prefix(b"00000000: ").or(text.strip_prefix(b"00000000  ")).unwrap_or(text);
    is_known(&from_digits(digits, 4, hex)).then_some("hexadecimal digits of a file of ExecuTorch: decode them first")
}

fn base64_digit(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(value.into())
}

/// Names the kind of a text. It is often a server's answer instead of the file.
fn text(bytes: &[u8]) -> Option<&'static str> {
    let unmarked = bytes.strip_prefix(b"\xef\xbb\xbf");
    if unmarked.is_some_and(is_known) {
        return Some(
            "a byte order mark before a file of ExecuTorch: a transfer as text has damaged it; fetch it again",
        );
    }
    let bytes = unmarked.unwrap_or(bytes).trim_ascii_start();
    let starts = |start: &str| bytes.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start.as_bytes()));
    match bytes {
        _ if starts("<!doctype html") || starts("<html") || starts("<head") => {
            Some("a web page: the download failed, or the address is that of a page about the file")
        }
        _ if starts("<?xml") || starts("<error") => {
            Some("an XML document, such as a storage server's message: the download failed")
        }
        [b'{' | b'[', rest @ ..] if matches!(rest.trim_ascii_start(), [b'"' | b'{' | b'[' | b'}' | b']', ..]) => {
            Some("JSON, such as a server's message: the download failed, or it is another file of the model")
        }
        _ if C_SOURCE.iter().any(|start| bytes.starts_with(start.as_bytes())) => {
            Some("C source, such as a header with a model in it: name the file that it was made from")
        }
        _ => encoding(bytes).or_else(|| is_text(bytes).then_some("a text file")),
    }
}

/// Returns `true` for UTF-8 that was possibly cut, without control characters.
fn is_text(bytes: &[u8]) -> bool {
    utf8(bytes).is_some_and(|text| {
        text.len() >= 8 && text.iter().all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace())
    })
}

/// Returns the whole characters of UTF-8 that was possibly cut; `None` if the bytes are not UTF-8.
pub(super) fn utf8(bytes: &[u8]) -> Option<&[u8]> {
    match core::str::from_utf8(bytes) {
        Ok(_) => Some(bytes),
        Err(error) if error.error_len().is_none() => bytes.get(..error.valid_up_to()),
        Err(_) => None,
    }
}

/// The first words of C source that `xxd -i`, ExecuTorch's `pte_to_header.py` and similar tools write.
const C_SOURCE: &[&str] = &[
    "/*",
    "//",
    "#include",
    "#ifndef",
    "#define",
    "#pragma",
    "const ",
    "static ",
    "unsigned char",
    "alignas(",
    "__attribute__",
];

fn version(identifier: &[u8; 4], known: &str) -> Cow<'static, str> {
    format!("version {} of the format, expected {known}", identifier.escape_ascii()).into()
}

/// Returns the name of a ZIP archive's first entry, if it is within the bytes.
fn zip_entry(bytes: &[u8]) -> Option<&[u8]> {
    if !bytes.starts_with(ZIP) {
        return None;
    }
    let length = chunk(bytes, 26).map(u16::from_le_bytes)?;
    bytes.get(30..30 + usize::from(length))
}

/// Recognizes an ONNX model, although Protocol Buffers have no magic: it starts with field 1, the version of the format, which is a
/// small number, and then another field.
fn is_onnx(bytes: &[u8]) -> bool {
    matches!(bytes, [0x08, 1..=20, 0x12 | 0x1a | 0x22 | 0x3a | 0x42, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], words: &str) {
        let found = name(bytes).unwrap_or_default();
        assert!(found.contains(words), "{found}");
    }

    #[test]
    fn a_file_is_identified_by_its_first_bytes() {
        let first = [[b' '; PROBE_SIZE - 1].as_slice(), b"["].concat();
        let whole = [first.as_slice(), b"{}]"].concat();
        assert_eq!(error(&whole, ""), error(&first, ""));
    }

    #[test]
    fn other_common_files_are_identified() {
        check(b"", "an empty file");
        check(b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a", "git lfs pull");
        check(b"PK\x03\x04\x14\0\0\0\0\0\0\0", "zip archive");
        let zip = |name: &str| [b"PK\x03\x04", &[0; 22][..], &[name.len() as u8, 0, 0, 0], name.as_bytes()].concat();
        check(&zip("model.pte"), "a zip archive with model.pte: unpack it first");
        check(&zip("mv2/data.pkl"), "a PyTorch checkpoint");
        check(&zip("ETRECORD_V0"), "an ETRecord");
        check(&zip("models/"), "if a model is in it");
        check(b"\0\0\0\x3c21TEeh00", "32-bit word reversed");
        check(b"\0\x3c\0\0TE21eh00", "16-bit word reversed");
        check(b"unsigned char model_pte[] = {\n  0x3c,", "C source");
        check(b"#pragma once\n\n__attribute__((", "C source");
        let mut package = [0; 41];
        package[..4].copy_from_slice(b"PK\x03\x04");
        package[26] = 11;
        package[30..].copy_from_slice(b"program.ptg");
        check(&package, ".ptn");
        check(b"GGUF\x03\0\0\0\0\0\0\0", "GGUF");
        check(b"\x40\0\0\0\0\0\0\0{\"__metadata__\":{}}", "safetensors");
        check(b"\x1c\0\0\0TFL3\0\0\0\0", "TensorFlow Lite");
        check(b"\x1f\x8b\x08\0\0\0\0\0\0\x03", "gzip");
        check(b"\x08\x08\x12\x07pytorch\x1a\x052.0", "ONNX");
        check(b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P", "pickle");
        check(b"\0\0\0\0VH00\x1e\0\x20\0", "Vulkan payload");
        check(b"\x14\0\0\0NPTG\0\0\0\0", "native backend");
        check(b"\x20\0\0\0ET13\0\0\0\0", "version ET13 of the format, expected ET12");
        check(b"\x20\0\0\0FT02\0\0\0\0", "version FT02 of the format, expected FT01");
        check(b"\x14\0\0\0ED00\0\0\0\0", "an ETDump without its size");
        check(b"\x2c\0\0\0BP06\0\0\0\0", "version BP06 of the format, expected BP08");
        check(&[0; 64], "its first 64 bytes are zero");
        check(b"\xef\xbb\xbf\x3c\0\0\0ET12eh00", "byte order mark");
        check(b"PAAAAEVUMTJlaDAwIAAAAFgG", "base64");
        check(b"3c00000045543132 65683030", "hexadecimal");
        check(b"00000000: 3c00 0000 4554 3132 6568 3030 2000 0000  <...ET12", "hexadecimal");
        check(b"404: Not Found", "a text file");
        check("\u{e9}t\u{e9} au caf\u{e9}".as_bytes(), "a text file");
        check(b"\xca\xfe\xba\xbe\x02\x01\x01\0\0\0\0\0", "unknown identifier");
        assert_eq!(name(b"abc"), None);
    }
}
