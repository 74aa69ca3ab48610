//! NumPy's `.npy` format: one array with a header that is a Python dictionary.

use crate::error::{Error, ErrorKind, Result, counted};
use crate::file::segment::offset_in;
use crate::schema::ScalarType;
use crate::schema::flat_tensor::TensorLayout;
use crate::tensor::{TensorShape, TensorView};
use crate::write::image::Image;
use alloc::string::{String, ToString};
use alloc::{borrow::Cow, format, vec, vec::Vec};
use nom::branch::alt;
use nom::bytes::complete::{tag, take_while};
use nom::character::complete::{char, multispace0, u64};
use nom::combinator::{opt, value};
use nom::multi::separated_list0;
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

const FORMAT: &str = "npy";

const MAGIC: &[u8] = b"\x93NUMPY";

/// The longest header that is read, in bytes. NumPy writes about a hundred.
const MAX_HEADER: usize = 1 << 16;

/// The data starts at a multiple of this many bytes.
const ALIGNMENT: usize = 64;

/// The number of digits that NumPy reserves for the size of the outermost dimension, so that a file can grow in place.
const GROWTH: usize = 21;

/// PyTorch's complex types, which have no names in the schema.
const COMPLEX64: ScalarType = ScalarType(9);
const COMPLEX128: ScalarType = ScalarType(10);

/// NumPy's types, by name without the byte order.
const TYPES: &[(&str, ScalarType)] = &[
    ("b1", ScalarType::BOOL),
    ("u1", ScalarType::BYTE),
    ("u2", ScalarType::UINT16),
    ("u4", ScalarType::UINT32),
    ("u8", ScalarType::UINT64),
    ("i1", ScalarType::CHAR),
    ("i2", ScalarType::SHORT),
    ("i4", ScalarType::INT),
    ("i8", ScalarType::LONG),
    ("f2", ScalarType::HALF),
    ("f4", ScalarType::FLOAT),
    ("f8", ScalarType::DOUBLE),
    ("c8", COMPLEX64),
    ("c16", COMPLEX128),
];

/// Types of raw bytes, read as integers: Python's `ml_dtypes` saves bfloat16 and the 8-bit floats as such.
const RAW: &[(&str, ScalarType)] = &[("V1", ScalarType::BYTE), ("V2", ScalarType::UINT16)];

/// An array of a `.npy` file.
///
/// ```
/// use executorch_format::convert::Npy;
/// use executorch_format::{Pte, TensorView};
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/linear/linear.pte")?;
/// let pte = Pte::parse(&file)?;
/// let (_, weight) = pte.methods()[0].tensors().next().unwrap();
/// let view = pte.tensor_view(weight)?.unwrap();
/// let array = Npy::of(&view)?.image()?.to_vec()?;
/// assert_eq!(Npy::parse(&array)?.view()?, view);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Npy<'a> {
    /// The type and shape. The dim order is the natural one, or its reverse for NumPy's Fortran order.
    pub tensor_layout: TensorLayout<'a>,
    /// The elements, little-endian.
    pub bytes: Cow<'a, [u8]>,
}

impl<'a> Npy<'a> {
    /// Converts a tensor to an array of the type [`ScalarType::numpy_type`]. A tensor with the reversed dim order is stored in NumPy's
    /// Fortran order; any other is permuted to the natural order.
    ///
    /// Fails as [`TensorView::in_dim_order`] does, and with [`ErrorKind::Unwritable`] if NumPy has no type for the
    /// scalar type.
    pub fn of(view: &TensorView<'a>) -> Result<Self> {
        let TensorShape { scalar_type, sizes, dim_order } = view.shape();
        let Some(numpy_type) = scalar_type.numpy_type() else {
            return Err(Error::unwritable(format!("numpy has no type for elements of {scalar_type}")));
        };
        let natural = natural(sizes.len());
        let (dim_order, bytes) = match view.shape().is_natural() || is_reversed(dim_order) {
            true => (dim_order, Cow::Borrowed(view.bytes())),
            false => (natural.as_slice(), Cow::Owned(view.in_dim_order(&natural)?)),
        };
        let layout = TensorLayout::from(TensorShape { scalar_type: numpy_type, sizes, dim_order });
        Ok(Self { tensor_layout: layout.into_owned(), bytes })
    }

