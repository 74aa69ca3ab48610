//! Replacing data: the bytes of constants and named data.

use crate::edit::{anew, contents, no_worse, programs, regression, text, written};
use executorch_format::edit::{NewData, Selector};
use executorch_format::schema::program::{EValue, KernelTypes};
use executorch_format::{DataUser, Model, NewEntry, Pte, Segment};
use executorch_format_support::edits::new_errors;
use executorch_format_support::fixtures::{equal, fixture, for_each};

#[test]
fn replacing_data_changes_nothing_else_in_the_file() {
    for_each(&programs(), |fixture| {
        let original = Pte::parse(fixture.bytes()).map_err(text)?;
        for (method, plan) in original.methods().iter().enumerate() {
            for (value, tensor) in plan.tensors() {
                let Some(data) = original.tensor_data(tensor).map_err(text)?.data_ref() else { continue };
                let mut pte = original.clone();
                let new: Vec<u8> = original.bytes(&data).map_err(text)?.iter().map(|byte| !byte).collect();
                let target = Selector::Value { method: plan.name(), value };
                pte.replace(&target, &NewData::bytes("new", new.clone()).with_shared()).map_err(text)?;
                let changed = pte.methods()[method].tensor(value).unwrap();
                equal("new bytes", pte.tensor_view(changed).map_err(text)?.unwrap().bytes(), &new[..])?;
                let mut expected = fixture.bytes().to_vec();
                let range = original.range(&data).unwrap();
                expected[range.start as usize..range.end as usize].copy_from_slice(&new);
                equal("the rest of the file", written(&pte)? == expected, true)?;
            }
        }
        Ok(())
    });
}

/// Replaces the data of each value and key by itself: it gets the new bytes, and everything else keeps the old ones.
fn replaced_alone(file: &[u8]) -> Result<usize, String> {
    let original = Pte::parse(file).map_err(text)?;
    let before = contents(&original, &[])?;
    let mut shared = 0;
    for (user, data) in original.data_users() {
        let Some(data) = data.map_err(text)?.data_ref().filter(|data| data.size() > 0) else { continue };
        let (target, path) = match user {
            DataUser::Tensor { plan, value, .. } => {
                (Selector::Value { method: plan.name(), value }, user.path().to_string())
            }
            DataUser::NamedData { named, .. } => (Selector::Name(named.key()), named.key().to_owned()),
            _ => continue,
        };
        let key = matches!(user, DataUser::NamedData { .. }).then(|| "new.key".to_owned());
        let new: Vec<u8> = original.bytes(&data).map_err(text)?.iter().map(|byte| byte ^ 1).collect();
        let mut pte = original.clone();
        let report = pte.replace(&target, &NewData::bytes("new", new.clone()).with_key(key)).map_err(text)?;
        shared += usize::from(!report.changes[0].others.is_empty());
        let after = contents(&Pte::parse(&written(&pte)?).map_err(text)?, &[])?;
        for (other, bytes) in &before {
            // Payloads of XNNPACK refer to the new key, and so does the data.
            let renamed = report.changes[0].name == "new.key" && (*other == path || other.contains("processed"));
            let expected = if *other == path { &new } else { bytes };
            equal(other, renamed || after.get(other) == Some(expected), true)?;
        }
        let (before, after) = (Model::Pte(original.clone()), Model::Pte(pte));
        equal("new errors", new_errors(&before, &after).map_err(text)?, vec![])?;
    }
    Ok(shared)
}

#[test]
fn users_that_share_replaced_bytes_keep_the_old_ones() {
    for_each(&programs(), |fixture| replaced_alone(fixture.bytes()).map(drop));
    // One segment contains a list of constants and named data, another one constants and initial states.
    for (name, shared) in [("const_named_same_seg.pte", 2), ("mut_const_same_seg.pte", 0)] {
        assert_eq!(replaced_alone(&regression(name)), Ok(shared), "{name}");
    }
}

