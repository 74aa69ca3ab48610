//! Multiply-accumulates, compared with numbers computed by hand.

use executorch_format::Pte;
use executorch_format::inspect::MethodMacs;
use executorch_format::naming::{NameSource, Names};
use executorch_format::schema::program::{KernelTypes, TensorShapeDynamism};
use executorch_format_support::data;
use executorch_format_support::fixtures::{fixture, fixtures, for_each};

/// Returns the multiply-accumulates, the parameters, whether they are bounds, and whether they are complete.
fn sums(method: &MethodMacs<'_>) -> (u64, u64, bool, bool) {
    (method.macs, method.parameters, method.is_bound, method.is_complete)
}

#[test]
fn products_are_counted_in_kernels_and_inside_delegates() {
    let (stem, layer, head) = (8 * 6 * 6 * 3 * 9, 8 * 6 * 6 * 8 * 9, 8 * 5);
    let parameters = (3 * 9 * 8 + 8) + 2 * (8 * 9 * 8 + 8) + (8 * 5 + 5);
    // XNNPACK's export folds two normalizations of 8 channels, with 4 numbers each.
    for (name, more) in [("net_portable.pte", 2 * 4 * 8), ("net_xnnpack.pte", 0)] {
        let file = std::fs::read(data().join("etrecord").join(name)).unwrap();
        let pte = Pte::parse(&file).unwrap();
        let macs = pte.macs();
        assert_eq!(sums(&macs.methods[0]), (stem + 2 * layer + head, parameters + more, false, true), "{name}");
        let first = &macs.methods[0].by_operator()[0];
        assert_eq!((first.calls, first.macs), (3, stem + 2 * layer), "{name}");
        let record = std::fs::read(data().join("etrecord").join(name.replace(".pte", ".etrecord"))).unwrap();
        let sources = [NameSource::parse(&record).unwrap()];
        let code = pte.disassembly();
        let names = Names::new(&pte, &code, &sources).unwrap();
        let modules = names.macs_by_module(&macs);
        let of = |path: &str| modules.iter().find(|module| module.path == Some(path)).map(|module| module.total);
        assert_eq!([of("stem"), of("layers.1"), of("head")], [Some(stem), Some(layer), Some(head)], "{name}");
    }
    let file = fixture("payloads/depthwise.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    // 3 by 3 for 4 channels, then 3 by 5 for 8 output channels, each of one input channel.
    let (first, second) = (8 * 8 * 4 * 9, 6 * 2 * 8 * 15);
    assert_eq!(sums(&pte.macs().methods[0]), (first + second, 4 * 9 + 4 + 8 * 15 + 8, false, true));
}

/// In a transposed convolution, each input element meets the whole filter.
#[test]
fn transposed_convolutions_are_counted_by_their_input() {
    let file = fixture("1.5.1/channels_last/channels_last.pte");
    let mut pte = Pte::parse(file.bytes()).unwrap();
    assert_eq!(pte.macs().methods[0].macs, 4 * 4 * 4 * 3 * 2 * 2);
    for value in pte.program.execution_plan.as_mut().unwrap()[0].values.as_mut().unwrap() {
        match &mut value.val {
            KernelTypes::Bool(transposed) => transposed.bool_val = true,
            KernelTypes::Tensor(tensor) if tensor.sizes() == [1, 3, 5, 5] => {
                tensor.sizes = Some(vec![1, 4, 5, 5].into());
            }
            _ => {}
        }
    }
    // 4 input channels, 3 output channels, and a filter of 2 by 2.
    assert_eq!(pte.macs().methods[0].macs, 5 * 5 * 4 * 3 * 2 * 2);
}

#[test]
fn a_dynamic_shape_counts_with_its_upper_bound() {
    let file = fixture("1.5.1/linear/linear.pte");
    let mut pte = Pte::parse(file.bytes()).unwrap();
    assert_eq!(sums(&pte.macs().methods[0]), (8 * 5, 8 * 5 + 5, false, true));
    for value in pte.program.execution_plan.as_mut().unwrap()[0].values.as_mut().unwrap() {
        if let KernelTypes::Tensor(tensor) = &mut value.val {
            tensor.shape_dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
        }
    }
    assert_eq!(sums(&pte.macs().methods[0]), (8 * 5, 8 * 5 + 5, true, true));
}

#[test]
fn unknown_counts_are_not_zero() {
    for name in ["payloads/other/ethosu.pte", "1.5.1/evalue_custom/evalue_custom.pte"] {
        let file = fixture(name);
        let pte = Pte::parse(file.bytes()).unwrap();
        let macs = pte.macs();
        let method = &macs.methods[0];
        assert!(!method.is_complete && method.calls.iter().any(|call| call.macs.is_none()), "{name}");
        assert!(method.by_operator().iter().any(|operator| operator.unknown > 0), "{name}");
    }
}

#[test]
fn sums_are_those_of_the_calls() {
    let programs: Vec<_> =
        fixtures().into_iter().filter(|file| file.path.extension().is_some_and(|e| e == "pte")).collect();
    for_each(&programs, |file| {
        let Ok(pte) = Pte::parse(file.bytes()) else { return Ok(()) };
        for method in pte.macs().methods {
            let sum: u64 = method.calls.iter().filter_map(|call| call.macs).sum();
            let by_operator: u64 = method.by_operator().iter().map(|operator| operator.macs).sum();
            if sum != method.macs || by_operator != sum {
                return Err(format!("  {}: {sum} and {by_operator}, not {}", method.name, method.macs));
            }
        }
        Ok(())
    });
}
