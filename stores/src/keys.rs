//! Keys in listings that cannot be the path of a file. They are removed from the page, so that the other keys are still listed.

use object_store::path::Path;
use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::Event;
use std::ops::Range;

/// The keys removed from a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadKeys(pub Vec<String>);

/// Removes entries whose keys cannot be paths from a page of a listing by S3, Google or Azure, and returns these keys too. A page that is
/// not XML stays unchanged: its error is found when it is read.
#[expect(clippy::indexing_slicing, reason = "the reader's positions are in the page, each after those before it")]
pub fn checked(page: Vec<u8>) -> (Vec<u8>, BadKeys) {
    let Some((cuts, bad)) = bad(&page) else { return (page, BadKeys::default()) };
    if cuts.is_empty() {
        return (page, bad);
    }
    let mut good = Vec::with_capacity(page.len());
    let mut start = 0;
    for cut in cuts {
        good.extend_from_slice(&page[start..cut.start]);
        start = cut.end;
    }
    good.extend_from_slice(&page[start..]);
    (good, bad)
}

/// Returns the entries with bad keys; `None` for a page that is not XML.
fn bad(page: &[u8]) -> Option<(Vec<Range<usize>>, BadKeys)> {
    let mut reader = Reader::from_reader(page);
    let (mut cuts, mut keys) = (Vec::new(), Vec::new());
    // The start of the entry, and the number of its open elements.
    let mut entry: Option<(usize, usize)> = None;
    let mut bad = false;
    loop {
        let before = usize::try_from(reader.buffer_position()).ok()?;
        match reader.read_event().ok()? {
            Event::Eof => return Some((cuts, BadKeys(keys))),
            Event::Start(tag) => match (&mut entry, tag.local_name().as_ref()) {
                // The metadata of a blob on Azure may have a `Name`, too.
                (Some((_, 1)), b"Key" | b"Name") => {
                    let text = reader.read_text(tag.name()).ok()?.decode().ok()?.into_owned();
                    let key = unescape(&text).map_or_else(|_| text.clone(), |key| key.into_owned());
                    if Path::parse(&key).is_err() {
                        bad = true;
                        keys.push(key);
                    }
                }
                (Some((_, open)), _) => *open += 1,
                (None, b"Contents" | b"Blob") => entry = Some((before, 1)),
                (None, _) => {}
            },
            Event::End(_) => match &mut entry {
                Some((start, 1)) => {
                    if std::mem::take(&mut bad) {
                        cuts.push(*start..usize::try_from(reader.buffer_position()).ok()?);
                    }
                    entry = None;
                }
                Some((_, open)) => *open -= 1,
                None => {}
            },
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_with_bad_keys_are_removed_and_the_rest_is_unchanged() {
        let good = "<Contents><Key>a/b.pte</Key><Size>1</Size></Contents>";
        let blob = "<Blob><Name>ok</Name><Metadata><Name>../x</Name></Metadata></Blob>";
        let page = |middle: &str| format!("<?xml version=\"1.0\"?><R><T>1</T>{good}{middle}<N>t</N>{blob}</R>");
        let entries = [
            ("<Contents><Key>../../x.pte</Key></Contents>", "../../x.pte"),
            ("<Contents><Size>1</Size><Key>a//b.pte</Key></Contents>", "a//b.pte"),
            ("<Blob><Name>a/./b&amp;c</Name><P><Q/></P></Blob>", "a/./b&c"),
            ("<Contents><Key>a&#10;b</Key></Contents>", "a\nb"),
        ];
        for (entry, key) in entries {
            let (left, bad) = checked(page(entry).into_bytes());
            assert_eq!((String::from_utf8(left).ok(), bad.0), (Some(page("")), vec![key.to_owned()]), "{entry}");
        }
        let all: String = entries.iter().map(|(entry, _)| *entry).collect();
        assert_eq!(checked(page(&all).into_bytes()).1.0.len(), 4);
        for page in [page(""), page("<Contents><Key>../x"), "no page".into()] {
            assert_eq!(checked(page.clone().into_bytes()), (page.into_bytes(), BadKeys::default()));
        }
    }
}
