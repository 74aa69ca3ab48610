//! What was decoded and can be written is decoded again as it was, and written again to the same bytes.

use executorch_format_support::visit::tree;
use executorch_format::{Error, ErrorKind, Image, Ptd, Pte, WriteStyle};

/// Files that announce more than this are not put together in memory.
const LARGEST: u64 = 1 << 22;

/// As it was read: the file itself. Decode, encode, decode: equal. Encode again: the same bytes. And a style that is found
/// gives the metadata itself.
pub fn round_trip(bytes: &[u8]) {
    if let Ok(mut pte) = Pte::parse(bytes) {
        assert_eq!(written(pte.image()).as_deref(), Some(bytes));
        let style = pte.detect_style().ok().filter(|_| bytes.len() < 4096);
        pte.style = Some(style.unwrap_or(WriteStyle::PYTHON));
        if let Some(written) = written(pte.image_as_is()) {
            let mut again = Pte::parse(&written).expect("what we write, we read");
            assert_eq!(tree(&pte.program), tree(&again.program));
            assert_eq!(segments(&pte.segments), segments(&again.segments));
            again.style = pte.style;
            assert_eq!(self::written(again.image_as_is()).as_ref(), Some(&written));
        }
    }
    if let Ok(mut ptd) = Ptd::parse(bytes) {
        assert_eq!(written(ptd.image()).as_deref(), Some(bytes));
        let style = ptd.detect_style().ok();
        ptd.style = Some(style.unwrap_or(WriteStyle::FLATC));
        if let Some(written) = written(ptd.image_as_is()) {
            let mut again = Ptd::parse(&written).expect("what we write, we read");
            assert_eq!(ptd.flat_tensor, again.flat_tensor);
            assert_eq!(segments(&ptd.segments), segments(&again.segments));
            again.style = ptd.style;
            assert_eq!(self::written(again.image_as_is()).as_ref(), Some(&written));
        }
    }
}

/// Empty segments may come from a place that is not written again.
fn segments<'s>(segments: &'s [executorch_format::Segment<'_>]) -> Vec<Vec<(u64, &'s [u8])>> {
    segments.iter().map(|segment| segment.parts().filter(|(_, bytes)| !bytes.is_empty()).collect()).collect()
}

/// The bytes, unless they cannot be written for a reason that writing knows, or are too many.
pub fn written(image: Result<Image<'_>, Error>) -> Option<Vec<u8>> {
    match image {
        Ok(image) if image.size() > LARGEST => None,
        Ok(image) => {
            let bytes = image.to_vec().expect("an image can be written");
            assert_eq!(bytes.len() as u64, image.size());
            Some(bytes)
        }
        Err(error) => match error.kind() {
            ErrorKind::Unwritable(_) | ErrorKind::Reference(_) | ErrorKind::Absent(_) => None,
            _ => panic!("a fault of reading while writing: {error}"),
        },
    }
}
