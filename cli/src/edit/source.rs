//! New data from a file, which is read according to its extension.

use super::data;
use crate::context::Context;
use crate::convert::refused;
use crate::failure::Failure;
use crate::near::Names;
use crate::open::Input;
use crate::text;
use executorch_format::convert::{Npy, SafeTensor, Safetensors};
use executorch_format::edit::NewData;
use executorch_format::schema::flat_tensor::TensorLayout;
use executorch_format::{Entry, Error, Ptd};
use std::path::{Path, PathBuf};

/// A file with new data: an entry of a `.ptd` or a safetensors file, a NumPy array, or the raw bytes of any other file.
pub struct Source {
    input: Input,
    /// The entry to take.
    key: Option<String>,
}

impl Source {
    /// Opens `FILE`, or `FILE.ptd:KEY` or `FILE.safetensors:KEY` if no file has that whole name.
    pub fn open(context: &Context, argument: &str) -> Result<Self, Failure> {
        let with_key = [".ptd", ".safetensors"].into_iter().find_map(|ending| {
            let (file, key) = argument.rsplit_once(&format!("{ending}:"))?;
            Some((PathBuf::from(format!("{file}{ending}")), key.to_owned()))
        });
        match with_key.filter(|_| !Path::new(argument).exists()) {
            Some((file, key)) => Ok(Self { input: Input::open_data(context, &file)?, key: Some(key) }),
            None => Ok(Self { input: Input::open_data(context, Path::new(argument))?, key: None }),
        }
    }

    /// Returns the file.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Reads the data for `name`.
    pub fn read(&self, name: &str) -> Result<NewData<'_>, Failure> {
        let path = self.input.path();
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("ptd") => self.entry(name),
            Some("safetensors") => self.tensor(name),
            Some("npy") => {
                let array = Npy::parse(self.input.bytes()).map_err(|error| Failure::bad(path, &error))?;
                let mut new = NewData::bytes(text::path(path), array.bytes);
                (new.tensor_layout, new.numpy) = (Some(array.tensor_layout), true);
                Ok(new)
            }
            _ => Ok(NewData::bytes(text::path(path), self.input.bytes())),
        }
    }

    /// Reads the data of all entries, with their names.
    pub fn read_all(&self) -> Result<Vec<(String, NewData<'_>)>, Failure> {
        let path = self.input.path();
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("ptd") => {
                let ptd = data(&self.input)?;
                ptd.entries().map(|entry| Ok((entry.key().to_owned(), self.data_of(&ptd, &entry)?))).collect()
            }
            Some("safetensors") => {
                let file = Safetensors::parse(self.input.bytes()).map_err(|error| refused(path, &error))?;
                let tensors = file.tensors.into_iter();
                tensors.map(|tensor| Ok((tensor.name.to_string(), self.tensor_data(tensor)?))).collect()
            }
            _ => Err(Failure::Usage(format!(
                "{}: expected TARGET=SOURCE, or a .safetensors or .ptd with tensors by name",
                text::path(path)
            ))),
        }
    }

    fn entry(&self, name: &str) -> Result<NewData<'_>, Failure> {
        let ptd = data(&self.input)?;
        let entries: Vec<_> = ptd.entries().collect();
        let entry = self.choose(&entries, name, |entry| entry.key())?;
        self.data_of(&ptd, entry)
    }

    fn data_of(&self, ptd: &Ptd<'_>, entry: &Entry<'_>) -> Result<NewData<'_>, Failure> {
        let path = self.input.path();
        let bad = |error| Failure::bad(path, &error);
        let range = ptd.range(&ptd.entry_data(entry).map_err(bad)?);
        let bytes = range.and_then(|range| self.input.bytes().get(range.start as usize..range.end as usize));
        let bytes = bytes.ok_or_else(|| Failure::Bad {
            file: path.to_owned(),
            findings: vec![format!("the bytes of {} are missing", text::quoted(entry.key()))],
        })?;
        let mut new = NewData::bytes(text::path(path), bytes);
        new.tensor_layout = entry.shape.map(|shape| TensorLayout::from(shape).into_owned());
        Ok(new)
    }

    fn tensor(&self, name: &str) -> Result<NewData<'_>, Failure> {
        let bad = |error: Error| refused(self.input.path(), &error);
        let file = Safetensors::parse(self.input.bytes()).map_err(bad)?;
        self.tensor_data(self.choose(&file.tensors, name, |tensor| &tensor.name)?.clone())
    }

    fn tensor_data<'t>(&'t self, tensor: SafeTensor<'t>) -> Result<NewData<'t>, Failure> {
        let entry = tensor.into_entry().map_err(|error| refused(self.input.path(), &error))?;
        let mut new = NewData::bytes(text::path(self.input.path()), entry.bytes);
        new.tensor_layout = entry.tensor_layout;
        Ok(new)
    }

    /// Returns the item with the given key, else the one with that name, else the only one.
    fn choose<'t, T>(&self, items: &'t [T], name: &str, key: impl Fn(&T) -> &str) -> Result<&'t T, Failure> {
        let wanted = self.key.as_deref().unwrap_or(name);
        let only = || if let ([only], None) = (items, &self.key) { Some(only) } else { None };
        items.iter().find(|item| key(item) == wanted).or_else(only).ok_or_else(|| {
            let file = text::path(self.input.path());
            let hint = items.iter().map(&key).collect::<Names>().hint(wanted);
            let wanted = text::quoted(wanted);
            Failure::Usage(format!("{file}: no key {wanted}: name one, as in {file}:KEY; {hint}"))
        })
    }
}
