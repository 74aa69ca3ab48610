//! Writes a target file with everything that the models need, for users to edit.

use crate::text;
use executorch_format::inspect::{PointerSize, TempAllocator};
use executorch_format::schema::ScalarType;
use executorch_format::schema::program::DeviceType;
use executorch_format::text::is_deceptive;
use executorch_format::verify::{Behaviour, Library, Release, Target};
use executorch_format::{Analysis, Pte};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The combined needs of several models.
#[derive(Default)]
pub(super) struct Needs {
    /// The runtime that the device has.
    preset: Option<Target>,
    files: Vec<PathBuf>,
    /// The releases that load all of them with portable kernels.
    releases: Option<BTreeSet<Release>>,
    operators: BTreeMap<String, BTreeSet<ScalarType>>,
    backends: BTreeSet<String>,
    arena: u64,
    /// The largest buffer of any method on the CPU, by memory id.
    memories: BTreeMap<u32, u64>,
    /// Bytes with 32-bit and with 64-bit pointers.
    allocator: [u64; 2],
    /// `true` if backends other than XNNPACK allocate memory that is not counted.
    more: bool,
    scratch: Option<u64>,
    accelerators: BTreeSet<String>,
    socs: BTreeSet<String>,
    /// The oldest versions of iOS and macOS that Core ML needs.
    systems: BTreeMap<&'static str, &'static str>,
    largest: u64,
}

impl Needs {
    /// Creates the needs of no model, on a runtime if one is given.
    pub fn new(preset: Option<Target>) -> Self {
        Self { preset, ..Self::default() }
    }

    /// Adds a model.
    pub fn add(&mut self, path: &Path, pte: &Pte<'_>) {
        self.files.push(path.to_owned());
        let analysis = Analysis::new(pte);
        let verdicts = analysis.releases(&Target::default()).releases.into_iter();
        let loads = verdicts.filter(|verdict| verdict.behaviour == Behaviour::Loads).map(|verdict| verdict.release);
        let loads: BTreeSet<Release> = loads.collect();
        self.releases = Some(match self.releases.take() {
            Some(others) => others.intersection(&loads).copied().collect(),
            None => loads,
        });
        let needed = analysis.operators();
        for (name, operator) in needed.operators.into_iter().filter(|(_, operator)| operator.calls > 0) {
            let tensors = operator.kernels.values().flat_map(|kernel| &kernel.tensors);
            self.operators.entry(name).or_default().extend(tensors.map(|tensor| tensor.scalar_type));
        }
        self.backends.extend(needed.backends.into_keys());
        for plan in pte.methods() {
            let buffers = plan.planned_memory().buffers.into_iter();
            let cpu: Vec<_> = buffers.filter(|buffer| buffer.device_type == DeviceType::CPU).collect();
            self.arena = self.arena.max(cpu.iter().map(|buffer| buffer.size).sum());
            for buffer in cpu {
                let size = self.memories.entry(buffer.memory_id).or_default();
                *size = (*size).max(buffer.size);
            }
            let taken = pte.method_allocator(plan);
            for (allocator, size) in self.allocator.iter_mut().zip([PointerSize::Bits32, PointerSize::Bits64]) {
                *allocator = (*allocator).max(taken.known(size, TempAllocator::Given));
            }
            self.more |= taken.other_delegates > 0;
        }
        for facts in analysis.payload_facts() {
            self.scratch = self.scratch.max(facts.summary.scratch_size);
            self.accelerators.extend(facts.device.accelerator.map(str::to_owned));
            self.socs.extend(facts.device.soc.clone());
            for (key, needed) in [("ios", facts.device.ios), ("macos", facts.device.macos)] {
                let Some(needed) = needed else { continue };
                let own = self.systems.entry(key).or_insert(needed);
                let numbers = |version: &str| -> Vec<u32> { version.split('.').flat_map(str::parse).collect() };
                if numbers(needed) > numbers(own) {
                    *own = needed;
                }
            }
        }
        self.largest = self.largest.max(pte.source.as_ref().map_or(0, |source| source.bytes.len() as u64));
    }

    /// Returns the size of pointers in bits: 32 for models compiled for a microcontroller (a Cortex-M, perhaps with an Ethos-U), else 64.
    fn pointer_bits(&self) -> u8 {
        if let Some(bits) = self.preset.as_ref().and_then(|preset| preset.pointer_bits) {
            return if bits == 32 { 32 } else { 64 };
        }
        let is_small =
            !self.accelerators.is_empty() || self.operators.keys().any(|name| name.starts_with("cortex_m::"));
        if is_small { 32 } else { 64 }
    }