    /// Reads a file. The bytes are borrowed if they are little-endian.
    ///
    /// Fails with [`ErrorKind::Truncated`] or [`ErrorKind::Other`], with the offset, if the header does not have NumPy's form, the type
    /// is not one of a tensor (structures, strings, Python objects), or the number of bytes does not match the shape.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let (header, start) = header(bytes)?;
        let text = core::str::from_utf8(header)
            .map_err(|error| bad(start - header.len() + error.valid_up_to(), "the header is not UTF-8"))?;
        // Every part is a slice of these bytes.
        let at = |part: &str| offset_in(bytes, part.as_bytes()).unwrap_or_default() as usize;
        let Header { descr, fortran, shape } = dictionary(text, at)?;
        let (scalar_type, big_endian) = scalar_type(descr).map_err(|fault| bad(at(descr), fault))?;
        let size = |size: &u64| {
            let most = i32::MAX;
            i32::try_from(*size).map_err(|_| bad(at(text), format!("a size is {size}, expected at most {most}")))
        };
        let sizes = shape.iter().map(size).collect::<Result<Vec<i32>>>()?;
        let mut dim_order = natural(sizes.len());
        if fortran {
            dim_order.reverse();
        }
        let (sizes, dim_order) = (Some(Cow::Owned(sizes)), Some(Cow::Owned(dim_order)));
        let tensor_layout = TensorLayout { scalar_type, sizes, dim_order };
        let (_, data) = bytes.split_at(start);
        let takes = tensor_layout.shape().byte_size().map_err(|error| bad(at(text), error.kind().detail()))?;
        if takes != data.len() as u64 {
            let (shape, found) = (tensor_layout.shape(), counted(data.len(), "byte"));
            let takes = counted(takes, "byte");
            return Err(bad(start, format!("{shape} takes {takes}, but {found} follow the header")));
        }
        let bytes = match big_endian {
            true => Cow::Owned(swapped(data, scalar_type)),
            false => Cow::Borrowed(data),
        };
        Ok(Self { tensor_layout, bytes })
    }

    /// Returns the array as a tensor.
    ///
    /// Fails as [`TensorView::new`] does if the fields do not match each other.
    pub fn view(&self) -> Result<TensorView<'_>> {
        TensorView::new(self.tensor_layout.shape(), &self.bytes)
    }

    /// Returns the file, ready to be written, in the form that NumPy writes.
    ///
    /// Fails with [`ErrorKind::Unwritable`] if NumPy does not support the scalar type or dim order, see [`Npy::of`], and with
    /// [`ErrorKind::Tensor`] if shape and bytes differ in size.
    pub fn image(&self) -> Result<Image<'_>> {
        let shape = self.tensor_layout.shape();
        let header = Self::header(&shape)?;
        if shape.byte_size()? != self.bytes.len() as u64 {
            let found = counted(self.bytes.len(), "byte");
            return Err(Error::tensor(format!("{shape} takes {} bytes, but has {found}", shape.byte_size()?)));
        }
        Ok(Image::of_pieces(header, [self.bytes.as_ref()].into_iter()))
    }

    /// Returns the start of a file, before the elements, for callers that write the elements themselves.
    ///
    /// Fails with [`ErrorKind::Unwritable`] as [`image`](Self::image) does.
    pub fn header(shape: &TensorShape<'_>) -> Result<Vec<u8>> {
        let Some((name, _)) = TYPES.iter().find(|(_, own)| *own == shape.scalar_type) else {
            return Err(Error::unwritable(format!("numpy does not have the scalar type {}", shape.scalar_type)));
        };
        let fortran = match (shape.is_natural(), is_reversed(shape.dim_order)) {
            (true, _) => false,
            (false, true) => true,
            _ => return Err(Error::unwritable(format!("numpy has no array in the order of {shape}"))),
        };
        let order = if shape.scalar_type.element_size() == Some(1) { '|' } else { '<' };
        let sizes: Vec<String> = shape.sizes.iter().map(i32::to_string).collect();
        let comma = if sizes.len() == 1 { "," } else { "" };
        let python = if fortran { "True" } else { "False" };
        let tuple = format!("({}{comma})", sizes.join(", "));
        let mut text = format!("{{'descr': '{order}{name}', 'fortran_order': {python}, 'shape': {tuple}, }}");
        let grows = if fortran { sizes.last() } else { sizes.first() };
        let spare = grows.map_or(0, |size| GROWTH.saturating_sub(size.len()));
        text.extend(core::iter::repeat_n(' ', spare));
        with_length(&text)
    }
}

