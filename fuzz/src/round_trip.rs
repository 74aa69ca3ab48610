//! A decoded tree that can be written is decoded again as the same tree, and then written as the same bytes.

use executorch_format::{Error, ErrorKind, Image, Ptd, Pte, WriteStyle};
use executorch_format_support::visit::tree;

/// Files larger than this are not written to memory.
const LARGEST: u64 = 1 << 22;

/// Checks that an unchanged file is written back byte for byte, that decoding, encoding and decoding gives the same tree, and that encoding
/// again gives the same bytes.
pub fn round_trip(bytes: &[u8]) {
    if let Ok(mut pte) = Pte::parse(bytes) {
        assert_eq!(written(pte.image()).as_deref(), Some(bytes));
        let style = pte
            .write_style()
            .ok()
            .filter(|detected| detected.exact)
            .map(|detected| detected.style)
            .filter(|_| bytes.len() < 4096);
        pte.style = Some(style.unwrap_or(WriteStyle::PYTHON));
        if let Some(written) = written(pte.image_as_is()) {
            let mut again = Pte::parse(&written).expect("the written file can be read");
            assert_eq!(tree(&pte.program), tree(&again.program));
            assert_eq!(segments(&pte.segments), segments(&again.segments));
            again.style = pte.style;
            assert_eq!(self::written(again.image_as_is()).as_ref(), Some(&written));
        }
    }
    if let Ok(mut ptd) = Ptd::parse(bytes) {
        assert_eq!(written(ptd.image()).as_deref(), Some(bytes));
        let style = ptd.write_style().ok().filter(|detected| detected.exact).map(|detected| detected.style);
        ptd.style = Some(style.unwrap_or(WriteStyle::FLATC));
        if let Some(written) = written(ptd.image_as_is()) {
            let mut again = Ptd::parse(&written).expect("the written file can be read");
            assert_eq!(ptd.flat_tensor, again.flat_tensor);
            assert_eq!(segments(&ptd.segments), segments(&again.segments));
            again.style = ptd.style;
            assert_eq!(self::written(again.image_as_is()).as_ref(), Some(&written));
        }
    }
}

/// Returns the bytes of segments, without empty ones: their offset may not be written.
fn segments<'s>(segments: &'s [executorch_format::Segment<'_>]) -> Vec<Vec<(u64, &'s [u8])>> {
    segments.iter().map(|segment| segment.parts().filter(|(_, bytes)| !bytes.is_empty()).collect()).collect()
}

/// Returns the bytes of an image; `None` if the file is too large or cannot be written for an expected reason.
pub fn written(image: Result<Image<'_>, Error>) -> Option<Vec<u8>> {
    match image {
        Ok(image) if image.size() > LARGEST => None,
        Ok(image) => {
            let bytes = image.to_vec().expect("an image must be writable");
            assert_eq!(bytes.len() as u64, image.size());
            Some(bytes)
        }
        Err(error) => match error.kind() {
            ErrorKind::Unwritable(_) | ErrorKind::Reference(_) | ErrorKind::Absent(_) => None,
            _ => panic!("unexpected kind of error while writing: {error}"),
        },
    }
}
