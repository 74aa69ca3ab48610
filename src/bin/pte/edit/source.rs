//! Where new data comes from: a file, read by its ending.

use super::data;
use crate::failure::Failure;
use crate::open::Input;
use crate::text;
use executorch_format::convert::Npy;
use executorch_format::edit::NewData;
use std::path::{Path, PathBuf};

/// A file with new data: `X.ptd:KEY`, an array of numpy, or any other file's bytes as they are.
pub struct Source {
    input: Input,
    /// The entry of a `.ptd`.
    key: Option<String>,
}

impl Source {
    /// Opens `FILE`, or `X.ptd:KEY` where there is no file of that name.
    pub fn open(argument: &str) -> Result<Self, Failure> {
        match argument.rsplit_once(".ptd:") {
            Some((file, key)) if !Path::new(argument).exists() => {
                let input = Input::open(&PathBuf::from(format!("{file}.ptd")))?;
                Ok(Self { input, key: Some(key.to_owned()) })
            }
            _ => Ok(Self { input: Input::open(Path::new(argument))?, key: None }),
        }
    }

    /// The data for `name`. Each kind of file is read here, by its ending.
    pub fn read(&self, name: &str) -> Result<NewData<'_>, Failure> {
        let path = self.input.path();
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("ptd") => self.entry(name),
            Some("npy") => {
                let array = Npy::parse(self.input.bytes()).map_err(|error| Failure::bad(path, &error))?;
                let mut new = NewData::bytes(text::path(path), array.bytes);
                (new.tensor_layout, new.numpy) = (Some(array.tensor_layout), true);
                Ok(new)
            }
            _ => Ok(NewData::bytes(text::path(path), self.input.bytes())),
        }
    }

    /// The entry that was named, or that has the name, or the only one.
    fn entry(&self, name: &str) -> Result<NewData<'_>, Failure> {
        let path = self.input.path();
        let ptd = data(&self.input)?;
        let key = self.key.as_deref().unwrap_or(name);
        let only = || ptd.entry(0).filter(|_| self.key.is_none() && ptd.entries().count() == 1);
        let Some(entry) = ptd.get(key).or_else(only) else {
            let file = text::path(path);
            return Err(Failure::Usage(format!("{file}: no key {key:?}: name one, as in {file}:KEY")));
        };
        let bad = |error| Failure::bad(path, &error);
        let range = ptd.range(&ptd.entry_data(&entry).map_err(bad)?);
        let bytes = range.and_then(|range| self.input.bytes().get(range.start as usize..range.end as usize));
        let bytes = bytes.ok_or_else(|| Failure::Bad {
            file: path.to_owned(),
            findings: vec![format!("the bytes of {key:?} are not there")],
        })?;
        let mut new = NewData::bytes(text::path(path), bytes);
        new.tensor_layout =
            entry.shape.map(|shape| executorch_format::schema::flat_tensor::TensorLayout::from(shape).into_owned());
        Ok(new)
    }
}
