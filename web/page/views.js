// The page's own views, in addition to those of a report.
(() => {
  const { element, bytes, share, shape } = viewer;
  const heading = (text) => element("h2", {}, text);
  const note = (text) => element("p", { class: "note" }, text);

  // A file that cannot be read: what is known, and the place of its error.
  viewer.views.unshift({
    name: "fault",
    title: () => "What is known",
    fits: (report) => report.error,
    draw(report, main) {
      const { error } = report;
      const row = (name, ...value) => element("tr", {}, element("th", {}, name), element("td", {}, ...value));
      const place = error.offset === undefined || error.offset === null ? null : viewer.link(() => viewer.open("bytes", page.range(page.roles.main, error.offset, 1)), `byte ${error.offset.toLocaleString("en")}`);
      main.append(element("p", { class: "error", role: "alert" }, `It cannot be read: ${error.message}`), element("table", {}, element("tbody", {},
        row("file", `${report.file}, ${report.file_size.toLocaleString("en")} bytes`),
        row("by its first bytes", report.kind ? `${report.kind}` : "no kind of file that is known here"),
        row("where it breaks", place || "the whole file"),
        error.path ? row("field", element("code", {}, error.path)) : null,
        row("rule", element("code", {}, error.rule)), error.cve ? row("known as", error.cve) : null)));
      const known = report.known;
      if (known?.tables.length) {
        main.append(heading("What can be followed up to there"), note("Tables of its FlatBuffer that are found before the fault, and their texts. What is listed was not checked."),
          viewer.table([{ name: "table", mono: true, of: (row) => row.name }, { name: "how many", number: true, of: (row) => row.count.toLocaleString("en") }], known.tables),
          heading("Texts"), viewer.table([{ name: "field", mono: true, of: (row) => row.path }, { name: "text", wide: true, of: (row) => row.text },
            { name: "at byte", number: true, of: (row) => viewer.link(() => viewer.open("bytes", page.range(page.roles.main, row.offset, row.size)), row.offset.toLocaleString("en")) }], known.texts, { none: "None." }));
      }
    },
  });

  viewer.views.push({
    name: "compare",
    part: "compare",
    short: "Differences",
    title: (report) => `Differences (${report.compare.diff.differences.length.toLocaleString("en")})`,
    fits: (report) => report.compare,
    draw(report, main) {
      const { files, sizes, same, diff, growth, whole } = report.compare;
      main.append(element("p", {}, element("b", {}, files[0]), " against ", element("b", {}, files[1]), same ? element("span", { class: "good" }, ": the same model, as far as it was compared.") : `: ${viewer.count(diff.differences.length, "difference")}.`));
      if (!whole) main.append(note("At least one of both is too large to be read whole: bytes of weights were not compared."));
      for (const what of diff.not_compared) main.append(element("p", { class: "warning" }, `Not compared: ${what}`));
      const distance = ({ distance }) => (distance ? `${distance.changed.toLocaleString("en")} of ${distance.elements.toLocaleString("en")} values, by up to ${viewer.number(distance.absolute)}` : "");
      const columns = [
        { name: "what", words: true, of: (row) => `${row.subject.replaceAll("_", " ")} ${row.kind}` }, { name: "which", wide: true, of: (row) => [row.method, row.tensor_name, row.name].filter(Boolean).join(" ") },
        { name: "before", wide: true, mono: true, of: (row) => row.before ?? "" }, { name: "after", wide: true, mono: true, of: (row) => [row.after ?? "", distance(row)].filter(Boolean).join(": ") },
      ];
      // The subjects that differ, the most frequent first, and a text.
      const counts = new Map();
      for (const { subject } of diff.differences) counts.set(subject, (counts.get(subject) || 0) + 1);
      const subjects = [...counts].sort((one, other) => other[1] - one[1]);
      const kind = element("select", { "aria-label": "Show differences of", onchange: () => fill() }, element("option", { value: "" }, "all subjects"), subjects.map(([subject, number]) => element("option", { value: subject }, `${subject.replaceAll("_", " ")} (${number.toLocaleString("en")})`)));
      const words = element("input", { class: "grow", type: "search", placeholder: "Name or value…", "aria-label": "Filter the differences", oninput: () => fill() });
      const found = element("span", { class: "note", role: "status" });
      const list = element("div", {});
      const fill = () => {
        const fitting = diff.differences.filter((row) => (!kind.value || row.subject === kind.value) && columns.some((column) => String(column.of(row)).toLowerCase().includes(words.value.toLowerCase())));
        found.textContent = fitting.length < diff.differences.length ? `${fitting.length.toLocaleString("en")} of ${diff.differences.length.toLocaleString("en")}` : "";
        list.replaceChildren(viewer.table(columns, fitting, { none: diff.differences.length ? "No difference has that." : "No difference." }));
      };
      if (diff.differences.length > 1) main.append(element("div", { class: "tools" }, kind, words, found));
      main.append(list);
      fill();
      if (diff.storage.length) main.append(heading("Stored differently"), note("Places, sizes and the order of what has no order: the model is the same."), viewer.table(columns, diff.storage));
      const signed = (number) => `${number > 0 ? "+" : ""}${number.toLocaleString("en")}`;
      const grown = growth.filter((row) => row.before !== row.after);
      main.append(heading("Bytes"), element("p", {}, `${sizes[0].toLocaleString("en")} before, ${sizes[1].toLocaleString("en")} after: ${signed(sizes[1] - sizes[0])}.`),
        viewer.table([{ name: "of", of: (row) => [row.kind, row.backend, row.detail].filter(Boolean).join(" ") }, { name: "before", number: true, of: (row) => row.before.toLocaleString("en") }, { name: "after", number: true, of: (row) => row.after.toLocaleString("en") }, { name: "difference", number: true, of: (row) => signed(row.after - row.before) }], grown, { none: "No kind of part differs." }));
    },
  });

  viewer.views.push({
    name: "times",
    part: "profile",
    short: "Times",
    title: () => "Times",
    fits: (report) => report.profile,
    draw(report, main) {
      const { profile } = report;
      for (const fault of profile.errors) main.append(element("p", { class: "error" }, fault));
      if (profile.errors.length) main.append(note("The trace does not fit the program, so its times are not on the graph."));
      const time = (ticks) => viewer.time(ticks);
      const ticks = element("select", { "aria-label": "One tick of the trace is", onchange: () => { viewer.tick = Number(ticks.value); viewer.redraw(); } }, [["a nanosecond", 1], ["a microsecond", 1e3], ["a millisecond", 1e6]].map(([name, value]) => element("option", { value, selected: value === viewer.tick }, name)));
      main.append(element("p", { class: "tools" }, "One tick of the platform’s clock, which the trace does not say, is ", ticks));
      const bar = (share) => [`${(100 * share).toFixed(1)} %`, element("span", { class: "share" }, element("i", { style: `width: ${Math.min(100, 100 * share)}%` }))];
      profile.runs.forEach((run, index) => {
        main.append(heading(`${run.name}${run.method ? `: ${run.method}` : ""}${run.test_case === null || run.test_case === undefined ? "" : `, test case ${run.test_case}`}`), note(`${viewer.count(run.count, "run")}, ${time(run.total / run.count)}${run.count > 1 ? " each" : ""}.`));
        const where = (row) => {
          if (!viewer.has("graph") || row.instruction === null || row.instruction === undefined) return row.instruction ?? "";
          return viewer.link(() => viewer.open("graph", `instruction ${row.instruction}`), row.instruction);
        };
        const runs = (row) => (row.runs ? row.runs.operator || row.runs.backend || row.runs.instruction_kind : "");
        // The instructions of one run, one after the other, each as wide as it took.
        const steps = run.events.filter((row) => row.kind === "instruction" && row.total > 0);
        if (steps.length > 1) {
          const label = (row) => `${row.label ?? (runs(row) || row.name)}: ${time(row.total / run.count)}, ${(100 * row.share).toFixed(1)} %`;
          main.append(element("div", { class: "run", role: "group", "aria-label": "The instructions of one run, in their order" }, steps.slice(0, 2000).map((row, at) => element("button", {
            "aria-label": label(row), style: `flex: ${row.total} 0 0; background: ${Object.values(viewer.colors)[at % 5]}`,
            onclick: () => viewer.has("graph") && row.instruction !== null && viewer.open("graph", `instruction ${row.instruction}`), onmousemove: (event) => viewer.tip(label(row), event), onmouseleave: () => viewer.tip(),
          }))));
        }
        const modules = profile.by_module?.[index];
        if (modules?.some((row) => row.path)) {
          main.append(element("h3", {}, "By module"), viewer.table([
            { name: "module", wide: true, of: (row) => element("span", { style: `padding-left: ${row.depth * 14}px` }, row.path === null ? "of no module, or not known" : viewer.module(row.path)) },
            { name: "time", number: true, of: (row) => time(row.total / run.count) }, { name: "by itself", number: true, of: (row) => time(row.own / run.count) }, { name: "share", number: true, of: (row) => bar(row.total / (run.total || 1)) },
          ], modules, { fixed: true, choose: (row) => viewer.open("graph", row.path), choosable: (row) => row.path && viewer.has("graph") }));
        }
        if (profile.by_operator[index].length) {
          main.append(viewer.table([{ name: "operator", mono: true, of: (row) => `${row.inside ? "  " : ""}${row.name}` }, { name: "times", number: true, of: (row) => row.count.toLocaleString("en") }, { name: "in one run", number: true, value: (row) => row.total, of: (row) => time(row.total / run.count) }, { name: "of the run", number: true, value: (row) => row.share, of: (row) => bar(row.share) }], profile.by_operator[index], { fixed: profile.by_operator[index].some((row) => row.inside) }));
        }
        // An event of one time has no median; one outside of a method, no instruction.
        const once = run.events.every((row) => row.count === 1);
        const placed = run.events.some((row) => row.runs);
        main.append(element("h3", {}, "By event"), viewer.table([
          { name: "event", mono: true, wide: true, of: (row) => [row.name, row.label && row.label !== row.name ? element("small", {}, ` ${row.label}`) : null, row.module ? element("small", {}, ` ${viewer.module(row.module)}`) : null] },
          ...(placed ? [{ name: "instruction", number: true, of: where }, { name: "runs", mono: true, wide: true, of: runs }] : []), { name: "times", number: true, of: (row) => row.count.toLocaleString("en") },
          { name: once ? "time" : "median", number: true, value: (row) => row.median, of: (row) => time(row.median) },
          ...(once ? [] : [{ name: "shortest", number: true, value: (row) => row.min, of: (row) => time(row.min) }, { name: "longest", number: true, value: (row) => row.max, of: (row) => time(row.max) }]),
          { name: "of the run", number: true, value: (row) => row.share, of: (row) => bar(row.share) },
        ], run.events));
      });
    },
  });

  viewer.views.push({
    name: "cases",
    part: "cases",
    short: "Test cases",
    title: (report) => `Test cases (${report.cases.test_suites.reduce((sum, suite) => sum + suite.test_cases.length, 0)})`,
    fits: (report) => report.cases,
    draw(report, main) {
      const { cases } = report;
      const value = (value) => shape(value) || (value.value === undefined ? value.type || "unknown" : `${value.type} ${JSON.stringify(value.value)}`);
      const list = (values) => values.map((one) => element("div", { class: "mono" }, value(one)));
      main.append(element("p", {}, `The program takes ${bytes(cases.program_size)} of the bundle${cases.program_offset === undefined || cases.program_offset === null ? "" : `, from byte ${cases.program_offset.toLocaleString("en")}`}. The other views are about it.`));
      for (const suite of cases.test_suites) {
        main.append(heading(`Method ${viewer.name(suite.method)}`), viewer.table([{ name: "case", number: true, of: (_, index) => index }, { name: "inputs", of: (row) => list(row.inputs) }, { name: "expected outputs", of: (row) => (row.expected_outputs.length ? list(row.expected_outputs) : "nothing is compared") }], suite.test_cases));
      }
    },
  });

  viewer.views.push({
    name: "payloads",
    short: "Payloads",
    part: "size",
    title: (report) => `Payloads (${payloads(report).length})`,
    fits: (report) => report.live && report.size && payloads(report).length,
    draw(report, main) {
      const who = (row) => row.users.map((user) => `${viewer.name(user.method)} delegate ${user.index}`).slice(0, 6).join(", ") + (row.users.length > 6 ? `, … ${row.users.length - 6} more` : "");
      main.append(note("What backends are given: bytes in a form of their own."), viewer.table([
        { name: "backend", wide: true, of: (row) => row.name }, { name: "of", wide: true, of: who }, { name: "bytes", number: true, of: (row) => row.size.toLocaleString("en") }, { name: "at byte", number: true, of: (row) => row.start.toLocaleString("en") },
        { name: "", of: (row) => page.rangeTools(page.roles.main, page.place(row.start), row.size, `${row.users[0]?.method}-${row.users[0]?.index}-${row.name}`) },
      ], payloads(report)));
    },
  });

  // The parts of a payload are consecutive.
  function payloads(report) {
    const found = new Map();
    for (const part of report.size.parts) {
      if (part.kind !== "delegate" || part.offset === undefined) continue;
      const key = `${part.users[0]?.method} ${part.users[0]?.index}`;
      const one = found.get(key) || { name: part.name, users: part.users, start: part.offset, end: 0 };
      one.start = Math.min(one.start, part.offset);
      one.end = Math.max(one.end, part.offset + part.size);
      found.set(key, one);
    }
    return [...found.values()].map((one) => ({ ...one, size: one.end - one.start })).sort((one, other) => one.start - other.start);
  }

  const behaviours = { loads: "good", refuses: "error", dies: "error", miscomputes: "error", unknown: "note" };

  viewer.views.push({
    name: "releases",
    part: "releases",
    short: "Releases",
    title: () => "Releases",
    fits: (report) => report.releases?.releases?.length,
    draw(report, main) {
      const word = (text) => element("span", { class: behaviours[text] || "" }, text);
      const answer = (answer) => [word(answer.behaviour), answer.because ? element("div", { class: "note" }, reason(answer.because)) : null];
      const { loads_in: loads, releases } = report.releases;
      const [none, unknown] = [loads.outcome === "none", loads.outcome === "unknown"];
      const where = none ? "no release of ExecuTorch" : unknown ? "not known" : loads.ranges.map(([first, last]) => (first === last ? first : `${first} to ${last}`)).join(", ");
      const kernels = loads.kernels.map((one) => `${one.library}: ${one.operators.join(", ")}${one.count > one.operators.length ? `, … (${one.count})` : ""}`).join("; ");
      main.append(element("p", {}, element("b", {}, "Loads in: "), where), kernels ? note(`Needs kernels outside the portable library: ${kernels}.`) : "",
        note(`Checked: ${loads.checked.join(", ")}.${loads.not_checked ? ` Not checked: ${loads.not_checked}.` : ""} Every backend is assumed to be linked.`),
        viewer.table([{ name: "release", words: true, of: (row) => row.release }, { name: "the file", words: true, of: (row) => word(row.behaviour) }, { name: "format", wide: true, of: (row) => answer(row.format) }, { name: "delegates", wide: true, of: (row) => answer(row.delegates) }, { name: "operators", wide: true, of: (row) => answer(row.operators) }], [...releases].reverse()));
    },
  });

  const reason = (because) => (typeof because === "string" ? because : because.message || [because.path, because.what, because.found].filter(Boolean).join(": "));

  // The tree: the children of a node are requested when it is opened.
  viewer.views.push({
    name: "tree",
    title: () => "Tree",
    fits: (report) => report.live && !report.error,
    draw(report, main, argument) {
      const [, number, around, path] = /^(\d+)(b?):(.*)$/s.exec(argument || "") || [0, page.roles.main, "", argument || ""];
      const index = Number(number);
      const status = element("p", { class: "note", role: "status" });
      const select = element("select", { "aria-label": "File", onchange: () => viewer.open("tree", `${select.value}:`) }, page.files.flatMap((file, at) => (file.error ? [] : [element("option", { value: at }, viewer.cut(file.file, 40)), ...(report.program_offset !== undefined && at === page.roles.main ? [element("option", { value: `${at}b` }, "the bundle around it")] : [])])));
      select.value = `${index}${around}`;
      const tree = element("div", { class: "tree" });
      main.append(element("div", { class: "tools" }, select, status), tree);
      const own = index === page.roles.main && !around;
      const place = (offset) => (own ? page.place(offset) : offset);
      const below = async (box, path, first = 0) => {
        const branch = await page.json("branch", [index, path, first, !!around]);
        const list = element("ul", {});
        for (const entry of branch.entries) {
          const where = entry.offset === null || entry.offset === undefined ? null : element("span", { class: "place" }, viewer.link(() => viewer.open("bytes", page.range(index, place(entry.offset), entry.size)), `@${entry.offset.toLocaleString("en")}, ${viewer.count(entry.size, "byte")}`));
          const head = [element("b", { class: "mono" }, entry.name), " ", entry.value ? element("span", { class: "mono value" }, entry.value) : null, entry.table ? element("span", { class: "note" }, ` ${entry.table}${entry.count === null || entry.count === undefined ? "" : ` × ${entry.count.toLocaleString("en")}`}`) : null];
          const inner = entry.table && entry.count !== 0;
          const item = element("li", { "data-path": entry.path, class: !inner && "leaf" }, inner ? element("details", {}, element("summary", {}, ...head)) : head, where);
          if (inner) {
            const details = item.firstChild;
            details.load = () => (details.loaded ||= below(details, entry.path));
            details.addEventListener("toggle", () => { if (details.open) details.load(); });
          }
          list.append(item);
        }
        const end = first + branch.entries.length;
        if (branch.table === null && end < branch.count) {
          const more = element("button", { onclick: () => { more.remove(); below(box, path, end); } }, `Show ${(branch.count - end).toLocaleString("en")} more`);
          list.append(element("li", { class: "tools" }, more));
        }
        if (first > 0 && !box.querySelector(":scope > ul")) list.prepend(element("li", { class: "note" }, `… ${first.toLocaleString("en")} before`));
        box.append(list);
        return list;
      };
      // Opens all nodes on the path to a place.
      const reach = async () => {
        let [box, at] = [tree, ""];
        for (;;) {
          const next = /^\[(\d+)\]/.exec(path.slice(at.length));
          const list = box === tree ? await below(tree, "") : await (box.loaded ||= below(box, at, next ? Number(next[1]) - (Number(next[1]) % 200) : 0));
          const inside = (own) => path === own || path.startsWith(`${own}.`) || path.startsWith(`${own}[`);
          const found = [...list.children].find((item) => item.dataset.path && inside(item.dataset.path)) || [...list.children].find((item) => item.dataset.path?.startsWith(`${path}.`));
          if (!found) break;
          const details = found.querySelector(":scope > details");
          if (found.dataset.path === path || !details || found.dataset.path.length > path.length) {
            found.classList.add("marked");
            (details?.firstChild || found.querySelector("a"))?.focus({ preventScroll: true });
            found.scrollIntoView({ block: "center" });
            status.textContent = `At ${path}`;
            break;
          }
          [box, at] = [details, found.dataset.path];
          details.open = true;
        }
      };
      (path ? reach() : below(tree, "")).catch((error) => { status.textContent = error.message; });
    },
  });
})();
