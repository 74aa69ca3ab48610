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
      const kernels = viewer.kernelsText(loads_in.kernels);
      const notChecked = loads_in.not_checked ? ` Not checked: ${loads_in.not_checked}.` : "";
      const checked = `Checked: ${loads_in.checked.join(", ")}.${notChecked} Every backend is assumed to be linked.`;
      const { release, verdict } = releases[releases.length - 1];
      main.append(
        element("p", {}, element("b", {}, "Loads in: "), viewer.releasesText(loads_in)),
        element("p", {}, element("b", {}, `In ${release}: `), viewer.verdictText(verdict)),
        ...verdict.because.map((cause) =>
          note(`${viewer.outcomes[cause.outcome]}: ${cause.name}: ${viewer.reason(cause)}`),
        ),
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
    because ? element("div", { class: "note" }, viewer.reason(because)) : null,
  ];

  const columns = [
    { name: "release", words: true, of: (row) => row.release },
    { name: "the file", words: true, of: (row) => word(row.behaviour) },
    { name: "verdict", words: true, of: (row) => viewer.verdictText(row.verdict) },
    { name: "format", wide: true, of: (row) => answer(row.format) },
    { name: "delegates", wide: true, of: (row) => answer(row.delegates) },
    { name: "operators", wide: true, of: (row) => answer(row.operators) },
  ];

  // The outcomes of a verdict, as the command prints them.
  viewer.outcomes = {
    "does-not-load": "does not load",
    missing: "lacks an operator, a backend or data",
    "refuses-call": "refuses a call when it runs",
    dies: "dies or corrupts memory when it runs",
    miscomputes: "computes wrong results",
    "does-not-fit": "does not fit",
    unknown: "not known",
    runs: "runs",
  };

  viewer.verdictText = ({ outcome }) => viewer.outcomes[outcome] || outcome;

  // The verdict and its first cause, which is the worst.
  viewer.verdictLines = ({ outcome, because: [cause] }) => {
    const state = { runs: "good", unknown: "note" }[outcome] || "error";
    const text = element("span", { class: state }, viewer.verdictText({ outcome }));
    return cause ? [text, note(`${cause.name}: ${viewer.reason(cause)}`)] : [text];
  };

  // The kernels outside the portable library that a file needs.
  viewer.loadsNote = ({ kernels }) =>
    kernels.length ? note(`Needs kernels of ${viewer.kernelsText(kernels)}.`) : null;

  // The reason of a behaviour, as text.
  viewer.reason = (because) => {
    if (typeof because === "string") return because;
    const { message, path, what, found } = because;
    return message || [path, what, found].filter(Boolean).join(": ");
  };

  viewer.releasesText = ({ outcome, ranges }) => {
    if (outcome === "none") return "no release of ExecuTorch";
    if (outcome === "unknown") return "not known";
    return ranges.map(([first, last]) => (first === last ? first : `${first} to ${last}`)).join(", ");
  };

  viewer.kernelsText = (kernels) => {
    const more = ({ count, operators }) => (count > operators.length ? `, … (${count})` : "");
    return kernels.map((row) => `${row.library}: ${row.operators.join(", ")}${more(row)}`).join("; ");
  };
})();
