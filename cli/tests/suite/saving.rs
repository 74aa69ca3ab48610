//! Files that are written: by several commands at once, over files with properties, after an interruption, from data in pipes.

use crate::cli::{Folder, pte};
use crate::edit_command::{good, refused};
use executorch_format::{FileLock, Pte};
use executorch_format_support::fixtures::fixture;
use std::process::Stdio;

const ADD_MUL: &str = "1.5.1/add_mul/add_mul.pte";

#[test]
fn concurrent_edits_lose_nothing() {
    const EDITS: usize = 40;
    let folder = Folder::new("concurrent");
    let model = folder.copy(&fixture(ADD_MUL), "m.pte");
    let edit = |n| {
        let mut command = pte();
        command.arg("metadata").arg(&model).args(["-i", "--set", &format!("k_{n}={n}")]);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for child in (0..EDITS).map(edit).collect::<Vec<_>>() {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let bytes = std::fs::read(&model).unwrap();
    let pte = Pte::parse(&bytes).unwrap();
    let metadata = pte.metadata();
    let lost: Vec<_> = (0..EDITS).filter(|n| !metadata.iter().any(|entry| entry.name == format!("k_{n}"))).collect();
    assert!(lost.is_empty(), "{lost:?}");
    assert_eq!(folder.names(), ["m.pte"]);
}

#[test]
fn an_edit_waits_for_a_program_with_the_lock_and_says_so() {
    let folder = Folder::new("waits");
    let model = folder.copy(&fixture(ADD_MUL), "m.pte");
    let lock = FileLock::acquire(&model).unwrap();
    let mut command = pte();
    command.arg("metadata").arg(&model).args(["-i", "--set", "get_n=1"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut message = String::new();
    let mut told = std::io::BufReader::new(child.stderr.take().unwrap());
    std::io::BufRead::read_line(&mut told, &mut message).unwrap();
    assert!(message.contains("another process is changing it: waiting for up to 60 s"), "{message}");
    // A change under the lock is not lost.
    let other = fixture("1.5.1/linear/linear.pte");
    let image = Pte::parse(other.bytes()).unwrap();
    image.image().unwrap().prepare(&model, |_, _| {}).unwrap().commit_locked(&lock).unwrap();
    drop(lock);
    assert!(child.wait().unwrap().success());
    let bytes = std::fs::read(&model).unwrap();
    let pte = Pte::parse(&bytes).unwrap();
    assert_eq!(pte.program.execution_plan().len(), 2);
    let operators = |pte: &Pte<'_>| format!("{:?}", pte.program.execution_plan()[0].operators());
    assert_eq!(operators(&pte), operators(&Pte::parse(other.bytes()).unwrap()));
    assert_eq!(folder.names(), ["m.pte"]);
}

#[test]
fn an_interrupted_extraction_can_be_repeated_but_other_content_stays() {
    let folder = Folder::new("extract-again");
    folder.copy(&fixture("1.5.1/quant_xnnpack/quant_xnnpack.pte"), "m.pte");
    for options in [&["--as", "raw"][..], &["--as", "npy"], &["--as", "ptd"], &["--as", "npy", "--dequantized"]] {
        let extract = [&["extract", "m.pte", "-o", "blobs"][..], options].concat();
        good(&extract, &folder);
        let manifest = folder.file("blobs/manifest.json");
        let written = std::fs::read(&manifest).unwrap();
        std::fs::remove_file(&manifest).unwrap();
        let mut files: Vec<_> =
            std::fs::read_dir(folder.file("blobs")).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        // The next file was not written yet.
        std::fs::remove_file(files.pop().unwrap()).unwrap();
        good(&extract, &folder);
        assert_eq!(std::fs::read(&manifest).unwrap(), written);
        if let Some(file) = files.first() {
            std::fs::remove_file(&manifest).unwrap();
            let mut bytes = std::fs::read(file).unwrap();
            bytes.push(0);
            std::fs::write(file, &bytes).unwrap();
            let (code, told) = refused(&extract, &folder);
            assert!(code == Some(2) && told.contains("it exists and was not written by this command"), "{told}");
            assert_eq!(std::fs::read(file).unwrap(), bytes);
        }
        std::fs::remove_dir_all(folder.file("blobs")).unwrap();
    }
}

#[test]
fn an_interrupted_split_can_be_repeated() {
    let folder = Folder::new("split-again");
    folder.copy(&fixture("1.5.1/add_mul_external/_default_external_constant.ptd"), "w.ptd");
    let split = ["ptd", "split", "w.ptd", "--name", "a", "-o", "part.ptd"];
    good(&split, &folder);
    std::fs::remove_file(folder.file("part-00002-of-00002.ptd")).unwrap();
    good(&split, &folder);
    std::fs::write(folder.file("part-00001-of-00002.ptd"), "other").unwrap();
    let (code, told) = refused(&split, &folder);
    assert!(code == Some(2) && told.contains("it exists: add --overwrite"), "{told}");
}

#[test]
fn manual_pages_are_written_again_over_their_own() {
    let folder = Folder::new("man-again");
    good(&["man", "-o", "man"], &folder);
    std::fs::remove_file(folder.file("man/pte.1")).unwrap();
    good(&["man", "-o", "man"], &folder);
    assert!(folder.file("man/pte.1").exists());
}

#[cfg(unix)]
mod unix {
    use super::*;
    use crate::cli::run_in;
    use executorch_format::Ptd;
    use std::io::Write;
    use std::os::unix::fs::{MetadataExt, symlink};
    use std::process::{Command, Output};

    /// Runs a command with these bytes in standard input.
    fn piped(folder: &Folder, arguments: &[&str], bytes: &[u8]) -> Output {
        let mut command = pte();
        command.args(arguments).current_dir(folder.file("")).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    #[test]
    fn data_from_a_pipe_is_whole() {
        let folder = Folder::new("piped-data");
        let data: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
        for (index, file) in ["-", "/dev/stdin", "/dev/fd/0"].into_iter().enumerate() {
            let output = format!("{index}.ptd");
            piped(&folder, &["ptd", "create", &format!("a={file}"), "-o", &output], &data);
            let bytes = std::fs::read(folder.file(&output)).unwrap();
            let ptd = Ptd::parse(&bytes).unwrap();
            let entry = ptd.entries().next().unwrap();
            assert!(ptd.entry_bytes(&entry).unwrap() == data, "{file}");
        }
        // A FIFO with the extension of its format.
        assert!(Command::new("mkfifo").arg(folder.file("a.npy")).status().unwrap().success());
        let mut array =
            b"\x93NUMPY\x01\x00\x76\x00{'descr': '|u1', 'fortran_order': False, 'shape': (100000,), }".to_vec();
        array.resize(127, b' ');
        array.push(b'\n');
        array.extend_from_slice(&data);
        let fifo = folder.file("a.npy");
        let writer = std::thread::spawn(move || std::fs::write(fifo, array).unwrap());
        good(&["ptd", "create", "a=a.npy", "-o", "npy.ptd"], &folder);
        writer.join().unwrap();
        let bytes = std::fs::read(folder.file("npy.ptd")).unwrap();
        let ptd = Ptd::parse(&bytes).unwrap();
        assert!(ptd.entry_bytes(&ptd.entries().next().unwrap()).unwrap() == data);
    }

    #[test]
    fn safetensors_from_a_pipe_are_converted_whole() {
        let folder = Folder::new("piped-safetensors");
        let data = folder.copy(&fixture("1.5.1/add_mul_external/_default_external_constant.ptd"), "w.ptd");
        good(&["convert", "w.ptd", "w.safetensors"], &folder);
        good(&["convert", "w.safetensors", "w.ptd"], &folder);
        let expected = std::fs::read(&data).unwrap();
        let safetensors = std::fs::read(folder.file("w.safetensors")).unwrap();
        assert!(safetensors.len() > 64);
        for file in ["-", "/dev/stdin"] {
            piped(&folder, &["convert", file, "piped.ptd"], &safetensors);
            assert!(std::fs::read(folder.file("piped.ptd")).unwrap() == expected, "{file}");
        }
    }

    #[test]
    fn a_broken_hard_link_is_said() {
        let folder = Folder::new("hard-link");
        let model = folder.copy(&fixture(ADD_MUL), "m.pte");
        std::fs::hard_link(&model, folder.file("other.pte")).unwrap();
        let output = run_in(&folder.file(""), &["metadata", "m.pte", "-i", "--set", "get_n=1"]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.success() && told.contains("its hard links: 1 other name keeps the old content"),
            "{told}"
        );
        assert_eq!(std::fs::read(folder.file("other.pte")).unwrap(), fixture(ADD_MUL).bytes());
        assert_eq!(std::fs::metadata(&model).unwrap().nlink(), 1);
    }

    #[test]
    fn a_dangling_link_is_an_error_and_a_link_stays_one() {
        let folder = Folder::new("dangling");
        folder.copy(&fixture(ADD_MUL), "m.pte");
        symlink("missing.pte", folder.file("link.pte")).unwrap();
        let (code, told) = refused(&["strip", "--all", "m.pte", "-o", "link.pte"], &folder);
        assert!(code == Some(2) && told.contains("it is a link to missing.pte, which does not exist"), "{told}");
        assert!(refused(&["strip", "--all", "link.pte", "-i"], &folder).0 == Some(2));
        symlink("m.pte", folder.file("good.pte")).unwrap();
        good(&["metadata", "good.pte", "-i", "--set", "get_n=1"], &folder);
        assert!(std::fs::symlink_metadata(folder.file("good.pte")).unwrap().is_symlink());
        assert_ne!(std::fs::read(folder.file("m.pte")).unwrap(), fixture(ADD_MUL).bytes());
    }
}
