// The findings of verification.
(() => {
  "use strict";
  const { element, note } = viewer;

  viewer.views.push({
    name: "findings",
    short: "Findings",
    part: "findings",
    title: (report) => `Findings (${report.findings.length})`,
    fits: (report) => report.findings,
    draw(report, main) {
      const hasDelegates = (report.summary?.methods || []).some((method) => method.delegates.length);
      const covered = hasDelegates ? DELEGATES : "";
      if (!report.findings.length) {
        const text = "Verification at the strict level found nothing wrong.";
        main.append(element("p", { class: "good" }, text), covered ? note(covered) : "");
        return;
      }
      main.append(note(`${HELP} ${covered}`), viewer.table(columnsOf(report), viewer.bySeverity(report.findings)));
    },
  });

  const DELEGATES =
    "Inside delegates, it checks the payloads of XNNPACK; for other backends, at most that a payload is complete.";
  const HELP =
    "The findings of pte verify at the strict level. Error: a reader may refuse the file, misread it or crash on it. Warning: suspicious, or impossible to check. Note: harmless.";

  const severities = ["error", "warning", "note"];

  viewer.bySeverity = (findings) => {
    const rank = ({ severity }) => severities.indexOf(severity);
    return [...findings].sort((left, right) => rank(left) - rank(right));
  };

  // The place of a finding for the page's tree. For a bundle, the tree is that of the program inside or of the bundle itself.
  viewer.treePlace = (report, { of, path }) => {
    const index = of?.index ?? report.main ?? 0;
    if (report.program_offset === undefined || of) return `${index}:${path}`;
    return path.startsWith("program.") ? `${index}:${path.slice("program.".length)}` : `${index}b:${path}`;
  };

  function columnsOf(report) {
    const field = (row) => {
      const file = row.of ? `${row.of.file}: ` : "";
      return [file, row.path ? viewer.linkTo("tree", viewer.treePlace(report, row), row.path) : "the file"];
    };
    const offset = (row) => {
      if (!viewer.isKnown(row.offset)) return "";
      const index = row.of?.index ?? report.main ?? 0;
      return viewer.linkTo("bytes", `${index}:${row.offset}`, viewer.grouped(row.offset));
    };
    return [
      { name: "severity", words: true, of: (row) => element("span", { class: row.severity }, row.severity) },
      { name: "finding", wide: true, of: (row) => row.message },
      { name: "field", mono: true, of: field },
      { name: "at byte", number: true, of: offset },
      { name: "rule", mono: true, of: (row) => element("span", { style: "white-space: nowrap" }, row.rule) },
    ];
  }
})();
