//! The settings that a delegate was compiled with, as text.

use crate::names::shortened;
use crate::schema::program::{BackendDelegate, CompileSpec};
use alloc::{borrow::Cow, vec::Vec};
use core::fmt;

/// The maximum number of settings listed for a delegate: many delegates can share one long list.
const MAX_SHOWN: usize = 32;

/// A setting for a backend.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CompileSetting<'t> {
    /// The name, [`shortened`].
    pub key: Cow<'t, str>,
    /// The value, [`shortened`], if it is text; `None` for other bytes.
    pub text: Option<Cow<'t, str>>,
    /// The size of the value, in bytes.
    pub size: usize,
}

impl<'t> CompileSetting<'t> {
    pub(crate) fn of(spec: &'t CompileSpec<'_>) -> Self {
        let value = spec.value();
        let is_text =
            |text: &&str| !text.is_empty() && !text.chars().any(|c| c.is_control() && !c.is_ascii_whitespace());
        let text = core::str::from_utf8(value).ok().filter(is_text);
        Self { key: shortened(spec.key()), text: text.map(shortened), size: value.len() }
    }

    /// Returns the first settings of a delegate.
    pub fn all(delegate: &'t BackendDelegate<'_>) -> Vec<Self> {
        delegate.compile_specs().iter().take(MAX_SHOWN).map(Self::of).collect()
    }
}

/// Writes the setting as `compile_flags = --output-format=raw`.
impl fmt::Display for CompileSetting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => write!(f, "{} = {text}", self.key),
            None => write!(f, "{}: {}", self.key, crate::error::counted(self.size as u64, "byte")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, string::String, vec};

    #[test]
    fn compile_settings_show_text_values() {
        let spec =
            |key: &'static str, value: &'static [u8]| CompileSpec { key: Some(key.into()), value: Some(value.into()) };
        let specs = vec![spec("target", b"ethos-u55-64"), spec("n", &[0, 1]), spec("flags", b"-a -b")];
        let delegate = |specs| BackendDelegate {
            id: Some("EthosUBackend".into()),
            compile_specs: Some(specs),
            ..Default::default()
        };
        let one = delegate(specs.clone());
        let shown: Vec<String> = CompileSetting::all(&one).iter().map(|setting| format!("{setting}")).collect();
        assert_eq!(shown, ["target = ethos-u55-64", "n: 2 bytes", "flags = -a -b"]);
    }
}
