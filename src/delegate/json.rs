//! A small JSON parser for Core ML's payloads. A crate such as `serde_json` would be one more dependency of the feature
//! `payloads`, for one backend.

use alloc::{format, string::String, vec::Vec};
use nom::branch::alt;
use nom::bytes::complete::{tag, take, take_while, take_while1};
use nom::character::complete::{char, one_of};
use nom::combinator::{all_consuming, map, map_opt, opt, value};
use nom::multi::{many0, separated_list0};
use nom::number::complete::recognize_float;
use nom::sequence::{delimited, preceded, separated_pair};
use nom::{IResult, Parser};

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Bool,
    /// `None`: not a whole number from 0 on.
    Number(Option<u64>),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub(super) fn field(&self, name: &str) -> Option<&Json> {
        self.fields()?.iter().find(|(field, _)| field == name).map(|(_, value)| value)
    }

    pub(super) fn fields(&self) -> Option<&[(String, Json)]> {
        match self {
            Self::Object(fields) => Some(fields),
            _ => None,
        }
    }

    pub(super) fn items(&self) -> Option<&[Json]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value, if it is a whole number from 0 on: `3`, but also `3.0` and `0.3e1`.
    pub(super) fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => *number,
            _ => None,
        }
    }
}

/// The deepest nesting that is accepted; real payloads nest less.
const DEEPEST: usize = 16;

/// Parses one JSON value and nothing after it; `None` if it is broken or nests too deep.
pub(super) fn parse(bytes: &[u8]) -> Option<Json> {
    let text = core::str::from_utf8(bytes).ok()?;
    all_consuming(|input| json(input, DEEPEST)).parse(text).ok().map(|(_, json)| json)
}

fn space(input: &str) -> IResult<&str, &str> {
    take_while(|character: char| " \t\r\n".contains(character)).parse(input)
}

/// A parser with white space around it.
fn spaced<'i, T>(
    inner: impl Parser<&'i str, Output = T, Error = nom::error::Error<&'i str>>,
) -> impl Parser<&'i str, Output = T, Error = nom::error::Error<&'i str>> {
    delimited(space, inner, space)
}

fn json(input: &str, depth: usize) -> IResult<&str, Json> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(nom::Err::Failure(nom::error::Error::new(input, nom::error::ErrorKind::TooLarge)));
    };
    let item = move |input| json(input, depth);
    let field = separated_pair(spaced(text), char(':'), item);
    let list = delimited(char('['), separated_list0(char(','), item), preceded(space, char(']')));
    let object = delimited(char('{'), separated_list0(char(','), field), preceded(space, char('}')));
    spaced(alt((
        map(object, Json::Object),
        map(list, Json::List),
        map(text, Json::Text),
        value(Json::Null, tag("null")),
        value(Json::Bool, alt((tag("true"), tag("false")))),
        map(recognize_float, |number| Json::Number(whole(number))),
    )))
    .parse(input)
}

/// A number as an integer, if it is one. Without floats, whose tables would be most of this parser.
fn whole(number: &str) -> Option<u64> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (digits, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let value: u64 = format!("{digits}{fraction}").parse().ok()?;
    let exponent = exponent.parse::<i64>().ok()?.checked_sub(fraction.len() as i64)?;
    let factor = u32::try_from(exponent.unsigned_abs()).ok().and_then(|exponent| 10u64.checked_pow(exponent));
    match factor {
        _ if value == 0 => Some(0),
        Some(factor) if exponent >= 0 => value.checked_mul(factor),
        Some(factor) => (value % factor == 0).then_some(value / factor),
        None => None,
    }
}

fn text(input: &str) -> IResult<&str, String> {
    let plain = map(take_plain, String::from);
    let escaped = map(preceded(char('\\'), escape), String::from);
    let parts = many0(alt((escaped, plain)));
    map(delimited(char('"'), parts, char('"')), |parts| parts.concat()).parse(input)
}

/// At least one character that stands for itself.
fn take_plain(input: &str) -> IResult<&str, &str> {
    take_while1(|character: char| character >= ' ' && character != '"' && character != '\\').parse(input)
}

fn escape(input: &str) -> IResult<&str, char> {
    let short = map_opt(one_of("\"\\/bfnrt"), |letter| {
        let [letters, meanings] = ["\"\\/bfnrt", "\"\\/\u{8}\u{c}\n\r\t"];
        letters.chars().zip(meanings.chars()).find(|(known, _)| *known == letter).map(|(_, meaning)| meaning)
    });
    alt((short, preceded(char('u'), unicode))).parse(input)
}

/// A `\u` escape: four digits, or two times four for a pair of surrogates.
fn unicode(input: &str) -> IResult<&str, char> {
    let pair = |high: u32, low: u32| 0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff);
    let (rest, high) = four_digits(input)?;
    if !(0xd800..0xdc00).contains(&high) {
        return Ok((rest, char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER)));
    }
    let (rest, low) = opt(preceded(tag("\\u"), four_digits)).parse(rest)?;
    let found = low.filter(|low| (0xdc00..0xe000).contains(low)).and_then(|low| char::from_u32(pair(high, low)));
    Ok((rest, found.unwrap_or(char::REPLACEMENT_CHARACTER)))
}

fn four_digits(input: &str) -> IResult<&str, u32> {
    map_opt(take(4usize), |digits: &str| u32::from_str_radix(digits, 16).ok()).parse(input)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_whole_number_may_have_a_fraction_and_an_exponent() {
        for (text, expected) in [
            ("3", Some(3)),
            ("3.0", Some(3)),
            ("3e0", Some(3)),
            ("0.30E+1", Some(3)),
            ("300e-2", Some(3)),
            ("18446744073709551615", Some(u64::MAX)),
            ("0e99999", Some(0)),
            ("18446744073709551616", None),
            ("2e19", None),
            ("3.5", None),
            ("3e-1", None),
            ("-3", None),
            ("3e99999999999999999999", None),
        ] {
            assert_eq!(parse(text.as_bytes()).and_then(|json| json.number()), expected, "{text}");
        }
    }

    #[test]
    fn json_is_read_and_what_is_none_is_refused() {
        let read = |text: &str| parse(text.as_bytes());
        let object = read(r#" {"a": [1, -2.5e1, null], "b\u00e9\n": {"c": "\ud83d\ude00", "d": true}} "#);
        let inner = vec![("c".into(), Json::Text("😀".into())), ("d".into(), Json::Bool)];
        let list = vec![Json::Number(Some(1)), Json::Number(None), Json::Null];
        assert_eq!(
            object,
            Some(Json::Object(vec![("a".into(), Json::List(list)), ("bé\n".into(), Json::Object(inner))]))
        );
        assert_eq!(read("[ ]"), Some(Json::List(vec![])));
        for bad in ["", "{", "[1,]", "{\"a\"}", "\"a", "\"\\x\"", "nul", "1 2", "{\"a\":1}}"] {
            assert_eq!(read(bad), None, "{bad}");
        }
        assert!(read(&"[".repeat(100_000)).is_none());
        assert_eq!(read("3").and_then(|json| json.number()), Some(3));
        assert_eq!(read("-3").and_then(|json| json.number()), None);
        assert_eq!(read("0.5").and_then(|json| json.number()), None);
    }
}
