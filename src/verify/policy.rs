//! User settings: which checks run, and how severe their findings are.

use super::{Finding, Level, RULES, Severity};
use crate::error::{Error, Result};
use crate::setters::setters;
use alloc::{format, string::String, vec::Vec};

/// A user's settings for a check: its level, rules to treat as errors, and rules to ignore.
///
/// ```
/// use executorch_format::{Pte, verify::Policy};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = Policy::default().with_deny(vec!["warnings".into()]).with_allow(vec!["trailing-bytes".into()]);
/// policy.check()?;
/// let file = std::fs::read("tests/data/1.5.1/add_mul_external/add_mul_external.pte")?;
/// let pte = Pte::parse(&file)?;
/// let findings = policy.judge(pte.verify(policy.level));
/// assert!(findings.is_empty());
/// # Ok(())
/// # }
/// ```
///
/// As a file for `pte verify --policy`, in TOML:
///
/// ```toml
/// level = "strict"
/// deny = ["warnings"]
/// allow = ["trailing-bytes"]
/// ```
///
/// and in JSON:
///
/// ```
/// # {
/// use executorch_format::verify::{Level, Policy};
///
/// let policy: Policy = serde_json::from_str(r#"{"level": "runtime", "deny": ["warnings"]}"#).unwrap();
/// assert_eq!(policy, Policy::default().with_level(Level::Runtime).with_deny(vec!["warnings".into()]));
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct Policy {
    /// The level of the check.
    pub level: Level,
    /// Names of rules whose findings become errors; `warnings` for all rules whose findings would be warnings.
    pub deny: Vec<String>,
    /// Names of rules whose findings are dropped.
    pub allow: Vec<String>,
}

setters! {
    Policy {
        level = with_level: Level,
        deny = with_deny: Vec<String>,
        allow = with_allow: Vec<String>,
    }
}

impl Policy {
    /// The name that stands in [`deny`](Self::deny) for every rule whose findings are warnings.
    pub const WARNINGS: &str = "warnings";

    /// Fails with [`ErrorKind::Word`](crate::ErrorKind::Word) if the policy contains the name of a rule that does not exist.
    pub fn check(&self) -> Result<()> {
        let known = |name: &&String| RULES.iter().any(|rule| rule.name == name.as_str());
        let denied = self.deny.iter().filter(|name| *name != Self::WARNINGS);
        match denied.chain(&self.allow).find(|name| !known(name)) {
            None => Ok(()),
            Some(name) => {
                let expected = format!("a name in docs/rules.md, or {:?}", Self::WARNINGS);
                Err(Error::not_a("rule", name, expected))
            }
        }
    }

    /// Applies the settings: drops findings and changes severities.
    pub fn judge(&self, mut findings: Vec<Finding>) -> Vec<Finding> {
        let names = |names: &[String], rule: &str| names.iter().any(|name| name == rule);
        findings.retain(|finding| !names(&self.allow, finding.rule));
        for finding in &mut findings {
            let warning = finding.severity == Severity::Warning && names(&self.deny, Self::WARNINGS);
            if warning || names(&self.deny, finding.rule) {
                finding.severity = Severity::Error;
            }
        }
        findings
    }
}
