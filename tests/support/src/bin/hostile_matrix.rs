//! Measures a command against hostile servers: seconds, peak memory and exit code for each mode, as a table.
//!
//! ```console
//! cargo build --release -p executorch-format-cli --features remote
//! cargo run -p executorch-format-support --bin hostile_matrix -- target/release/pte
//! ```

#![allow(clippy::unwrap_used)]

use executorch_format_support::data;
use executorch_format_support::hostile_server::{HostileServer, MODES, Mode};
use executorch_format_support::server::Server;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Returns the peak memory of a process in MiB, as counted by the system.
fn peak(child: &Child) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<f64>().ok()? / 1024.0)
}

/// Runs a command until it ends, or until the server has had this many requests.
fn measure(pte: &Path, server: &HostileServer, name: &str, arguments: &[&str], limits: &[(&str, &str)], stop: u64) {
    let start = Instant::now();
    let mut command = Command::new(pte);
    command
        .envs(server.bucket_variables())
        .envs(limits.iter().copied())
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let said = std::thread::spawn(move || {
        let (mut said, mut part) = (Vec::new(), [0; 4096]);
        while let Ok(size @ 1..) = stderr.read(&mut part) {
            let left = 400_usize.saturating_sub(said.len());
            said.extend(part.iter().take(size.min(left)));
        }
        said
    });
    let mut most = 0_f64;
    let code = loop {
        most = peak(&child).unwrap_or_default().max(most);
        if let Some(status) = child.try_wait().unwrap() {
            break status.code().map_or("killed".into(), |code| code.to_string());
        }
        if server.requests() > stop {
            child.kill().unwrap();
            child.wait().unwrap();
            break "stopped here".into();
        }
        sleep(Duration::from_millis(2));
    };
    let said = String::from_utf8_lossy(&said.join().unwrap()).into_owned();
    let said = said.lines().next().unwrap_or_default().replace('|', "/");
    let said: String = said.chars().take(150).collect();
    let (seconds, requests) = (start.elapsed().as_secs_f64(), server.requests());
    println!("| {name} | `{}` | {seconds:.1} | {most:.0} | {requests} | {code} | {said} |", arguments.first().unwrap());
}

fn main() {
    let pte = std::env::args().nth(1).expect("the command");
    let pte = Path::new(&pte);
    let out = std::env::temp_dir().join(format!("executorch-format-hostile-{}", std::process::id()));
    let file = std::fs::read(data().join("1.5.1/linear/linear.pte")).unwrap();
    // These limits are below the defaults, to shorten the run from hours to minutes.
    let limits = [("PTE_TIMEOUT", "5"), ("PTE_RETRIES", "1"), ("PTE_MAX_KEYS", "20000"), ("PTE_LIST_TIMEOUT", "20")];
    println!("| mode | command | seconds | MiB | requests | exit code | message |\n|---|---|---|---|---|---|---|");
    let other = Server::start();
    let away: u16 = other.url("").trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap();
    for mode in MODES.into_iter().chain([Mode::RedirectAway(away)]) {
        let name = format!("{mode:?}");
        let server = HostileServer::start(mode, file.clone());
        measure(pte, &server, &name, &["info", &server.url("x.pte")], &limits, u64::MAX);
        let server = HostileServer::start(mode, file.clone());
        measure(pte, &server, &name, &["ops", "-r", "s3://bucket/models"], &limits, u64::MAX);
        let _ = std::fs::remove_dir_all(&out);
        let server = HostileServer::start(mode, file.clone());
        measure(
            pte,
            &server,
            &name,
            &["catalog", "s3://bucket/models", "--output", out.to_str().unwrap()],
            &limits,
            u64::MAX,
        );
    }
    // The first listing looks for data files, and has ended when files are opened.
    let server = HostileServer::start(Mode::Keys(1000), file.clone());
    measure(pte, &server, "a million keys", &["info", "-r", "s3://bucket/models"], &[], 2000);
    let server = HostileServer::start(Mode::Keys(1000), file);
    measure(pte, &server, "a million keys", &["verify", "-r", "s3://bucket/models"], &[], u64::MAX);
    let _ = std::fs::remove_dir_all(&out);
}