fn bad(offset: usize, fault: impl Into<Cow<'static, str>>) -> Error {
    Error::other(FORMAT, offset, fault)
}

fn natural(rank: usize) -> Vec<u8> {
    (0..rank).map(|dim| dim as u8).collect()
}

fn is_reversed(dim_order: &[u8]) -> bool {
    dim_order.iter().rev().enumerate().all(|(index, dim)| usize::from(*dim) == index)
}

/// Returns the text of the header, and the offset of the data.
fn header(bytes: &[u8]) -> Result<(&[u8], usize)> {
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return Err(bad(0, "it does not start with \\x93NUMPY"));
    };
    let truncated =
        |end: usize| ErrorKind::Truncated { what: "the header", end: end as u64, available: bytes.len() as u64 };
    let (length, before) = match rest {
        [1, _, low, high, ..] => (usize::from(u16::from_le_bytes([*low, *high])), MAGIC.len() + 4),
        [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, MAGIC.len() + 6),
        [1..=3, ..] | [] => return Err(Error::at(bytes.len(), truncated(MAGIC.len() + 6))),
        [version, ..] => return Err(bad(MAGIC.len(), format!("version {version}, expected 1, 2 or 3"))),
    };
    if length > MAX_HEADER {
        let fault = format!("the header's length is {length} bytes, expected at most {MAX_HEADER}");
        return Err(bad(MAGIC.len() + 2, fault));
    }
    let header = bytes.get(before..).and_then(|rest| rest.get(..length));
    match header {
        Some(header) => Ok((header, before + length)),
        None => Err(Error::at(bytes.len(), truncated(before + length))),
    }
}

/// Returns the whole header: magic, version, length and text, padded.
fn with_length(text: &str) -> Result<Vec<u8>> {
    let prefix = MAGIC.len() + 4;
    // As in NumPy, a text that fits exactly is followed by a whole unit of padding.
    let end = ((prefix + text.len() + 1) / ALIGNMENT + 1) * ALIGNMENT;
    let Ok(length) = u16::try_from(end - prefix) else {
        return Err(Error::unwritable(format!("the header takes {end} bytes, expected at most {}", u16::MAX)));
    };
    let mut header = [MAGIC, &[1, 0], &length.to_le_bytes(), text.as_bytes()].concat();
    header.resize(end - 1, b' ');
    header.push(b'\n');
    Ok(header)
}

/// The fields of a header.
struct Header<'h> {
    descr: &'h str,
    fortran: bool,
    shape: Vec<u64>,
}

/// An entry of the dictionary.
#[derive(Clone)]
enum Item<'h> {
    Descr(&'h str),
    Fortran(bool),
    Shape(Vec<u64>),
}

