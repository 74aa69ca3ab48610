//! Compares the position of every blob with that from the official Python reader.

use executorch_format::schema::program::{DataLocation, ExecutionPlan, Tensor};
use executorch_format::{DataRef, Ptd, Pte, TensorData, offset_in};
use executorch_format_support::fixtures::{Fixture, equal, fixtures, for_each, list, number, sha256};
use serde_json::{Value, json};

fn known(is_pte: bool) -> Vec<Fixture> {
    let fixtures: Vec<_> =
        fixtures().into_iter().filter(|fixture| fixture.is_pte() == is_pte && fixture.oracle().is_some()).collect();
    assert!(!fixtures.is_empty());
    fixtures
}

#[test]
fn blobs_of_a_program_are_where_the_official_reader_finds_them() {
    for_each(&known(true), |fixture| {
        let oracle = fixture.oracle().unwrap();
        let pte = Pte::parse(fixture.bytes()).map_err(|error| error.to_string())?;
        let blob = |what: &str, data: DataRef, expected: &Value| {
            let bytes = pte.bytes(&data).map_err(|error| format!("  {what}: {error}"))?;
            equal(what, data.size(), bytes.len() as u64)?;
            let start = pte.range(&data).map(|range| range.start);
            same_blob(fixture, what, start, bytes, expected)
        };
        let segments = pte.program.segments.as_deref().unwrap_or_default();
        equal("segments", segments.len(), list(&oracle, "segments").len())?;
        for (index, (segment, expected)) in segments.iter().zip(list(&oracle, "segments")).enumerate() {
            let data = DataRef::Segment { index: index as u32, offset: 0, size: segment.size };
            blob(&format!("segment {index}"), data, expected)?;
        }
        equal("named data", pte.named_data().len(), list(&oracle, "named_data").len())?;
        for (named, expected) in pte.named_data().iter().zip(list(&oracle, "named_data")) {
            equal("key", named.key.as_deref(), expected["key"].as_str())?;
            equal("segment index", u64::from(named.segment_index), number(expected, "segment_index")?)?;
            blob("named data", pte.named_data_ref(named).map_err(|error| error.to_string())?, expected)?;
        }
        equal("methods", pte.methods().len(), list(&oracle, "methods").len())?;
        for (plan, expected) in pte.methods().iter().zip(list(&oracle, "methods")) {
            let name = plan.name.as_deref().unwrap();
            equal("method", Some(name), expected["name"].as_str())?;
            same_method(plan, expected)?;
            let delegates = plan.delegates.as_deref().unwrap_or_default();
            equal("delegates", delegates.len(), list(expected, "delegates").len())?;
            for (delegate, expected) in delegates.iter().zip(list(expected, "delegates")) {
                equal("delegate", delegate.id.as_deref(), expected["id"].as_str())?;
                let processed = delegate.processed.unwrap();
                equal("location", processed.location.name(), expected["location"].as_str())?;
                equal("index", u64::from(processed.index), number(expected, "index")?)?;
                let data = pte.delegate_data(delegate).map_err(|error| error.to_string())?;
                equal(
                    "inline",
                    matches!(data, DataRef::DelegateData { .. }),
                    processed.location == DataLocation::INLINE,
                )?;
                blob("delegate", data, expected)?;
                for (spec, expected) in delegate.compile_specs.iter().flatten().zip(list(expected, "compile_specs")) {
                    equal("compile spec", spec.key.as_deref(), expected["key"].as_str())?;
                    let hash = sha256(spec.value.as_deref().unwrap_or_default());
                    equal("compile spec", Some(hash.as_str()), expected["sha256"].as_str())?;
                }
            }
            let tensors: Vec<_> = plan.tensors().collect();
            equal("tensors", tensors.len(), list(expected, "tensors").len())?;
            for ((value, tensor), expected) in tensors.into_iter().zip(list(expected, "tensors")) {
                let what = format!("method {name} value {value}");
                equal(&what, value as u64, number(expected, "value")?)?;
                same_tensor(&what, tensor, expected)?;
                let found = pte.tensor_data(tensor).map_err(|error| format!("  {what}: {error}"))?;
                let expected = &expected["data"];
                match found {
                    TensorData::None | TensorData::Planned(_) => equal(&what, expected, &Value::Null)?,
                    TensorData::External(key) => {
                        equal(
                            &what,
                            (expected["from"].as_str(), expected["key"].as_str()),
                            (Some("external"), Some(key)),
                        )?;
                    }
                    TensorData::Constant(data) => {
                        equal(&what, expected["from"].as_str(), Some("constant"))?;
                        blob(&what, data, expected)?;
                    }
                    TensorData::InitialState(data) => {
                        equal(&what, expected["from"].as_str(), Some("mutable"))?;
                        blob(&what, data, expected)?;
                    }
                }
                if let Some(view) = pte.tensor_view(tensor).map_err(|error| error.to_string())? {
                    let hash = sha256(view.bytes());
                    equal(&what, Some(hash.as_str()), expected["sha256"].as_str())?;
                }
            }
        }
        Ok(())
    });
}

