//! The malformed corpus: damaged files, a description of the damage, and the rule that a reader should report.

mod bundles;
mod delegates;
mod flat_tensor;
mod foreign;
mod instructions;
mod kernels;
mod memory;
mod payloads;
mod program;
mod structure;
mod tensors;
mod values;
mod wire;
mod xnnpack;

use crate::written::written;
use executorch_format::delegate::Xnnpack;
use executorch_format::schema::program::{Chain, EValue, ExecutionPlan, Instruction, KernelTypes, Tensor};
use executorch_format::verify::Level;
use executorch_format::{Bpte, Model, Ptd, Pte};
use std::borrow::Cow;
use std::fmt::Write;
use std::path::{Path, PathBuf};
pub use xnnpack::damaged;

/// A damaged file, or a pair of files with one damaged file.
pub struct Case {
    /// The file's name, without its extension.
    pub name: &'static str,
    /// The broken rule. The file breaks no other rule except `also`.
    pub rule: &'static str,
    /// Another broken rule, because this damage cannot break the first rule alone.
    pub also: Option<&'static str>,
    /// The valid file, or the pair, in `tests/data`.
    pub base: &'static [&'static str],
    /// A description of the damage.
    pub what: &'static str,
    /// The lowest level at which it is reported: the rule's, or a stricter level.
    pub level: Level,
    /// The published vulnerability or audit finding that it resembles.
    pub history: Option<&'static str>,
    damage: Damage,
}

