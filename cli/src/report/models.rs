//! `pte report --compare`: one page that shows several files beside each other.

use super::Arguments;
use crate::context::Context;
use crate::data::serving;
use crate::failure::{Failure, each};
use crate::info;
use crate::json;
use crate::save::save_with;
use crate::text;
use serde::Serialize;
use std::path::Path;

/// The input of the viewer.
#[derive(Serialize)]
struct Page {
    /// The title.
    file: String,
    /// The summaries, as `pte info --json` prints them.
    models: Vec<serde_json::Value>,
}

/// Writes the page. Files that cannot be read are left out, and fail at the end.
pub fn write(context: &Context, arguments: &Arguments, output: &Path) -> Result<(), Failure> {
    let Arguments { files, data, names, .. } = arguments;
    let opened = data.open(context, files)?;
    let data = opened.parse();
    let mut models = Vec::new();
    let outcome = each(context, files, None, |path, _| {
        models.push(info::document(context, path, names, &serving(&data, path))?);
        Ok(())
    })?;
    if !models.is_empty() {
        let page = Page { file: text::count(models.len(), "file"), models };
        save_with(context, output, |out| {
            executorch_format_viewer::write_page(out, |out| json::Form::LINE.write(out, &page))
        })?;
    }
    outcome
}
