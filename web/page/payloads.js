// The payloads of delegates.
(() => {
  "use strict";
  const { grouped } = viewer;

  viewer.views.push({
    name: "payloads",
    short: "Payloads",
    part: "size",
    title: (report) => `Payloads (${page.payloads(report.size.parts).length})`,
    fits: (report) => report.live && report.size && page.payloads(report.size.parts).length,
    draw(report, main) {
      main.append(
        viewer.note("The data of backends, in formats of their own."),
        viewer.table(columns, page.payloads(report.size.parts)),
      );
    },
  });

  const MAX_SHOWN = 6;

  function userText({ users }) {
    const names = users.map((user) => `${viewer.name(user.method)} delegate ${user.index}`);
    const more = users.length - MAX_SHOWN;
    return `${names.slice(0, MAX_SHOWN).join(", ")}${more > 0 ? `, … ${more} more` : ""}`;
  }

  function tools({ name, users, start, size }) {
    const file = `${users[0]?.method}-${users[0]?.index}-${name}`;
    return page.rangeTools(page.roles.main, page.place(start), size, file);
  }

  const columns = [
    { name: "backend", wide: true, of: (row) => row.name },
    { name: "delegates", wide: true, of: userText },
    { name: "bytes", number: true, of: (row) => grouped(row.size) },
    { name: "at byte", number: true, of: (row) => grouped(row.start) },
    { name: "", of: tools },
  ];

  // The payloads among the parts of a file, in their order. The parts of a payload are consecutive.
  page.payloads = (parts) => {
    const found = new Map();
    for (const { kind, name, offset, size, users } of parts) {
      if (kind !== "delegate" || offset === undefined) continue;
      const key = `${users[0]?.method} ${users[0]?.index}`;
      const payload = found.get(key) || { name, users, start: offset, end: 0 };
      payload.start = Math.min(payload.start, offset);
      payload.end = Math.max(payload.end, offset + size);
      found.set(key, payload);
    }
    const sized = [...found.values()].map((payload) => ({ ...payload, size: payload.end - payload.start }));
    return sized.sort((left, right) => left.start - right.start);
  };
})();
