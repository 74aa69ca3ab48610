// The roles of the page's files, and the parts of a report. Nothing here needs a browser.
(() => {
  "use strict";
  // In the worker's order.
  page.files = [];
  page.roles = {};

  page.isProgram = (name) => /\.b?pte$/i.test(name);

  // Files in the order in which they are opened: programs first.
  page.programsFirst = (files) =>
    [...files].sort((left, right) => page.isProgram(right.name) - page.isProgram(left.name));

  const roleOf = (index, { main, others, data, trace, names }) => {
    if (index === main) return "main";
    if (index === others[0]) return "other";
    if (others.includes(index)) return "beside";
    if (data.includes(index)) return "data";
    if (index === trace) return "trace";
    return names?.includes(index) ? "names" : "unused";
  };

  // The use of a file, for the list of files.
  page.roleText = (file, index, roles) => {
    const texts = {
      main: file.error && !file.kind ? "not readable" : "shown",
      other: "compared with the shown file",
      beside: "beside the shown file",
      data: "weights of the program",
      names: "names for the program",
      trace: "times of the program",
      unused: page.isProgram(file.file) ? "not used" : "not used: choose Start over to see it alone",
    };
    return texts[roleOf(index, roles)];
  };

  // The reason why a file is not used. Files with names have no kind of their own: a part of the report, `misfits`, has their errors.
  page.fault = (file, index, { main, names }, misfits) => {
    if (index === main) return undefined;
    return names?.includes(index) ? misfits?.[names.indexOf(index)] : file.error?.message;
  };

  // The parts of a file's report, in the order in which they are requested.
  page.parts = (report, roles) => {
    if (report.error) return ["findings", "releases"];
    const { kind } = report.summary;
    const isProgram = kind === "pte";
    const wanted = {
      compare: roles.others.length,
      names: roles.names?.length,
      size: true,
      modules: isProgram,
      memory: isProgram,
      operators: isProgram,
      macs: isProgram,
      findings: true,
      weights: true,
      graphs: isProgram,
      releases: isProgram || kind === "ptd",
      models: roles.others.length,
      cases: report.program_offset !== undefined,
      profile: kind === "etdp" || viewer.isKnown(roles.trace),
    };
    return Object.keys(wanted).filter((part) => wanted[part]);
  };

  // Sets the page's file that each external weight is in; `weight.data` counts those that can be read.
  page.locate = (weights, files, roles) => {
    const readable = roles.data.filter((index) => !files[index].error);
    for (const weight of weights.filter((weight) => weight.data !== undefined)) {
      weight.index = readable[weight.data];
      weight.file = files[weight.index].file;
    }
  };
})();
