// The times of a trace: by module, by operator and by event.
(() => {
  "use strict";
  const { element, grouped, isKnown, note } = viewer;

  viewer.views.push({
    name: "times",
    part: "profile",
    short: "Times",
    title: () => "Times",
    fits: (report) => report.profile,
    draw({ profile }, main) {
      for (const fault of profile.errors) main.append(element("p", { class: "error" }, fault));
      if (profile.errors.length) main.append(note("The trace does not fit the program, so the graph has no times."));
      main.append(tickSelect());
      profile.runs.forEach((run, index) => {
        main.append(...runTimes(run, profile.by_module?.[index], profile.by_operator[index]));
      });
    },
  });

  function tickSelect() {
    const units = [
      ["1 nanosecond", 1],
      ["1 microsecond", 1e3],
      ["1 millisecond", 1e6],
    ];
    const option = ([name, value]) => element("option", { value, selected: value === viewer.tick }, name);
    const onchange = () => {
      viewer.tick = Number(select.value);
      viewer.redraw();
    };
    const select = element("select", { "aria-label": "Length of a tick of the trace", onchange }, units.map(option));
    return element(
      "p",
      { class: "tools" },
      "The trace does not state how long a tick of its clock is. Assume ",
      select,
    );
  }

  function runTimes(run, modules, operators) {
    const method = run.method ? `: ${run.method}` : "";
    const testCase = isKnown(run.test_case) ? `, test case ${run.test_case}` : "";
    const each = `${viewer.time(run.total / run.count)}${run.count > 1 ? " each" : ""}`;
    return [
      element("h2", {}, `${run.name}${method}${testCase}`),
      note(`${viewer.count(run.count, "run")}, ${each}.`),
      timeline(run),
      ...(modules?.some((row) => row.path) ? moduleTimes(run, modules) : []),
      operators.length ? operatorTimes(run, operators) : "",
      ...eventTimes(run),
    ];
  }

  const shareBar = (share) => [
    `${(100 * share).toFixed(1)} %`,
    element("span", { class: "share" }, element("i", { style: `width: ${Math.min(100, 100 * share)}%` })),
  ];

  // The operator, the backend or the kind of instruction that an event runs.
  const runsText = ({ runs }) => (runs ? runs.operator || runs.backend || runs.instruction_kind : "");

  const openInstruction = (instruction) => viewer.open("graph", `instruction ${instruction}`);

  const MAX_STEPS = 2000;

  // The instructions of one run, one after the other, each as wide as its time.
  function timeline(run) {
    const steps = run.events.filter((row) => row.kind === "instruction" && row.total > 0);
    if (steps.length < 2) return "";
    const step = (row, at) => {
      const name = row.label ?? (runsText(row) || row.name);
      const label = `${name}: ${viewer.time(row.total / run.count)}, ${(100 * row.share).toFixed(1)} %`;
      return element("button", {
        "aria-label": label,
        style: `flex: ${row.total} 0 0; background: ${Object.values(viewer.colors)[at % 5]}`,
        onclick: () => viewer.has("graph") && row.instruction !== null && openInstruction(row.instruction),
        ...viewer.tipped(() => label),
      });
    };
    const label = "The instructions of one run, in order";
    return element("div", { class: "run", role: "group", "aria-label": label }, steps.slice(0, MAX_STEPS).map(step));
  }

  function moduleTimes(run, modules) {
    const name = ({ path }) => (path === null ? "of no module, or not known" : viewer.module(path));
    const columns = [
      {
        name: "module",
        wide: true,
        of: (row) => element("span", { style: `padding-left: ${row.depth * 14}px` }, name(row)),
      },
      { name: "time", number: true, of: (row) => viewer.time(row.total / run.count) },
      { name: "by itself", number: true, of: (row) => viewer.time(row.own / run.count) },
      { name: "of the run", number: true, of: (row) => shareBar(row.total / (run.total || 1)) },
    ];
    const options = {
      fixed: true,
      choose: (row) => viewer.open("graph", row.path),
      choosable: (row) => row.path && viewer.has("graph"),
    };
    return [element("h3", {}, "By module"), viewer.table(columns, modules, options)];
  }

  const countColumn = { name: "count", number: true, of: (row) => grouped(row.count) };
  const shareColumn = { name: "of the run", number: true, value: (row) => row.share, of: (row) => shareBar(row.share) };

  function operatorTimes(run, operators) {
    const columns = [
      { name: "operator", mono: true, of: (row) => `${row.inside ? "  " : ""}${row.name}` },
      countColumn,
      {
        name: "in one run",
        number: true,
        value: (row) => row.total,
        of: (row) => viewer.time(row.total / run.count),
      },
      shareColumn,
    ];
    return viewer.table(columns, operators, { fixed: operators.some((row) => row.inside) });
  }

  function eventTimes({ events }) {
    const small = (text) => element("small", {}, ` ${text}`);
    const name = ({ name, label, module }) => [
      name,
      label && label !== name ? small(label) : null,
      module ? small(viewer.module(module)) : null,
    ];
    const instruction = ({ instruction }) =>
      isKnown(instruction) ? viewer.linkTo("graph", `instruction ${instruction}`, instruction) : "";
    const time = (name, field) => ({
      name,
      number: true,
      value: (row) => row[field],
      of: (row) => viewer.time(row[field]),
    });
    // An event that was measured once has no median; one outside a method has no instruction.
    const isOnce = events.every((row) => row.count === 1);
    const placeColumns = [
      { name: "instruction", number: true, of: instruction },
      { name: "runs", mono: true, wide: true, of: runsText },
    ];
    const columns = [
      { name: "event", mono: true, wide: true, of: name },
      ...(events.some((row) => row.runs) ? placeColumns : []),
      countColumn,
      time(isOnce ? "time" : "median", "median"),
      ...(isOnce ? [] : [time("shortest", "min"), time("longest", "max")]),
      shareColumn,
    ];
    return [element("h3", {}, "By event"), viewer.table(columns, events)];
  }
})();
