//! Policy files: the settings of `pte verify` and the limits of `pte diff`.

use crate::diff;
use crate::failure::Failure;
use crate::open::read_settings;
use executorch_format::inspect::DiffLimits;
use executorch_format::verify::Policy;
use std::path::Path;

/// Reads a policy file: settings for `verify`, and limits for `diff` in its table `[diff]`.
pub fn read(path: &Path) -> Result<(Policy, DiffLimits), Failure> {
    let mut table: toml::Table =
        toml::from_str(&read_settings(path)?).map_err(|error| Failure::usage_of(path, &error))?;
    if table.is_empty() {
        return Err(Failure::usage_of(path, &"the policy is empty: expected level, deny, allow or a table [diff]"));
    }
    let mut limits = DiffLimits::default();
    match table.remove("diff") {
        None => {}
        Some(toml::Value::Table(table)) => {
            diff::of_table(&table, &mut limits).map_err(|fault| Failure::usage_of(path, &fault))?;
        }
        Some(_) => return Err(Failure::usage_of(path, &"diff: expected a table of limits")),
    }
    let policy = table.try_into().map_err(|error: toml::de::Error| Failure::usage_of(path, &error))?;
    Ok((policy, limits))
}
