//! Core ML payloads: the files of a model package, one after the other, followed by JSON that lists them, stored backwards. The
//! format follows `inmemory_filesystem.cpp` of ExecuTorch's Core ML backend.

use crate::error::{Error, ErrorKind, Result};
use alloc::collections::BTreeMap;
use alloc::{format, string::String, vec::Vec};
use core::ops::Range;
use serde::Deserialize;

/// The first bytes of a payload whose package is in named data; JSON follows.
const MULTIPLE: &[u8] = b"CMJR";

/// The last bytes of any other payload: `{"nodes":` backwards, with or without a space.
const ENDS: [&[u8]; 2] = [b":\"sedon\"{", b" :\"sedon\"{"];

/// A payload for Core ML.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum CoreMl {
    /// The files and folders of a model package.
    Package(Vec<CoreMlNode>),
    /// A function of a package that several methods share. The package is in named data.
    Function {
        /// The key of the package.
        key: String,
        /// The name of the function.
        function_name: String,
    },
}

/// A file or folder of a model package.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CoreMlNode {
    /// The name, without that of its folder.
    pub name: String,
    /// The index of the folder that contains it, or `None` for the root.
    pub parent: Option<usize>,
    /// `true` for a folder.
    pub is_folder: bool,
    /// The range of its bytes, from the payload's start.
    pub range: Range<u64>,
}

/// The longest path that is built, in bytes, as on most systems.
const LONGEST_PATH: usize = 4096;

/// The largest number of folders in a path.
const DEEPEST: usize = 64;

impl CoreMl {
    /// Returns `true` if the bytes start or end like a Core ML payload.
    pub fn is_one(payload: &[u8]) -> bool {
        payload.starts_with(MULTIPLE) || ENDS.iter().any(|end| payload.ends_with(end))
    }

    /// Reads the list of a payload's files, but not their content.
    ///
    /// Fails with [`ErrorKind::Header`] if the JSON is broken, or a file is not inside the payload. Offsets count from the payload's
    /// start.
    pub fn parse(payload: &[u8]) -> Result<Self> {
        if let Some(json) = payload.strip_prefix(MULTIPLE) {
            return function(json);
        }
        let (reversed, start) = reversed_json(payload).ok_or_else(|| bad(payload.len(), "no JSON at the end of it"))?;
        let Package { nodes } = from_json(&reversed, start)?;
        let mut list = nodes.iter().map(|node| node.inside(start)).collect::<Result<Vec<_>>>()?;
        for (index, node) in nodes.iter().enumerate() {
            for child in node.children.iter().flat_map(BTreeMap::values) {
                match usize::try_from(*child).ok().and_then(|child| list.get_mut(child)) {
                    Some(child) => child.parent = Some(index),
                    None => return Err(bad(start, format!("node {index} of its JSON has a child that is no node"))),
                }
            }
        }
        Ok(Self::Package(list))
    }

    /// Returns the files of a package, each with its path and the range of its bytes from the payload's start.
    pub fn files(&self) -> impl Iterator<Item = (String, Range<u64>)> {
        let nodes = match self {
            Self::Package(nodes) => nodes.as_slice(),
            Self::Function { .. } => &[],
        };
        nodes.iter().filter(|node| !node.is_folder).map(|node| (path(nodes, node), node.range.clone()))
    }
}

/// Returns the path of a node, without the root's name. A path that is too long is cut at the start.
fn path(nodes: &[CoreMlNode], node: &CoreMlNode) -> String {
    let mut path = node.name.clone();
    let folders = core::iter::successors(Some(node), |node| nodes.get(node.parent?));
    let folders = folders.skip(1).take(DEEPEST).filter(|folder| folder.parent.is_some());
    for folder in folders {
        if path.len() + folder.name.len() > LONGEST_PATH {
            return format!("…/{path}");
        }
        path = format!("{}/{path}", folder.name);
    }
    path
}

/// The JSON after the files of a package.
#[derive(Deserialize)]
struct Package {
    nodes: Vec<Node>,
}

/// A node in that JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    name: String,
    /// The kind; 1 for a folder.
    kind: u64,
    data_region: Region,
    /// The indices of its nodes by name.
    children: Option<BTreeMap<String, u64>>,
}

#[derive(Deserialize)]
struct Region {
    offset: u64,
    size: u64,
}

impl Node {
    /// Checks that a file is inside a payload whose files end at `end`.
    fn inside(&self, end: usize) -> Result<CoreMlNode> {
        let Region { offset, size } = self.data_region;
        let is_folder = self.kind == 1;
        match offset.checked_add(size).filter(|last| *last <= end as u64 || is_folder) {
            Some(last) => Ok(CoreMlNode { name: self.name.clone(), parent: None, is_folder, range: offset..last }),
            None => Err(bad(
                end,
                format!("a file of {size} bytes from {offset}, expected an end inside the {end} before the JSON"),
            )),
        }
    }
}

/// The JSON of a function in a shared package.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Function {
    key: String,
    function_name: String,
}

fn function(json: &[u8]) -> Result<CoreMl> {
    let Function { key, function_name } = from_json(json, MULTIPLE.len())?;
    Ok(CoreMl::Function { key, function_name })
}

/// Parses JSON that starts at byte `at`.
fn from_json<'j, T: Deserialize<'j>>(json: &'j [u8], at: usize) -> Result<T> {
    let text = core::str::from_utf8(json).map_err(|error| bad(at, format!("its JSON is not UTF-8: {error}")))?;
    serde_json::from_str(text).map_err(|error| bad(at, format!("its JSON is broken: {error}")))
}

/// Returns the JSON at the end of a payload in reading order, and its start in the payload.
fn reversed_json(payload: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut depth, mut inside, mut after_backslash) = (0usize, false, false);
    for (index, byte) in payload.iter().rev().enumerate() {
        match byte {
            _ if after_backslash => after_backslash = false,
            b'\\' if inside => after_backslash = true,
            b'"' => inside = !inside,
            _ if inside => (),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            _ => (),
        }
        if depth == 0 {
            let start = payload.len() - index - 1;
            let mut json = payload.split_at(start).1.to_vec();
            json.reverse();
            return Some((json, start));
        }
    }
    None
}

#[cold]
fn bad(at: usize, found: impl Into<String>) -> Error {
    let found: String = found.into();
    Error::at(at, ErrorKind::Header(format!("a Core ML payload: {found}").into()))
}