fn dictionary<'h>(text: &'h str, at: impl Fn(&str) -> usize) -> Result<Header<'h>> {
    let open = delimited(multispace0, char('{'), multispace0);
    let close = delimited((opt(comma), multispace0), char('}'), multispace0);
    let mut whole = delimited(open, separated_list0(comma, item), close);
    let (rest, items) = whole.parse(text).map_err(|error| {
        let place = match &error {
            nom::Err::Error(error) | nom::Err::Failure(error) => at(error.input),
            nom::Err::Incomplete(_) => at(text),
        };
        bad(place, "expected a dictionary with 'descr', 'fortran_order' and 'shape', and no list as 'descr'")
    })?;
    if !rest.is_empty() {
        return Err(bad(at(rest), "the header goes on after its dictionary"));
    }
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    for item in items {
        let (name, again) = match item {
            Item::Descr(new) => ("descr", descr.replace(new).is_some()),
            Item::Fortran(new) => ("fortran_order", fortran.replace(new).is_some()),
            Item::Shape(new) => ("shape", shape.replace(new).is_some()),
        };
        if again {
            return Err(bad(at(text), format!("{name:?} occurs twice")));
        }
    }
    let missing = |name| bad(at(text), format!("{name:?} is missing"));
    Ok(Header {
        descr: descr.ok_or_else(|| missing("descr"))?,
        fortran: fortran.ok_or_else(|| missing("fortran_order"))?,
        shape: shape.ok_or_else(|| missing("shape"))?,
    })
}

fn comma(text: &str) -> IResult<&str, char> {
    delimited(multispace0, char(','), multispace0).parse(text)
}

fn quoted(text: &str) -> IResult<&str, &str> {
    let inside = |quote: char| delimited(char(quote), take_while(move |c| c != quote && c != '\\'), char(quote));
    alt((inside('\''), inside('"'))).parse(text)
}

fn item(text: &str) -> IResult<&str, Item<'_>> {
    let (rest, key) = terminated(quoted, (multispace0, char(':'), multispace0)).parse(text)?;
    match key {
        "descr" => quoted.map(Item::Descr).parse(rest),
        "fortran_order" => alt((value(true, tag("True")), value(false, tag("False")))).map(Item::Fortran).parse(rest),
        "shape" => shape.map(Item::Shape).parse(rest),
        _ => Err(nom::Err::Error(nom::error::Error::new(text, nom::error::ErrorKind::Alt))),
    }
}

fn shape(text: &str) -> IResult<&str, Vec<u64>> {
    // Python 2 writes long integers with an L.
    let sizes = separated_list0(comma, terminated(u64, opt(char('L'))));
    let close = preceded((opt(comma), multispace0), char(')'));
    delimited((char('('), multispace0), sizes, close).parse(text)
}

/// Returns the scalar type of a `descr`, and whether its elements are big-endian.
fn scalar_type(descr: &str) -> core::result::Result<(ScalarType, bool), String> {
    let order = descr.chars().next().filter(|order| "<>|=".contains(*order));
    let name = descr.trim_start_matches(['<', '>', '|', '=']);
    let found = TYPES.iter().chain(RAW).find(|(own, _)| *own == name).filter(|_| descr.len() - name.len() <= 1);
    match found {
        Some((_, scalar_type)) => Ok((*scalar_type, order == Some('>'))),
        None => Err(format!("ExecuTorch has no scalar type for the type {descr:?}")),
    }
}

/// Converts big-endian elements to little-endian. A complex number is swapped as two numbers.
fn swapped(bytes: &[u8], scalar_type: ScalarType) -> Vec<u8> {
    let halves = if matches!(scalar_type, COMPLEX64 | COMPLEX128) { 2 } else { 1 };
    // All of NumPy's types have a known size.
    let size = (scalar_type.element_size().unwrap_or(1) / halves).max(1);
    let mut swapped = vec![0; bytes.len()];
    swapped.copy_from_slice(bytes);
    swapped.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    swapped
}
