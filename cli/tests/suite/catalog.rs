//! `pte catalog`, including runs that are killed.

use crate::cli::pte;
use executorch_format_support::data;
use executorch_format_support::server::Server;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Returns the number of entries in a folder.
fn count(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, |entries| {
        entries.filter(|entry| !entry.as_ref().unwrap().file_name().to_str().unwrap().starts_with('.')).count()
    })
}

#[test]
fn a_run_that_was_killed_is_continued() {
    const FILES: usize = 400;
    let server = Server::start();
    let program = std::fs::read(data().join("1.5.1/multi_method/multi_method.pte")).unwrap();
    for index in 0..FILES {
        server.put(&format!("bucket/models/{index:04}.pte"), program.clone());
    }
    server.delay(Duration::from_millis(5));
    let out = std::env::temp_dir().join(format!("executorch-format-{}-catalog", std::process::id()));
    let _ = std::fs::remove_dir_all(&out);
    let run = || -> Command {
        let mut run = pte();
        run.envs(server.bucket_variables()).args([
            "catalog",
            "s3://bucket/models",
            "--part-files",
            "20",
            "--jobs",
            "4",
        ]);
        run.arg("--output").arg(&out);
        run
    };
    let kill_after = |parts: usize, folder: &str| {
        let mut child: Child = run().stderr(Stdio::null()).spawn().unwrap();
        let start = Instant::now();
        while count(&out.join(folder).join("files")) < parts {
            assert!(start.elapsed() < Duration::from_secs(60), "no part was written");
            sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Readers see no tables yet.
        assert!(!out.join("files").exists() && !out.join("catalog.json").exists());
        sleep(Duration::from_millis(100));
    };
    kill_after(3, ".unfinished-000001");
    kill_after(5, ".unfinished-000002");
    server.spent();
    let output = run().output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let unchanged: usize = said.split(' ').nth(3).unwrap().parse().unwrap();
    assert!(said.contains(&format!("{FILES} files")) && (100..FILES).contains(&unchanged), "{said}");
    // One request for each file that was not read, and those for the listing.
    let (requests, _) = server.spent();
    assert!((requests as usize) < FILES - unchanged + 10, "{requests} requests, {said}");
    assert_eq!(count(&out.join("files")), FILES / 20);
    let left = |name: &str| {
        std::fs::read_dir(&out).unwrap().any(|entry| entry.unwrap().file_name().to_str().unwrap().starts_with(name))
    };
    assert!(!left(".unfinished") && left("catalog.json"));
    std::fs::remove_dir_all(&out).unwrap();
}

#[test]
fn a_file_takes_one_or_two_requests_and_an_unchanged_file_takes_none() {
    const FILES: usize = 250;
    // A page of the server's listing has 100 keys.
    const PAGES: u64 = 3;
    let server = Server::start();
    let program = std::fs::read(data().join("1.5.1/multi_method/multi_method.pte")).unwrap();
    let mut large = program.clone();
    large.resize(14 << 20, 7);
    for index in 0..FILES {
        let file = if index % 50 == 0 { &large } else { &program };
        server.put(&format!("bucket/models/{index:04}.pte"), file.clone());
    }
    let out = std::env::temp_dir().join(format!("executorch-format-{}-catalog-requests", std::process::id()));
    let _ = std::fs::remove_dir_all(&out);
    let spent = |first: &str, out: &Path| {
        let mut run = pte();
        run.envs(server.bucket_variables()).env("PTE_FIRST_READ", first).args(["catalog", "s3://bucket/models"]);
        let output = run.arg("--output").arg(out).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && said.contains(&format!("{FILES} files")), "{said}");
        server.spent()
    };
    // As described in docs/stores.md, the first request gets all metadata, at most 64 KiB of a file.
    let (requests, bytes) = spent("65536", &out);
    assert_eq!(requests, PAGES + FILES as u64);
    assert!(bytes <= FILES as u64 * 65536, "{bytes} bytes");
    assert_eq!(spent("65536", &out), (PAGES, 0));
    // If the metadata is longer than the first request, the second one gets the rest.
    std::fs::remove_dir_all(&out).unwrap();
    assert_eq!(spent("64", &out).0, PAGES + 2 * FILES as u64);
    std::fs::remove_dir_all(&out).unwrap();
}

#[test]
fn a_catalogue_is_a_gate_and_has_a_page() {
    let folder = std::env::temp_dir().join(format!("executorch-format-{}-catalog-gate", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.join("models")).unwrap();
    // On Windows, names of files cannot have angle brackets.
    let (name, shown) = if cfg!(windows) { ("&a.pte", "&amp;a.pte") } else { ("<a>.pte", "&lt;a&gt;.pte") };
    let model = folder.join("models").join(name);
    std::fs::copy(data().join("1.5.1/add/add.pte"), &model).unwrap();
    let run = |arguments: &[&str]| {
        let output = pte().current_dir(&folder).args(["catalog"]).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let gate = "errors,findings,release=1.5,growth=10%";
    let written = run(&["models", "--output", "tables", "--fail-on", gate]);
    assert_eq!(written.0, Some(0), "{}", written.2);
    std::fs::copy(data().join("1.5.1/linear_xnnpack/linear_xnnpack.pte"), &model).unwrap();
    let (code, _, said) = run(&["models", "--output", "tables", "--fail-on", gate, "--every", "1h"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("growth: 1 files grew by more than 10 %") && said.contains("1072 to 2324 bytes"), "{said}");
    // This limit needs hashes.
    assert_eq!(run(&["models", "--output", "tables", "--fail-on", "duplicates=0"]).0, Some(2));
    assert_eq!(run(&["models", "--output", "tables", "--fail-on", "growth"]).0, Some(2));
    assert_eq!(run(&["models", "--output", "tables", "--every", "10m"]).0, Some(2), "a watch without a limit");

    let (code, page, said) = run(&["report", "tables", "-o", "-"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(page.contains(shown) && !page.contains(&format!("/{name}")) && page.contains("XnnpackBackend"));
    assert_eq!(run(&["report", "models", "-o", "page.html"]).0, Some(2), "no catalogue is there");
    assert!(!folder.join("page.html").exists());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A full disk leaves an empty file where one was being written.
#[test]
fn a_run_that_was_killed_while_it_made_its_folders_is_removed_by_the_next() {
    let out = std::env::temp_dir().join(format!("executorch-format-{}-catalog-start", std::process::id()));
    let _ = std::fs::remove_dir_all(&out);
    let marker = ".executorch-format-catalog";
    let file = data().join("1.5.1/linear/linear.pte");
    let run = || pte().arg("catalog").arg(&file).arg("--output").arg(&out).output().unwrap();
    assert!(run().status.success());
    let started = out.join(".unfinished-000002");
    for table in ["files", "methods"] {
        std::fs::create_dir_all(started.join(table)).unwrap();
    }
    std::fs::copy(out.join("files").join(marker), started.join(marker)).unwrap();
    std::fs::write(started.join("files").join(marker), "").unwrap();
    std::fs::write(started.join("catalog.json"), "").unwrap();
    let output = run();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!started.exists());
    std::fs::remove_dir_all(out).unwrap();
}
