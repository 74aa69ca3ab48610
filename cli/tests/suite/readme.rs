//! The output in the README is that of the command.

use crate::cli::pte;
use executorch_format_support::crate_root;

#[test]
fn commands_in_the_readme_print_the_output_shown() {
    let page = std::fs::read_to_string(crate_root().join("README.md")).unwrap();
    let out = std::env::temp_dir().join(format!("executorch-format-{}-readme", std::process::id()));
    std::fs::create_dir_all(&out).unwrap();
    let mut commands = 0;
    for block in page.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        for shown in block.split("$ ").skip(1) {
            let (command, shown) = shown.split_once('\n').unwrap();
            let place = |word: &str| match word {
                "program.pte" | "weights.ptd" => out.join(word).into_os_string(),
                word => word.into(),
            };
            let output = pte().current_dir(crate_root()).args(command.split(' ').skip(1).map(place)).output().unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            // An ellipsis stands for the rest of the output.
            match shown.strip_suffix("…\n") {
                Some(start) => assert!(printed.starts_with(start), "{command}: {printed}"),
                None => assert_eq!(printed, shown, "{command}"),
            }
            commands += 1;
        }
    }
    assert_eq!(commands, 6);
    std::fs::remove_dir_all(&out).unwrap();
}
