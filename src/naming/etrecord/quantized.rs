//! The model's own names of quantized parameters. Quantizers give the quantized elements, scales and zero points generated names.

use crate::analysis::modules::outer;
use crate::analysis::{Parameter, RecordedMethod, RecordedNode};
use crate::sorted::set;
use alloc::collections::BTreeMap;
use alloc::{format, string::String, vec::Vec};

impl RecordedNode {
    /// Returns `true` for an operator whose result has the elements of its first argument.
    pub(super) fn is_view(&self) -> bool {
        const VIEWS: [&str; 10] = [
            "alias_copy",
            "clone",
            "_clone_dim_order",
            "permute_copy",
            "squeeze_copy",
            "t_copy",
            "_to_dim_order_copy",
            "transpose_copy",
            "unsqueeze_copy",
            "view_copy",
        ];
        self.operator.split_once("::").is_some_and(|(_, name)| VIEWS.contains(&name))
    }

    /// Returns the parameters that need a name, if the operator computes with the numbers of quantized ones.
    fn unnamed(&self) -> impl Iterator<Item = &Parameter> {
        let is_user = !self.dequantizes() && !self.is_view();
        let takes_elements = self.operator.contains("::embedding_");
        let is_weight =
            move |parameter: &&Parameter| parameter.quantized || takes_elements && parameter.argument == "weight";
        self.parameters.iter().filter(move |own| is_user && own.has_generated_name() && is_weight(own))
    }
}

/// Returns the name of a tensor of which torchao has replaced a part.
fn parametrized(name: &str) -> Option<String> {
    let (module, rest) = name.rsplit_once("parametrizations.")?;
    let (tensor, part) = rest.split_once('.')?;
    part.starts_with("original").then(|| format!("{module}{tensor}"))
}

/// Returns `true` if a quantized parameter has a generated name.
pub(super) fn any(methods: &[RecordedMethod]) -> bool {
    methods.iter().flat_map(|method| &method.nodes).any(|node| node.unnamed().next().is_some())
}

/// Gives quantized parameters the names that they had before: that of a torchao tensor is part of the generated one; otherwise, the
/// operator that takes the numbers shows it. `originals` are the parameters of the program before the exporter removed those that it does
/// not use.
pub(super) fn rename(methods: &mut [RecordedMethod], originals: &[Parameter]) {
    let all = methods.iter().flat_map(|method| &method.nodes).flat_map(|node| &node.parameters);
    let used = set(all.map(|parameter| parameter.name.as_str()).collect());
    let is_free = |own: &&Parameter| !own.has_generated_name() && used.binary_search(&own.name.as_str()).is_err();
    let originals = Originals::new(originals.iter().filter(is_free));
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for node in methods.iter().flat_map(|method| &method.nodes) {
        for parameter in node.unnamed() {
            if names.contains_key(&parameter.name) {
                continue;
            }
            let name = parametrized(&parameter.name).or_else(|| originals.name(node, parameter));
            if let Some(name) = name {
                names.insert(parameter.name.clone(), name);
            }
        }
    }
    for parameter in methods.iter_mut().flat_map(|method| &mut method.nodes).flat_map(|node| &mut node.parameters) {
        if let Some(name) = names.get(&parameter.name) {
            parameter.name.clone_from(name);
        }
    }
}

/// The parameters before quantization.
struct Originals<'p> {
    names: Vec<&'p str>,
    /// The name by sizes; `None` if several have these.
    by_sizes: BTreeMap<&'p [u64], Option<&'p str>>,
    /// The name by module and sizes.
    by_module: BTreeMap<(&'p str, &'p [u64]), Option<&'p str>>,
}

impl<'p> Originals<'p> {
    fn new(parameters: impl Iterator<Item = &'p Parameter>) -> Self {
        let (mut names, mut by_sizes, mut by_module) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        for Parameter { name, sizes, .. } in parameters {
            names.push(name.as_str());
            if let Some(sizes) = sizes.as_deref() {
                let is_first = !by_sizes.contains_key(&sizes);
                by_sizes.insert(sizes, is_first.then_some(name.as_str()));
                let place = (outer(name), sizes);
                let is_first = !by_module.contains_key(&place);
                by_module.insert(place, is_first.then_some(name.as_str()));
            }
        }
        Self { names: set(names), by_sizes, by_module }
    }

    /// Returns the name of a quantized parameter that a node takes.
    fn name(&self, node: &RecordedNode, parameter: &Parameter) -> Option<String> {
        let argument = match (node.operator.as_str(), parameter.argument.as_str()) {
            ("aten::addmm" | "aten::mm", "mat2") => "weight",
            ("aten::addmm", "self" | "input") => "bias",
            (_, argument) => argument,
        };
        let module = node.module.as_str();
        let expected = if module.is_empty() { argument.into() } else { format!("{module}.{argument}") };
        if self.names.binary_search(&expected.as_str()).is_ok() {
            return Some(expected);
        }
        let sizes = parameter.sizes.as_deref().unwrap_or_default();
        let found = self.by_module.get(&(module, sizes)).or_else(|| self.by_sizes.get(&sizes));
        // A function of the model itself may take a parameter of any name.
        let is_module = !module.is_empty() || self.names.is_empty();
        match found.copied().flatten() {
            Some(name) => Some(name.into()),
            None => (is_module && matches!(argument, "weight" | "bias")).then_some(expected),
        }
    }
}
