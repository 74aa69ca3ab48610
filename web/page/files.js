// The files on the page: opening them and showing them.
(() => {
  "use strict";
  const { element } = viewer;
  const get = (id) => document.getElementById(id);
  // Counts what was opened or closed, so that late answers about earlier files are ignored.
  let round = 0;
  const say = (text) => {
    get("status").textContent = text;
  };

  function list() {
    get("files").replaceChildren(...page.files.map(entry));
    get("over").hidden = !page.files.length;
  }

  function entry(file, index) {
    const { roles, misfits } = page;
    const fault = page.fault(file, index, roles, misfits);
    const canShow = index !== roles.main && page.isProgram(file.file);
    return element(
      "li",
      {},
      file.file,
      element("b", {}, ` ${viewer.bytes(file.file_size)}, ${page.roleText(file, index, roles)} `),
      canShow ? viewer.link(() => page.choose(index), "show this one") : null,
      fault ? element("span", { class: "error" }, ` ${fault}`) : null,
    );
  }

  // Adds a file to the worker's; `false` if it fails.
  async function add(file) {
    say(`Reading ${viewer.cut(file.name, 60)}…`);
    try {
      const added = await page.ask("add", [file]);
      page.files.push({ ...added, blob: file });
      return true;
    } catch (error) {
      say(`${viewer.text(file.name)}: ${error.message}`);
      if (error.fatal) page.restart();
      return false;
    }
  }

  // Opens files and shows what is known at once; slower parts follow.
  page.take = async (files) => {
    const started = performance.now();
    const mine = (round += 1);
    for (const file of page.programsFirst(files)) {
      if (!(await add(file))) return;
    }
    if (mine !== round || !page.files.length) return;
    page.roles = await page.ask("roles");
    list();
    await show(mine);
    page.firstAt = performance.now() - started;
  };

  async function show(mine) {
    const report = await page.json("part", ["first"]);
    if (mine !== round) return;
    const parts = page.parts(report, page.roles);
    Object.assign(report, { pending: new Set(parts), live: true, main: page.roles.main });
    page.report = report;
    viewer.show(report);
    say("");
    page.rest = showParts(report, parts, mine);
  }

  async function showParts(report, parts, mine) {
    // The first view is drawn before the next part is requested.
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    for (const part of parts) {
      try {
        const answer = part === "compare" ? await page.json("compare") : await page.json("part", [part]);
        if (mine !== round) return;
        take(report, part, answer);
      } catch (error) {
        if (mine !== round) return;
        report.failed = { ...report.failed, [part]: error.message };
        say(`${part}: ${error.message}`);
      }
      report.pending.delete(part);
      viewer.update(part);
    }
    page.allAt = performance.now();
  }

  function take(report, part, answer) {
    report[part] = answer ?? undefined;
    if (part === "weights") page.locate(report.weights || [], page.files, page.roles);
    if (part !== "names") return;
    page.misfits = (answer || []).map((file) => file.error);
    list();
  }

  const welcome = get("welcome");

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

  get("over").onclick = page.over;
  get("input").onchange = (event) => {
    page.taken = page.take(event.target.files).finally(() => {
      event.target.value = "";
    });
  };
  get("sample").onclick = () => {
    const bytes = (content) => Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
    page.taken = page.take(sampleFiles.map(([name, content]) => new File([bytes(content)], name)));
  };
  addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("over");
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) document.body.classList.remove("over");
  });
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("over");
    const { files } = event.dataTransfer;
    if (files.length) page.taken = page.take(files);
  });
  // A link to a view, without the file.
  if (location.hash.length > 1) {
    const name = viewer.text(viewer.asked().name);
    get("wanted").hidden = false;
    get("wanted").textContent =
      `This link leads to the view “${name}” of a file. The page does not keep files: open the file again to see it.`;
  }
})();
