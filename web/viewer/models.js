// Several files beside each other.
(() => {
  "use strict";
  const { element, bytes, count, grouped, isKnown, note } = viewer;

  viewer.views.push({
    name: "models",
    part: "models",
    short: "Files",
    title: ({ models }) => `Files (${grouped(models.length)})`,
    fits: ({ models }) => models?.length,
    draw({ models }, main) {
      const rows = viewer.modelRows(models);
      const differ = rows.filter(({ same }) => !same).length;
      const head = element(
        "tr",
        {},
        element("td"),
        ...viewer.modelNames(models).map((name) => element("th", { scope: "col" }, name)),
      );
      const line = ({ name, cells, same }) =>
        element(
          "tr",
          { class: same && models.length > 1 && "same" },
          element("th", { scope: "row" }, name),
          ...cells.map((cell) => element("td", {}, ...lines(cell))),
        );
      const table = element(
        "table",
        { class: "models" },
        element("thead", {}, head),
        element("tbody", {}, rows.map(line)),
      );
      main.append(
        note(
          `${count(differ, "row")} of ${grouped(rows.length)} differ. Rows in which all files are the same are grey.`,
        ),
        element("div", { class: "rows", tabindex: 0, role: "region", "aria-label": "Files beside each other" }, table),
      );
    },
  });

  const lines = (cell) => cell.split("\n").map((line) => element("div", {}, line));

  // The shortest ends of the paths that tell the files apart.
  viewer.modelNames = (models) => {
    const parts = models.map(({ file }) => file.split(/[\\/]/));
    const end = (path, length) => path.slice(-length).join("/");
    return parts.map((path, index) => {
      const isTaken = (length) => parts.some((other, at) => at !== index && end(other, length) === end(path, length));
      let length = 1;
      while (length < path.length && isTaken(length)) length += 1;
      return end(path, length);
    });
  };

  const backendsOf = ({ methods = [] }) => {
    const sums = new Map();
    for (const { id, delegates } of methods.flatMap(({ delegates }) => delegates))
      sums.set(id, (sums.get(id) || 0) + delegates);
    return (
      [...sums].map(([id, delegates]) => `${viewer.name(id)}: ${count(delegates, "delegate")}`).join("\n") || "none"
    );
  };

  const verdictText = ({ verdict }) => {
    if (!verdict) return "";
    const { outcome, because } = verdict;
    return [
      viewer.verdictText({ outcome }),
      ...because.slice(0, 3).map((cause) => `${cause.name}: ${viewer.reason(cause)}`),
    ].join("\n");
  };

  // The summary of a bundle has the program inside.
  const programOf = (model) => model.program || model;

  // Facts about a file, as text.
  const FACTS = [
    ["size", ({ file_size }) => `${bytes(file_size)} (${grouped(file_size)} bytes)`],
    ["loads in", ({ loads_in }) => viewer.releasesText(loads_in)],
    ["in the newest release", verdictText],
    [
      "kernels beyond the portable ones",
      ({ loads_in }) => loads_in.kernels.map((row) => viewer.kernelsText([row])).join("\n") || "none",
    ],
    ["backends", (model) => backendsOf(programOf(model))],
    ["methods", (model) => (programOf(model).methods || []).map(({ name }) => viewer.name(name)).join(", ")],
    [
      "metadata",
      (model) => (programOf(model).metadata || []).map(({ name }) => viewer.name(name)).join(", ") || "none",
    ],
  ];

  const operatorsText = ({ operators }) => {
    const calls = operators.reduce((sum, operator) => sum + operator.calls, 0);
    const names = operators.slice(0, 5).map(({ name, calls }) => `${name} ×${grouped(calls)}`);
    return [count(calls, "call"), ...names, ...(operators.length > 5 ? [`… ${operators.length - 5} more`] : [])].join(
      "\n",
    );
  };

  const macsOf = (number) => (isKnown(number) ? grouped(number) : "not known");

  // Facts about a method; `macs` are its multiply-accumulates and parameters.
  const METHOD_FACTS = [
    ["inputs", ({ inputs }) => viewer.valueTexts(inputs).join("\n")],
    ["outputs", ({ outputs }) => viewer.valueTexts(outputs).join("\n")],
    ["operators", operatorsText],
    ["multiply-accumulates", (_, macs) => (macs ? `${macs.is_bound ? "at most " : ""}${macsOf(macs.macs)}` : "")],
    [
      "parameters",
      (_, macs) => (macs ? `${viewer.precisions[macs.parameters_are] || ""}${macsOf(macs.parameters)}` : ""),
    ],
    ["planned memory", ({ planned_memory }) => bytes(planned_memory.size)],
    ["memory of a run", ({ run_memory }) => viewer.runText(run_memory).join("\n")],
  ];

  // Rows of facts: the name, a text for each file, and whether all are the same.
  viewer.modelRows = (models) => {
    const row = (name, cells) => ({ name, cells, same: cells.every((cell) => cell === cells[0]) });
    const rows = FACTS.map(([name, of]) => row(name, models.map(of)));
    const names = new Set(models.flatMap((model) => (programOf(model).methods || []).map(({ name }) => name)));
    for (const name of names) {
      const found = models.map((model) => (programOf(model).methods || []).find((method) => method.name === name));
      const macs = models.map((model) => (model.macs || []).find((row) => row.name === name));
      const prefix = names.size > 1 ? `${viewer.name(name)}: ` : "";
      for (const [fact, of] of METHOD_FACTS) {
        rows.push(
          row(
            `${prefix}${fact}`,
            found.map((method, index) => (method ? of(method, macs[index]) : "–")),
          ),
        );
      }
    }
    return rows;
  };
})();
