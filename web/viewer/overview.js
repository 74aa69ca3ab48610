"use strict";
(() => {
  const { element, bytes, count, shape } = viewer;

  viewer.views.push({
    name: "overview",
    title: () => "Overview",
    fits: () => true,
    draw(report, main) {
      const { summary } = report;
      const card = (value, what) => element("div", { class: "card" }, element("b", {}, value), element("span", {}, what));
      const cards = [card(bytes(report.file_size), "file")];
      const methods = summary.methods || [];
      if (report.memory) {
        const most = Math.max(0, ...report.memory.methods.map((method) => method.bytes));
        cards.push(card(bytes(most), "planned memory, largest method"));
        cards.push(card(methods.reduce((sum, method) => sum + method.instructions.total, 0).toLocaleString("en"), "instructions"));
        const backends = new Set(methods.flatMap((method) => method.delegates.map((delegate) => delegate.id)));
        cards.push(card([...backends].join(", ") || "none", "delegated to"));
      }
      if (report.weights.length) cards.push(card(bytes(report.weights.reduce((sum, weight) => sum + weight.bytes, 0)), `in ${count(report.weights.length, "weight")}`));
      const errors = report.findings.filter((finding) => finding.severity === "error").length;
      const state = errors ? ["error", count(errors, "error")] : report.findings.length ? ["warning", count(report.findings.length, "finding")] : ["good", "no findings"];
      cards.push(element("div", { class: "card" }, element("b", { class: state[0] }, state[1]), element("span", {}, "verification")));
      main.append(element("div", { class: "cards" }, cards));
      if (report.size) main.append(element("h2", {}, "Where the bytes are"), ...sizeBar(report.size));
      for (const method of methods) main.append(...methodFacts(report, method));
      if (summary.metadata?.length) {
        main.append(element("h2", {}, "Metadata"), element("p", { class: "note" }, "Methods that compute nothing and return the same each time."),
          viewer.table([{ name: "name", of: (row) => row.name }, { name: "value", mono: true, of: (row) => value(row.value) }], summary.metadata));
      }
      if (summary.keys) {
        main.append(element("h2", {}, "Keys"), viewer.table([
          { name: "key", of: (row) => row.key }, { name: "shape", mono: true, of: (row) => shape(row) || "blob" }, { name: "size", number: true, of: (row) => bytes(row.size) },
        ], summary.keys));
      }
    },
  });

  function sizeBar(size) {
    const kinds = new Map();
    for (const part of size.parts) kinds.set(part.kind, (kinds.get(part.kind) || 0) + part.bytes);
    const sorted = [...kinds].sort((one, other) => other[1] - one[1]);
    const share = (count) => `${((100 * count) / size.file_size).toFixed(1)} %`;
    const piece = ([kind, count]) => element("div", {
      style: `flex: ${count} 0 0; background: ${viewer.colors[kind] || "#cccccc"}`,
      onmousemove: (event) => viewer.tip(`${kind}: ${bytes(count)}, ${share(count)}`, event), onmouseleave: () => viewer.tip(),
    });
    const label = ([kind, count]) => element("span", {}, element("i", { style: `background: ${viewer.colors[kind] || "#cccccc"}` }), `${kind} ${bytes(count)} (${share(count)})`);
    return [element("div", { class: "bar" }, sorted.map(piece)), element("div", { class: "legend" }, sorted.map(label))];
  }

  function methodFacts(report, method) {
    const rows = [];
    const row = (name, ...values) => rows.push(element("tr", {}, element("th", {}, name), element("td", {}, ...values)));
    const ends = (values) => values.map((value, index) => element("div", { class: "mono" }, `${index}: ${shape(value) || value.type || "unknown"}${value.name ? ` ${value.name}` : ""}`));
    row("inputs", ...(method.inputs.length ? ends(method.inputs) : ["none"]));
    row("outputs", ...(method.outputs.length ? ends(method.outputs) : ["none"]));
    const kinds = Object.entries(method.instructions.by_kind).map(([kind, count]) => `${count} ${kind}`);
    row("instructions", `${method.instructions.total.toLocaleString("en")}: ${kinds.join(", ")}`);
    if (method.operators.length) {
      const shown = method.operators.slice(0, 8).map((operator) => `${operator.name} ×${operator.calls}`);
      row("operators", `${shown.join(", ")}${method.operators.length > 8 ? `, … ${method.operators.length - 8} more` : ""}`);
    }
    for (const delegate of method.delegates) row("delegates", `${delegate.id}: ${delegate.delegates}, payloads ${bytes(delegate.payload_bytes)}`);
    row("planned memory", method.planned_memory.buffers.map((buffer) => `buffer ${buffer.memory_id}: ${bytes(buffer.size)}`).join(", ") || "none");
    return [element("h2", {}, `Method ${method.name}`), element("table", {}, element("tbody", {}, rows))];
  }

  const value = (value) => (value !== null && typeof value === "object" && !Array.isArray(value) ? shape(value) : JSON.stringify(value));
})();
