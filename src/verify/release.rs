//! Releases of ExecuTorch, and the behaviour of a runtime with a file.

use crate::error::Error;
use crate::flatbuffer::number::parsed;
use crate::operators::Span;
use core::fmt;
use core::str::FromStr;

/// A release of ExecuTorch's runtime, without the patch number: patch releases (0.2.1, 1.0.1, 1.4.1) treat the tested
/// files like the release before.
///
/// ```
/// use executorch_format::verify::Release;
///
/// let release: Release = "0.7.0".parse()?;
/// assert_eq!(release.to_string(), "0.7");
/// assert!(release < Release::LATEST);
/// # Ok::<(), executorch_format::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    major: u8,
    minor: u8,
    name: &'static str,
}

impl Release {
    pub(crate) const V0_2: Self = Self::new(0, 2, "0.2");
    pub(crate) const V0_4: Self = Self::new(0, 4, "0.4");
    pub(crate) const V0_5: Self = Self::new(0, 5, "0.5");
    pub(crate) const V0_6: Self = Self::new(0, 6, "0.6");
    pub(crate) const V0_7: Self = Self::new(0, 7, "0.7");
    pub(crate) const V1_0: Self = Self::new(1, 0, "1.0");
    pub(crate) const V1_1: Self = Self::new(1, 1, "1.1");
    pub(crate) const V1_2: Self = Self::new(1, 2, "1.2");
    pub(crate) const V1_3: Self = Self::new(1, 3, "1.3");
    pub(crate) const V1_4: Self = Self::new(1, 4, "1.4");

    /// The newest release that the rules describe.
    pub const LATEST: Self = Self::new(1, 5, "1.5");

    /// All releases, oldest first. 0.3 was not tested.
    pub const ALL: [Self; 12] = [
        Self::V0_2,
        Self::new(0, 3, "0.3"),
        Self::V0_4,
        Self::V0_5,
        Self::V0_6,
        Self::V0_7,
        Self::V1_0,
        Self::V1_1,
        Self::V1_2,
        Self::V1_3,
        Self::V1_4,
        Self::LATEST,
    ];

    const fn new(major: u8, minor: u8, name: &'static str) -> Self {
        Self { major, minor, name }
    }

    /// Returns the name, such as `0.7`.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Returns `true` if the release's runtime was tested.
    pub fn was_seen(self) -> bool {
        self != Self::new(0, 3, "0.3")
    }

    /// Returns `true` if the release's kernels were compared with those of the newest release.
    pub(crate) fn has_tested_kernels(self) -> bool {
        self >= Self::V1_0
    }

    /// Returns `true` if the release is in one of these ranges.
    pub(crate) fn is_in(self, ranges: &[Span]) -> bool {
        ranges.iter().any(|range| range.contains((self.major, self.minor)))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

/// Parses `0.7` or `0.7.0`, one of [`Release::ALL`].
impl FromStr for Release {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut parts = text.split('.').map(parsed::<u8>);
        let release = match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(Some(major)), Some(Some(minor)), None | Some(Some(_)), None) => {
                Self::ALL.into_iter().find(|release| (release.major, release.minor) == (major, minor))
            }
            _ => None,
        };
        release.ok_or_else(|| {
            Error::word("release of ExecuTorch", text, &mut Self::ALL.iter().map(|release| release.name))
        })
    }
}

impl<'de> serde::Deserialize<'de> for Release {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <alloc::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl serde::Serialize for Release {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for Release {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Release".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "enum": Self::ALL.map(|release| release.name)})
    }
}

/// The behaviour of a release's runtime with a file, in order of severity: the greatest decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Behaviour {
    /// The file loads.
    Loads,
    /// Not tested, or tested with different results.
    Unknown,
    /// The file loads, but the runtime computes wrong results, because it ignores an unknown field.
    Miscomputes,
    /// The runtime reports an error.
    Refuses,
    /// The process ends: a segmentation fault or an abort.
    Dies,
}

impl fmt::Display for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Loads => "loads",
            Self::Unknown => "unknown",
            Self::Miscomputes => "loads, but computes wrong results",
            Self::Refuses => "refuses",
            Self::Dies => "dies",
        })
    }
}
