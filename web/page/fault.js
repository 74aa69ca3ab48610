// A file that cannot be read: what is known about it, and the place of its error.
(() => {
  "use strict";
  const { element, fact, grouped, isKnown, note } = viewer;

  viewer.views.unshift({
    name: "fault",
    title: () => "What is known",
    fits: (report) => report.error,
    draw(report, main) {
      main.append(element("p", { class: "error", role: "alert" }, page.explanation(report)), errorFacts(report));
      const { known } = report;
      if (known?.tables.length) main.append(...knownTables(known));
    },
  });

  // The damage of a transfer or the other kind of file, with a remedy; or else the error.
  page.explanation = ({ damage, error, kind }) => {
    const text = damage || (kind ? `it cannot be read: ${error.message}` : error.message);
    return `${text[0].toUpperCase()}${text.slice(1)}.`;
  };

  const byteLink = (offset, size, text) =>
    viewer.link(() => viewer.open("bytes", page.range(page.roles.main, offset, size)), text);

  function errorFacts({ damage, error, file, file_size, kind }) {
    const { offset, path, rule, cve } = error;
    const place = isKnown(offset) ? byteLink(offset, 1, `byte ${grouped(offset)}`) : "the whole file";
    return viewer.facts(
      fact("file", `${file}, ${grouped(file_size)} bytes`),
      fact("error", damage ? error.message.replace(`: ${damage}`, "") : error.message),
      fact("kind, by its first bytes", kind || "unknown"),
      fact("place of the error", place),
      path ? fact("field", element("code", {}, path)) : "",
      fact("rule", element("code", {}, rule)),
      cve ? fact("known as", cve) : "",
    );
  }

  function knownTables({ tables, texts }) {
    const tableColumns = [
      { name: "table", mono: true, of: (row) => row.name },
      { name: "count", number: true, of: (row) => grouped(row.count) },
    ];
    const textColumns = [
      { name: "field", mono: true, of: (row) => row.path },
      { name: "text", wide: true, of: (row) => row.text },
      { name: "at byte", number: true, of: (row) => byteLink(row.offset, row.size, grouped(row.offset)) },
    ];
    return [
      element("h2", {}, "Readable before the error"),
      note("Tables of its FlatBuffer that are found before the error, and their strings. Neither was checked."),
      viewer.table(tableColumns, tables),
      element("h2", {}, "Strings"),
      viewer.table(textColumns, texts, { none: "None." }),
    ];
  }
})();
