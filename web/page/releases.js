// The behaviour of each release of ExecuTorch for a file.
(() => {
  "use strict";
  const { element, note } = viewer;

  viewer.views.push({
    name: "releases",
    part: "releases",
    short: "Releases",
    title: () => "Releases",
    fits: (report) => report.releases?.releases?.length,
    draw({ releases: { loads_in, releases } }, main) {
      const kernels = page.kernelsText(loads_in.kernels);
      const notChecked = loads_in.not_checked ? ` Not checked: ${loads_in.not_checked}.` : "";
      const checked = `Checked: ${loads_in.checked.join(", ")}.${notChecked} Every backend is assumed to be linked.`;
      main.append(
        element("p", {}, element("b", {}, "Loads in: "), page.releasesText(loads_in)),
        kernels ? note(`Needs kernels outside the portable library: ${kernels}.`) : "",
        note(checked),
        viewer.table(columns, [...releases].reverse()),
      );
    },
  });

  const classes = { loads: "good", refuses: "error", dies: "error", miscomputes: "error", unknown: "note" };
  const word = (behaviour) => element("span", { class: classes[behaviour] || "" }, behaviour);

  const answer = ({ behaviour, because }) => [
    word(behaviour),
    because ? element("div", { class: "note" }, page.reason(because)) : null,
  ];

  const columns = [
    { name: "release", words: true, of: (row) => row.release },
    { name: "the file", words: true, of: (row) => word(row.behaviour) },
    { name: "format", wide: true, of: (row) => answer(row.format) },
    { name: "delegates", wide: true, of: (row) => answer(row.delegates) },
    { name: "operators", wide: true, of: (row) => answer(row.operators) },
  ];

  // The reason of a behaviour, as text.
  page.reason = (because) => {
    if (typeof because === "string") return because;
    const { message, path, what, found } = because;
    return message || [path, what, found].filter(Boolean).join(": ");
  };

  page.releasesText = ({ outcome, ranges }) => {
    if (outcome === "none") return "no release of ExecuTorch";
    if (outcome === "unknown") return "not known";
    return ranges.map(([first, last]) => (first === last ? first : `${first} to ${last}`)).join(", ");
  };

  page.kernelsText = (kernels) => {
    const more = ({ count, operators }) => (count > operators.length ? `, … (${count})` : "");
    return kernels.map((row) => `${row.library}: ${row.operators.join(", ")}${more(row)}`).join("; ");
  };
})();
