//! The share of a program that delegates compute.

use executorch_format::inspect::{BackendShare, Delegation, MethodDelegation};
use executorch_format::{Analysis, Pte};
use executorch_format_support::data;

fn with_delegation(path: &str, check: impl FnOnce(&Delegation<'_>)) {
    let bytes = std::fs::read(data().join(path)).unwrap();
    check(&Analysis::new(&Pte::parse(&bytes).unwrap()).delegation());
}

/// An operator that is left, with what delegates took.
type Left<'m> = (&'m str, Vec<(&'m str, String, u64)>);

/// Returns the operators that are left, each with the kinds that delegates took: kind, inputs and number of nodes.
fn left<'m>(method: &'m MethodDelegation<'_>) -> Vec<Left<'m>> {
    let taken = method.left.iter().map(|left| {
        let taken = left.taken.iter().map(|taken| (&*taken.operator, taken.inputs.join(", "), taken.nodes));
        (&*left.operator, taken.collect())
    });
    taken.collect()
}

#[test]
fn nodes_and_kernels_and_their_multiply_accumulates_are_counted() {
    with_delegation("etrecord/net_xnnpack.pte", |found| {
        let method = &found.methods[0];
        assert_eq!((method.delegated_calls, method.other_calls, method.is_complete), (8, 1, true));
        assert_eq!((method.delegated_macs, method.other_macs), (Some(49_288), Some(0)));
        let [BackendShare { id, calls, operators, .. }] = method.backends[..] else { panic!("{found:?}") };
        assert_eq!((id, calls, operators), ("XnnpackBackend", 2, Some(8)));
        assert_eq!(left(method), [("aten::mean.out", vec![])]);
        let mean = &method.left[0];
        assert_eq!((mean.first, mean.tensors.len()), ((0, 1), 2));
        assert_eq!(mean.tensors[0].tensor.dim_order, [0, 1, 2, 3]);
        assert!(!mean.tensors[0].is_dynamic);
    });
}

#[test]
fn operators_that_are_left_are_beside_those_that_a_backend_took() {
    with_delegation("zoo/nn_tcn.xnnpack_dynamic.pte", |found| {
        let reshapes = || {
            let of = |rank: &str| ("XNNStaticReshape", format!("f32 {rank}"), 2);
            vec![of("3-D"), of("4-D")]
        };
        let found = left(&found.methods[0]);
        let expected = [
            ("aten::elu.out", vec![]),
            ("aten::squeeze_copy.dims_out", reshapes()),
            ("aten::unsqueeze_copy.out", reshapes()),
        ];
        for row in expected {
            assert!(found.contains(&row), "{row:?} in {found:?}");
        }
    });
}

#[test]
fn payloads_that_are_not_read_make_the_share_incomplete() {
    with_delegation("payloads/other/tosa.pte", |found| {
        let method = &found.methods[0];
        assert_eq!((method.delegated_calls, method.is_complete, method.delegated_macs), (1, false, None));
        assert_eq!((method.delegated_unknown, method.backends[0].operators), (1, None));
    });
}

#[test]
fn macs_of_kernels_that_are_not_known_are_not_counted_as_zero() {
    let bytes = std::fs::read(data().join("etrecord/net_xnnpack.pte")).unwrap();
    let mut pte = Pte::parse(&bytes).unwrap().into_owned();
    for operator in pte.program.execution_plan.as_mut().unwrap()[0].operators.as_mut().unwrap() {
        operator.name = Some("my::convolution".into());
    }
    let found = Analysis::new(&pte).delegation();
    let method = &found.methods[0];
    assert_eq!((method.delegated_macs, method.delegated_unknown), (Some(49_288), 0));
    assert_eq!((method.other_macs, method.other_unknown), (None, 1));
    assert_eq!(method.left[0].macs, None);
}

#[test]
fn dynamic_shapes_are_marked() {
    with_delegation("1.5.1/dynamic_bounded/dynamic_bounded.pte", |found| {
        let left = &found.methods[0].left;
        assert!(!left.is_empty() && left.iter().any(|left| left.tensors.iter().any(|tensor| tensor.is_dynamic)));
        // The runtime's own operators are no work that a backend could take.
        assert!(left.iter().all(|left| !left.operator.starts_with("executorch_prim::")), "{left:?}");
    });
}
