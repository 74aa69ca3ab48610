//! Measures the command on files in which many references share one target: `amplification PTE FOLDER [LENGTH COUNT [KIND]]` prints the
//! size of the files read, the peak memory, the CPU seconds, and the bytes of output for each kind of file and each command. Linux only.

use executorch_format_support::sharing::{self, Scale};
use std::error::Error;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The number of clock ticks in a second: 100 on all common Linux systems.
const TICKS: f64 = 100.0;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [pte, folder, rest @ ..] = arguments.as_slice() else {
        return Err("usage: amplification PTE FOLDER [LENGTH COUNT [KIND]]".into());
    };
    let number = |at: usize, default| rest.get(at).map_or(Ok(default), |text| text.parse());
    let scale = Scale { length: number(0, 60_000)?, count: number(1, 20_000)? };
    println!(
        "kind      read KiB  command                    exit  peak MiB  over 64+32x    CPU s  printed KiB  written KiB"
    );
    let files = |scale| sharing::files(scale).into_iter().chain(sharing::code_files(scale));
    for (file, other) in files(scale).zip(files(scale.smaller())) {
        if rest.get(2).is_some_and(|kind| kind != file.kind) {
            continue;
        }
        let path = Path::new(folder).join(format!("{}.{}", file.kind, file.ending));
        std::fs::write(&path, &file.bytes)?;
        let other_path = path.with_extension(format!("other.{}", file.ending));
        std::fs::write(&other_path, &other.bytes)?;
        for arguments in sharing::commands(file.ending) {
            let out = Path::new(folder).join("out");
            let _ = std::fs::remove_dir_all(&out);
            std::fs::create_dir(&out)?;
            std::fs::write(out.join(sharing::TARGET.0), sharing::TARGET.1)?;
            let mut child = Command::new(pte)
                .args(sharing::arguments(arguments, [&path, &other_path], &out))
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()?;
            let mut stdout = child.stdout.take().ok_or("no output")?;
            let reader = std::thread::spawn(move || {
                let (mut buffer, mut all) = (vec![0; 1 << 16], 0);
                while let Ok(count @ 1..) = stdout.read(&mut buffer) {
                    all += count as u64;
                }
                all
            });
            let status = format!("/proc/{}/status", child.id());
            let stat = format!("/proc/{}/stat", child.id());
            let (mut peak, mut ticks) = (0, 0);
            let code = loop {
                // Fields 14 and 15 of the line; the first two end with the name.
                let now = std::fs::read_to_string(&stat).unwrap_or_default();
                let fields = now.rsplit(')').next().unwrap_or_default().split(' ').skip(12).take(2);
                ticks = ticks.max(fields.filter_map(|field| field.parse::<u64>().ok()).sum());
                let now = std::fs::read_to_string(&status).unwrap_or_default();
                let line = now.lines().find_map(|line| line.strip_prefix("VmHWM:"));
                let kib = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
                peak = peak.max(kib.unwrap_or_default());
                if let Some(code) = child.try_wait()? {
                    break code;
                }
                std::thread::sleep(Duration::from_millis(1));
            };
            let printed = reader.join().unwrap_or_default();
            let reads_both = arguments.iter().any(|argument| argument.contains("{other}"));
            let kib = (file.bytes.len() + if reads_both { other.bytes.len() } else { 0 }) as u64 / 1024;
            println!(
                "{:8}  {kib:8}  {:25}  {:>4}  {:8}  {:>11}  {:7.2}  {:11}  {:11}",
                file.kind,
                arguments.iter().filter(|argument| !argument.starts_with('{')).copied().collect::<Vec<_>>().join(" "),
                code.code().map_or("died".to_owned(), |code| code.to_string()),
                peak / 1024,
                if peak > (64 << 10) + 32 * kib { "over" } else { "" },
                ticks as f64 / TICKS,
                printed / 1024,
                size(&out) / 1024,
            );
        }
    }
    Ok(())
}

/// Returns the size of all files in a folder, in bytes.
fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => size(&entry.path()),
            found => found.map_or(0, |found| found.len()),
        })
        .sum()
}