#[test]
fn constants_without_elements_stay_when_another_is_replaced() {
    let file = fixture("1.5.1/linear/linear.pte").bytes().to_vec();
    let mut pte = Pte::parse(&file).unwrap();
    let plan = &mut pte.program.execution_plan.as_mut().unwrap()[0];
    let (value, constant) = plan.tensors().find(|(_, tensor)| tensor.data_buffer_idx > 0).unwrap();
    let mut empty = constant.clone();
    let (table, segments) = (pte.program.constant_segment.as_mut().unwrap(), pte.program.segments.as_mut().unwrap());
    let (offsets, segment) = (table.offsets.as_mut().unwrap(), &mut segments[table.segment_index as usize]);
    empty.sizes = Some(vec![0; empty.sizes().len()].into());
    empty.data_buffer_idx = offsets.len() as u32;
    let values = plan.values.as_mut().unwrap();
    values.push(EValue { val: KernelTypes::Tensor(empty) });
    let added = values.len() - 1;
    // As after a change to the list of constants: parts, with an empty one at the end, after padding.
    let bytes = vec![1; segment.size as usize];
    segment.size += 16;
    offsets.to_mut().push(segment.size);
    pte.segments[table.segment_index as usize] = Segment::Parts(vec![(0, bytes.into()), (segment.size, vec![].into())]);

    let target = Selector::Value { method: "forward", value };
    let size = pte.methods()[0].tensor(value).unwrap().byte_size().unwrap();
    pte.replace(&target, &NewData::bytes("new", vec![2; size as usize])).unwrap();
    let data = pte.tensor_data(pte.methods()[0].tensor(added).unwrap()).unwrap().data_ref().unwrap();
    assert!(pte.bytes(&data).unwrap().is_empty());
}

#[test]
fn all_users_that_share_bytes_are_replaced_on_request_and_listed() {
    let file = regression("const_named_same_seg.pte");
    let mut pte = Pte::parse(&file).unwrap();
    let report = pte.replace(&Selector::Name("a"), &NewData::bytes("new", vec![7; 16]).with_shared()).unwrap();
    assert!(report.changes[0].to_string().contains("(forward:%0, key a)"), "{}", report.changes[0]);
    assert_eq!(contents(&pte, &[]).unwrap().into_values().collect::<Vec<_>>(), [[7; 16], [7; 16]]);
    assert_eq!(written(&pte).unwrap().len(), file.len());
}

#[test]
fn another_shape_is_refused_and_another_dim_order_permuted_on_request() {
    let fixture = fixture("1.5.1/channels_last/channels_last.pte");
    let mut pte = Pte::parse(fixture.bytes()).unwrap();
    let before = pte.clone();
    let plan = before.methods().iter().find(|plan| plan.name() == "forward").unwrap();
    let (value, tensor) =
        plan.tensors().find(|(_, tensor)| !tensor.shape().is_natural() && tensor.data_buffer_idx > 0).unwrap();
    let view = before.tensor_view(tensor).unwrap().unwrap();
    let target = Selector::Value { method: "forward", value };

    // The elements by index, in the natural order.
    let natural =
        NewEntry::tensor("w.npy", view.shape().scalar_type, view.shape().sizes, &[][..]).tensor_layout.unwrap();
    let strides = view.shape().strides().unwrap();
    let elements = view.to_vec::<f32>().unwrap();
    let mut in_order = Vec::new();
    let mut indices = vec![0i64; strides.len()];
    for _ in 0..elements.len() {
        let at: i64 = indices.iter().zip(&strides).map(|(index, stride)| index * stride).sum();
        in_order.extend(elements[at as usize].to_le_bytes());
        for (index, size) in indices.iter_mut().zip(view.shape().sizes).rev() {
            *index = (*index + 1) % i64::from(*size);
            if *index != 0 {
                break;
            }
        }
    }
    let new = NewData::bytes("w.npy", in_order).with_tensor_layout(Some(natural));
    let error = pte.replace(&target, &new).unwrap_err().to_string();
    let expected = format!("forward:%{value} is {}, w.npy holds ", view.shape());
    assert!(error.contains(&expected) && error.contains("permutation"), "{error}");
    assert_eq!(pte, before);
    pte.replace(&target, &new.with_permute()).unwrap();
    assert_eq!(written(&pte).unwrap(), fixture.bytes());

    let error = pte.replace(&target, &NewData::bytes("raw", vec![0; 3])).unwrap_err().to_string();
    assert!(error.contains("raw holds 3 bytes"), "{error}");
    assert!(pte.replace(&Selector::Name("nothing"), &NewData::bytes("raw", vec![])).is_err());
}

