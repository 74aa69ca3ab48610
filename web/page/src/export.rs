//! Exports a tensor as a file of another format.

use crate::file::File;
use crate::jobs::{blobs, tensor};
use executorch_format::TensorView;
use executorch_format::convert::{Npy, SafeTensor, Safetensors};
use executorch_format::schema::flat_tensor::TensorLayout;

/// The format of the exported file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// NumPy's `.npy`.
    Npy,
    /// safetensors, with a single tensor.
    Safetensors,
}

/// A tensor that is being saved.
pub struct Export {
    form: Form,
    name: String,
    layout: TensorLayout<'static>,
    /// The bytes to write before the unchanged bytes of the tensor, or `None` if the tensor's bytes must be passed to
    /// [`finish`](Self::finish).
    pub header: Option<Vec<u8>>,
}

impl Export {
    /// Finds the tensor whose bytes start at `offset` of the file.
    pub(crate) fn of(file: &File, offset: u64, size: u64, form: Form) -> Result<Self, String> {
        let blobs = blobs(file)?;
        let (name, shape) = tensor(&blobs, offset).ok_or("no tensor starts there")?;
        if shape.byte_size().map_err(|error| error.to_string())? != size {
            return Err(format!("{shape} does not take {size} bytes"));
        }
        // The bytes are an array without conversion if NumPy has the type and the order.
        let plain = shape.scalar_type.numpy_type() == Some(shape.scalar_type);
        let header = (form == Form::Npy && plain).then(|| Npy::header(&shape).ok()).flatten();
        Ok(Self { form, name, layout: TensorLayout::from(shape).into_owned(), header })
    }

    /// Returns the whole file, given the tensor's bytes.
    pub fn finish(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        self.file(bytes).map_err(|error| error.to_string())
    }

    fn file(&self, bytes: &[u8]) -> executorch_format::Result<Vec<u8>> {
        let view = TensorView::new(self.layout.shape(), bytes)?;
        match self.form {
            Form::Npy => Npy::of(&view)?.image()?.to_vec(),
            Form::Safetensors => {
                let tensors = vec![SafeTensor::of(self.name.as_str(), &view)?];
                Safetensors { tensors, ..Safetensors::default() }.image()?.to_vec()
            }
        }
    }
}
