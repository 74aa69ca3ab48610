// Ranges of a file's bytes: their places, and the actions on them.
(() => {
  "use strict";
  const { element, isKnown } = viewer;

  // Arguments of views are strings, since they are part of the URL: FILE:OFFSET+SIZE.
  page.range = (index, offset, size) => `${index}:${offset}${size ? `+${size}` : ""}`;
  page.parseRange = (text) => {
    const [, index, start, size] = /^(\d+):(\d+)(?:\+(\d+))?$/.exec(text || "") || [];
    return index === undefined ? undefined : { index: Number(index), start: Number(start), size: Number(size || 0) };
  };

  // The offset in the file for an offset in the model: a program may be inside a bundle.
  page.place = (offset) => offset + (page.report.program_offset || 0);

  // The name of a file to download.
  page.clean = (name) =>
    String(name)
      .replace(/[^\w.-]+/g, "_")
      .replace(/^\.+/, "")
      .slice(0, 100) || "data";

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
      const job = start((share) => {
        bar.value = share;
      });
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

  // The actions on any range of a file: show it, save it, hash it.
  page.rangeTools = (index, start, size, name) => {
    const show = () => viewer.open("bytes", page.range(index, start, size));
    const save = () => page.download(page.files[index].blob.slice(start, start + size), `${page.clean(name)}.bin`);
    const hash = (progress) => page.ask("hash", [index, start, size], progress);
    const showHash = (answer, box) =>
      box.append(
        element("code", {}, answer),
        viewer.copy("Copy", () => answer),
      );
    return element(
      "div",
      { class: "actions" },
      element("button", { onclick: show }, "Bytes"),
      element("button", { onclick: save }, "Save these bytes"),
      page.job("SHA-256", hash, showHash),
    );
  };

  // The actions on a weight, which the viewer shows below its facts. `again` shows the facts again.
  viewer.weightTools = (weight, name, again) => {
    if (!page.files.length || !isKnown(weight.offset)) return [];
    const index = weight.index ?? page.roles.main;
    const start = isKnown(weight.index) ? weight.offset : page.place(weight.offset);
    const isTyped = weight.users.some(viewer.shape);
    const tools = [page.rangeTools(index, start, weight.size, name)];
    if (isTyped && weight.kind !== "delegate_constant") tools.push(exportTools(weight, name, index, start));
    if (!weight.histogram && (isTyped || weight.inside?.length)) tools.push(histogramTool(weight, index, again));
    return tools;
  };

  function exportTools(weight, name, index, start) {
    const save = (title, isSafetensors, ending) => {
      const question = [index, start, weight.size, weight.offset, isSafetensors];
      const ask = (progress) => page.ask("save", question, progress);
      return page.job(title, ask, (blob) => page.download(blob, `${page.clean(name)}.${ending}`));
    };
    const buttons = [save("Save as .npy", false, "npy"), save("Save as .safetensors", true, "safetensors")];
    return element("div", { class: "actions" }, buttons);
  }

  function histogramTool(weight, index, again) {
    const ask = (progress) => page.ask("spread", [index, weight.offset], progress);
    const show = (answer) => {
      weight.histogram = JSON.parse(answer);
      weight.counted = true;
      again();
    };
    return element("div", { class: "actions" }, page.job("Compute a histogram", ask, show));
  }
})();
