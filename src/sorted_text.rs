//! Built-in tables as text: a line for each name, sorted by the name's bytes, with tabs between columns.

use core::cmp::Ordering;

/// Returns the columns after the name `first.second`, or `first` if `second` is empty.
pub(crate) fn row(table: &'static str, first: &str, second: &str) -> Option<&'static str> {
    let (mut low, mut high) = (0, table.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let start = table.get(low..middle)?.rfind('\n').map_or(low, |at| low + at + 1);
        let (name, columns) = table.get(start..)?.split_once('\t')?;
        match compare(name, first, second) {
            Ordering::Equal => return columns.lines().next(),
            Ordering::Less => low = middle + table.get(middle..)?.find('\n')? + 1,
            Ordering::Greater => high = start,
        }
    }
    None
}

/// Compares a name with `first.second` without joining them: in a damaged file, they may be long and looked up often.
pub(crate) fn compare(name: &str, first: &str, second: &str) -> Ordering {
    let dot = if second.is_empty() { "" } else { "." };
    let (start, rest) = name.as_bytes().split_at(first.len().min(name.len()));
    start.cmp(first.as_bytes()).then_with(|| rest.iter().copied().cmp(dot.bytes().chain(second.bytes())))
}

/// Panics unless every name of the table is found, and similar names are not.
#[cfg(test)]
pub(crate) fn check_all(table: &'static str) {
    for line in table.lines() {
        let Some((name, columns)) = line.split_once('\t') else { unreachable!("{line}") };
        assert_eq!(row(table, name, ""), Some(columns), "{name}");
        let (first, second) = name.split_once('.').unwrap_or((name, ""));
        assert_eq!(row(table, first, second), Some(columns), "{name}");
        assert_eq!(row(table, name.get(1..).unwrap_or_default(), ""), None, "{name}");
        assert_eq!(row(table, name, "x"), None, "{name}");
    }
}
