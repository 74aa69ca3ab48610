// The files on the page: opening them and showing them.
(() => {
  const { element } = viewer;
  const get = (id) => document.getElementById(id);
  // In the worker's order.
  page.files = [];
  page.roles = {};
  let round = 0;
  const say = (text) => { get("status").textContent = text; };

  const isProgram = (file) => /\.b?pte$/i.test(file.file);
  const words = {
    main: (file) => (file.error && !file.kind ? "not readable" : "shown"), other: () => "compared with", data: () => "weights of the program", names: () => "names for the program", trace: () => "times of the program", unused: (file) => (isProgram(file) ? "not used" : "not used: Start over to see it alone"),
  };
  const role = (index) => (index === page.roles.main ? "main" : index === page.roles.other ? "other" : page.roles.data.includes(index) ? "data" : index === page.roles.trace ? "trace" : page.roles.names?.includes(index) ? "names" : "unused");

  // Why a file is not used. Files with names are of no kind of their own: a part of the report says whether they fit.
  const fault = (file, index) => (index === page.roles.main ? undefined : page.roles.names?.includes(index) ? page.misfits?.[page.roles.names.indexOf(index)] : file.error?.message);

  function list() {
    get("files").replaceChildren(...page.files.map((file, index) => {
      const why = fault(file, index);
      const isOther = index !== page.roles.main && isProgram(file);
      return element("li", {}, file.file, element("b", {}, ` ${viewer.bytes(file.file_size)}, ${words[role(index)](file)} `), isOther ? viewer.link(() => page.choose(index), "show this one") : null, why ? element("span", { class: "error" }, ` ${why}`) : null);
    }));
    get("over").hidden = !page.files.length;
  }

  // Opens files, programs first, and shows what is known at once; slower parts follow.
  page.take = async (files) => {
    const started = performance.now();
    const mine = (round += 1);
    const program = (file) => (/\.b?pte$/i.test(file.name) ? 0 : 1);
    for (const file of [...files].sort((one, other) => program(one) - program(other))) {
      say(`Reading ${viewer.cut(file.name, 60)}…`);
      try {
        const added = await page.ask("add", [file]);
        page.files.push({ ...added, blob: file });
      } catch (error) {
        say(`${viewer.text(file.name)}: ${error.message}`);
        if (error.fatal) page.restart();
        return;
      }
    }
    if (mine !== round || !page.files.length) return;
    page.roles = await page.ask("roles");
    list();
    await show(mine);
    page.firstAt = performance.now() - started;
  };

  // The parts of a file's report, in the order in which they are requested.
  function parts(report) {
    if (report.error) return ["findings", "releases"];
    const kind = report.summary.kind;
    const program = kind === "pte";
    return [...(page.roles.other !== undefined && page.roles.other !== null ? ["compare"] : []), ...(page.roles.names?.length ? ["names"] : []), "size", ...(program ? ["modules", "memory", "operators"] : []), "findings", "weights", ...(program ? ["graphs", "releases"] : kind === "ptd" ? ["releases"] : []), ...(report.program_offset !== undefined ? ["cases"] : []),
      ...(kind === "etdp" || page.roles.trace !== null ? ["profile"] : [])];
  }

  // Which of the page's files an external weight is in.
  function locate(weights) {
    const data = page.roles.data.filter((index) => !page.files[index].error);
    for (const weight of weights.filter((weight) => weight.data !== undefined)) {
      weight.index = data[weight.data];
      weight.file = page.files[weight.index].file;
    }
  }

  async function show(mine) {
    const report = await page.json("part", ["first"]);
    if (mine !== round) return;
    const wanted = parts(report);
    report.pending = new Set(wanted);
    Object.assign(report, { live: true, main: page.roles.main });
    page.report = report;
    viewer.show(report);
    say("");
    // The first view is drawn before the next part is requested.
    page.rest = (async () => {
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      for (const part of wanted) {
        try {
          const answer = part === "compare" ? await page.json("compare") : await page.json("part", [part]);
          if (mine !== round) return;
          report[part] = answer ?? undefined;
          if (part === "weights") locate(report.weights || []);
          if (part === "names") {
            page.misfits = (answer || []).map((file) => file.error);
            list();
          }
        } catch (error) {
          if (mine !== round) return;
          report.failed = { ...report.failed, [part]: error.message };
          say(`${part}: ${error.message}`);
        }
        report.pending.delete(part);
        viewer.update(part);
      }
      page.allAt = performance.now();
    })();
  }

  page.over = () => {
    round += 1;
    page.files = [];
    page.roles = {};
    page.misfits = undefined;
    page.restart();
    list();
    say("");
    page.report = undefined;
    get("head").replaceChildren();
    get("tabs").replaceChildren();
    get("main").className = "";
    get("main").replaceChildren(welcome);
    document.title = "ExecuTorch files";
  };

  // Shows another program: the files are opened again, with that one first.
  page.choose = (index) => {
    const files = page.files.map(({ blob }) => blob);
    const [first] = files.splice(index, 1);
    page.over();
    page.taken = page.take([first, ...files]);
  };

  const welcome = get("welcome");
  get("over").onclick = page.over;
  get("input").onchange = (event) => { page.taken = page.take(event.target.files).finally(() => { event.target.value = ""; }); };
  get("sample").onclick = () => {
    const files = sampleFiles.map(([name, content]) => new File([Uint8Array.from(atob(content), (character) => character.charCodeAt(0))], name));
    page.taken = page.take(files);
  };
  addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("over"); });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("over"); });
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("over");
    if (event.dataTransfer.files.length) page.taken = page.take(event.dataTransfer.files);
  });
  // A link to a view, without the file.
  if (location.hash.length > 1) {
    get("wanted").hidden = false;
    get("wanted").textContent = `This link is to the view “${viewer.text(viewer.asked().name)}” of a file. A page cannot keep files: drop it again, and the view opens.`;
  }

  // The offset in the file for an offset in the model: a program may be inside a bundle.
  page.place = (offset) => offset + (page.report.program_offset || 0);

  page.download = (blob, name) => {
    const link = element("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  };

  // A button that starts a job and shows its progress, and another that cancels it.
  page.job = (title, start, done) => {
    const box = element("span", { class: "actions" });
    const idle = () => box.replaceChildren(element("button", { onclick: run }, title));
    const run = async () => {
      const bar = element("progress", { max: 1, value: 0, "aria-label": title });
      const job = start((share) => { bar.value = share; });
      box.replaceChildren(bar, element("button", { onclick: () => job.end() }, "Cancel"));
      try {
        const answer = await job;
        idle();
        await done(answer, box);
      } catch (error) {
        idle();
        if (error.message !== "ended") box.append(element("span", { class: "error", role: "alert" }, error.message));
      }
    };
    idle();
    return box;
  };
})();
