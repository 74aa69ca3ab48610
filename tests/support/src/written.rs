//! Writes a damaged tree without repairing it.

use executorch_format::{Error, Model};

/// Writes a damaged tree without repairing it. If the metadata has grown into the segments, they are moved by each of these steps, in
/// bytes, until the tree can be written.
pub fn written(model: &mut Model<'_>, steps: impl IntoIterator<Item = u64>) -> Result<Vec<u8>, Error> {
    let mut written = Ok(Vec::new());
    for step in steps {
        let image = match model {
            Model::Pte(pte) => {
                pte.header.iter_mut().for_each(|header| header.segment_base_offset += step);
                pte.image_as_is()
            }
            Model::Ptd(ptd) => {
                ptd.header.iter_mut().for_each(|header| header.segment_base_offset += step);
                ptd.image_as_is()
            }
            _ => panic!("a model of another kind"),
        };
        written = image.and_then(|image| image.to_vec());
        if written.is_ok() {
            break;
        }
    }
    written
}
