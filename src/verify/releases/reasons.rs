//! Reasons other than a broken rule or a feature of the format.

/// A reason why a release does not load a file, or why that is unknown, other than a broken [rule](super::super::RULES) or
/// a [feature](super::FEATURES).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReasonKind {
    /// The name.
    pub name: &'static str,
    /// The description: the releases that are concerned, and possible remedies.
    pub what: &'static str,
}

macro_rules! reasons {
    ($( $ident:ident $name:literal $what:literal )*) => {
        $( pub(in crate::verify) const $ident: ReasonKind = ReasonKind { name: $name, what: $what }; )*

        /// All reasons other than a broken rule or a feature of the format.
        pub const REASONS: &[ReasonKind] = &[$($ident),*];
    };
}

reasons! {
    MISSING_OPERATORS "missing-operators" "operators for which the release's kernel libraries have no kernel, so that the method is refused when it is loaded; link a library that has them, register custom kernels, or export for an earlier release"
    CUSTOM_OPERATORS "custom-operators" "operators in namespaces other than those of ExecuTorch's own kernels, for which the application must register kernels: what these do is not known"
    KNOWN_FAULT "known-fault" "a call that kernels or a backend of the release refuse or compute wrong, which a later release mends: docs/releases.md lists these faults with their sources; run the program with that release"
    MISSING_BACKEND "missing-backend" "a delegate's backend that the release or the target does not have, or that is not the one that the payload was compiled for"
    MEMORY "memory" "memory or space of the target that is too small for the model, or whose use is not known"
    EXTERNAL_DATA "external-data" "data that is not in the program, and in none of the .ptd files that were given: name the .ptd files too"
    PAYLOAD_NOT_CHECKED "payload-not-checked" "payloads of backends other than XNNPACK: releases were not tested with them"
    RELEASE "release" "a release whose runtime was not tested"
    PTD "ptd" "a .ptd file: only the latest release was tested with such files"
    REFERENCE "reference" "a reference to a part that the file does not have, such as the program of a bundle"
    ABSENT "absent" "a part of the file that is absent and needed to read the rest"
    UNREAD "xnnpack-unread" "a payload for XNNPACK that cannot be parsed"
    NEWER_NODE "xnnpack-newer-node" "a node in an XNNPACK payload that the release's XNNPACK delegate does not have yet, and refuses"
    NODE_DROPPED "xnnpack-node-dropped" "a node in an XNNPACK payload that XNNPACK's delegate no longer supports"
    NEWER_DATATYPE "xnnpack-newer-datatype" "a datatype in an XNNPACK payload that the release's XNNPACK delegate does not have yet, and refuses"
    HALF_PRECISION "xnnpack-half-precision" "half precision in an XNNPACK payload: up to 0.4, only one graph was tested, and it was refused"
    NAMED_CONSTANTS "xnnpack-named-constants" "constants of an XNNPACK payload that are looked up by name: releases before 0.6 read them from another place, and compute wrong results"
    FREED_CONSTANTS "xnnpack-freed-constants" "constants of an XNNPACK payload that are looked up by name and not packed, such as the slopes of PReLU: before 1.4.1 the delegate frees them when it is loaded, and reads the freed memory when it runs (#21480), unless the program is loaded from memory; use 1.4.1 or newer, or store the constants in the payload"
    NEWER_PAYLOAD "newer-payload" "a payload in a form that the backend of the release does not read yet: an earlier one refuses it, or takes a key for the data"
    NEWER_SCALES "xnnpack-newer-scales" "scales of an XNNPACK payload in a form that the release does not read yet"
}

#[cfg(test)]
mod tests {
    use super::super::super::RULES;
    use super::super::FEATURES;
    use super::*;

    #[test]
    fn reasons_have_unique_names() {
        let rules = RULES.iter().map(|rule| rule.name);
        let mut names: alloc::vec::Vec<&str> = rules.chain(FEATURES.iter().map(|feature| feature.name)).collect();
        names.extend(REASONS.iter().map(|reason| reason.name));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
