//! Bundled programs and ETDumps.

use super::{BUNDLE, BUNDLE_SCALARS, Case, TRACE, bpte, bytes, list};
use executorch_format::schema::bundled::{BundledMethodTestCase, Tensor, Value, ValueUnion};
use executorch_format::{Bpte, Etdp};

pub fn cases() -> Vec<Case> {
    vec![
        bpte("bundle-program-absent", "bundle-field", BUNDLE, "program absent", |bpte| {
            bpte.bundled_program.program = None;
        }),
        bpte("bundle-test-cases-absent", "bundle-field", BUNDLE, "test_cases absent", |bpte| {
            suite(bpte).test_cases = None;
        }),
        bpte("bundle-data-absent", "bundle-field", BUNDLE, "data of an input absent", |bpte| input(bpte).data = None),
        bpte("bundle-inputs-fewer", "bundle-count", BUNDLE, "one input less than the method has", |bpte| {
            case(bpte).inputs.as_mut().unwrap().pop();
        }),
        bpte("bundle-inputs-more", "bundle-count", BUNDLE, "one input more than the method has", |bpte| {
            let inputs = case(bpte).inputs.as_mut().unwrap();
            inputs.push(inputs[0].clone());
        })
        .strict(),
        bpte(
            "bundle-data-short",
            "bundle-data",
            BUNDLE,
            "an input's data 4 bytes shorter than its sizes take",
            |bpte| {
                let data = input(bpte).data.as_mut().unwrap().to_mut();
                data.truncate(data.len() - 4);
            },
        ),
        bpte("bundle-data-long", "bundle-data", BUNDLE, "an input's data 4 bytes longer than its sizes take", |bpte| {
            input(bpte).data.as_mut().unwrap().to_mut().extend([0; 4]);
        })
        .strict(),
        bpte("bundle-value-none", "value-kind", BUNDLE, "an input without a value", |bpte| {
            case(bpte).inputs.as_mut().unwrap()[0].val = ValueUnion::None;
        }),
        bpte(
            "bundle-dim-order-twice",
            "dim-order",
            BUNDLE,
            "a dim order of an input that names a dimension twice",
            |bpte| {
                input(bpte).dim_order = list(&[0, 0]);
            },
        )
        .also("bundle-dim-order"),
        bpte("bundle-method-unknown", "bundle-method", BUNDLE, "test cases of a method that is not there", |bpte| {
            suite(bpte).method_name = Some("backward".into());
        }),
        bpte("bundle-method-twice", "bundle-method", BUNDLE, "two lists of test cases of one method", |bpte| {
            let suites = bpte.bundled_program.method_test_suites.as_mut().unwrap();
            suites.push(suites[0].clone());
        }),
        bpte("bundle-type-other", "bundle-value", BUNDLE, "an input of another type than the method's", |bpte| {
            input(bpte).scalar_type = executorch_format::schema::ScalarType::INT;
        }),
        bpte("bundle-number-other", "bundle-value", BUNDLE_SCALARS, "an input that is another number", |bpte| {
            let ValueUnion::Int(number) = &mut case(bpte).inputs.as_mut().unwrap()[1].val else { panic!("no number") };
            number.int_val += 1;
        }),
        bpte(
            "bundle-dim-order-other",
            "bundle-dim-order",
            BUNDLE,
            "an input in another dim order than the method's",
            |bpte| {
                input(bpte).dim_order = list(&[1, 0]);
            },
        ),
        bytes("etdump-event-none", "etdump-event", TRACE, "profile_event absent in the vtable of events", |bytes| {
            bytes[TIMED_EVENT + 4..][..2].fill(0);
        }),
        bytes("etdump-time-reversed", "etdump-time", TRACE, "an event that starts after its end", |bytes| {
            let start = first_start(bytes).to_le_bytes();
            let at = bytes.windows(8).position(|bytes| bytes == start).unwrap();
            bytes[at + 7] = 1;
        }),
        bytes("etdump-strides-fewer", "etdump-tensor", TRACE, "a recorded tensor with one stride less", |bytes| {
            bytes[STRIDES] -= 1;
        }),
    ]
}

/// The position of the vtable of events with times.
const TIMED_EVENT: usize = 1310;

/// The position of the number of strides of the first recorded tensor.
const STRIDES: usize = 1100;

fn suite<'b, 'a>(bpte: &'b mut Bpte<'a>) -> &'b mut executorch_format::schema::bundled::BundledMethodTestSuite<'a> {
    &mut bpte.bundled_program.method_test_suites.as_mut().unwrap()[0]
}

fn case<'b, 'a>(bpte: &'b mut Bpte<'a>) -> &'b mut BundledMethodTestCase<'a> {
    &mut suite(bpte).test_cases.as_mut().unwrap()[0]
}

fn input<'b, 'a>(bpte: &'b mut Bpte<'a>) -> &'b mut Tensor<'a> {
    let Value { val: ValueUnion::Tensor(tensor) } = &mut case(bpte).inputs.as_mut().unwrap()[0] else {
        panic!("no tensor")
    };
    tensor
}

fn first_start(bytes: &[u8]) -> u64 {
    let etdp = Etdp::parse(bytes).unwrap();
    etdp.etdump.run_data()[0].events()[0].profile_event.as_ref().unwrap().start_time
}
