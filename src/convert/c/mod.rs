//! A file as a C array, with constants for firmware.

mod facts;
mod names;

use crate::analysis::Analysis;
use crate::error::{Error, Result};
use crate::file::style::{ALIGNMENT, alignment};
use crate::inspect::Summary;
use crate::model::Model;
use crate::setters::setters;
use crate::write::options::{PtdOptions, PteOptions};
use alloc::{format, string::String};
use names::{check_identifier, comment, literal, upper};

pub use facts::operator_lines;

/// The number of bytes on each line of the source.
const LINE: usize = 16;

/// The most bytes of the array in one piece of the source.
const PIECE: usize = 4096 * LINE;

/// Options for a C array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct COptions {
    /// The array's name. Macros start with it in capital letters.
    pub name: String,
    /// The alignment of the array, in bytes, a power of two. `None`: the alignment that the file's segments need, see
    /// [`CArray`].
    pub alignment: Option<u32>,
    /// The section for the array, set by GCC's `section` attribute.
    pub section: Option<String>,
    /// The form of the bytes in the source.
    pub bytes: CBytes,
}

/// The form of an array's bytes in a source file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CBytes {
    /// As numbers.
    #[default]
    Numbers,
    /// With the assembler's `.incbin`, for GCC and Clang with ELF; works in every version of C and C++. The assembler looks for
    /// the file in the folders given by `-I`.
    Incbin,
    /// With C23's `#embed`, supported since GCC 15 and Clang 19.
    Embed,
}

setters! {
    COptions {
        name = with_name: String,
        alignment = with_alignment: Option<u32>,
        section = with_section: Option<String>,
        bytes = with_bytes: CBytes,
    }
}

/// A file as a C array: a header, and the lines of a source file. Both are valid C11 and C++17.
///
/// Segments are aligned relative to the start of the file, so the array must be aligned, too: to the alignment that all
/// segments and constants share, up to 4096, and to at least 16, which the runtime requires.
///
/// ```
/// use executorch_format::Model;
/// use executorch_format::convert::{CArray, COptions};
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
/// let options = COptions::default().with_name("model".into());
/// let model = Model::parse(&file)?;
/// let array = CArray::new(&model, &file, &options)?;
/// let header: String = array.header("add_mul.pte").collect();
/// assert!(header.contains("#define MODEL_FORWARD_INPUT_0_SIZE 16u"));
/// let source: String = array.source("model.h", "add_mul.pte").collect();
/// assert!(source.contains("const unsigned char model[MODEL_SIZE] = {"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CArray<'t> {
    name: String,
    section: Option<String>,
    alignment: u32,
    bytes: &'t [u8],
    form: CBytes,
    summary: Summary<'t>,
}

impl<'t> CArray<'t> {
    /// Creates the array of a model from the bytes that it was parsed from.
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if there are no bytes, the name is not an identifier in C and
    /// C++, the alignment is not a power of two, or the section's name has a quote, a backslash, white space or a
    /// control character.
    pub fn new(model: &'t Model<'_>, bytes: &'t [u8], options: &COptions) -> Result<Self> {
        let COptions { name, alignment: asked, section, bytes: form } = options;
        check_identifier(name)?;
        if bytes.is_empty() {
            return Err(Error::unwritable("C has no array without elements"));
        }
        let forbidden = |c: char| matches!(c, '"' | '\\') || c.is_control() || c.is_whitespace();
        if let Some(section) = section.as_ref().filter(|section| section.is_empty() || section.contains(forbidden)) {
            return Err(Error::unwritable(format!("{section:?} is not the name of a section")));
        }
        let alignment = match asked {
            Some(asked) => alignment(*asked, "alignment")? as u32,
            None => needed_alignment(model)?,
        };
        let (name, section, summary) = (name.clone(), section.clone(), model.summary());
        Ok(Self { name, section, alignment, bytes, form: *form, summary })
    }

    /// Takes the names of inputs and outputs from the program's [names](Analysis::with_names).
    pub fn with_names_of(mut self, analysis: &Analysis<'t>) -> Self {
        self.summary = analysis.summary();
        self
    }

    /// Returns the alignment of the array, in bytes.
    pub fn alignment(&self) -> u32 {
        self.alignment
    }

