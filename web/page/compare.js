// The differences between two files.
(() => {
  "use strict";
  const { element, count, grouped, note } = viewer;

  viewer.views.push({
    name: "compare",
    part: "compare",
    short: "Differences",
    title: (report) => `Differences (${grouped(report.compare.diff.differences.length)})`,
    fits: (report) => report.compare,
    draw({ compare }, main) {
      const { diff, growth, sizes, whole } = compare;
      main.append(outcome(compare));
      if (!whole) main.append(note(NOT_WHOLE));
      for (const what of diff.not_compared) main.append(element("p", { class: "warning" }, `Not compared: ${what}`));
      main.append(...differenceList(diff.differences));
      if (diff.storage.length) {
        const explained = "Offsets, sizes and the order of unordered lists: the model is the same.";
        main.append(element("h2", {}, "Stored differently"), note(explained), viewer.table(columns, diff.storage));
      }
      main.append(...sizeChanges(sizes, growth));
    },
  });

  const NOT_WHOLE =
    "At least one of the files is too large to be read completely: the bytes of weights were not compared.";

  function outcome({ files: [before, after], same, diff }) {
    const result = same
      ? element("span", { class: "good" }, ": the same model, as far as it was compared.")
      : `: ${count(diff.differences.length, "difference")}.`;
    return element("p", {}, element("b", {}, before), " against ", element("b", {}, after), result);
  }

  const subjectText = (subject) => subject.replaceAll("_", " ");

  function distanceText({ distance }) {
    if (!distance) return "";
    const { changed, elements, absolute } = distance;
    return `${grouped(changed)} of ${grouped(elements)} values, by up to ${viewer.number(absolute)}`;
  }

  const columns = [
    { name: "change", words: true, of: (row) => `${subjectText(row.subject)} ${row.kind}` },
    {
      name: "item",
      wide: true,
      of: (row) => [row.method, row.tensor_name, row.name].filter(Boolean).join(" "),
    },
    { name: "before", wide: true, mono: true, of: (row) => row.before ?? "" },
    {
      name: "after",
      wide: true,
      mono: true,
      of: (row) => [row.after ?? "", distanceText(row)].filter(Boolean).join(": "),
    },
  ];

  // The differences of a subject, or of all, with a text in one of their columns.
  page.filteredDifferences = (differences, subject, text) => {
    const words = text.toLowerCase();
    const hasText = (row) => columns.some((column) => String(column.of(row)).toLowerCase().includes(words));
    return differences.filter((row) => (!subject || row.subject === subject) && hasText(row));
  };

  function differenceList(differences) {
    const list = element("div", {});
    const found = element("span", { class: "note", role: "status" });
    const fill = () => {
      const fitting = page.filteredDifferences(differences, select.value, input.value);
      const isFiltered = fitting.length < differences.length;
      found.textContent = isFiltered ? `${grouped(fitting.length)} of ${grouped(differences.length)}` : "";
      const none = differences.length ? "No difference matches." : "No differences.";
      list.replaceChildren(viewer.table(columns, fitting, { none }));
    };
    // The subjects that differ, the most frequent first.
    const subjects = viewer.frequencies(differences.map((row) => row.subject));
    const option = ([subject, number]) =>
      element("option", { value: subject }, `${subjectText(subject)} (${grouped(number)})`);
    const select = element(
      "select",
      { "aria-label": "Show differences of", onchange: fill },
      element("option", { value: "" }, "all subjects"),
      subjects.map(option),
    );
    const input = element("input", {
      class: "grow",
      type: "search",
      placeholder: "Name or value…",
      "aria-label": "Filter the differences",
      oninput: fill,
    });
    fill();
    return differences.length > 1 ? [element("div", { class: "tools" }, select, input, found), list] : [list];
  }

  const signed = (number) => `${number > 0 ? "+" : ""}${grouped(number)}`;

  function sizeChanges([before, after], growth) {
    const sizeColumns = [
      { name: "part", of: (row) => [row.kind, row.backend, row.detail].filter(Boolean).join(" ") },
      { name: "before", number: true, of: (row) => grouped(row.before) },
      { name: "after", number: true, of: (row) => grouped(row.after) },
      { name: "difference", number: true, of: (row) => signed(row.after - row.before) },
    ];
    const changed = growth.filter((row) => row.before !== row.after);
    const total = `${grouped(before)} before, ${grouped(after)} after: ${signed(after - before)}.`;
    return [
      element("h2", {}, "Bytes"),
      element("p", {}, total),
      viewer.table(sizeColumns, changed, { none: "No part has another size." }),
    ];
  }
})();
