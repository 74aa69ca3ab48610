// The weights of a file, as a list with a filter, and facts about the chosen one.
(() => {
  "use strict";
  const { element, bytes, count, grouped, note, share, shape } = viewer;

  viewer.views.push({
    name: "weights",
    short: "Weights",
    part: "weights",
    title: (report) => `Weights (${report.weights.length})`,
    fits: (report) => report.weights?.length,
    whole: true,
    draw(report, main, argument) {
      const list = element("div", { class: "list" });
      const side = viewer.side();
      const names = viewer.weightNames(report);
      const { name, own } = names;
      const filter = element("input", {
        class: "grow",
        type: "search",
        placeholder: "Name or shape…",
        "aria-label": "Filter the weights",
      });
      const found = element("span", { class: "note", role: "status" });
      const choose = (weight, row) => {
        list.querySelector(".chosen")?.classList.remove("chosen");
        row?.classList.add("chosen");
        viewer.chosen(name(weight));
        const show = () => {
          const tools = viewer.weightTools?.(weight, name(weight), show) || [];
          side.replaceChildren(...weightFacts(weight, names), ...tools);
        };
        show();
      };
      const fill = () => {
        const fitting = viewer.filteredWeights(report.weights, names, filter.value);
        const total = count(report.weights.length, "weight");
        found.textContent = filter.value ? `${grouped(fitting.length)} of ${total}` : "";
        list.replaceChildren(viewer.table(columnsOf(names), fitting, { choose, none: "No weight matches." }));
        if (!fitting.length) return;
        const at = fitting.findIndex((weight) => name(weight) === argument || own(weight) === argument);
        const row = list.querySelectorAll("tbody tr")[Math.max(0, at)];
        choose(fitting[Math.max(0, at)], row);
        row?.scrollIntoView({ block: "nearest" });
      };
      filter.oninput = fill;
      main.append(element("div", { class: "tools" }, filter, found), element("div", { class: "split" }, list, side));
      fill();
    },
  });

  // The weights whose name, module, shape, key or file contains a text.
  viewer.filteredWeights = (weights, { name, own, form, key }, text) => {
    const words = text.toLowerCase();
    const searched = (weight) =>
      [name(weight), own(weight), weight.module, form(weight), key(weight), weight.file].map((part) => part ?? "");
    return weights.filter((weight) => searched(weight).join(" ").toLowerCase().includes(words));
  };

  const columnsOf = ({ name, alias, key, form }) => [
    {
      name: "name",
      wide: true,
      of: (weight) => [
        name(weight),
        alias(weight) === undefined ? null : element("small", {}, ` ${alias(weight)}`),
        key(weight) === undefined ? null : element("div", { class: "key" }, key(weight)),
      ],
    },
    { name: "shape", mono: true, of: form },
    { name: "size", number: true, value: (weight) => weight.size, of: (weight) => bytes(weight.size) },
    { name: "users", number: true, of: (weight) => weight.inside?.length || weight.users.length },
  ];

  const isMissing = (weight) => weight.kind === "external" && !weight.file;

  // Sources of the names of weights.
  const nameSources = {
    file: "the file",
    record: "an ETRecord",
    state_dict: "a state dict",
    caller: "the caller's containers",
    input: "its index among the inputs",
    operator: "the operator that takes it",
  };

  function placeOf(weight) {
    if (viewer.isKnown(weight.offset))
      return `at byte ${grouped(weight.offset)}${weight.file ? ` of ${weight.file}` : ""}`;
    return isMissing(weight) ? "in a .ptd file that was not given" : "without an offset of its own";
  }

  function weightFacts(weight, names) {
    const kind = weight.kind === "delegate_constant" ? "in the payload of a delegate" : weight.kind;
    const alias = names.alias(weight);
    const key = names.key(weight);
    const module = () => viewer.linkTo("graph", weight.module, weight.module);
    return [
      element("h3", {}, names.name(weight)),
      element("p", { class: "mono" }, names.form(weight)),
      alias ? note(`${alias}. The name comes from ${nameSources[weight.named_by] || weight.named_by}.`) : "",
      weight.module ? element("p", {}, "Module ", module()) : "",
      key === undefined ? "" : element("p", { class: "key" }, key),
      note(`${kind}, ${bytes(weight.size)} ${placeOf(weight)}`),
      weight.dequantized_by === undefined ? "" : note(`Dequantized by ${weight.dequantized_by}.`),
      ...(weight.histogram ? histogramFacts(weight.histogram) : [note(viewer.noHistogram(weight))]),
      element("h4", {}, "Used by"),
      userList(weight, names),
    ];
  }

  viewer.noHistogram = (weight) => {
    if (isMissing(weight)) return "No histogram: its values are in that file.";
    if (weight.counted) return "No histogram: none of its values is finite.";
    if (!weight.users.some(shape) && !weight.inside?.length) return "A blob: its values have no type.";
    return "No histogram: the values have no known numeric type, or the data is too large for a report.";
  };

  function histogramFacts(histogram) {
    const { bins, min, max, mean, zeros, not_finite } = histogram;
    const highest = Math.max(...bins);
    const total = bins.reduce((sum, count) => sum + count, 0);
    const edge = (index) => viewer.number(min + ((max - min) * index) / bins.length);
    const bar = (size, index) => {
      const tip = () => `${edge(index)} to ${edge(index + 1)}\n${count(size, "value")}, ${share(size, total)}`;
      const height = size ? Math.max(1, (100 * size) / highest) : 0;
      const style = `flex: 1; background: ${size ? "#8fb8de" : "transparent"}; height: ${height}%`;
      return element("div", { style, ...viewer.tipped(tip) });
    };
    const explained = `Counted in ${bins.length} ranges; the highest bar is ${count(highest, "value")}.`;
    const barsStyle =
      "display: flex; align-items: flex-end; gap: 1px; height: 140px; border-bottom: 1px solid var(--line)";
    const endsStyle = "display: flex; justify-content: space-between; margin: 2px 0 10px";
    const ends = [min, max].map((end) => element("span", {}, viewer.number(end)));
    const row = (what, value) => element("tr", {}, element("th", {}, what), element("td", { class: "number" }, value));
    return [
      element("h4", {}, "Distribution of its values"),
      note(min === max ? "All values are the same." : explained),
      element("div", { style: barsStyle }, bins.map(bar)),
      element("div", { class: "note", style: endsStyle }, ends),
      viewer.facts(
        row("values", grouped(total + not_finite)),
        row("smallest", viewer.number(min)),
        row("largest", viewer.number(max)),
        row("mean", viewer.number(mean)),
        row("zeros", grouped(zeros)),
        not_finite ? row("infinite or not a number", grouped(not_finite)) : null,
      ),
    ];
  }

  const MAX_SHOWN = 50;

  function userList(weight, { user, within }) {
    const mono = (text) => element("span", { class: "mono" }, text);
    const node = (use) => element("li", {}, `${within(use)} `, mono(viewer.insideShape(use)));
    const name = (use) =>
      use.value === undefined || use.key !== undefined ? user(use) : viewer.linkTo("graph", `%${use.value}`, user(use));
    const value = (use) => element("li", {}, use.key === undefined ? "" : "key ", name(use), " ", mono(shape(use)));
    const users = [...(weight.inside || []).map(node), ...weight.users.map(value)];
    const more = users.length - MAX_SHOWN;
    return element("ul", {}, users.slice(0, MAX_SHOWN), more > 0 ? element("li", {}, `… ${more} more`) : null);
  }
})();
