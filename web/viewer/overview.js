(() => {
  "use strict";
  const { element, bytes, count, grouped, note, share, shape } = viewer;
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

  viewer.views.push({
    name: "overview",
    title: () => "Overview",
    fits: (report) => report.summary,
    uses: ["size", "memory", "weights", "findings", "macs", "releases"],
    draw(report, main) {
      const { methods = [], metadata, keys } = report.summary;
      main.append(element("div", { class: "cards" }, cards(report)));
      if (report.releases || report.pending?.has("releases")) main.append(viewer.facts(...releaseFacts(report)));
      if (report.size) main.append(element("h2", {}, "Bytes by kind"), ...sizeBar(report.size));
      for (const method of methods) main.append(...methodFacts(method, report.macs));
      if (metadata?.length) main.append(...metadataTable(metadata));
      if (keys) main.append(element("h2", {}, "Keys"), keysTable(keys));
    },
  });

  // The releases that load the file, and what the newest one does with it.
  function releaseFacts({ releases }) {
    if (!releases) return [viewer.fact("loads in", "…")];
    const { loads_in, releases: behaviours } = releases;
    const newest = behaviours[behaviours.length - 1];
    const text = viewer.releasesText(loads_in);
    const first = viewer.fact("loads in", viewer.linkTo("releases", undefined, text), viewer.loadsNote(loads_in));
    return newest ? [first, viewer.fact(`in ${newest.release}`, ...viewer.verdictLines(newest.verdict))] : [first];
  }

  // A card opens the view with its details.
  function card(value, what, view, state) {
    const name = viewer.has(view) ? "button" : "div";
    const onclick = () => viewer.has(view) && viewer.open(view);
    return element(name, { class: "card", onclick }, element("b", { class: state }, value), element("span", {}, what));
  }

  const cards = (report) => [
    card(bytes(report.file_size), "file", "size"),
    ...(report.memory ? programCards(report) : []),
    ...weightCards(report),
    verificationCard(report.findings),
  ];

  function programCards({ memory, summary: { methods } }) {
    const largest = Math.max(0, ...memory.methods.map((method) => method.size));
    const instructions = sum(methods.map((method) => method.instructions.total));
    const backends = new Set(methods.flatMap((method) => method.delegates.map((delegate) => delegate.id)));
    return [
      card(bytes(largest), methods.length > 1 ? "planned memory, largest method" : "planned memory", "memory"),
      card(grouped(instructions), "instructions", "graph"),
      card([...backends].join(", ") || "none", "delegated to", "operators"),
    ];
  }

  // Data without a type is counted where its kind is known: in delegates, and as keys of a .ptd.
  function weightCards({ summary, weights = [] }) {
    const { keys, delegate_constants: delegated } = summary;
    const tensors = weights.filter((weight) => keys || weight.users.some(shape));
    const cards = [];
    if (tensors.length) {
      const outside = delegated?.count ? " outside delegates" : "";
      const what = keys ? `under ${count(keys.length, "key")}` : `in ${count(tensors.length, "weight")}${outside}`;
      cards.push(card(bytes(sum(tensors.map((weight) => weight.size))), what, "weights"));
    }
    if (delegated?.count) {
      const size = viewer.isKnown(delegated.size) ? bytes(delegated.size) : "size not known";
      cards.push(card(size, `in ${count(delegated.count, "weight")} of delegates`, "size"));
    }
    return cards;
  }

  function verificationCard(findings) {
    if (!findings) return card("…", "verification", "findings");
    const of = (severity) => findings.filter((finding) => finding.severity === severity).length;
    const found = ["error", "warning", "note"].filter(of);
    const text = found.map((severity) => count(of(severity), severity)).join(", ");
    return card(text || "no findings", "verification", "findings", found[0] || "good");
  }

  function sizeBar(size) {
    const kinds = new Map();
    for (const part of size.parts) kinds.set(part.kind, (kinds.get(part.kind) || 0) + part.size);
    const sorted = [...kinds].sort((left, right) => right[1] - left[1]);
    const color = (kind) => viewer.colors[kind] || "#cccccc";
    const piece = ([kind, size_of_kind]) => {
      const tip = () =>
        `${kind}: ${bytes(size_of_kind)}, ${share(size_of_kind, size.file_size)}\n${viewer.kinds[kind] || ""}`;
      return element("div", { style: `flex: ${size_of_kind} 0 0; background: ${color(kind)}`, ...viewer.tipped(tip) });
    };
    const label = ([kind, size_of_kind]) => {
      const text = `${kind} ${bytes(size_of_kind)} (${share(size_of_kind, size.file_size)})`;
      return element("span", {}, element("i", { style: `background: ${color(kind)}` }), text);
    };
    return [
      element("div", { class: "bar" }, sorted.map(piece)),
      element("div", { class: "legend" }, sorted.map(label)),
    ];
  }

  // The meaning of an output of a method for training.
  function training({ training }) {
    if (!training) return "";
    const of = training.role === "gradient" ? " of" : "";
    return `, ${training.role}${training.parameter ? `${of} ${viewer.name(training.parameter)}` : ""}`;
  }

  // Neighbours with the same shape, such as caches, share a line.
  function values(values) {
    return viewer.valueTexts(values).map((text) => element("div", { class: "mono" }, text));
  }

  viewer.valueTexts = (values) => {
    if (!values.length) return ["none"];
    const named = (value) => `${shape(value) || value.type || "unknown"}${value.name ? ` ${value.name}` : ""}`;
    const text = (value) => `${named(value)}${training(value)}`;
    const line = ({ text, first, count }) =>
      count > 1 ? `${first} to ${first + count - 1}: ${text} each` : `${first}: ${text}`;
    return viewer.runs(values.map(text)).map(line);
  };

  const instructionKinds = {
    KernelCall: "kernel call",
    DelegateCall: "delegate call",
    MoveCall: "move",
    JumpFalseCall: "jump",
    FreeCall: "free",
  };

  const instructionText = ([kind, number]) =>
    instructionKinds[kind] ? count(number, instructionKinds[kind]) : `${grouped(number)} ${kind}`;

  function operatorsText(operators) {
    const shown = operators.slice(0, 8).map((operator) => `${operator.name} ×${grouped(operator.calls)}`);
    return `${shown.join(", ")}${operators.length > 8 ? `, … ${operators.length - 8} more` : ""}`;
  }

  function delegateFact(delegate) {
    const inside = delegate.operators?.length ? `; inside: ${operatorsText(delegate.operators)}` : "";
    const what = `${count(delegate.delegates, "delegate")} of ${delegate.id}`;
    return viewer.fact("delegates", `${what}, ${bytes(delegate.payload_size)}${inside}`);
  }

  function methodFacts(method, macs) {
    const { instructions, operators, delegates, planned_memory } = method;
    const kinds = Object.entries(instructions.by_kind).map(instructionText);
    const buffers = planned_memory.buffers.map((buffer) => `buffer ${buffer.memory_id}: ${bytes(buffer.size)}`);
    return [
      element("h2", {}, `Method ${viewer.name(method.name)}`),
      viewer.facts(
        viewer.fact("inputs", ...values(method.inputs)),
        viewer.fact("outputs", ...values(method.outputs)),
        viewer.fact("instructions", kinds.join(", ") || "none"),
        ...(operators.length ? [viewer.fact("operators", operatorsText(operators))] : []),
        ...delegates.map(delegateFact),
        ...(macs || [])
          .filter(({ name }) => name === method.name)
          .map((row) => viewer.fact("compute", viewer.macsText(row))),
        viewer.fact("planned memory", buffers.join(", ") || "none"),
        ...(method.run_memory ? [viewer.fact("memory of a run", ...lines(viewer.runText(method.run_memory)))] : []),
      ),
    ];
  }

  const lines = (texts) => texts.map((text) => element("div", {}, text));

  function metadataTable(metadata) {
    const columns = [
      { name: "name", of: (row) => viewer.name(row.name) },
      { name: "value", mono: true, of: (row) => constantText(row.value) },
    ];
    return [
      element("h2", {}, "Metadata"),
      note("Methods without instructions, which always return the same value."),
      viewer.table(columns, metadata),
    ];
  }

  const constantText = (value) => (Array.isArray(value) ? `[${value.map(itemText).join(", ")}]` : itemText(value));

  function itemText(value) {
    if (value instanceof Number) return value.digits;
    return value !== null && typeof value === "object" && !Array.isArray(value) ? shape(value) : JSON.stringify(value);
  }

  function keysTable(keys) {
    const columns = [
      { name: "key", of: (row) => viewer.name(row.key) },
      { name: "shape", mono: true, of: (row) => shape(row) || "blob" },
      { name: "size", number: true, value: (row) => row.size, of: (row) => bytes(row.size) },
    ];
    return viewer.table(columns, keys, { none: "No keys." });
  }
})();
