//! Paths of fields, in the schema's names: `execution_plan[0].values[12].val.Tensor.sizes`.

use alloc::{string::String, vec::Vec};
use core::fmt;

/// One step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A field of a table, or a member of a union.
    Field(&'static str),
    /// An item of a list.
    Index(usize),
}

/// The path of a field in a tree; empty for the whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldPath(Vec<Step>);

impl FieldPath {
    /// Returns the steps, starting at the root.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Returns the last step, or `None` for the whole file.
    pub fn last(&self) -> Option<Step> {
        self.0.last().copied()
    }

    /// Returns `true` if the path has no steps, so that it is the path of the whole file.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Step> for FieldPath {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Self {
        Self(steps.into_iter().collect())
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Field(name) if at == 0 => f.write_str(name)?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl PartialEq<str> for FieldPath {
    fn eq(&self, other: &str) -> bool {
        alloc::string::ToString::to_string(self) == *other
    }
}

impl PartialEq<&str> for FieldPath {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl From<&FieldPath> for String {
    fn from(path: &FieldPath) -> Self {
        alloc::string::ToString::to_string(path)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for FieldPath {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

crate::json_schema::json_schema_of_text!(FieldPath);

/// A path during a walk of a tree: a chain of steps on the stack. It is converted to a [`FieldPath`] only when needed.
#[derive(Clone, Copy, Debug)]
pub struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    /// Names with dots between them, or an empty string.
    names: &'static str,
    index: Option<usize>,
}

impl<'p> Path<'p> {
    /// The path of the root.
    pub const ROOT: Path<'static> = Path { parent: None, names: "", index: None };

    /// Returns the path of a field or of a union's member: a name, or several with dots between them, such as `val.Tensor`.
    pub fn field(&'p self, names: &'static str) -> Path<'p> {
        Path { parent: Some(self), names, index: None }
    }

    /// Returns the path of an item of the list at this path.
    pub fn index(&'p self, index: usize) -> Path<'p> {
        Path { parent: Some(self), names: "", index: Some(index) }
    }

    /// Returns the path of an item of the field `list`.
    pub fn item(&'p self, list: &'static str, index: usize) -> Path<'p> {
        Path { parent: Some(self), names: list, index: Some(index) }
    }

    /// Returns `true` for the path of the root.
    pub(crate) fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// Returns the index in the root's field `list` if the path goes through an item of that list.
    pub(crate) fn item_of_root(&self, list: &str) -> Option<usize> {
        let (mut field, mut item) = (None, None);
        for path in core::iter::successors(Some(self), |path| path.parent).filter(|path| !path.is_root()) {
            item = path.index.or(field.and_then(|field: &Path<'_>| field.index));
            field = Some(path);
        }
        field.filter(|field| field.names == list).and(item)
    }

    /// Returns `true` if the last step is the field `name`.
    pub(crate) fn is_field(&self, name: &str) -> bool {
        let before = self.names.strip_suffix(name).filter(|_| self.index.is_none());
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    }

    /// Returns the steps from the last to the first, without allocating.
    ///
    /// ```
    /// use executorch_format::{Path, Step};
    ///
    /// let value = Path::ROOT.item("execution_plan", 0);
    /// let value = value.item("values", 12);
    /// let sizes = value.field("val.Tensor.sizes");
    /// assert_eq!(sizes.last(), Some(Step::Field("sizes")));
    /// assert_eq!(sizes.index_in("values"), Some(12));
    /// assert_eq!(sizes.index_in("inputs"), None);
    /// assert_eq!(sizes.steps_from_last().count(), 7);
    /// ```
    pub fn steps_from_last(&self) -> impl Iterator<Item = Step> {
        core::iter::successors(Some(self), |path| path.parent).flat_map(|path| {
            let names = path.names.rsplit('.').filter(|name| !name.is_empty());
            path.index.map(Step::Index).into_iter().chain(names.map(Step::Field))
        })
    }

    /// Returns the last step, or `None` for the root.
    pub fn last(&self) -> Option<Step> {
        self.steps_from_last().next()
    }

    /// Returns the index in the list called `name` if the path goes through an item of such a list. If there are several, the
    /// innermost list counts.
    pub fn index_in(&self, name: &str) -> Option<usize> {
        let mut index = None;
        for step in self.steps_from_last() {
            match step {
                Step::Field(field) if field == name && index.is_some() => return index,
                Step::Field(_) => index = None,
                Step::Index(item) => index = Some(item),
            }
        }
        None
    }

    /// Returns a copy that owns its steps.
    pub fn to_field_path(&self) -> FieldPath {
        let mut steps = Vec::new();
        for step in self.steps_from_last() {
            steps.push(step);
        }
        steps.reverse();
        FieldPath(steps)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_field_path().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_displayed_with_dots_and_brackets() {
        let root = Path::ROOT;
        let plan = root.field("execution_plan");
        let plan = plan.index(0);
        let value = plan.item("values", 12);
        let sizes = value.field("val.Tensor.sizes");
        assert_eq!(sizes.to_field_path(), "execution_plan[0].values[12].val.Tensor.sizes");
        assert_eq!(sizes.to_field_path().steps().len(), 7);
        assert!(root.to_field_path().is_empty() && root.to_field_path() == "");
    }

    #[test]
    fn index_in_uses_the_innermost_list_of_that_name() {
        let plan = Path::ROOT.item("execution_plan", 2);
        let value = plan.item("values", 5);
        let tensor = value.field("val.Tensor");
        let path = tensor.item("sizes", 1);
        assert_eq!(path.index_in("execution_plan"), Some(2));
        assert_eq!(path.index_in("values"), Some(5));
        assert_eq!(path.index_in("sizes"), Some(1));
        assert_eq!(path.index_in("Tensor"), None);
        assert_eq!(path.index_in("chains"), None);
    }
}
