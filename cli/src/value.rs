//! Names of values: `%12`, and `forward:%12` in a program with several methods.

use executorch_format::Pte;

/// Returns the method and the index of a value. The method can be left out if only one method of the program computes something. The form of
/// keys (`forward.012`) and the form without a percent sign (`forward:12`) are accepted too, if there is such a method.
pub fn parse<'p>(text: &str, pte: &'p Pte<'_>) -> Option<(&'p str, usize)> {
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?;
    if let Some(value) = text.strip_prefix('%') {
        return match computing(pte)[..] {
            [only] => Some((only, number(value)?)),
            _ => None,
        };
    }
    let (method, value) = text.rsplit_once([':', '.'])?;
    let value = value.strip_prefix('%').unwrap_or(value);
    Some((pte.method(method)?.name(), number(value)?))
}

/// Returns the name of a method, given its index in an answer about the program.
#[expect(clippy::indexing_slicing, reason = "answers count the methods of this program")]
pub fn method<'p>(pte: &'p Pte<'_>, index: usize) -> &'p str {
    pte.methods()[index].name()
}

/// Returns the methods that a value without a method's name may belong to: those that compute something, or the only one.
fn computing<'p>(pte: &'p Pte<'_>) -> Vec<&'p str> {
    match pte.methods() {
        [only] => vec![only.name()],
        all => all.iter().filter(|plan| !plan.is_constant()).map(|plan| plan.name()).collect(),
    }
}

/// Returns advice on naming a value if its method is missing, in a program with several methods.
pub fn ambiguous(text: &str, pte: &Pte<'_>) -> Option<String> {
    let is_value = text.strip_prefix('%').is_some_and(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
    let methods = computing(pte);
    let first = methods.first().filter(|_| is_value && methods.len() > 1)?;
    let method = crate::text::escaped(first);
    Some(format!("{text} is a value of each of {} methods: write the method too, as in {method}:{text}", methods.len()))
}

/// Returns advice on naming a value if only its number was given.
pub fn of_number(text: &str, pte: &Pte<'_>) -> Option<String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let method = *computing(pte).first().filter(|_| is_number)?;
    let method = crate::text::escaped(method);
    Some(format!("no tensor \"{text}\": a value is written %{text} (here {method}:%{text})"))
}

/// Returns all names of a value, for patterns.
pub fn names(method: &str, value: usize, several: bool) -> Vec<String> {
    let mut names = vec![format!("{method}:%{value}"), format!("{method}.{value}")];
    if !several {
        names.push(format!("%{value}"));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_by_each_of_its_names_and_no_other() {
        let file = |name: &str| std::fs::read(executorch_format_support::data().join(name)).unwrap_or_default();
        let (one, several) = (file("1.5.1/linear/linear.pte"), file("1.5.1/multi_method/multi_method.pte"));
        let (Ok(one), Ok(several)) = (Pte::parse(&one), Pte::parse(&several)) else { unreachable!() };
        for text in ["%3", "forward:%3", "forward:3", "forward.3", "forward.03"] {
            assert_eq!(parse(text, &one), Some(("forward", 3)), "{text}");
        }
        for text in ["3", "%", "%x", "%-1", "other:%3", "forward:%", "forward%3", "", "%+3"] {
            assert_eq!(parse(text, &one), None, "{text}");
        }
        assert_eq!(parse("%3", &several), None);
        assert_eq!(parse("decode:%3", &several), Some(("decode", 3)));
        assert!(ambiguous("%3", &several).is_some_and(|hint| hint.contains(":%3")));
        assert_eq!(ambiguous("%3", &one), None);
        let hint = of_number("0", &one);
        assert_eq!(hint.as_deref(), Some("no tensor \"0\": a value is written %0 (here forward:%0)"));
        assert_eq!((of_number("weight", &one), of_number("", &one)), (None, None));
    }
}
