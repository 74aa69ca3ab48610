//! What was decoded and can be written is decoded again as it was, and written again to the same bytes.

use crate::visit::tree;
use executorch_format::{Error, ErrorKind, Plan, Ptd, Pte};

/// Files that announce more than this are not put together in memory.
const LARGEST: u64 = 1 << 22;

/// Decode, encode, decode: equal. Encode again: the same bytes. And a layout that is found gives the file itself.
pub fn round_trip(bytes: &[u8]) {
    if let Ok(mut pte) = Pte::parse(bytes) {
        if let Some(written) = written(pte.plan_as_is()) {
            let again = Pte::parse(&written).expect("what we write, we read");
            assert_eq!(tree(&pte.program), tree(&again.program));
            assert_eq!(segments(&pte.segments), segments(&again.segments));
            assert_eq!(self::written(again.plan_as_is()).as_ref(), Some(&written));
        }
        if bytes.len() < 4096 && pte.detect_layout(bytes).is_ok() {
            assert_eq!(written(pte.plan_as_is()).as_deref(), Some(bytes));
        }
    }
    if let Ok(mut ptd) = Ptd::parse(bytes) {
        if let Some(written) = written(ptd.plan_as_is()) {
            let again = Ptd::parse(&written).expect("what we write, we read");
            assert_eq!(ptd.flat_tensor, again.flat_tensor);
            assert_eq!(segments(&ptd.segments), segments(&again.segments));
            assert_eq!(self::written(again.plan_as_is()).as_ref(), Some(&written));
        }
        if ptd.detect_layout(bytes).is_ok() {
            assert_eq!(written(ptd.plan_as_is()).as_deref(), Some(bytes));
        }
    }
}

/// Empty segments may come from a place that is not written again.
fn segments<'s>(segments: &'s [executorch_format::Segment<'_>]) -> Vec<Vec<(u64, &'s [u8])>> {
    segments.iter().map(|segment| segment.parts().filter(|(_, bytes)| !bytes.is_empty()).collect()).collect()
}

/// The bytes, unless they cannot be written for a reason that writing knows, or are too many.
pub fn written(plan: Result<Plan<'_>, Error>) -> Option<Vec<u8>> {
    match plan {
        Ok(plan) if plan.size() > LARGEST => None,
        Ok(plan) => {
            let bytes = plan.to_vec().expect("a plan can be carried out");
            assert_eq!(bytes.len() as u64, plan.size());
            Some(bytes)
        }
        Err(error) => match error.kind() {
            ErrorKind::Unwritable(_) | ErrorKind::Reference(_) | ErrorKind::Absent(_) => None,
            _ => panic!("a fault of reading while writing: {error}"),
        },
    }
}
