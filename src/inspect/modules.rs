//! Amounts that belong to the modules of a model.

/// The innermost module that contains both.
pub(crate) fn common_module<'t>(one: &'t str, other: &str) -> &'t str {
    let contains = |outer: &str| {
        outer.is_empty() || other.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut common = one;
    while !contains(common) {
        common = common.rsplit_once('.').map_or("", |(outer, _)| outer);
    }
    common
}

/// An amount that belongs to a module: bytes of a file, bytes of memory at a time, ticks, or calls.
///
/// Lists of these are trees: the model itself, whose path is empty, comes first, and each module is followed by those inside it, the
/// largest first. Modules that are nested more than 15 deep are counted for the one that contains them. Last comes what is known to be of
/// no module, if there is any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ModuleTotal<'t> {
    /// The path, such as `layers.0.conv`; empty for the model itself; `None` for everything whose module is not known.
    pub path: Option<&'t str>,
    /// The number of modules that contain it.
    pub depth: usize,
    /// The amount of the module by itself, without the modules inside it.
    pub own: u64,
    /// The amount with the modules inside it.
    pub total: u64,
    /// The number of things that were added up: blobs, tensors, events or calls.
    pub count: usize,
}
