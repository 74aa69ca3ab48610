//! Paths of modules.

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

/// Returns the path of the module that contains the given module.
pub(crate) fn outer(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(outer, _)| outer)
}

/// Returns the part of a name after its module.
pub(super) fn own_name(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}
