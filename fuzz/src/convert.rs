//! Files of other formats: any bytes are refused, or read like their own readers do.

use executorch_format::convert::{Npy, Safetensors, Unsupported};
use executorch_format::{Error, PtdOptions};

/// Reads a safetensors file and compares with the official reader. The tensors stay the same when written again, also through a `.ptd`.
pub fn read_safetensors(bytes: &[u8]) {
    let official = safetensors::SafeTensors::deserialize(bytes);
    let file = match Safetensors::parse(bytes) {
        Ok(file) => file,
        Err(error) => {
            check(&error, bytes);
            // For equal names, the official reader takes the last tensor. It accepts any number of dimensions.
            let ours = ["occurs twice", "more than 256 dimensions"].iter().any(|rule| error.to_string().contains(rule));
            assert!(official.is_err() || ours, "{error}");
            return;
        }
    };
    match official {
        Ok(official) => {
            assert_eq!(official.len(), file.tensors.len());
            for tensor in &file.tensors {
                let view = official.tensor(&tensor.name).unwrap();
                assert_eq!((view.dtype().to_string(), view.data()), (tensor.dtype.to_string(), &*tensor.bytes));
            }
        }
        // The official reader parses data that it then ignores.
        Err(error) => assert!(error.to_string().contains("recursion limit"), "{error}"),
    }
    let Ok(image) = file.image().map(|image| image.to_vec().unwrap()) else { return };
    assert_eq!(Safetensors::parse(&image).unwrap(), file);
    let Ok((ptd, _)) = file.clone().into_ptd(&PtdOptions::default(), Unsupported::Skip) else { return };
    let (back, _) = Safetensors::of_ptd(&ptd, Unsupported::Skip).unwrap();
    for tensor in &back.tensors {
        assert!(file.tensors.contains(tensor), "{}", tensor.name);
    }
    assert_eq!(back.metadata, file.metadata);
}

/// Reads an array. Written again, it stays the same.
pub fn read_npy(bytes: &[u8]) {
    match Npy::parse(bytes) {
        Ok(array) => {
            let image = array.image().unwrap().to_vec().unwrap();
            assert_eq!(Npy::parse(&image).unwrap(), array);
            assert_eq!(Npy::of(&array.view().unwrap()).unwrap().view(), array.view());
        }
        Err(error) => check(&error, bytes),
    }
}

fn check(error: &Error, bytes: &[u8]) {
    assert!(!error.to_string().is_empty());
    assert!(error.offset().is_none_or(|offset| offset <= bytes.len() as u64), "{error}");
}
