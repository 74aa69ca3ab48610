//! The model's tensors by name: their places in the program, and those that have none.

use super::{EtRecord, ModelPlace, ModelTensor, Name, NameSource, Names, Parameter, RecordedMethod, RecordedNode};
use crate::file::pte::Pte;
use crate::names::short;
use crate::sorted::{find, set};
use alloc::collections::BTreeMap;
use alloc::{format, string::String, vec::Vec};

/// The most names that a reason lists.
const MAX_SHOWN: usize = 8;

impl Names<'_> {
    /// Returns the tensor of the model with a name that its author gave, and its places in the program; `None` if there is no such name.
    ///
    /// ```
    /// use executorch_format::edit::{NewData, Selector};
    /// use executorch_format::naming::NameSource;
    /// use executorch_format::{Analysis, NewEntry, Pte};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/etrecord/net_portable.pte")?;
    /// let record = std::fs::read("tests/data/etrecord/net_portable.etrecord")?;
    /// let mut pte = Pte::parse(&file)?;
    /// let sources = [NameSource::parse(&record)?];
    /// let original = pte.clone();
    /// let analysis = Analysis::new(&original).with_names(&sources);
    /// let bias = analysis.names().tensor("head.bias").unwrap();
    /// let new = NewData::from(NewEntry::from_slice("zeros", vec![5], &[0f32; 5]));
    /// assert_eq!(pte.replace(&Selector::Tensor(&bias), &new)?.changes.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn tensor(&self, name: &str) -> Option<ModelTensor> {
        let mut tensor = ModelTensor::default();
        let mut add = |own: &Option<Name<'_>>, place: &dyn Fn(bool) -> ModelPlace| {
            let own = own.as_ref().filter(|own| own.name == name && own.named_by.is_given());
            if let Some(own) = own {
                let sizes =
                    own.sizes.as_deref().and_then(|sizes| sizes.iter().map(|size| u32::try_from(*size).ok()).collect());
                tensor.sizes = tensor.sizes.take().or(sizes);
                tensor.places.push(place(own.transposed));
            }
        };
        for (method, names) in self.methods.iter().enumerate() {
            for (value, own) in names.values.iter().enumerate() {
                add(own, &|transposed| ModelPlace::Value { method, value, transposed });
            }
            for (delegate, names) in names.delegates.iter().enumerate() {
                for (value, own) in names.constants.iter().enumerate() {
                    add(own, &|_| ModelPlace::Constant { method, delegate, value });
                }
            }
        }
        let computed = find(&self.computed, |(own, _)| (*own).cmp(name));
        tensor.computed = computed.map(|(_, reason)| reason.clone());
        tensor.name = name.into();
        (!tensor.places.is_empty() || tensor.computed.is_some()).then_some(tensor)
    }

    /// Returns the names that the model's author gave to data in the same program, and to tensors that it has no copy of, sorted.
    pub fn given(&self, pte: &Pte<'_>) -> Vec<&str> {
        let values = pte.methods().iter().zip(&self.methods).flat_map(|(plan, names)| {
            let has_data = |value: usize| plan.tensor(value).is_some_and(|tensor| tensor.has_data());
            names.values.iter().enumerate().filter(move |(value, _)| has_data(*value)).map(|(_, name)| name)
        });
        let constants = self.methods.iter().flat_map(|method| &method.delegates).flat_map(|names| &names.constants);
        let names = values.chain(constants).flatten().filter(|name| name.named_by.is_given()).map(|name| &*name.name);
        set(names.chain(self.computed.iter().map(|(name, _)| *name)).collect())
    }
}

