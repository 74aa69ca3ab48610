//! `pte build`: a file from the JSON that `pte dump --blobs` printed.

use crate::context::Context;
use crate::edit::refuse;
use crate::failure::Failure;
use crate::open::{Input, read_tree};
use crate::save::{Pending, prepare_all};
use crate::text;
use executorch_format::FileKind;
use executorch_format::json::JsonTree;
use executorch_format::verify::Level;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Make a file from JSON: from the tree and the data that `pte dump --blobs` wrote, as it was or edited
///
/// An unchanged tree gives the file that was dumped, byte for byte. A changed one is encoded in the same style and gets a new layout; the sizes
/// and offsets of segments follow from their files. JSON that flatc printed is taken too, and is written in the style of ExecuTorch's current
/// exporter. The result may have no error that the dumped file did not have.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte dump model.pte --blobs blobs -o tree.json
  pte build tree.json --blobs blobs -o new.pte
  jq '.execution_plan[0].name = \"infer\"' tree.json | pte build - --blobs blobs -o infer.pte

In the JSON, bytes are {\"file\": NAME} instead of a list, and a segment has the key file: a name of another file in the folder replaces its
bytes, and a new item of segments adds one. The key source names the metadata that was dumped, whose style is kept; without it, the style
and the layout are those of ExecuTorch's current exporter.")]
pub struct Arguments {
    /// The JSON of a .pte, .ptd, .bpte or .etdp file; - is standard input
    tree: PathBuf,
    /// The file to write
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// The folder of the files that the JSON names
    #[arg(long, value_name = "FOLDER")]
    blobs: Option<PathBuf>,
}

/// Makes the file.
pub fn run<'a>(context: &Context, arguments: &'a Arguments) -> Result<Pending<'a>, Failure> {
    let bad = |error| Failure::bad(&arguments.tree, &error);
    let json = read_tree(context, &arguments.tree)?;
    let tree = JsonTree::parse(&json).map_err(bad)?;
    let mut files = BTreeMap::new();
    if let Some(folder) = &arguments.blobs {
        for name in tree.files() {
            let path = folder.join(name);
            if path.is_file() {
                files.insert(name.as_str(), Input::open(context, &path)?);
            }
        }
    } else if let Some(name) = tree.files().first() {
        let fault = format!("the JSON names files, such as {name}: expected --blobs FOLDER, as for `pte dump`");
        return Err(Failure::usage_of(&arguments.tree, &fault));
    }
    let file = |name: &str| files.get(name).map(Input::bytes);
    let built = tree.build(kind_of(arguments), &file).map_err(bad)?;
    let found = built.before().map(|before| before.verify(Level::Strict)).unwrap_or_default();
    let image = built.image().map_err(bad)?;
    refuse(&arguments.tree, &built.model().new_errors(&found, &image).map_err(bad)?)?;
    let what = if built.is_unchanged() { "the tree is as it was dumped" } else { "the tree was changed" };
    context.say(format_args!("{}: {what}", text::path(&arguments.tree)));
    let inputs: Vec<&Input> = files.values().collect();
    let image = inputs.iter().fold(image, |image, input| input.copied(image));
    prepare_all(context, &[(&image, &arguments.output)], &inputs)
}

/// Returns the kind of file that the output's name states, for JSON that does not.
fn kind_of(arguments: &Arguments) -> Option<FileKind> {
    let ending = arguments.output.extension()?;
    let is = |kind: &FileKind| ending.eq_ignore_ascii_case(kind.extension().trim_start_matches('.'));
    [FileKind::Pte, FileKind::Ptd, FileKind::Bpte].into_iter().find(is)
}