enum Damage {
    Bytes(fn(&mut Vec<u8>)),
    Pte(fn(&mut Pte<'_>)),
    Ptd(fn(&mut Ptd<'_>)),
    Pair(fn(&mut Pte<'_>, &mut Ptd<'_>)),
    Bpte(fn(&mut Bpte<'_>)),
    /// Damage to the payload of the delegate with this index. A `.ptd` of the program is unchanged.
    Payload(usize, fn(&mut Xnnpack<'_>)),
}

impl Case {
    fn new(
        name: &'static str,
        rule: &'static str,
        base: &'static [&'static str],
        what: &'static str,
        damage: Damage,
    ) -> Self {
        let level = executorch_format::verify::RULES.iter().find(|known| known.name == rule).expect(rule).level;
        Self { name, rule, also: None, base, what, level, history: None, damage }
    }

    /// Marks a case as reported only at the strict level, since the runtime accepts this damage.
    pub fn strict(mut self) -> Self {
        self.level = Level::Strict;
        self
    }

    /// Marks a case as reported from the runtime level on, since lower levels do not read the payload.
    fn at_runtime(mut self) -> Self {
        self.level = Level::Runtime;
        self
    }

    pub fn also(mut self, rule: &'static str) -> Self {
        self.also = Some(rule);
        self
    }

    pub fn history(mut self, history: &'static str) -> Self {
        self.history = Some(history);
        self
    }

    /// Returns the names of its files: for a pair, the `.pte`, then the `.ptd`.
    pub fn names(&self) -> Vec<String> {
        self.base.iter().map(|base| format!("{}.{}", self.name, base.rsplit('.').next().unwrap())).collect()
    }

    fn build(&self) -> Vec<Vec<u8>> {
        let bases: Vec<Vec<u8>> = self.base.iter().map(|base| std::fs::read(root().join(base)).expect(base)).collect();
        let first = &bases[0];
        match self.damage {
            Damage::Bytes(damage) => {
                let mut bytes = first.clone();
                damage(&mut bytes);
                assert_ne!(&bytes, first, "{}: nothing was damaged", self.name);
                vec![bytes]
            }
            Damage::Pte(damage) => {
                let mut pte = read_pte(first);
                damage(&mut pte);
                vec![self.damaged(Model::Pte(pte), first)]
            }
            Damage::Ptd(damage) => {
                let mut ptd = read_ptd(first);
                damage(&mut ptd);
                vec![self.damaged(Model::Ptd(ptd), first)]
            }
            Damage::Bpte(damage) => {
                let mut bpte = Bpte::parse(first).unwrap();
                damage(&mut bpte);
                let bytes = bpte.image().unwrap().to_vec().unwrap();
                assert_ne!(&bytes, first, "{}: nothing was damaged", self.name);
                vec![bytes]
            }
            Damage::Payload(index, damage) => {
                let damaged = xnnpack::damaged(first, index, damage);
                assert_ne!(&damaged, first, "{}: nothing was damaged", self.name);
                [damaged].into_iter().chain(bases[1..].iter().cloned()).collect()
            }
            Damage::Pair(damage) => {
                let (mut pte, mut ptd) = (read_pte(first), read_ptd(&bases[1]));
                damage(&mut pte, &mut ptd);
                let files = vec![to_vec(Model::Pte(pte)), to_vec(Model::Ptd(ptd))];
                assert_ne!(files, bases, "{}: nothing was damaged", self.name);
                files
            }
        }
    }

    fn damaged(&self, model: Model<'_>, base: &[u8]) -> Vec<u8> {
        let bytes = to_vec(model);
        assert_ne!(bytes, base, "{}: nothing was damaged", self.name);
        bytes
    }
}

fn read_pte(bytes: &[u8]) -> Pte<'_> {
    Pte::parse(bytes).unwrap()
}

fn read_ptd(bytes: &[u8]) -> Ptd<'_> {
    Ptd::parse(bytes).unwrap()
}

/// Writes a model. If the metadata has grown, the segments are moved.
fn to_vec(mut model: Model<'_>) -> Vec<u8> {
    let steps = std::iter::once(0).chain(std::iter::repeat_n(128, 63));
    written(&mut model, steps).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns all cases.
pub fn cases() -> Vec<Case> {
    let parts = [
        structure::cases(),
        program::cases(),
        values::cases(),
        tensors::cases(),
        memory::cases(),
        delegates::cases(),
        instructions::cases(),
        kernels::cases(),
        flat_tensor::cases(),
        bundles::cases(),
        payloads::cases(),
        foreign::cases(),
        xnnpack::cases(),
    ];
    parts.into_iter().flatten().collect()
}

fn root() -> PathBuf {
    crate::data()
}

/// Returns the folder of the corpus.
pub fn folder() -> PathBuf {
    root().join("malformed")
}

/// Returns every file of the corpus with its name: the damaged files and the manifest.
pub fn files() -> Vec<(String, Vec<u8>)> {
    let cases = cases();
    let mut files: Vec<_> = cases.iter().flat_map(|case| case.names().into_iter().zip(case.build())).collect();
    files.push(("manifest.json".into(), manifest(&cases).into_bytes()));
    files.sort();
    assert!(files.windows(2).all(|pair| pair[0].0 != pair[1].0), "two files with the same name");
    files
}

fn manifest(cases: &[Case]) -> String {
    let mut text = String::from("[\n");
    for (index, case) in cases.iter().enumerate() {
        let rule = executorch_format::verify::RULES.iter().find(|rule| rule.name == case.rule).expect(case.rule);
        let names = case.names();
        let or_null = |text: Option<&str>| text.map_or("null".into(), |text| format!("{text:?}"));
        let data = or_null(names.get(1).map(String::as_str));
        let (also, history) = (or_null(case.also), or_null(case.history));
        let comma = if index + 1 < cases.len() { "," } else { "" };
        writeln!(
            text,
            "  {{\"file\": {:?}, \"data\": {data}, \"rule\": {:?}, \"also\": {also}, \"level\": \"{}\", \"severity\": \"{}\", \"from\": {:?}, \"damage\": {:?}, \"history\": {history}}}{comma}",
            names[0], case.rule, case.level, rule.severity, case.base[0], case.what,
        )
        .unwrap();
    }
    text + "]\n"
}

/// Writes these files to the folder, and removes everything else except its README.
pub fn write(folder: &Path, files: &[(String, Vec<u8>)]) {
    std::fs::create_dir_all(folder).unwrap();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_string_lossy();
        if name != "README.md" && files.iter().all(|(kept, _)| *kept != name) {
            std::fs::remove_file(entry).unwrap();
        }
    }
    for (name, bytes) in files {
        let path = folder.join(name);
        if std::fs::read(&path).ok().as_ref() != Some(bytes) {
            std::fs::write(path, bytes).unwrap();
        }
    }
}

// Helpers for the cases.

const ADD: &[&str] = &["1.5.1/add/add.pte"];
const ADD_MUL: &[&str] = &["1.5.1/add_mul/add_mul.pte"];
const MUTABLE: &[&str] = &["1.5.1/mutable_init/mutable_init.pte"];
const DYNAMIC: &[&str] = &["1.5.1/dynamic_bounded/dynamic_bounded.pte"];
const DELEGATE: &[&str] = &["1.5.1/linear_xnnpack/linear_xnnpack.pte"];
const DELEGATE_INLINE: &[&str] = &["1.5.1/add_xnnpack_inline/add_xnnpack_inline.pte"];
const VULKAN: &[&str] = &["payloads/other/vulkan.pte"];
const ETHOS_U: &[&str] = &["payloads/other/ethosu.pte"];
const ETHOS_U_PROGRAM: &[&str] = &["payloads/ethosu_external/ethosu_external_weights.pte"];
const ETHOS_U_PAIR: &[&str] =
    &["payloads/ethosu_external/ethosu_external_weights.pte", "payloads/ethosu_external/ethosu_external_weights.w.ptd"];
const CUDA_PAIR: &[&str] = &["payloads/cuda/cuda_fqn.pte", "payloads/cuda/cuda_fqn.ptd"];
const TWO_METHODS: &[&str] = &["flow/two_methods_state.pte"];
const CORE_ML: &[&str] = &["payloads/other/coreml.pte"];
const BUNDLE: &[&str] = &["1.5.1/bundled/bundled.bpte"];
const BUNDLE_SCALARS: &[&str] = &["payloads/bundle_scalars.bpte"];
const TRACE: &[&str] = &["payloads/profile_debug.etdp"];
const STACK_TRACE: &[&str] = &["1.5.1/stacktrace/stacktrace.pte"];
const TENSORS: &[&str] = &["0.7.0/add_mul_external/_default_external_constant.ptd"];
const PROGRAM_OF_PAIR: &[&str] = &["1.5.1/add_mul_external/add_mul_external.pte"];
const PAIR: &[&str] =
    &["1.5.1/add_mul_external/add_mul_external.pte", "1.5.1/add_mul_external/_default_external_constant.ptd"];

fn bytes(
    name: &'static str,
    rule: &'static str,
    base: &'static [&'static str],
    what: &'static str,
    damage: fn(&mut Vec<u8>),
) -> Case {
    Case::new(name, rule, base, what, Damage::Bytes(damage))
}

fn pte(
    name: &'static str,
    rule: &'static str,
    base: &'static [&'static str],
    what: &'static str,
    damage: fn(&mut Pte<'_>),
) -> Case {
    Case::new(name, rule, base, what, Damage::Pte(damage))
}

fn ptd(name: &'static str, rule: &'static str, what: &'static str, damage: fn(&mut Ptd<'_>)) -> Case {
    Case::new(name, rule, TENSORS, what, Damage::Ptd(damage))
}

fn bpte(
    name: &'static str,
    rule: &'static str,
    base: &'static [&'static str],
    what: &'static str,
    damage: fn(&mut Bpte<'_>),
) -> Case {
    Case::new(name, rule, base, what, Damage::Bpte(damage))
}

fn pair(name: &'static str, rule: &'static str, what: &'static str, damage: fn(&mut Pte<'_>, &mut Ptd<'_>)) -> Case {
    pair_of(PAIR, name, rule, what, damage)
}

fn pair_of(
    base: &'static [&'static str],
    name: &'static str,
    rule: &'static str,
    what: &'static str,
    damage: fn(&mut Pte<'_>, &mut Ptd<'_>),
) -> Case {
    Case::new(name, rule, base, what, Damage::Pair(damage))
}

fn plan<'p, 'a>(pte: &'p mut Pte<'a>) -> &'p mut ExecutionPlan<'a> {
    &mut pte.program.execution_plan.as_mut().unwrap()[0]
}

fn values<'p, 'a>(pte: &'p mut Pte<'a>) -> &'p mut Vec<EValue<'a>> {
    plan(pte).values.as_mut().unwrap()
}

fn tensor<'p, 'a>(pte: &'p mut Pte<'a>, index: usize) -> &'p mut Tensor<'a> {
    match &mut values(pte)[index].val {
        KernelTypes::Tensor(tensor) => tensor,
        other => panic!("value {index} is {other:?}"),
    }
}

fn push<'a>(pte: &mut Pte<'a>, value: impl Into<KernelTypes<'a>>) -> i32 {
    values(pte).push(EValue { val: value.into() });
    values(pte).len() as i32 - 1
}

fn chain<'p, 'a>(pte: &'p mut Pte<'a>) -> &'p mut Chain<'a> {
    &mut plan(pte).chains.as_mut().unwrap()[0]
}

fn instructions<'p, 'a>(pte: &'p mut Pte<'a>) -> &'p mut Vec<Instruction<'a>> {
    chain(pte).instructions.as_mut().unwrap()
}

fn list<T: Clone>(items: &[T]) -> Option<Cow<'static, [T]>> {
    Some(Cow::Owned(items.to_vec()))
}
