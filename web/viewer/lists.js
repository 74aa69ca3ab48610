"use strict";
(() => {
  const { element, bytes, share, shape } = viewer;

  viewer.views.push({
    name: "operators",
    title: (report) => `Operators (${report.operators.operators.length})`,
    fits: (report) => report.operators,
    draw(report, main) {
      const rows = [...report.operators.operators].sort((one, other) => other.calls - one.calls);
      const natural = (order) => order.every((dim, index) => dim === index);
      const use = ({ scalar_type, dim_order }) => `${viewer.type(scalar_type)} ${dim_order.length}D${natural(dim_order) ? "" : ` (${dim_order.join(",")})`}`;
      // Neighbours of one type and rank, counted.
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

  viewer.views.push({
    name: "weights",
    title: (report) => `Weights (${report.weights.length})`,
    fits: (report) => report.weights.length,
    whole: true,
    draw(report, main) {
      const list = element("div", { class: "list" });
      const side = element("div", { class: "side" });
      const several = new Set(report.weights.flatMap((weight) => weight.users.map((user) => user.method)).filter((method) => method !== undefined)).size > 1;
      const user = (user) => (user.key !== undefined ? viewer.name(user.key) : `${several ? `${viewer.name(user.method)}:` : ""}%${user.value}`);
      const name = (weight) => user(weight.users[0]);
      const filter = element("input", { class: "grow", type: "search", placeholder: "Name or shape…", "aria-label": "Filter the weights" });
      const columns = [{ name: "name", wide: true, of: name }, { name: "shape", mono: true, of: (weight) => shape(weight.users[0]) || "blob" }, { name: "size", number: true, of: (weight) => bytes(weight.size) }, { name: "users", number: true, of: (weight) => weight.users.length }];
      const choose = (weight, row) => {
        list.querySelector(".chosen")?.classList.remove("chosen");
        row?.classList.add("chosen");
        side.replaceChildren(...facts(weight, user));
      };
      const found = element("span", { class: "note", role: "status" });
      const fill = () => {
        const words = filter.value.toLowerCase();
        const fitting = report.weights.filter((weight) => `${name(weight)} ${shape(weight.users[0])}`.toLowerCase().includes(words));
        found.textContent = words ? `${fitting.length.toLocaleString("en")} of ${viewer.count(report.weights.length, "weight")}` : "";
        list.replaceChildren(viewer.table(columns, fitting, { choose, none: "No weight has that in its name or shape." }));
        if (fitting.length) choose(fitting[0], list.querySelector("tbody tr"));
      };
      filter.oninput = fill;
      main.append(element("div", { class: "tools" }, filter, found), element("div", { class: "split" }, list, side));
      fill();
    },
  });

  function facts(weight, name) {
    const { histogram } = weight;
    const users = weight.users.slice(0, 50).map((user) => element("li", {}, `${user.key !== undefined ? "key " : ""}${name(user)} `, element("span", { class: "mono" }, shape(user))));
    if (weight.users.length > 50) users.push(element("li", {}, `… ${weight.users.length - 50} more`));
    const parts = [element("h3", {}, name(weight.users[0])), element("p", { class: "note" }, `${weight.kind}, ${bytes(weight.size)} ${weight.offset === undefined || weight.offset === null ? "without a place of its own" : `at byte ${weight.offset.toLocaleString("en")}`}`)];
    if (!histogram) {
      const reason = shape(weight.users[0]) ? "No histogram: the values are no numbers of a known type, or the data is too large to be read for a page." : "A blob: its values have no type.";
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
    parts.push(element("h4", {}, "Used by"), element("ul", {}, users));
    return parts;
  }

  viewer.views.push({
    name: "findings",
    title: (report) => `Findings (${report.findings.length})`,
    fits: () => true,
    draw(report, main) {
      if (!report.findings.length) {
        main.append(element("p", { class: "good" }, "Verification found nothing wrong."));
        return;
      }
      const order = ["error", "warning", "note"];
      const rows = [...report.findings].sort((one, other) => order.indexOf(one.severity) - order.indexOf(other.severity));
      main.append(element("p", { class: "note" }, "What pte verify says. An error: a reader may refuse the file, misread it or crash on it. A warning: suspicious, or impossible to check. A note is harmless."),
        viewer.table([
          { name: "severity", of: (row) => element("span", { class: row.severity }, row.severity) }, { name: "what", wide: true, of: (row) => row.message }, { name: "field", mono: true, of: (row) => row.path || "the file" },
          { name: "at byte", number: true, of: (row) => row.offset?.toLocaleString("en") ?? "" }, { name: "rule", mono: true, of: (row) => element("span", { style: "white-space: nowrap" }, row.rule) },
        ], rows));
    },
  });
})();