/// Returns the tensors of the model that the program has no copy of, sorted by name, each with the reason.
pub(super) fn computed<'t>(
    names: &Names<'_>,
    pte: &Pte<'_>,
    sources: impl Iterator<Item = &'t NameSource<'t>>,
) -> Vec<(&'t str, String)> {
    let mut sources = sources.peekable();
    if sources.peek().is_none() {
        return Vec::new();
    }
    let known = names.given(pte);
    let is_known = |name: &str| known.binary_search(&name).is_ok();
    let mut computed: BTreeMap<&'t str, String> = BTreeMap::new();
    for source in sources {
        match source {
            NameSource::Record(EtRecord { methods }) => {
                for method in methods {
                    folded(method, &is_known, &mut computed);
                    // An operator that dequantizes has a name after the one that takes its numbers.
                    let nodes = method.nodes.iter().filter(|node| !node.dequantizes());
                    for parameter in nodes.flat_map(|node| &node.parameters) {
                        if !is_known(&parameter.name) && !parameter.has_generated_name() {
                            computed.entry(&*parameter.name).or_insert_with(no_copy);
                        }
                    }
                }
            }
            NameSource::StateDict(state) => {
                let mut by_bytes: BTreeMap<&[u8], Vec<&str>> = BTreeMap::new();
                for tensor in state {
                    by_bytes.entry(&*tensor.bytes).or_default().push(&tensor.name);
                }
                for tensor in state.iter().filter(|tensor| !is_known(&tensor.name)) {
                    let same = by_bytes.get(&*tensor.bytes).map(Vec::as_slice).unwrap_or_default();
                    let reason = || if same.len() > 1 { ambiguous(same, &tensor.name) } else { no_copy() };
                    computed.entry(&*tensor.name).or_insert_with(reason);
                }
            }
        }
    }
    computed.into_iter().collect()
}

fn no_copy() -> String {
    "no data in the program is known to be a copy of it. The exporter may have computed other data from it, or left it out".into()
}

/// Returns the reason for a tensor whose bytes others of the state dict have, such as tied weights and biases of zeros.
fn ambiguous(same: &[&str], name: &str) -> String {
    let other = same.iter().find(|other| **other != name).map(|other| short(other)).unwrap_or_default();
    let more = if same.len() > 2 { format!(" and {} others", same.len() - 2) } else { String::new() };
    format!(
        "it has the same bytes as {other}{more}, so it is not known which of them the data of the program is: use its key or value, or an ETRecord"
    )
}

/// Adds the parameters of normalizations that the exporter folds into the convolution or matrix multiplication before them, with the
/// parameters of these. Of such a normalization, the program has no parameter.
fn folded<'t>(method: &'t RecordedMethod, is_known: &dyn Fn(&str) -> bool, computed: &mut BTreeMap<&'t str, String>) {
    let mut by_name: BTreeMap<&str, &'t RecordedNode> = BTreeMap::new();
    let mut users: BTreeMap<&str, usize> = BTreeMap::new();
    for node in &method.nodes {
        by_name.insert(&*node.name, node);
        node.producers.iter().for_each(|producer| *users.entry(&**producer).or_default() += 1);
    }
    for node in &method.nodes {
        let is_own = |parameter: &Parameter| is_known(&parameter.name);
        if !node.operator.contains("batch_norm") || node.parameters.is_empty() || node.parameters.iter().any(is_own) {
            continue;
        }
        let before = node.producers.first().filter(|producer| users.get(&***producer) == Some(&1));
        let before = before.and_then(|producer| by_name.get(&**producer)).filter(|before| is_weighted(before));
        let from: Vec<&'t str> = before
            .into_iter()
            .chain([&node])
            .flat_map(|node| &node.parameters)
            .map(|parameter| &*parameter.name)
            .collect();
        let shown = from.iter().take(MAX_SHOWN).copied().collect::<Vec<_>>().join(", ");
        let into = match before {
            Some(before) => format!("which folds the normalization into {}", before.operator),
            None => "which makes a convolution of the normalization".into(),
        };
        let reason =
            format!("the exporter, {into}, computes data of the program from all of {shown}: export the model again");
        for name in from {
            computed.entry(name).or_insert_with(|| reason.clone());
        }
    }
}

fn is_weighted(node: &RecordedNode) -> bool {
    matches!(node.operator.as_str(), "aten::convolution" | "aten::linear" | "aten::addmm" | "aten::mm")
}
