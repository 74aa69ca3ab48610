//! Modules of a model, and amounts by module.

/// The most modules of a path that are told apart: a record can contain any path.
pub(crate) const MAX_DEPTH: usize = 16;

/// Returns the modules of a path: the outermost first, the module itself last.
pub(crate) fn modules(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('.').map(|(end, _)| end).chain([path.len()]);
    ends.filter(|end| *end > 0).filter_map(|end| path.get(..end))
}

/// Returns the innermost module that contains both.
pub(crate) fn common_module<'t>(left: &'t str, right: &str) -> &'t str {
    let contains = |outer: &str| {
        outer.is_empty() || right.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut common = left;
    while !contains(common) {
        common = common.rsplit_once('.').map_or("", |(outer, _)| outer);
    }
    common
}

/// An amount that belongs to a module: bytes of a file, bytes of memory at a time, ticks, or calls.
///
/// Lists of these are trees: the model itself, with an empty path, comes first, and each module is followed by the modules inside it, the
/// largest first. Modules that are nested more than 15 deep count toward the module that contains them. The amount that is known to belong
/// to no module, if any, comes last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ModuleTotal<'t> {
    /// The path, such as `layers.0.conv`; empty for the model itself; `None` for the sum of everything whose module is not known.
    pub path: Option<&'t str>,
    /// The number of enclosing modules.
    pub depth: usize,
    /// The amount of the module itself, without the modules inside it.
    pub own: u64,
    /// The amount including the modules inside it.
    pub total: u64,
    /// The number of items in the sum: blobs, tensors, events or calls.
    pub count: usize,
}
