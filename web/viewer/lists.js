"use strict";
(() => {
  const { element, bytes, share, shape } = viewer;

  viewer.views.push({
    name: "operators",
    short: "Operators",
    part: "operators",
    title: (report) => `Operators (${report.operators.operators.length})`,
    fits: (report) => report.operators,
    draw(report, main) {
      const rows = [...report.operators.operators].sort((one, other) => other.calls - one.calls);
      const natural = (order) => order.every((dim, index) => dim === index);
      const use = ({ scalar_type, dim_order }) => `${viewer.type(scalar_type)} ${dim_order.length}D${natural(dim_order) ? "" : ` (${dim_order.join(",")})`}`;
      // Neighbours with the same type and rank are counted.
      const tensors = (tensors) => {
        const runs = [];
        for (const text of tensors.map(use)) {
          if (runs.at(-1)?.text === text) runs.at(-1).count += 1;
          else runs.push({ text, count: 1 });
        }
        return runs.map(({ text, count }) => (count > 1 ? `${count} × ${text}` : text)).join(", ") || "no tensors";
      };
      const types = (row) => row.kernels.map((kernel) => element("div", {}, `${tensors(kernel.tensors)}${row.kernels.length > 1 ? `: ${viewer.count(kernel.calls, "call")}` : ""}`));
      const choose = viewer.has("graph") ? (row) => viewer.open("graph", row.name) : undefined;
      main.append(element("p", { class: "note" }, `The kernels that a runtime needs for this program${choose ? "; click one to find it in the graph" : ""}.`),
        rows.length ? element("p", { class: "note" }, "Of tensors: type and number of dimensions (f32 2D: a matrix of 32-bit floats), the arguments in their order and the result once more, as ExecuTorch's selective build counts them. An order of dimensions follows where it is not 0, 1, 2, …") : "",
        viewer.table([{ name: "operator", mono: true, of: (row) => row.name }, { name: "calls", number: true, of: (row) => row.calls.toLocaleString("en") }, { name: "with tensors of", mono: true, of: types }], rows, { choose, none: "It calls no operator of the runtime." }));
      const backends = report.operators.backends;
      if (backends.length) {
        const inside = (row) => [...row.operators].sort((one, other) => other.calls - one.calls).map(({ name, calls }) => `${name} ×${calls.toLocaleString("en")}`).join(", ") || "not known";
        main.append(element("h2", {}, "Backends"), viewer.table([{ name: "backend", wide: true, of: (row) => row.name }, { name: "delegates", number: true, of: (row) => row.delegates.toLocaleString("en") }, { name: "calls", number: true, of: (row) => row.calls.toLocaleString("en") }, { name: "operators inside", mono: true, of: inside }], backends));
      }
    },
  });

  // What the weights of a report are called: by the model if that is known, and by the file.
  viewer.weightNames = (report) => {
    const weights = report.weights || [];
    const several = new Set(weights.flatMap((weight) => weight.users.map((user) => user.method)).filter((method) => method !== undefined)).size > 1;
    const user = (user) => (user.key !== undefined ? viewer.name(user.key) : `${several ? `${viewer.name(user.method)}:` : ""}%${user.value}`);
    // A constant of a backend's node is named by its use, with its key in small letters.
    const delegates = new Set(weights.flatMap((weight) => (weight.inside || []).map((use) => `${use.method} ${use.delegate}`))).size;
    const within = (use) => `${several && use.method !== null ? `${viewer.name(use.method)} ` : ""}${delegates > 1 && use.delegate !== null ? `delegate ${use.delegate} ` : ""}${viewer.inside(use)}`;
    const own = (weight) => (weight.inside?.length ? within(weight.inside[0]) : weight.users.length ? user(weight.users[0]) : "");
    const name = (weight) => weight.name || own(weight);
    const key = (weight) => (weight.inside?.length ? weight.key ?? weight.users[0]?.key : undefined);
    return { user, within, own, name, key };
  };

  viewer.views.push({
    name: "weights",
    short: "Weights",
    part: "weights",
    title: (report) => `Weights (${report.weights.length})`,
    fits: (report) => report.weights?.length,
    whole: true,
    draw(report, main, argument) {
      const list = element("div", { class: "list" });
      const side = element("div", { class: "side", tabindex: 0, role: "region", "aria-label": "Details" });
      const { user, within, own, name, key } = viewer.weightNames(report);
      const form = (weight) => (weight.inside?.length ? viewer.insideShape(weight.inside[0]) : shape(weight.users.find(shape)) || "blob");
      const uses = (weight) => weight.inside?.length || weight.users.length;
      const filter = element("input", { class: "grow", type: "search", placeholder: "Name or shape…", "aria-label": "Filter the weights" });
      const columns = [{ name: "name", wide: true, of: (weight) => [name(weight), weight.name && weight.name !== own(weight) ? element("small", {}, ` ${own(weight)}`) : null, key(weight) === undefined ? null : element("div", { class: "key" }, key(weight))] }, { name: "shape", mono: true, of: form }, { name: "size", number: true, value: (weight) => weight.size, of: (weight) => bytes(weight.size) }, { name: "users", number: true, of: uses }];
      const choose = (weight, row) => {
        list.querySelector(".chosen")?.classList.remove("chosen");
        row?.classList.add("chosen");
        viewer.chosen(name(weight));
        const show = () => side.replaceChildren(...facts(weight, { user, name, own, form, within, key }), ...(viewer.weightTools?.(weight, name(weight), show) || []));
        show();
      };
      const found = element("span", { class: "note", role: "status" });
      const fill = () => {
        const words = filter.value.toLowerCase();
        const fitting = report.weights.filter((weight) => `${name(weight)} ${own(weight)} ${weight.module ?? ""} ${form(weight)} ${key(weight) ?? ""} ${weight.file ?? ""}`.toLowerCase().includes(words));
        found.textContent = words ? `${fitting.length.toLocaleString("en")} of ${viewer.count(report.weights.length, "weight")}` : "";
        list.replaceChildren(viewer.table(columns, fitting, { choose, none: "No weight has that in its name or shape." }));
        const exact = Math.max(0, fitting.findIndex((weight) => name(weight) === argument || own(weight) === argument));
        const row = list.querySelectorAll("tbody tr")[exact];
        if (fitting.length) choose(fitting[exact], row);
        row?.scrollIntoView({ block: "nearest" });
      };
      filter.oninput = fill;
      main.append(element("div", { class: "tools" }, filter, found), element("div", { class: "split" }, list, side));
      fill();
    },
  });

  const absent = (weight) => weight.kind === "external" && !weight.file;

  // Where the name of a weight is known from.
  const sources = { file: "the file", record: "an ETRecord", state_dict: "a state dict", input: "its place among the inputs", operator: "what takes it" };

  function facts(weight, { user, name, own, form, within, key }) {
    const { histogram } = weight;
    const inside = (weight.inside || []).map((use) => element("li", {}, `${within(use)} `, element("span", { class: "mono" }, viewer.insideShape(use))));
    const users = [...inside, ...weight.users.map((one) => element("li", {}, one.key !== undefined ? "key " : "", one.value !== undefined && one.key === undefined && viewer.has("graph") ? viewer.link(() => viewer.open("graph", `%${one.value}`), user(one)) : user(one), " ", element("span", { class: "mono" }, shape(one))))];
    const shown = users.length > 50 ? [...users.slice(0, 50), element("li", {}, `… ${users.length - 50} more`)] : users;
    const place = weight.offset === undefined || weight.offset === null ? (absent(weight) ? "in a .ptd file that is not here" : "without a place of its own") : `at byte ${weight.offset.toLocaleString("en")}${weight.file ? ` of ${weight.file}` : ""}`;
    const kinds = { delegate_constant: "in the payload of a delegate" };
    const parts = [element("h3", {}, name(weight)), element("p", { class: "mono" }, form(weight)),
      weight.name && weight.name !== own(weight) ? element("p", { class: "note" }, `${own(weight)}. The name is that of ${sources[weight.named_by] || weight.named_by}.`) : "",
      weight.module ? element("p", {}, "Module ", viewer.has("graph") ? viewer.link(() => viewer.open("graph", weight.module), weight.module) : weight.module) : "", key(weight) === undefined ? "" : element("p", { class: "key" }, key(weight)), element("p", { class: "note" }, `${kinds[weight.kind] || weight.kind}, ${bytes(weight.size)} ${place}`), weight.dequantized_by === undefined ? "" : element("p", { class: "note" }, `Dequantized by ${weight.dequantized_by}.`)];
    if (!histogram) {
      const typed = weight.users.some(shape) || weight.inside?.length;
      const reason = absent(weight) ? "No histogram: its values are in that file." : weight.counted ? "No histogram: its values are no finite numbers." : typed ? "No histogram: the values are no numbers of a known type, or the data is too large to be read for a page." : "A blob: its values have no type.";
      parts.push(element("p", { class: "note" }, reason));
    } else {
      const most = Math.max(...histogram.bins);
      const total = histogram.bins.reduce((sum, count) => sum + count, 0);
      const width = histogram.max - histogram.min;
      const edge = (index) => viewer.number(histogram.min + (width * index) / histogram.bins.length);
      const bars = histogram.bins.map((count, index) => element("div", {
        style: `flex: 1; background: ${count ? "#8fb8de" : "transparent"}; height: ${count ? Math.max(1, (100 * count) / most) : 0}%`,
        onmousemove: (event) => viewer.tip(`${edge(index)} to ${edge(index + 1)}\n${viewer.count(count, "value")}, ${share(count, total)}`, event), onmouseleave: () => viewer.tip(),
      }));
      const row = (what, value) => element("tr", {}, element("th", {}, what), element("td", { class: "number" }, value));
      parts.push(element("h4", {}, "How its values are spread"), element("p", { class: "note" }, width ? `Counted in ${histogram.bins.length} ranges; the highest bar is ${viewer.count(most, "value")}.` : "All values are the same."), element("div", { style: "display: flex; align-items: flex-end; gap: 1px; height: 140px; border-bottom: 1px solid var(--line)" }, bars),
        element("div", { class: "note", style: "display: flex; justify-content: space-between; margin: 2px 0 10px" }, element("span", {}, viewer.number(histogram.min)), element("span", {}, viewer.number(histogram.max))),
        element("table", {}, element("tbody", {}, row("values", (total + histogram.not_finite).toLocaleString("en")), row("smallest", viewer.number(histogram.min)), row("largest", viewer.number(histogram.max)), row("mean", viewer.number(histogram.mean)), row("zeros", histogram.zeros.toLocaleString("en")), histogram.not_finite ? row("infinite or not a number", histogram.not_finite.toLocaleString("en")) : null)));
    }
    parts.push(element("h4", {}, "Used by"), element("ul", {}, shown));
    return parts;
  }

  viewer.views.push({
    name: "findings",
    short: "Findings",
    part: "findings",
    title: (report) => `Findings (${report.findings.length})`,
    fits: (report) => report.findings,
    draw(report, main) {
      const delegates = (report.summary?.methods || []).some((method) => method.delegates.length);
      const covered = delegates ? " Inside delegates it checks XNNPACK's payloads; of those of other backends at most that they are whole." : "";
      if (!report.findings.length) {
        main.append(element("p", { class: "good" }, "Verification at the strict level found nothing wrong."), covered ? element("p", { class: "note" }, covered.trim()) : "");
        return;
      }
      const order = ["error", "warning", "note"];
      const rows = [...report.findings].sort((one, other) => order.indexOf(one.severity) - order.indexOf(other.severity));
      // If the page has the file, a finding links to its place.
      const index = (row) => row.of?.index ?? report.main ?? 0;
      const field = (row) => {
        const of = row.of ? `${row.of.file}: ` : "";
        // For a bundle, the tree is that of the program inside or of the bundle itself.
        const inside = report.program_offset !== undefined && !row.of && row.path.startsWith("program.");
        const around = report.program_offset !== undefined && !row.of && !inside ? "b" : "";
        const place = `${index(row)}${around}:${inside ? row.path.slice("program.".length) : row.path}`;
        return row.path && viewer.has("tree") ? [of, viewer.link(() => viewer.open("tree", place), row.path)] : `${of}${row.path || "the file"}`;
      };
      const offset = (row) => {
        if (row.offset === undefined || row.offset === null) return "";
        const text = row.offset.toLocaleString("en");
        return viewer.has("bytes") ? viewer.link(() => viewer.open("bytes", `${index(row)}:${row.offset}`), text) : text;
      };
      main.append(element("p", { class: "note" }, `What pte verify says at the strict level. An error: a reader may refuse the file, misread it or crash on it. A warning: suspicious, or impossible to check. A note is harmless.${covered}`),
        viewer.table([
          { name: "severity", words: true, of: (row) => element("span", { class: row.severity }, row.severity) }, { name: "what", wide: true, of: (row) => row.message }, { name: "field", mono: true, of: field }, { name: "at byte", number: true, of: offset }, { name: "rule", mono: true, of: (row) => element("span", { style: "white-space: nowrap" }, row.rule) },
        ], rows));
    },
  });
})();
