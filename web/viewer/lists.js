"use strict";
(() => {
  const { element, bytes, shape } = viewer;

  viewer.views.push({
    name: "operators",
    title: (report) => `Operators (${Object.keys(report.operators.operators).length})`,
    fits: (report) => report.operators,
    draw(report, main) {
      const rows = Object.entries(report.operators.operators).map(([name, use]) => ({ name, ...use })).sort((one, other) => other.calls - one.calls);
      const natural = (order) => order.every((dim, index) => dim === index);
      const use = ({ scalar_type, dim_order }) => `${viewer.type(scalar_type)} ${dim_order.length}D${natural(dim_order) ? "" : ` (${dim_order.join(",")})`}`;
      const types = (row) => Object.values(row.kernels).map((kernel) => element("div", {}, `${kernel.tensors.map(use).join(", ")} ×${kernel.calls}`));
      main.append(element("p", { class: "note" }, "What a runtime has to have for this program. Each line is one combination of an operator's tensors, by type and rank, outputs too and the result once more; a dim order follows where it is not the natural one."),
        viewer.table([{ name: "operator", mono: true, of: (row) => row.name }, { name: "calls", number: true, of: (row) => row.calls }, { name: "with tensors of", mono: true, of: types }], rows));
      const backends = Object.entries(report.operators.backends);
      if (backends.length) {
        main.append(element("h2", {}, "Backends"), viewer.table([{ name: "backend", of: (row) => row[0] }, { name: "delegates", number: true, of: (row) => row[1].delegates }, { name: "calls", number: true, of: (row) => row[1].calls }], backends));
      }
    },
  });

  viewer.views.push({
    name: "weights",
    title: (report) => `Weights (${report.weights.length})`,
    fits: (report) => report.weights.length,
    whole: true,
    draw(report, main) {
      const list = element("div", { style: "flex: 1; overflow: auto" });
      const side = element("div", { class: "side" });
      const name = (weight) => { const [user] = weight.users; return user.key ?? `${user.method} value ${user.value}`; };
      const filter = element("input", { class: "grow", type: "search", placeholder: "Name or shape…", "aria-label": "Filter the weights" });
      const columns = [{ name: "name", of: name }, { name: "shape", mono: true, of: (weight) => shape(weight.users[0]) || "blob" }, { name: "size", number: true, of: (weight) => bytes(weight.bytes) }, { name: "users", number: true, of: (weight) => weight.users.length }];
      const choose = (weight, row) => {
        list.querySelector(".chosen")?.classList.remove("chosen");
        row?.classList.add("chosen");
        side.replaceChildren(...facts(weight, name));
      };
      const fill = () => {
        const words = filter.value.toLowerCase();
        list.replaceChildren(viewer.table(columns, report.weights.filter((weight) => `${name(weight)} ${shape(weight.users[0])}`.toLowerCase().includes(words)), { choose }));
      };
      filter.oninput = fill;
      main.append(element("div", { class: "tools" }, filter), element("div", { class: "split" }, list, side));
      fill();
      choose(report.weights[0]);
    },
  });

  function facts(weight, name) {
    const { histogram } = weight;
    const users = weight.users.slice(0, 50).map((user) => element("li", {}, user.key !== undefined ? `key ${user.key}` : `${user.method} value ${user.value}`, ` ${shape(user)}`));
    const parts = [element("h3", {}, name(weight)), element("p", { class: "note" }, `${weight.kind}, ${bytes(weight.bytes)} at ${weight.offset ?? "no place of its own"}`)];
    if (!histogram) {
      const reason = shape(weight.users[0]) ? "No histogram: the values have no numbers of a known type, or they are too large to be read for a page." : "A blob: its values have no type.";
      parts.push(element("p", { class: "note" }, reason));
    } else {
      const most = Math.max(...histogram.bins);
      const total = histogram.bins.reduce((sum, count) => sum + count, 0);
      const width = histogram.max - histogram.min;
      const edge = (index) => viewer.number(histogram.min + (width * index) / histogram.bins.length);
      const bars = histogram.bins.map((count, index) => element("div", {
        style: `flex: 1; background: ${count ? "#8fb8de" : "transparent"}; height: ${count ? Math.max(1, (100 * count) / most) : 0}%`,
        onmousemove: (event) => viewer.tip(`${edge(index)} to ${edge(index + 1)}\n${viewer.count(count, "value")}, ${((100 * count) / total).toFixed(1)} %`, event), onmouseleave: () => viewer.tip(),
      }));
      const row = (what, value) => element("tr", {}, element("th", {}, what), element("td", { class: "number" }, value));
      parts.push(element("h4", {}, "Values"), element("div", { style: "display: flex; align-items: flex-end; gap: 1px; height: 140px; border-bottom: 1px solid var(--line)" }, bars),
        element("div", { class: "note", style: "display: flex; justify-content: space-between; margin: 2px 0 10px" }, element("span", {}, viewer.number(histogram.min)), element("span", {}, viewer.number(histogram.max))),
        element("table", {}, element("tbody", {}, row("values", (total + histogram.not_finite).toLocaleString("en")), row("smallest", viewer.number(histogram.min)), row("largest", viewer.number(histogram.max)), row("mean", viewer.number(histogram.mean)), row("zeros", histogram.zeros.toLocaleString("en")), histogram.not_finite ? row("infinite or no number", histogram.not_finite.toLocaleString("en")) : null)));
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
      main.append(element("p", { class: "note" }, "What pte verify says. An error: a reader may refuse the file, misread it or crash on it. A warning: suspicious, or impossible to check. A note is harmless."),
        viewer.table([
          { name: "severity", of: (row) => element("span", { class: row.severity }, row.severity) }, { name: "rule", mono: true, of: (row) => row.rule }, { name: "field", mono: true, of: (row) => row.path || "the file" },
          { name: "offset", number: true, of: (row) => row.offset ?? "" }, { name: "what", of: (row) => row.message },
        ], report.findings));
    },
  });
})();