    /// Returns the text of the file, with a comment on each line.
    pub fn text(&self) -> String {
        let files: Vec<String> = self.files.iter().map(|file| text::path(file)).collect();
        let mut text = format!(
            "# A target with the needs of {}, made by `pte fit --init`. Adjust it to the device; settings that are left out are not checked.\n",
            files.join(", ")
        );
        let mut line = |comment: &str, key: &str, value: Option<String>| {
            text += &match value {
                Some(value) => format!("\n# {comment}\n{key} = {value}\n"),
                None => format!("\n# {comment}\n# {key} =\n"),
            };
        };
        let releases = self.releases.iter().flatten();
        let names: Vec<&str> = releases.clone().map(|release| release.name()).collect();
        let comment = match names[..] {
            [] => "The release of ExecuTorch's runtime. No known release loads the models.".to_owned(),
            _ => {
                format!(
                    "The release of ExecuTorch's runtime. With the kernels below, these releases load the models: {}.",
                    names.join(", ")
                )
            }
        };
        let preset = self.preset.as_ref();
        let newest = preset.and_then(|preset| preset.runtime).or(releases.max().copied());
        let newest = newest.map(|release| format!("\"{release}\""));
        line(&comment, "runtime", newest);
        let libraries: Vec<&str> = Library::ALL.iter().map(|library| library.name()).collect();
        line(
            &format!("Its kernel libraries, besides the operators below: {}.", libraries.join(", ")),
            "libraries",
            preset.and_then(|preset| preset.libraries.as_ref()).map(|libraries| {
                let names: Vec<String> = libraries.iter().map(|library| quoted(library.name())).collect();
                format!("[{}]", names.join(", "))
            }),
        );
        let backends = preset.and_then(|preset| preset.backends.as_ref()).unwrap_or(&self.backends);
        let backends: Vec<String> = backends.iter().map(|name| quoted(name)).collect();
        line("The backends that are linked.", "backends", Some(format!("[{}]", backends.join(", "))));
        line(
            "Planned memory on the CPU, in bytes, for the method that needs the most.",
            "arena",
            Some(self.arena.to_string()),
        );
        if self.memories.len() > 1 {
            let sizes: Vec<String> = self.memories.iter().map(|(id, size)| format!("{id} = {size}")).collect();
            line(
                "The memory of each planned buffer, in bytes, by memory id: id 1 is span 0 of the runtime's HierarchicalAllocator.",
                "memories",
                Some(format!("{{ {} }}", sizes.join(", "))),
            );
        }
        let (bits, [bits_32, bits_64]) = (self.pointer_bits(), self.allocator);
        let allocator = if bits == 32 { bits_32 } else { bits_64 };
        let more = if self.more { "; backends other than XNNPACK need more" } else { "" };
        line(
            &format!(
                "Memory that the runtime allocates to load a method, in bytes, with a temporary allocator and {bits}-bit pointers{more}."
            ),
            "method-allocator",
            Some(allocator.to_string()),
        );
        line("True if the runtime has a temporary allocator.", "temp-allocator", Some("true".to_owned()));
        line("The size of pointers in bits: 32 or 64.", "pointer-bits", Some(bits.to_string()));
        let accelerator = match self.accelerators.len() {
            0 | 1 => self.accelerators.first().map(|name| quoted(name)),
            _ => None,
        };
        let given = preset.and_then(|preset| preset.accelerator.as_deref());
        if let (Some(given), true) = (given, self.accelerators.is_empty()) {
            line("The Ethos-U.", "accelerator", Some(quoted(given)));
        }
        if !self.accelerators.is_empty() {
            let found: Vec<String> = self.accelerators.iter().map(|name| quoted(name)).collect();
            line(
                &format!("The Ethos-U. The payloads are compiled for {}.", found.join(", ")),
                "accelerator",
                accelerator,
            );
        }
        if !self.socs.is_empty() {
            let found: Vec<String> = self.socs.iter().map(|name| quoted(name)).collect();
            let only = found.first().filter(|_| found.len() == 1).cloned();
            line(&format!("The SoC. The payloads for QNN are compiled for {}.", found.join(", ")), "soc", only);
        }
        for (key, needed) in &self.systems {
            let system = if *key == "ios" { "iOS" } else { "macOS" };
            line(&format!("The version of {system}, for Core ML: {needed} or newer."), key, Some(quoted(needed)));
        }
        if let Some(scratch) = self.scratch {
            line(
                "Scratch memory of an Ethos-U for one run of one delegate, in bytes.",
                "scratch",
                Some(scratch.to_string()),
            );
        }
        line("The maximum size of a file, in bytes.", "largest-file", Some(self.largest.to_string()));
        text += "\n# The kernels that are linked, each with the types that it supports; [] for any.\n[operators]\n";
        // Kernels of a runtime's libraries need no line.
        let listed = preset.and_then(|preset| preset.operators.as_ref());
        for name in listed.into_iter().flat_map(BTreeMap::keys) {
            text += &format!("{} = []\n", quoted(name));
        }
        for (name, types) in self.operators.iter().filter(|_| preset.is_none_or(|preset| preset.libraries.is_none())) {
            let short = |scalar_type: &ScalarType| {
                quoted(&scalar_type.short_name().map_or_else(|| scalar_type.to_string(), str::to_owned))
            };
            let types: Vec<String> = types.iter().map(short).collect();
            text += &format!("{} = [{}]\n", quoted(name), types.join(", "));
        }
        text
    }
}

/// Formats a TOML string, with escapes for characters that could act on a terminal.
fn quoted(text: &str) -> String {
    let escape = |character: char| match character {
        '"' | '\\' => format!("\\{character}"),
        character if is_deceptive(character) => format!("\\U{:08x}", u32::from(character)),
        character => character.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}
