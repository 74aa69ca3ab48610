// The operators that a program needs of the runtime, and its backends.
(() => {
  "use strict";
  const { count, element, grouped, note } = viewer;

  viewer.views.push({
    name: "operators",
    short: "Operators",
    part: "operators",
    uses: ["macs"],
    title: (report) => `Operators (${report.operators.operators.length})`,
    fits: (report) => report.operators,
    draw(report, main) {
      const { operators, backends } = report.operators;
      const choose = viewer.has("graph") ? (row) => viewer.open("graph", row.name) : undefined;
      const hint = choose ? "; click one to find it in the graph" : "";
      main.append(
        note(`The kernels that a runtime needs for this program${hint}.`),
        operators.length ? note(HELP) : "",
        viewer.table(operatorColumns, byCalls(operators), { choose, none: "It calls no operators of the runtime." }),
      );
      if (backends.length) main.append(element("h2", {}, "Backends"), viewer.table(backendColumns, backends));
      for (const method of report.macs || []) main.append(...macsTable(method));
    },
  });

  const HELP =
    "The last column has the type and number of dimensions of each tensor argument, in order: f32 2D is a matrix of 32-bit floats. The result is listed again at the end, as in ExecuTorch's selective build. A dimension order is shown if it is not 0, 1, 2, …";

  const byCalls = (operators) => [...operators].sort((left, right) => right.calls - left.calls);

  // The types and ranks of a kernel's tensors; equal neighbours are counted.
  viewer.kernelText = (tensors) => {
    const text = ({ scalar_type, dim_order }) => {
      const order = viewer.isContiguous(dim_order) ? "" : ` (${dim_order.join(",")})`;
      return `${viewer.type(scalar_type)} ${dim_order.length}D${order}`;
    };
    const runs = viewer.runs(tensors.map(text));
    return runs.map(({ text, count }) => (count > 1 ? `${count} × ${text}` : text)).join(", ") || "no tensors";
  };

  function kernels(row) {
    const calls = (kernel) => (row.kernels.length > 1 ? `: ${viewer.count(kernel.calls, "call")}` : "");
    return row.kernels.map((kernel) => element("div", {}, `${viewer.kernelText(kernel.tensors)}${calls(kernel)}`));
  }

  const operatorColumns = [
    { name: "operator", mono: true, of: (row) => row.name },
    { name: "calls", number: true, of: (row) => grouped(row.calls) },
    { name: "tensors", mono: true, of: kernels },
  ];

  viewer.precisions = { about: "about ", at_least: "at least " };

  viewer.macsText = ({ macs, parameters, parameters_are, is_bound, is_complete }) => {
    const bound = is_bound ? "at most (dynamic shapes at their bounds, caches full) " : "";
    const rest = is_complete ? "" : " (not all are known)";
    const products = viewer.isKnown(macs)
      ? `${bound}${grouped(macs)} multiply-accumulates${rest}`
      : "multiply-accumulates not known";
    const weights = viewer.isKnown(parameters)
      ? `${viewer.precisions[parameters_are] || ""}${count(parameters, "parameter")}`
      : "parameters not known";
    return `${products}, ${weights}`;
  };

  function macsTable(method) {
    const columns = [
      { name: "operator or node", mono: true, of: (row) => row.operator },
      { name: "MACs", number: true, value: (row) => row.macs, of: (row) => known(row, row.macs) },
      { name: "share", number: true, value: (row) => row.macs, of: (row) => known(row, row.macs, method.macs) },
      { name: "parameters", number: true, value: (row) => row.parameters, of: parametersOf },
      { name: "calls", number: true, value: (row) => row.calls, of: (row) => grouped(row.calls) },
    ];
    const title = `Multiply-accumulates of ${viewer.name(method.name)}`;
    return [element("h2", {}, title), note(`${viewer.macsText(method)}.`), viewer.table(columns, method.operators)];
  }

  const parametersOf = ({ parameters }) => (viewer.isKnown(parameters) ? grouped(parameters) : "not known");

  function known(row, macs, all) {
    if (row.unknown === row.calls) return "not known";
    return all === undefined ? grouped(macs) : viewer.share(macs, all);
  }

  const inside = (row) => byCalls(row.operators).map(({ name, calls }) => `${name} ×${grouped(calls)}`);

  const backendColumns = [
    { name: "backend", wide: true, of: (row) => row.name },
    { name: "delegates", number: true, of: (row) => grouped(row.delegates) },
    { name: "calls", number: true, of: (row) => grouped(row.calls) },
    { name: "operators inside", mono: true, of: (row) => inside(row).join(", ") || "not known" },
  ];
})();
