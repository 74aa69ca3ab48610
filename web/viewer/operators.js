// The operators that a program needs of the runtime, and its backends.
(() => {
  "use strict";
  const { element, grouped, note } = viewer;

  viewer.views.push({
    name: "operators",
    short: "Operators",
    part: "operators",
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

  const inside = (row) => byCalls(row.operators).map(({ name, calls }) => `${name} ×${grouped(calls)}`);

  const backendColumns = [
    { name: "backend", wide: true, of: (row) => row.name },
    { name: "delegates", number: true, of: (row) => grouped(row.delegates) },
    { name: "calls", number: true, of: (row) => grouped(row.calls) },
    { name: "operators inside", mono: true, of: (row) => inside(row).join(", ") || "not known" },
  ];
})();
