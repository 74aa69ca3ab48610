// The test cases of a bundle.
(() => {
  "use strict";
  const { element, grouped, isKnown, shape } = viewer;

  viewer.views.push({
    name: "cases",
    part: "cases",
    short: "Test cases",
    title: ({ cases }) => `Test cases (${cases.test_suites.reduce((sum, suite) => sum + suite.test_cases.length, 0)})`,
    fits: (report) => report.cases,
    draw({ cases }, main) {
      const place = isKnown(cases.program_offset) ? `, from byte ${grouped(cases.program_offset)}` : "";
      const size = viewer.bytes(cases.program_size);
      const text = `The program is ${size} of the bundle${place}. The other views show the program.`;
      main.append(element("p", {}, text), ...cases.test_suites.flatMap(suiteTable));
    },
  });

  const valueText = (value) =>
    shape(value) ||
    (value.value === undefined ? value.type || "unknown" : `${value.type} ${JSON.stringify(value.value)}`);

  const list = (values) => values.map((value) => element("div", { class: "mono" }, valueText(value)));

  const columns = [
    { name: "case", number: true, of: (row) => row.index },
    { name: "inputs", of: (row) => list(row.inputs) },
    {
      name: "expected outputs",
      of: (row) => (row.expected_outputs.length ? list(row.expected_outputs) : "nothing is compared"),
    },
  ];

  function suiteTable({ method, test_cases }) {
    const rows = test_cases.map((testCase, index) => ({ ...testCase, index }));
    return [element("h2", {}, `Method ${viewer.name(method)}`), viewer.table(columns, rows)];
  }
})();
