//! Damage by transfers, which errors name.

use executorch_format::{Model, TransferDamage};
use executorch_format_support::fixtures::fixture;

#[track_caller]
fn check(bytes: &[u8], damage: Option<TransferDamage>) {
    let error = Model::parse(bytes).unwrap_err();
    assert_eq!(error.transfer_damage(), damage, "{error}");
    assert_eq!(Model::verify_structure(bytes).unwrap_err(), error);
}

fn add_mul() -> Vec<u8> {
    fixture("1.5.1/add_mul/add_mul.pte").bytes().to_vec()
}

#[test]
fn line_ends_and_text_are_recognized() {
    let mut file = add_mul();
    let at = file.len() - 64;
    file.splice(at..at, *b"\n\n\n");
    let converted: Vec<u8> = file
        .iter()
        .flat_map(|byte| if *byte == b'\n' { &b"\r\n"[..] } else { std::slice::from_ref(byte) })
        .copied()
        .collect();
    check(&converted, Some(TransferDamage::LineEnds));
    check(String::from_utf8_lossy(&add_mul()).as_bytes(), Some(TransferDamage::Decoded));
    let latin: String = add_mul().iter().map(|byte| char::from(*byte)).collect();
    check(latin.as_bytes(), Some(TransferDamage::Decoded));
}

#[test]
fn missing_parts_are_recognized() {
    let file = add_mul();
    check(&file[..file.len() / 2], Some(TransferDamage::Incomplete));
    let mut explained = 0;
    for cut in (64..=512).step_by(64) {
        let mut zeros = file.clone();
        zeros[cut..].fill(0);
        // A missing table is often an optional one.
        if let Err(error) = Model::parse(&zeros) {
            let from = zeros.iter().rposition(|byte| *byte != 0).unwrap() as u64 + 1;
            assert_eq!(error.transfer_damage(), Some(TransferDamage::Zeros { from }), "{error}");
            explained += 1;
        }
    }
    assert!(explained > 0);
    let mut damaged = file;
    damaged[0] = 0xff;
    check(&damaged, None);
}

#[test]
fn the_magic_of_a_header_over_a_program_without_one_is_recognized() {
    let mut file = fixture("0.4.0/add/add.pte").bytes().to_vec();
    file[8..12].copy_from_slice(b"eh00");
    check(&file, Some(TransferDamage::HeaderMagic));
}
