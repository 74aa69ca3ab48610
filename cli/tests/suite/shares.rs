//! Shares of delegates, and profiles and errors by module.

use crate::cli::pte;
use executorch_format_support::data;

/// Runs a command in the folder of test data. Returns its exit code, standard output and standard error.
fn run(line: &str) -> (i32, String, String) {
    let output = pte().current_dir(data()).args(line.split(' ')).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Returns `true` if a line of the text has all these words.
fn has_line(text: &str, words: &[&str]) -> bool {
    text.lines().any(|line| words.iter().all(|word| line.contains(word)))
}

#[test]
fn the_share_of_delegates_has_calls_macs_and_time() {
    let (code, text, errors) =
        run("ops --delegated payloads/profile_xnnpack.pte --trace payloads/profile_xnnpack.etdp");
    assert_eq!((code, &*errors), (0, ""));
    assert!(has_line(&text, &["calls", "75.0 %", "3 of 4 operators, 1 left"]), "{text}");
    // 57.6 µs and 37.7 µs in delegates, 48 µs in the other instruction.
    assert!(has_line(&text, &["time", "66.5 %", "of instructions"]), "{text}");
    assert!(has_line(&text, &["aten::cumsum.out", "2 × f32 2-D contiguous"]), "{text}");
    let (_, text, _) = run("ops --delegated zoo/nn_tcn.xnnpack_dynamic.pte");
    assert!(has_line(&text, &["taken elsewhere: 2 × XNNStaticReshape(f32 4-D)"]), "{text}");
    let (code, _, errors) = run("ops payloads/profile_xnnpack.pte --trace payloads/profile_xnnpack.etdp");
    assert_eq!(code, 2);
    assert!(errors.contains("--delegated"), "{errors}");
}

#[test]
fn traces_of_two_programs_are_compared_by_module() {
    let (code, text, errors) = run("profile etrecord/net_xnnpack.etdp --program etrecord/net_xnnpack.pte \
         --before etrecord/net_portable.etdp --before-program etrecord/net_portable.pte --by module");
    assert_eq!((code, &*errors), (0, ""));
    assert!(has_line(&text, &["(the model)"]) && has_line(&text, &["head"]), "{text}");
    let (code, _, errors) = run("profile etrecord/net_xnnpack.etdp --program etrecord/net_xnnpack.pte --warm-up 9");
    assert_eq!(code, 1);
    assert!(errors.contains("are left out to warm up"), "{errors}");
    let (code, text, _) = run("profile etrecord/net_xnnpack.etdp --program etrecord/net_xnnpack.pte --svg");
    assert_eq!(code, 0);
    assert!(text.starts_with("<svg ") && text.contains("<title>instruction 0: XnnpackBackend (delegate 0)"), "{text}");
}

#[test]
fn errors_are_listed_by_module_with_the_worst_first() {
    let (code, text, errors) = run(
        "debug etrecord/net_xnnpack.etdp --debug-buffer etrecord/net_xnnpack.debug.bin --program etrecord/net_xnnpack.pte \
             --before etrecord/net_portable.etdp --before-debug-buffer etrecord/net_portable.debug.bin \
             --before-program etrecord/net_portable.pte --by module",
    );
    assert_eq!((code, &*errors), (0, ""));
    assert!(has_line(&text, &["dB", "head", "XnnpackBackend.1"]), "{text}");
    let (code, text, _) = run("diff etrecord/net_portable.pte etrecord/net_xnnpack.pte --tensors --by module");
    assert_eq!(code, 1);
    assert!(has_line(&text, &["dB", "1.000000", "2 of 2", "layers.0.conv", "layers.0.conv."]), "{text}");
    let (code, _, errors) = run("debug payloads/profile_debug.etdp --by module");
    assert_eq!((code, errors.contains("--before or --reference")), (2, true));
}

#[test]
fn the_memory_of_a_run_is_shown_with_its_bound() {
    let (_, text, _) = run("memory answers/kanji_xnn.pte");
    assert!(has_line(&text, &["memory of a run, at most"]), "{text}");
    assert!(has_line(&text, &["XNNPACK workspace", "768.0 MiB"]), "{text}");
    assert!(has_line(&text, &["total", "3.1 GiB"]), "{text}");
    let (_, text, _) = run("info answers/kanji_xnn.pte");
    assert!(has_line(&text, &["memory of a run", "at most 3.1 GiB: planned 64.0 MiB"]), "{text}");
    let (_, text, _) = run("memory payloads/other/vulkan.pte");
    assert!(has_line(&text, &["not known, not counted: memory that VulkanBackend allocates itself"]), "{text}");
}
