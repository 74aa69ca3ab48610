//! The names that callers give to inputs and outputs, from the containers in which the exporter found them: keyword arguments, and keys of
//! dictionaries.

use super::NameText;
use crate::schema::program::ExecutionPlan;
use alloc::{format, string::String, vec, vec::Vec};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The longest name, in bytes. Every name repeats the keys of the containers around it.
const LONGEST: usize = 200;

/// The longest description for each leaf, in bytes. Descriptions of exporters have about 60, with one name in each. Many methods can share a text.
const LONGEST_FOR_LEAF: usize = 1024;

impl ExecutionPlan<'_> {
    /// Returns the name of each input: a keyword argument such as `mask`, or the keys that lead to it, as in `[1].input_pos`. `None` for
    /// arguments that are given by position alone, and for all if the file does not describe its inputs.
    pub(crate) fn input_names(&self) -> Vec<Option<NameText<'static>>> {
        let containers = self.container_meta_type.as_ref();
        names(containers.map_or("", |containers| containers.encoded_inp_str()), self.inputs().len(), Root::Arguments)
    }

    /// Returns the name of each output: the keys that lead to it. `None` for those in tuples and lists alone.
    pub(crate) fn output_names(&self) -> Vec<Option<NameText<'static>>> {
        let containers = self.container_meta_type.as_ref();
        names(containers.map_or("", |containers| containers.encoded_out_str()), self.outputs().len(), Root::Result)
    }
}

/// The outermost containers.
#[derive(Clone, Copy, PartialEq)]
enum Root {
    /// A tuple of positional arguments and a dictionary of keyword arguments.
    Arguments,
    /// The result of `forward`.
    Result,
}

/// A node of a pytree, as `torch.utils._pytree.treespec_dumps` writes it.
#[derive(Deserialize)]
struct Spec<'a> {
    /// `null` for a leaf.
    #[serde(rename = "type", borrow)]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    context: Option<&'a RawValue>,
    children_spec: Vec<Spec<'a>>,
}

/// The context of a `collections.defaultdict`.
#[derive(Deserialize)]
struct DefaultDict {
    dict_context: Vec<Key>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Key {
    Text(String),
    Number(i64),
}

/// The names of a dataclass's fields, and of those that are `None`.
#[derive(Deserialize)]
struct Fields(Vec<Key>, #[expect(dead_code, reason = "they are no leaves")] Vec<String>);

impl Spec<'_> {
    /// Returns the key of each child, if the container has keys.
    fn keys(&self) -> Vec<Key> {
        let context = self.context.map_or("", RawValue::get);
        let keys = match serde_json::from_str::<String>(context) {
            Ok(text) => {
                let list = serde_json::from_str::<Vec<Key>>(&text);
                list.or_else(|_| serde_json::from_str(&text).map(|Fields(names, _)| names))
            }
            Err(_) => serde_json::from_str(context).map(|DefaultDict { dict_context }| dict_context),
        };
        keys.ok().filter(|keys| keys.len() == self.children_spec.len()).unwrap_or_default()
    }

    /// Adds the name of each leaf. `path` leads to the node; `None` if it is too long.
    fn leaves(&self, path: Option<&str>, has_key: bool, names: &mut Vec<Option<NameText<'static>>>) {
        if self.kind.is_none() {
            names.push(path.filter(|_| has_key).map(|path| String::from(path).into()));
            return;
        }
        let keys = self.keys();
        for (index, child) in self.children_spec.iter().enumerate() {
            let (step, is_key) = match keys.get(index) {
                Some(Key::Text(key)) if path.is_none_or(str::is_empty) => (key.clone(), true),
                Some(Key::Text(key)) => (format!(".{key}"), true),
                Some(Key::Number(key)) => (format!("[{key}]"), true),
                None => (format!("[{index}]"), false),
            };
            let path = path.map(|path| format!("{path}{step}")).filter(|path| path.len() <= LONGEST);
            child.leaves(path.as_deref(), has_key || is_key, names);
        }
    }
}

/// Returns the names of `count` leaves; `None` for all if the description has another number of them.
fn names(description: &str, count: usize, root: Root) -> Vec<Option<NameText<'static>>> {
    let mut names = Vec::new();
    if description.len() / LONGEST_FOR_LEAF <= count {
        if let Ok((1, spec)) = serde_json::from_str::<(u32, Spec<'_>)>(description) {
            match (root, &*spec.children_spec) {
                (Root::Arguments, [positional, keyword]) => {
                    positional.leaves(Some(""), false, &mut names);
                    keyword.leaves(Some(""), false, &mut names);
                }
                (Root::Arguments, _) => {}
                (Root::Result, _) => spec.leaves(Some(""), false, &mut names),
            }
        }
    }
    if names.len() == count { names } else { vec![None; count] }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAF: &str = r#"{"type": null, "context": null, "children_spec": []}"#;

    fn node(kind: &str, context: &str, children: &[&str]) -> String {
        format!(r#"{{"type": "{kind}", "context": {context}, "children_spec": [{}]}}"#, children.join(", "))
    }

    fn texts(names: Vec<Option<NameText<'static>>>) -> Vec<Option<String>> {
        names.into_iter().map(|name| name.map(|name| String::from(&*name))).collect()
    }

    fn named(names: &[&str]) -> Vec<Option<String>> {
        names.iter().map(|name| (!name.is_empty()).then(|| (*name).into())).collect()
    }

    #[test]
    fn leaves_are_named_by_the_keys_that_lead_to_them() {
        let dict = node("builtins.dict", r#""[\"k\", 3]""#, &[LEAF, LEAF]);
        let data = node("x.D", r#""[[\"a\", \"b\"], [\"c\"]]""#, &[LEAF, LEAF]);
        let context = r#"{"default_factory_module": "builtins", "default_factory_name": "int", "dict_context": ["d"]}"#;
        let default = node("collections.defaultdict", context, &[LEAF]);
        let named_tuple = node("collections.namedtuple", r#""x.NT""#, &[LEAF]);
        let tuple = node("builtins.tuple", r#""null""#, &[LEAF, &dict, &data, &default, &named_tuple]);
        let result = names(&format!("[1, {tuple}]"), 7, Root::Result);
        assert_eq!(texts(result), named(&["", "[1].k", "[1][3]", "[2].a", "[2].b", "[3].d", ""]));
        let keyword = node("builtins.dict", r#""[\"mask\", \"cache\"]""#, &[LEAF, &dict]);
        let positional = node("builtins.tuple", r#""null""#, &[LEAF]);
        let arguments = node("builtins.tuple", r#""null""#, &[&positional, &keyword]);
        let arguments = format!("[1, {arguments}]");
        let inputs = names(&arguments, 4, Root::Arguments);
        assert_eq!(texts(inputs), named(&["", "mask", "cache.k", "cache[3]"]));
        assert_eq!(texts(names(&arguments, 3, Root::Arguments)), named(&["", "", ""]));
    }

    #[test]
    fn descriptions_that_cannot_be_read_name_no_leaf() {
        let deep = String::from("[1, ") + &r#"{"type": "x", "context": null, "children_spec": ["#.repeat(10_000);
        let long = node("builtins.dict", &format!(r#""[\"{}\"]""#, "k".repeat(LONGEST + 1)), &[LEAF]);
        let later = format!("[2, {LEAF}]");
        for text in ["", "null", "[1, null]", &deep, &format!("[1, {long}]"), &later, &" ".repeat(4096)] {
            assert_eq!(texts(names(text, 1, Root::Result)), [None], "{text:.80}");
        }
    }
}
