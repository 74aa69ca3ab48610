"use strict";
(() => {
  const { element, bytes, count, share, shape } = viewer;

  viewer.views.push({
    name: "overview",
    title: () => "Overview",
    fits: (report) => report.summary,
    uses: ["size", "memory", "weights", "findings"],
    draw(report, main) {
      const { summary } = report;
      // A card opens the view with its details.
      const card = (value, what, view, state) => element(viewer.has(view) ? "button" : "div", { class: "card", onclick: () => viewer.has(view) && viewer.open(view) }, element("b", { class: state }, value), element("span", {}, what));
      const cards = [card(bytes(report.file_size), "file", "size")];
      const methods = summary.methods || [];
      const inDelegates = summary.delegate_constants?.size;
      if (report.memory) {
        const most = Math.max(0, ...report.memory.methods.map((method) => method.size));
        cards.push(card(bytes(most), methods.length > 1 ? "planned memory, largest method" : "planned memory", "memory"));
        cards.push(card(methods.reduce((sum, method) => sum + method.instructions.total, 0).toLocaleString("en"), "instructions", "graph"));
        const backends = new Set(methods.flatMap((method) => method.delegates.map((delegate) => delegate.id)));
        cards.push(card([...backends].join(", ") || "none", "delegated to", "operators"));
      }
      // Data without a type is counted where its kind is known: in delegates, and as keys of a .ptd.
      const tensors = (report.weights || []).filter((weight) => summary.keys || weight.users.some(shape));
      if (tensors.length) cards.push(card(bytes(tensors.reduce((sum, weight) => sum + weight.size, 0)), summary.keys ? `under ${count(summary.keys.length, "key")}` : `in ${count(tensors.length, "weight")}${inDelegates ? " outside delegates" : ""}`, "weights"));
      if (inDelegates) cards.push(card(bytes(inDelegates), `in ${count(summary.delegate_constants.count, "weight")} of delegates`, "size"));
      if (!report.findings) cards.push(card("…", "verification", "findings"));
      const found = ["error", "warning", "note"].map((severity) => [severity, (report.findings || []).filter((finding) => finding.severity === severity).length]).filter((one) => one[1]);
      if (report.findings) cards.push(card(found.map(([severity, number]) => count(number, severity)).join(", ") || "no findings", "verification", "findings", found.length ? found[0][0] : "good"));
      main.append(element("div", { class: "cards" }, cards));
      if (report.size) main.append(element("h2", {}, "Where the bytes are"), ...sizeBar(report.size));
      for (const method of methods) main.append(...methodFacts(report, method));
      if (summary.metadata?.length) {
        main.append(element("h2", {}, "Metadata"), element("p", { class: "note" }, "Methods that compute nothing and return the same each time."),
          viewer.table([{ name: "name", of: (row) => viewer.name(row.name) }, { name: "value", mono: true, of: (row) => value(row.value) }], summary.metadata));
      }
      if (summary.keys) {
        main.append(element("h2", {}, "Keys"), viewer.table([
          { name: "key", of: (row) => viewer.name(row.key) }, { name: "shape", mono: true, of: (row) => shape(row) || "blob" }, { name: "size", number: true, value: (row) => row.size, of: (row) => bytes(row.size) },
        ], summary.keys, { none: "It has no keys." }));
      }
    },
  });

  function sizeBar(size) {
    const kinds = new Map();
    for (const part of size.parts) kinds.set(part.kind, (kinds.get(part.kind) || 0) + part.size);
    const sorted = [...kinds].sort((one, other) => other[1] - one[1]);
    const piece = ([kind, count]) => element("div", {
      style: `flex: ${count} 0 0; background: ${viewer.colors[kind] || "#cccccc"}`,
      onmousemove: (event) => viewer.tip(`${kind}: ${bytes(count)}, ${share(count, size.file_size)}\n${viewer.kinds[kind] || ""}`, event), onmouseleave: () => viewer.tip(),
    });
    const label = ([kind, count]) => element("span", {}, element("i", { style: `background: ${viewer.colors[kind] || "#cccccc"}` }), `${kind} ${bytes(count)} (${share(count, size.file_size)})`);
    return [element("div", { class: "bar" }, sorted.map(piece)), element("div", { class: "legend" }, sorted.map(label))];
  }

  function methodFacts(report, method) {
    const rows = [];
    const row = (name, ...values) => rows.push(element("tr", {}, element("th", {}, name), element("td", {}, ...values)));
    // Neighbours with the same shape, such as caches, share a line.
    const ends = (values) => {
      const runs = [];
      values.forEach((value, index) => {
        const text = `${shape(value) || value.type || "unknown"}${value.name ? ` ${value.name}` : ""}`;
        if (runs.at(-1)?.text === text) runs.at(-1).last = index;
        else runs.push({ text, first: index, last: index });
      });
      return runs.map(({ text, first, last }) => element("div", { class: "mono" }, `${first === last ? first : `${first} to ${last}`}: ${text}${first === last ? "" : " each"}`));
    };
    row("inputs", ...(method.inputs.length ? ends(method.inputs) : ["none"]));
    row("outputs", ...(method.outputs.length ? ends(method.outputs) : ["none"]));
    const kinds = Object.entries(method.instructions.by_kind).map(([kind, number]) => (words[kind] ? count(number, words[kind]) : `${number.toLocaleString("en")} ${kind}`));
    row("instructions", kinds.join(", ") || "none");
    const most = (operators) => `${operators.slice(0, 8).map((operator) => `${operator.name} ×${operator.calls.toLocaleString("en")}`).join(", ")}${operators.length > 8 ? `, … ${operators.length - 8} more` : ""}`;
    if (method.operators.length) row("operators", most(method.operators));
    for (const delegate of method.delegates) {
      const inside = delegate.operators?.length ? `; inside: ${most(delegate.operators)}` : "";
      row("delegates", `${count(delegate.delegates, "delegate")} of ${delegate.id}, ${bytes(delegate.payload_size)}${inside}`);
    }
    row("planned memory", method.planned_memory.buffers.map((buffer) => `buffer ${buffer.memory_id}: ${bytes(buffer.size)}`).join(", ") || "none");
    return [element("h2", {}, `Method ${viewer.name(method.name)}`), element("table", {}, element("tbody", {}, rows))];
  }

  const words = { KernelCall: "kernel call", DelegateCall: "delegate call", MoveCall: "move", JumpFalseCall: "jump", FreeCall: "free" };

  const value = (value) => (Array.isArray(value) ? `[${value.map(plain).join(", ")}]` : plain(value));
  const plain = (value) => (value instanceof Number ? value.digits : value !== null && typeof value === "object" && !Array.isArray(value) ? shape(value) : JSON.stringify(value));
})();
