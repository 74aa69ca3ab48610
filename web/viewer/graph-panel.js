// The column beside a graph: the method, or the chosen node. Links call the picture's `go`, `choose` and `searchFor`; see graph.js.
(() => {
  "use strict";
  const { element, graphs, note } = viewer;

  viewer.graphFacts = (picture) => (picture.nodes[picture.chosen] ? nodeFacts(picture) : methodFacts(picture));

  const HELP =
    "Drag to move, scroll to zoom, and click a box to see its inputs and outputs; or use the keyboard: arrow keys, plus and minus, Enter. The second line of a box is the type and shape of its result. Edges that would pass many layers are not drawn: the box lists where they come from.";

  function methodFacts({ graph, nodes, whole, searchFor }) {
    const kinds = new Set(nodes.map((node) => node.kind));
    const present = graphs.meanings
      .map(([kindsOf, meaning]) => [kindsOf.find((kind) => kinds.has(kind)), meaning])
      .filter(([kind]) => kind);
    const count = viewer.grouped(whole.nodes.length);
    const outline = `A double box stands for several nodes: click it, then “Show its nodes”, or press “Blocks” to see all ${count}.`;
    const operator = ([label, calls]) =>
      element(
        "li",
        {},
        viewer.link(() => searchFor(label), label),
        ` ×${viewer.grouped(calls)}`,
      );
    return [
      element("h3", {}, `Method ${viewer.name(graph.method)}`),
      note(HELP, kinds.has("jump") ? " A dashed line is a jump." : null),
      element(
        "ul",
        { class: "plain" },
        present.map(([kind, meaning]) => element("li", {}, viewer.swatch(kind), meaning)),
      ),
      graph.incomplete ? element("p", { class: "warning" }, graph.incomplete) : "",
      graph === whole ? "" : note(outline),
      element("h4", {}, "Operators"),
      element("ul", {}, graphs.operators(whole.nodes).map(operator)),
    ];
  }

  function nodeFacts(picture) {
    const { nodes, chosen, into, outOf, choose } = picture;
    const node = nodes[chosen];
    return [
      element(
        "p",
        { class: "back" },
        viewer.link(() => choose(-1), "← the whole method"),
      ),
      element("h3", {}, node.label),
      ...identity(picture, node),
      ...groupNotes(picture),
      note(placeText(node)),
      ...argumentList(
        "Inputs",
        node.arguments.filter((argument) => !argument.output),
      ),
      ...argumentList(
        "Outputs",
        node.arguments.filter((argument) => argument.output),
      ),
      ...connectionList(picture, "From", into[chosen], "from"),
      ...connectionList(picture, "To", outOf[chosen], "to"),
    ];
  }

  // The name, the module, the nodes inside, the time and the source of a node, as far as they are known.
  function identity({ inside, chosen, searchFor }, node) {
    const box = node.kind === "block" && inside ? inside(chosen) : undefined;
    const module = () => (node.module ? viewer.link(() => searchFor(node.module), node.module) : "the model itself");
    return [
      node.name ? element("p", { class: "mono" }, node.name) : "",
      node.module === undefined ? "" : element("p", {}, "Module ", module()),
      box ? element("p", {}, viewer.link(box.open, `Show its ${viewer.count(box.count, "node")}`)) : "",
      node.time === undefined ? "" : element("p", {}, `${viewer.time(node.time)} in one run`),
      node.source ? element("p", { class: "mono" }, node.source) : "",
    ];
  }

  function groupNotes({ groups, chosen }) {
    const around = groups.filter(({ first, count }) => first <= chosen && chosen < first + count);
    const size = ({ kind, count }) => (kind === "delegate" ? `, a delegate with ${viewer.count(count, "node")}` : "");
    return around.map((group) => note(`In ${group.label}${size(group)}.`));
  }

  function placeText(node) {
    const chain = node.chain ? ` of chain ${node.chain}` : "";
    const place = node.instruction === undefined ? "" : `instruction ${node.instruction}${chain}`;
    if (node.delegate === undefined) return [graphs.meaning(node.kind) || node.kind, place].filter(Boolean).join(", ");
    return `Inside ${node.delegate}, which ${place} runs. Ids number the delegate's own values.`;
  }

  // The name of an argument, as a link to its weight or to its memory.
  function argumentName({ tensor_name: name, weight, place, value }) {
    if (!name) return "";
    if (weight && viewer.has("weights")) return viewer.linkTo("weights", name, name);
    return place?.planned ? viewer.linkTo("memory", `%${value}`, name) : name;
  }

  function argumentList(title, list) {
    const entry = (argument) => {
      const place = argument.place ? `, ${graphs.placeText(argument.place)}` : "";
      return element(
        "li",
        {},
        argument.name ? `${argument.name} ` : "",
        argumentName(argument),
        " ",
        element("b", { class: "mono" }, argument.text),
        element("small", {}, ` ${graphs.value(argument.value)}${place}`),
      );
    };
    return list.length ? [element("h4", {}, title), element("ul", {}, list.map(entry))] : [];
  }

  const MAX_SHOWN = 100;

  // The nodes at one end of connections, `from` or `to`.
  function connectionList({ nodes, go }, title, connections, end) {
    if (!connections.length) return [];
    const entry = ({ edge }) => {
      const { label, instruction, delegate } = nodes[edge[end]];
      const number = instruction === undefined || delegate !== undefined ? "" : `, instruction ${instruction}`;
      const by = edge.value === undefined ? ", by a jump" : `, ${graphs.value(edge.value)}`;
      return element(
        "li",
        {},
        viewer.link(() => go(edge[end]), label),
        `${number}${by}`,
      );
    };
    const more = connections.length - MAX_SHOWN;
    return [
      element("h4", {}, title),
      element("ul", {}, connections.slice(0, MAX_SHOWN).map(entry)),
      more > 0 ? note(`… ${more} more`) : "",
    ];
  }
})();
