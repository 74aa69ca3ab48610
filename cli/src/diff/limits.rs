//! Limits as options and in a policy file.

use crate::failure::Failure;
use crate::near::Names;
use crate::text;
use executorch_format::inspect::{DiffLimits, GrowthLimit};

/// The names of all limits.
const NAMES: [&str; 5] = ["any", "max-abs", "size", "memory", "operators"];

/// Adds the limits of options, each a name or a name with a value.
pub fn of_options(options: &[String], limits: &mut DiffLimits) -> Result<(), Failure> {
    for option in options {
        let (name, limit) = option.split_once('=').map_or((&**option, None), |(name, limit)| (name, Some(limit)));
        set(limits, name, limit).map_err(|fault| Failure::Usage(format!("--fail-on {option}: {fault}")))?;
    }
    Ok(())
}

/// Adds the limits in a policy's table `[diff]`.
pub fn of_table(table: &toml::Table, limits: &mut DiffLimits) -> Result<(), String> {
    for (name, limit) in table {
        let limit = match limit {
            toml::Value::String(text) => Some(text.clone()),
            toml::Value::Integer(number) => Some(number.to_string()),
            toml::Value::Float(number) => Some(number.to_string()),
            toml::Value::Boolean(true) => None,
            other => return Err(format!("diff.{name}: a {}, expected true, a number or a string", other.type_str())),
        };
        set(limits, name, limit.as_deref()).map_err(|fault| format!("diff.{name}: {fault}"))?;
    }
    Ok(())
}

/// Sets a limit; without a value, to zero.
fn set(limits: &mut DiffLimits, name: &str, limit: Option<&str>) -> Result<(), String> {
    let taken = std::mem::take(limits);
    *limits = match (name, limit) {
        ("any", None) => taken.with_any(true),
        ("any", Some(_)) => return Err("takes no limit".to_owned()),
        ("max-abs", limit) => taken.with_max_abs(Some(number(limit.unwrap_or("0"))?)),
        ("size", limit) => taken.with_size(Some(growth(limit.unwrap_or("0"))?)),
        ("memory", limit) => taken.with_memory(Some(growth(limit.unwrap_or("0"))?)),
        ("operators", limit) => {
            let most = limit.unwrap_or("0").parse().map_err(|_| "expected a number of operators".to_owned())?;
            taken.with_operators(Some(most))
        }
        (unknown, _) => {
            return Err(format!("no limit {}, {}", text::quoted(unknown), Names::from_iter(NAMES).hint(unknown)));
        }
    };
    Ok(())
}

fn number(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number >= 0.0);
    number.ok_or_else(|| format!("{}: expected a number from 0, such as 1e-3", text::quoted(text)))
}

/// Parses `5%`, or a size.
fn growth(text: &str) -> Result<GrowthLimit, String> {
    match text.strip_suffix('%') {
        Some(percent) => number(percent.trim_end()).map(GrowthLimit::Percent),
        None => text::parse_size(text).map(GrowthLimit::Bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(options: &[&str]) -> Result<DiffLimits, String> {
        let mut limits = DiffLimits::default();
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        of_options(&options, &mut limits).map(|()| limits).map_err(|failure| failure.messages().join(" "))
    }

    #[test]
    fn limits_have_a_name_and_a_value() {
        let expected = DiffLimits::default()
            .with_max_abs(Some(1e-3))
            .with_size(Some(GrowthLimit::Percent(5.0)))
            .with_memory(Some(GrowthLimit::Bytes(65536)))
            .with_operators(Some(0));
        assert_eq!(limits(&["max-abs=1e-3", "size=5%", "memory=64KiB", "operators"]), Ok(expected.clone()));
        let table = "max-abs = 0.001\nsize = \"5%\"\nmemory = 65536\noperators = 0\n".parse();
        let mut found = DiffLimits::default();
        assert_eq!(table.map(|table| of_table(&table, &mut found)), Ok(Ok(())));
        assert_eq!(found, expected);
        for (option, words) in [
            ("sise", "no limit \"sise\", did you mean \"size\"?"),
            ("any=1", "takes no limit"),
            ("max-abs=x", "expected a number"),
            ("max-abs=-1", "expected a number"),
            ("size=-5%", "expected a number"),
            ("memory=1 mile", "is not a size"),
            ("operators=many", "expected a number of operators"),
        ] {
            let told = limits(&[option]);
            assert!(told.as_ref().is_err_and(|told| told.contains(words)), "{told:?}");
        }
    }
}
