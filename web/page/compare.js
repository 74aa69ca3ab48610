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
        main.append(element("h2", {}, "Stored differently"), note(explained), table(diff.storage));
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

  // The name from the model's source comes first; the place in the file explains it.
  const item = ({ tensor_name, name }) => (tensor_name ? [tensor_name, note(name)] : name);

  const columns = [
    { name: "change", words: true, of: (row) => `${subjectText(row.subject)} ${row.kind}` },
    { name: "method", words: true, of: (row) => row.method ?? "" },
    { name: "item", wide: true, of: item },
    { name: "before", wide: true, mono: true, of: (row) => row.before ?? "" },
    {
      name: "after",
      wide: true,
      mono: true,
      of: (row) => [row.after ?? "", distanceText(row)].filter(Boolean).join(": "),
    },
  ];
  const textsOf = ({ subject, kind, method, tensor_name, name, before, after, ...row }) =>
    [`${subjectText(subject)} ${kind}`, method, tensor_name, name, before, after, distanceText(row)].map((text) =>
      String(text ?? ""),
    );

  // The differences of a subject, or of all, with a text in one of their columns.
  page.filteredDifferences = (differences, subject, text) => {
    const words = text.toLowerCase();
    const hasText = (row) => textsOf(row).some((text) => text.toLowerCase().includes(words));
    return differences.filter((row) => (!subject || row.subject === subject) && hasText(row));
  };

  // Subjects by their meaning for a reader: first what callers see, then what is computed, then how.
  const MEANING = "file method input output metadata operator weight delegate instruction value plan".split(" ");
  const rank = ({ subject, tensor_name }) => {
    const at = MEANING.indexOf(subject);
    return (at < 0 ? MEANING.length : at) + (tensor_name ? 0 : 0.5);
  };

  // The groups of differences whose names mean nothing to a reader.
  const FOLDED = [
    ["fields inside payloads", ({ subject }) => subject === "payload"],
    ["values without users", ({ subject }) => subject === "unused_value"],
    ["lines of source code", ({ subject }) => subject === "stack_trace"],
    ["keys that are hashes", ({ subject, name }) => subject === "key" && /(^|_)[0-9a-f]{64}$/i.test(name)],
  ];

  // Differences by meaning: `shown`, and `folded` as pairs of a name and the differences of a group.
  page.byMeaning = (differences) => {
    const groups = FOLDED.map(([name]) => [name, []]);
    const shown = [];
    for (const row of differences) {
      const at = FOLDED.findIndex(([, belongs]) => belongs(row));
      (at < 0 ? shown : groups[at][1]).push(row);
    }
    shown.sort((left, right) => rank(left) - rank(right));
    return { shown, folded: groups.filter(([, rows]) => rows.length) };
  };

  // The number of changes of each subject: `8 weights changed, 1 weight removed`.
  page.changeCounts = (differences) => {
    const rows = [...differences].sort((left, right) => rank(left) - rank(right));
    const texts = rows.map(({ subject, kind }) => `${subjectText(subject)} ${kind}`);
    const counts = new Map(viewer.frequencies(texts));
    return [...new Set(texts)].map((text) => {
      const at = text.lastIndexOf(" ");
      const [subject, kind] = [text.slice(0, at), text.slice(at + 1)];
      return `${count(counts.get(text), subject, subject === "metadata" ? subject : `${subject}s`)} ${kind}`;
    });
  };

  const table = (rows, none) => {
    const hasSeveral = new Set(rows.map((row) => row.method ?? "")).size > 1;
    return viewer.table(hasSeveral ? columns : columns.filter(({ name }) => name !== "method"), rows, { none });
  };

  function groupedTables(differences) {
    const { shown, folded } = page.byMeaning(differences);
    const fold = ([name, rows]) =>
      element("details", {}, element("summary", {}, `${grouped(rows.length)} ${name}`), table(rows));
    return [shown.length || !folded.length ? table(shown, "No differences.") : "", ...folded.map(fold)];
  }

  function differenceList(differences) {
    const list = element("div", {});
    const found = element("span", { class: "note", role: "status" });
    const fill = () => {
      const fitting = page.filteredDifferences(differences, select.value, input.value);
      const isFiltered = fitting.length < differences.length;
      found.textContent = isFiltered ? `${grouped(fitting.length)} of ${grouped(differences.length)}` : "";
      const tables = isFiltered ? [table(fitting, "No difference matches.")] : groupedTables(differences);
      list.replaceChildren(...tables);
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
    if (differences.length < 2) return [list];
    const counts = element("p", {}, `${page.changeCounts(differences).join(", ")}.`);
    return [counts, element("div", { class: "tools" }, select, input, found), list];
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
