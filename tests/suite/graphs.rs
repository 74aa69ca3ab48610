//! Outlines of graphs, and the parts of a truncated file.

use executorch_format::inspect::{Graph, GroupKind, NodeKind, salvage};
use executorch_format::{Analysis, FileKind, Model, Pte};
use executorch_format_support::data;
use executorch_format_support::fixtures::fixture;

#[test]
fn an_outline_has_every_node_once_and_the_edges_between_its_boxes() {
    let file = std::fs::read(data().join("bench/llama6_external.pte")).unwrap();
    let pte = Pte::parse(&file).unwrap();
    let graphs = Analysis::new(&pte).graphs();
    let graph = &graphs[0];
    let groups = graph.groups();
    let outline = graph.outline(&groups).unwrap();
    assert_eq!(outline.graph.nodes.len(), outline.members.len());
    assert_eq!(outline.layout.nodes.len(), outline.members.len());
    let mut next = 0;
    let mut units = Vec::new();
    for (unit, (first, count)) in outline.members.iter().enumerate() {
        assert_eq!(*first, next);
        next += count;
        units.extend(std::iter::repeat_n(unit, *count));
        let node = &outline.graph.nodes[unit];
        assert_eq!(node.kind == NodeKind::Block, *count > 1, "{}", node.label);
    }
    assert_eq!(next, graph.nodes.len());
    let blocks = groups.iter().filter(|group| group.kind == GroupKind::Block && group.label.ends_with("of 6")).count();
    assert_eq!(blocks, 6);
    let mut expected: Vec<(usize, usize)> = graph.edges.iter().map(|edge| (units[edge.from], units[edge.to])).collect();
    expected.retain(|(from, to)| from != to);
    let mut found: Vec<(usize, usize)> = outline.graph.edges.iter().map(|edge| (edge.from, edge.to)).collect();
    for edges in [&mut expected, &mut found] {
        edges.sort_unstable();
        edges.dedup();
    }
    assert_eq!(found, expected);
    // Without groups there is no outline.
    assert!(graph.outline(&[]).is_none());
}

/// A method that would have too many nodes has none, and the others keep theirs.
#[test]
fn the_graphs_of_a_program_have_a_limit_and_say_so() {
    let file = std::fs::read(data().join("1.5.1/add_mul/add_mul.pte")).unwrap();
    let mut pte = Pte::parse(&file).unwrap();
    let plans = pte.program.execution_plan.as_mut().unwrap();
    let mut long = plans[0].clone();
    let chain = &mut long.chains.as_mut().unwrap()[0];
    chain.instructions = Some(vec![Default::default(); Graph::MAX_NODES]);
    plans.insert(0, long);
    let nodes: Vec<(usize, Option<&str>)> =
        Analysis::new(&pte).graphs().iter().map(|graph| (graph.nodes.len(), graph.incomplete)).collect();
    assert_eq!(nodes[0], (0, Some("the graphs of the program would have more than 100000 nodes")));
    assert!(nodes[1].0 > 0 && nodes[1].1.is_none(), "{nodes:?}");
    let report = Analysis::new(&pte).report();
    assert_eq!(report.graphs[0].graph.incomplete, nodes[0].1);
    assert!(report.memory.is_some());
}

#[test]
fn a_high_graph_is_split_into_columns_without_overlapping_nodes() {
    let file = std::fs::read(data().join("bench/llama6_external.pte")).unwrap();
    let pte = Pte::parse(&file).unwrap();
    let graph = &Analysis::new(&pte).graphs()[0];
    let layout = graph.layout();
    assert!(layout.height < 3.0 * layout.width, "{} {}", layout.width, layout.height);
    for (index, one) in layout.nodes.iter().enumerate() {
        assert!(one.x >= 0.0 && one.x + one.width <= layout.width + 1.0, "{index}: {one:?}");
        assert!(one.y >= 0.0 && one.y + one.height <= layout.height + 1.0, "{index}: {one:?}");
        for other in &layout.nodes[..index] {
            let apart = one.x >= other.x + other.width
                || other.x >= one.x + one.width
                || one.y >= other.y + other.height
                || other.y >= one.y + one.height;
            assert!(apart, "{index}: {one:?} {other:?}");
        }
    }
    // The route of an edge leads downwards from its node to the other, past all nodes.
    assert!(!layout.routes.is_empty());
    for route in &layout.routes {
        let (from, to) = (layout.nodes[route.from], layout.nodes[route.to]);
        let heights: Vec<f64> = route.points.iter().map(|(_, y)| *y).collect();
        assert!(
            heights.is_sorted() && heights[0] >= from.y + from.height && *heights.last().unwrap() <= to.y,
            "{route:?}"
        );
        for (x, y) in &route.points {
            let inside = |node: &executorch_format::inspect::NodeBox| {
                *x > node.x && *x < node.x + node.width && *y > node.y && *y < node.y + node.height
            };
            assert!(!layout.nodes.iter().any(inside), "{route:?}");
        }
    }
}

#[test]
fn salvage_of_a_truncated_file_is_a_part_of_the_original() {
    let file = fixture("1.5.1/add_mul/add_mul.pte");
    let whole = salvage(file.bytes(), FileKind::Pte);
    let pte = Pte::parse(file.bytes()).unwrap();
    let count = |remains: &executorch_format::inspect::Salvage, name: &str| {
        remains.tables.iter().find(|tables| tables.name == name).map_or(0, |tables| tables.count)
    };
    assert_eq!(count(&whole, "Program"), 1);
    assert_eq!(count(&whole, "Operator"), pte.methods()[0].operators().len());
    for operator in pte.methods()[0].operators() {
        assert!(whole.texts.iter().any(|text| text.text == operator.name()));
    }
    let mut known = 0;
    for size in (0..file.bytes().len()).step_by(29) {
        let cut = &file.bytes()[..size];
        let rest = salvage(cut, FileKind::Pte);
        for tables in &rest.tables {
            assert!(tables.count <= count(&whole, tables.name), "{size}: {tables:?}");
        }
        for text in &rest.texts {
            assert!(whole.texts.contains(text), "{size}: {text:?}");
        }
        known += usize::from(!rest.tables.is_empty() && Pte::parse(cut).is_err());
    }
    assert!(known > 3, "{known}");
    assert_eq!(salvage(&[], FileKind::Pte).tables, []);
}

#[test]
fn texts_of_pictures_show_weights_values_and_edges() {
    let file = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let model = Model::parse(file.bytes()).unwrap();
    let Model::Pte(pte) = &model else { panic!("{model:?}") };
    let drawings = Analysis::new(pte).drawings();
    assert_eq!(
        drawings.iter().map(|drawing| &drawing.graph).collect::<Vec<_>>(),
        Analysis::new(pte).graphs().iter().collect::<Vec<_>>()
    );
    assert!(drawings.iter().all(|drawing| drawing.layout.nodes.len() == drawing.graph.nodes.len()));
    let graph = &drawings[0].graph;
    let weights: Vec<_> = graph.nodes.iter().flat_map(|node| node.weights()).collect();
    let texts: Vec<_> = weights.iter().map(|weight| weight.weight_text()).collect();
    assert_eq!(texts, ["filter f32[5, 8]", "bias f32[5]"]);
    let names: Vec<_> = weights.iter().map(|weight| weight.value_name()).collect();
    assert!(names.iter().all(|name| name.starts_with("%id ")), "{names:?}");
    let edges: Vec<_> = graph.edges.iter().map(|edge| graph.edge_text(edge)).collect();
    assert!(!edges.is_empty() && edges.iter().all(|text| text.contains("32[")), "{edges:?}");
}