#[test]
fn keys_of_a_ptd_are_where_the_official_reader_finds_them() {
    for_each(&known(false), |fixture| {
        let oracle = fixture.oracle().unwrap();
        let ptd = Ptd::parse(fixture.bytes()).map_err(|error| error.to_string())?;
        let segments = ptd.flat_tensor.segments.as_deref().unwrap_or_default();
        equal("segments", segments.len(), list(&oracle, "segments").len())?;
        for (index, expected) in list(&oracle, "segments").iter().enumerate() {
            let bytes = ptd.segment(index as u32).map_err(|error| error.to_string())?;
            same_blob(fixture, &format!("segment {index}"), None, &bytes, expected)?;
        }
        let entries: Vec<_> = ptd.entries().collect();
        equal("keys", entries.len(), list(&oracle, "named_data").len())?;
        let index = ptd.index();
        for (at, (entry, expected)) in entries.iter().zip(list(&oracle, "named_data")).enumerate() {
            let key = entry.key.unwrap();
            equal("key", Some(key.as_str()), expected["key"].as_str())?;
            equal("look-up by index", index.get(key), Some(at))?;
            equal("look-up by linear search", ptd.get(key), Some(*entry))?;
            let bytes = ptd.entry_bytes(entry).map_err(|error| error.to_string())?;
            same_blob(
                fixture,
                key,
                ptd.entry_data(entry).ok().and_then(|data| ptd.range(&data)).map(|range| range.start),
                bytes,
                expected,
            )?;
            let expected = &expected["tensor_layout"];
            equal("shape", entry.shape.is_some(), !expected.is_null())?;
            if let (Some(shape), Some(view)) = (entry.shape, ptd.tensor_view(entry).map_err(|error| error.to_string())?)
            {
                equal("view", (view.bytes(), view.shape()), (bytes, shape))?;
                equal("scalar type", json!(shape.scalar_type.0), expected["scalar_type"].clone())?;
                equal("sizes", json!(shape.sizes), expected["sizes"].clone())?;
                equal("dim order", json!(shape.dim_order), expected["dim_order"].clone())?;
                equal("bytes", shape.byte_size().ok(), expected["nbytes"].as_u64())?;
            }
        }
        Ok(())
    });
}

fn same_blob(fixture: &Fixture, what: &str, start: Option<u64>, bytes: &[u8], expected: &Value) -> Result<(), String> {
    let start = start.or_else(|| offset_in(fixture.bytes(), bytes));
    equal(what, start, Some(number(expected, "offset")?))?;
    equal(what, bytes.len() as u64, number(expected, "size")?)?;
    equal(what, Some(sha256(bytes).as_str()), expected["sha256"].as_str())
}

fn same_method(plan: &ExecutionPlan<'_>, expected: &Value) -> Result<(), String> {
    equal("inputs", json!(plan.inputs.as_deref()), expected["inputs"].clone())?;
    equal("outputs", json!(plan.outputs.as_deref()), expected["outputs"].clone())?;
    let values = plan.values.as_deref().unwrap_or_default();
    equal("values", values.len() as u64, number(expected, "num_values")?)?;
    for (kind, count) in expected["value_kinds"].as_object().unwrap() {
        let found = values.iter().filter(|value| value.val.name() == Some(kind)).count();
        equal(kind, found as u64, count.as_u64().unwrap())?;
    }
    let operators = plan.operators.as_deref().unwrap_or_default();
    equal("operators", operators.len() as u64, number(expected, "num_operators")?)?;
    let count = |chain: &executorch_format::schema::program::Chain<'_>| chain.instructions.iter().flatten().count();
    let counts: Vec<_> = plan.chains.iter().flatten().map(count).collect();
    equal("instructions", json!(counts), expected["num_instructions"].clone())?;
    let sizes = json!(plan.non_const_buffer_sizes.as_deref());
    equal("planned buffers", sizes, expected["non_const_buffer_sizes"].clone())
}

fn same_tensor(what: &str, tensor: &Tensor<'_>, expected: &Value) -> Result<(), String> {
    equal(what, json!(tensor.scalar_type.0), expected["scalar_type"].clone())?;
    equal(what, json!(tensor.sizes()), expected["sizes"].clone())?;
    equal(what, json!(tensor.dim_order()), expected["dim_order"].clone())?;
    equal(what, json!(tensor.shape_dynamism.0), expected["shape_dynamism"].clone())?;
    equal(what, u64::from(tensor.data_buffer_idx), number(expected, "data_buffer_idx")?)?;
    equal(what, tensor.byte_size().ok(), expected["nbytes"].as_u64())?;
    let planned =
        tensor.allocation_info.map(|info| json!({"memory_id": info.memory_id, "offset": info.memory_offset()}));
    equal(what, json!(planned), expected["planned"].clone())
}