#[test]
fn named_data_may_change_its_size() {
    let fixture = fixture("1.5.1/named_data/named_data.pte");
    let mut pte = Pte::parse(fixture.bytes()).unwrap();
    let before = contents(&pte, &[]).unwrap();
    let key = pte.named_data()[0].key().to_owned();
    let report = pte.replace(&Selector::Name(&key), &NewData::bytes("new", vec![7; 1000]).with_shared()).unwrap();
    assert_eq!(report.notes.len(), 1);
    let file = written(&pte).unwrap();
    let after = contents(&Pte::parse(&file).unwrap(), &[]).unwrap();
    let mut expected = before;
    for user in &report.changes[0].users {
        if let executorch_format::edit::User::Key { key } = user {
            expected.insert(key.clone(), vec![7; 1000]);
        }
    }
    assert_eq!(after, expected);
    no_worse(&fixture, &pte).unwrap();
}

#[test]
fn new_content_of_a_constant_of_xnnpack_needs_a_new_key() {
    let fixture = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let original = Pte::parse(fixture.bytes()).unwrap();
    let keys: Vec<String> = original.xnnpack_keys().into_iter().collect();
    assert_eq!(keys.len(), 2);
    for key in &keys {
        let named = original.named_data().iter().find(|named| named.key() == key).unwrap();
        let old = original.bytes(&original.named_data_ref(named).unwrap()).unwrap();
        let mut pte = original.clone();
        let new = NewData::bytes("new", vec![7; old.len()]);
        let refused = pte.replace(&Selector::Name(key), &new).unwrap_err().to_string();
        assert!(refused.contains("other bytes need a new key") && pte == original, "{refused}");
        let short = NewData::bytes("short", vec![7; 4]).with_key(Some("other".into()));
        let refused = pte.replace(&Selector::Name(key), &short).unwrap_err().to_string();
        assert!(refused.contains("short holds 4 bytes") && pte == original, "{refused}");

        // A new key of a different length, in named data and in the payload.
        let report = pte.replace(&Selector::Name(key), &new.clone().with_key(Some("other".into()))).unwrap();
        assert_eq!((report.changes.len(), report.changes[0].name.as_str()), (1, "other"));
        let file = written(&pte).unwrap();
        let again = Pte::parse(&file).unwrap();
        assert!(again.xnnpack_keys().contains("other") && !again.xnnpack_keys().contains(key));
        let named = again.named_data().iter().find(|named| named.key() == "other").unwrap();
        assert_eq!(again.bytes(&again.named_data_ref(named).unwrap()).unwrap(), vec![7; old.len()]);
        assert!(!again.named_data().iter().any(|named| named.key() == key));
        no_worse(&fixture, &pte).unwrap();
        // And back: the original file with a new layout.
        pte.replace(&Selector::Name("other"), &NewData::bytes("old", old).with_key(Some(key.clone()))).unwrap();
        assert_eq!(anew(pte).unwrap(), anew(original.clone()).unwrap());

        // With the old key kept on purpose, only bytes change, and the old content restores the file.
        let mut same = original.clone();
        let report = same.replace(&Selector::Name(key), &new.with_key(Some(key.clone()))).unwrap();
        assert_eq!((report.notes.len(), same.xnnpack_keys()), (1, original.xnnpack_keys()));
        same.replace(&Selector::Name(key), &NewData::bytes("old", old).with_key(Some(key.clone()))).unwrap();
        same.replace(&Selector::Name(key), &NewData::bytes("old", old)).unwrap();
        assert_eq!(written(&same).unwrap(), fixture.bytes());
    }
    // The key of other data.
    let named = &original.named_data()[0];
    let size = original.named_data_ref(named).unwrap().size() as usize;
    let other = keys.iter().find(|key| *key != named.key()).unwrap();
    let new = NewData::bytes("new", vec![7; size]).with_key(Some(other.clone()));
    let refused = original.clone().replace(&Selector::Name(named.key()), &new).unwrap_err().to_string();
    assert!(refused.contains("is used for other data"), "{refused}");
}