    /// Returns the text of the header in pieces. `file` is the name of the file that it is generated from.
    pub fn header(&self, file: &str) -> impl Iterator<Item = String> {
        let Self { name, alignment, bytes, summary, .. } = self;
        let (prefix, file, size) = (upper(name), comment(file), bytes.len());
        let start = format!(
            "/* Made by executorch-format from {file}. C11 or later, or C++17: the source says how the array is aligned. */
#ifndef {prefix}_H
#define {prefix}_H

/* The size of the array, in bytes. */
#define {prefix}_SIZE {size}u
/* The array starts at a multiple of so many bytes. */
#define {prefix}_ALIGNMENT {alignment}u

#ifdef __cplusplus
extern \"C\" {{
#endif

/* The bytes of {file}. */
extern const unsigned char {name}[{prefix}_SIZE];

#ifdef __cplusplus
}}
#endif
"
        );
        let facts = facts::lines(summary, prefix).map(|line| line + "\n");
        [start].into_iter().chain(facts).chain(["\n#endif\n".into()])
    }

    /// Returns the text of the source in pieces. `header` is the name of the header, `file` that of the model's file, to which a
    /// source with [`CBytes::Incbin`] or [`CBytes::Embed`] refers.
    pub fn source(&self, header: &str, file: &str) -> impl Iterator<Item = String> {
        let made = format!("/* Made by executorch-format from {}. */\n", comment(file));
        let (header, file) = (literal(header), literal(file));
        let (first, bytes) = match self.form {
            CBytes::Numbers => (self.array_head(&header) + "{\n", self.bytes),
            CBytes::Embed => (self.array_head(&header) + &format!("{{\n#embed \"{file}\"\n"), Default::default()),
            CBytes::Incbin => (self.assembly(&header, &file), Default::default()),
        };
        let last = if self.form == CBytes::Incbin { "" } else { "};\n" };
        [made, first].into_iter().chain(bytes.chunks(PIECE).map(lines)).chain([last.into()])
    }

    /// Returns the start of the array's definition in C.
    fn array_head(&self, header: &str) -> String {
        let Self { name, section, alignment, .. } = self;
        let prefix = upper(name);
        let section = section.as_ref().map(|section| format!("__attribute__((section(\"{section}\"))) "));
        let section = section.unwrap_or_default();
        format!(
            "#include \"{header}\"

#if !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L)
#error \"this file needs C11 or later, or C++, to align the array\"
#endif

#ifdef __cplusplus
alignas({alignment})
#else
_Alignas({alignment})
#endif
{section}const unsigned char {name}[{prefix}_SIZE] = "
        )
    }

    /// Returns the array in assembly. The assembler reports an error if the file's size changed after the header was generated.
    fn assembly(&self, header: &str, file: &str) -> String {
        let Self { name, section, alignment, bytes, .. } = self;
        let section = section.as_deref().unwrap_or(".rodata");
        let size = bytes.len();
        let lines = [
            format!(".pushsection {section},\"a\",%progbits"),
            format!(".balign {alignment}"),
            format!(".globl {name}"),
            format!(".type {name}, %object"),
            format!(".size {name}, {size}"),
            format!("{name}:"),
            format!(".incbin \"{file}\""),
            format!(".if . - {name} - {size}"),
            ".error \"the file has another size than the header says: generate both again\"".into(),
            ".endif".into(),
            ".popsection".into(),
        ];
        let lines = lines.iter().fold(String::new(), |text, line| text + &format!("\n    \"{}\\n\"", literal(line)));
        format!(
            "/* The assembler looks for the file in the folders of -I. */\n#include \"{header}\"\n\n__asm__({lines});\n"
        )
    }

    /// Writes the header and the source, each completely or not at all. The source includes the header by its file name. `file` is
    /// the name of the file that they are generated from.
    ///
    /// Fails with [`ErrorKind::Io`](crate::ErrorKind::Io), which names the path.
    pub fn save(
        &self,
        file: &str,
        header: impl AsRef<std::path::Path>,
        source: impl AsRef<std::path::Path>,
    ) -> Result<()> {
        use crate::Prepared;

        let header = header.as_ref();
        let name = header.file_name().unwrap_or_default().to_string_lossy();
        let pieces = self.source(&name, file);
        Prepared::new(source, |out| pieces.into_iter().try_for_each(|piece| out.write_all(piece.as_bytes())))?
            .commit()?;
        Prepared::new(header, |out| self.header(file).try_for_each(|piece| out.write_all(piece.as_bytes())))?.commit()
    }
}

/// Returns the alignment in memory at which a file's segments and constants are aligned.
fn needed_alignment(model: &Model<'_>) -> Result<u32> {
    let needed = match model {
        Model::Pte(pte) => {
            let PteOptions { segment_alignment, constant_alignment, .. } = PteOptions::of(pte)?;
            match pte.program.segments().iter().all(|segment| segment.size == 0) {
                true => constant_alignment.unwrap_or(ALIGNMENT),
                false => segment_alignment.max(constant_alignment.unwrap_or(ALIGNMENT)),
            }
        }
        Model::Ptd(ptd) => PtdOptions::of(ptd)?.segment_alignment,
        // Programs inside bundles are aligned to this.
        _ => ALIGNMENT,
    };
    Ok(needed.max(ALIGNMENT))
}

fn lines(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(*DIGITS.get(usize::from(value)).unwrap_or(&b'0'));
    let mut text = String::with_capacity(bytes.len().div_ceil(LINE) * (LINE * 5 + 1));
    for line in bytes.chunks(LINE) {
        for byte in line {
            text.push_str("0x");
            text.push(digit(byte >> 4));
            text.push(digit(byte & 15));
            text.push(',');
        }
        text.push('\n');
    }
    text
}
