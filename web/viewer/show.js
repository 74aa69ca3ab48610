// Shows a report: its head, the tabs of its views, and the view in the page's URL.
(() => {
  "use strict";
  const { element } = viewer;

  // The view in the URL: `#graph`, or `#graph=SEARCH`.
  viewer.asked = (hash = location.hash) => {
    const [name, ...rest] = hash.slice(1).split("=");
    const decode = (text) => {
      try {
        return decodeURIComponent(text);
      } catch {
        return text;
      }
    };
    return { name: decode(name), argument: rest.length ? decode(rest.join("=")) : undefined };
  };

  viewer.hash = (name, argument) => `#${name}${argument === undefined ? "" : `=${encodeURIComponent(argument)}`}`;

  const fileKinds = {
    pte: "ExecuTorch program",
    ptd: "ExecuTorch tensor data",
    bpte: "ExecuTorch bundle",
    etdp: "ExecuTorch trace",
    xnnpack: "XNNPACK payload",
  };

  function searchBox(report) {
    const none = element("span", { class: "note", role: "status" });
    const onkeydown = (event) => {
      if (event.key !== "Enter") return;
      const found = viewer.find(report, input.value);
      const isMissing = input.value.trim() !== "" && !found;
      input.setAttribute("aria-invalid", isMissing);
      none.textContent = isMissing ? "Not found." : "";
      if (found) viewer.open(...found);
    };
    const input = element("input", {
      type: "search",
      placeholder: "Tensor, operator, %12 or offset",
      "aria-label": "Search all views: a tensor, an operator, a value such as %12, or an offset in bytes",
      onkeydown,
    });
    return element("p", { class: "tools", role: "search" }, input, none);
  }

  function showHead(report) {
    const { file_size, models, summary } = report;
    const exact = () => (file_size < 1024 ? "" : ` (${viewer.grouped(file_size)} bytes)`);
    const kind = fileKinds[summary?.kind] || "File";
    const facts = models ? "beside each other" : `${kind}, ${viewer.bytes(file_size)}${exact()}`;
    document.title = `${viewer.text(report.file)} – pte report`;
    document
      .getElementById("head")
      .replaceChildren(
        element("h1", {}, report.file),
        element("p", {}, facts),
        report.summary ? searchBox(report) : "",
      );
  }

  // The tab that a key leads to: arrow keys move by one, around the ends.
  viewer.nextTab = (key, at, count) => {
    if (key === "ArrowLeft") return (at + count - 1) % count;
    if (key === "ArrowRight") return (at + 1) % count;
    return { Home: 0, End: count - 1 }[key];
  };

  function moveByKeys(tabs) {
    tabs.onkeydown = (event) => {
      const at = [...tabs.children].indexOf(document.activeElement);
      const to = at < 0 ? undefined : viewer.nextTab(event.key, at, tabs.children.length);
      if (to === undefined) return;
      event.preventDefault();
      viewer.open(tabs.children[to].dataset.name);
      tabs.children[to].focus();
    };
  }

  // The page may not be allowed to change its URL; it also works then.
  function place(view, argument, how) {
    const hash = viewer.hash(view.name, argument);
    try {
      if (hash !== location.hash) history[how](null, "", hash);
    } catch {
      return;
    }
  }

  // The views of a report in the page's elements. `current` is the view that is shown, with its argument.
  class Frame {
    tabs = document.getElementById("tabs");
    main = document.getElementById("main");
    views = [];
    current = undefined;

    constructor(report) {
      this.report = report;
    }

    isPending(view) {
      return view.part !== undefined && this.report.pending?.has(view.part);
    }

    draw() {
      const { report, main } = this;
      const { view, argument } = this.current;
      const isPending = this.isPending(view);
      const title = view.short || view.title(report);
      viewer.tip();
      main.className = view.whole && !isPending ? "whole" : "";
      main.replaceChildren();
      main.dataset.view = view.name;
      main.setAttribute("aria-label", title);
      if (isPending) main.append(element("p", { class: "note", role: "status" }, "Working…"));
      else view.draw(report, main, argument);
      main.prepend(element("h2", { class: "heard" }, title));
    }

    fillTabs() {
      const { report, tabs } = this;
      const hasFocus = tabs.contains(document.activeElement);
      this.views = viewer.views.filter((view) => this.isPending(view) || view.fits(report));
      if (!this.views.some((view) => view === this.current?.view)) this.current = undefined;
      const tab = (view) =>
        element(
          "button",
          { role: "tab", "data-name": view.name, "aria-controls": "main", onclick: () => viewer.open(view.name) },
          this.isPending(view) ? view.short : view.title(report),
        );
      tabs.replaceChildren(...this.views.map(tab));
      this.markTab();
      if (hasFocus) tabs.querySelector("[aria-selected=true]")?.focus();
    }

    markTab() {
      for (const tab of this.tabs.children) {
        const isCurrent = tab.dataset.name === this.current?.view.name;
        tab.setAttribute("aria-selected", isCurrent);
        tab.tabIndex = isCurrent ? 0 : -1;
        // On a phone, the row of tabs scrolls.
        if (isCurrent) tab.scrollIntoView({ block: "nearest", inline: "nearest" });
      }
    }

    open(name, argument, again) {
      const view = this.views.find((view) => view.name === name) || this.views[0];
      const isMissing = name && view.name !== name && !this.report.pending?.size;
      this.current = { view, argument: isMissing ? undefined : argument };
      this.markTab();
      place(view, this.current.argument, again ? "replaceState" : "pushState");
      this.draw();
      if (!isMissing) return;
      const text = `This file has no view “${viewer.cut(name, 60)}”.`;
      this.main.prepend(element("p", { class: "warning", role: "status" }, text));
    }

    // A part of the report has arrived.
    update(part) {
      const before = this.current?.view;
      this.fillTabs();
      if (!this.current) this.open(before?.name, undefined, true);
      else if (this.current.view.part === part || this.current.view.uses?.includes(part)) this.draw();
    }
  }

  // Shows a report. Its parts in `report.pending` are missing at first; `viewer.update(part)` follows for each that has arrived.
  viewer.show = (report) => {
    showHead(report);
    const frame = new Frame(report);
    // Each view is an entry of the browser's history; `again` shows one that is there already.
    viewer.open = (name, argument, again) => frame.open(name, argument, again);
    // The chosen item of a view is in the page's URL, so that a link leads to it.
    viewer.chosen = (argument) => place(frame.current.view, argument, "replaceState");
    viewer.redraw = () => frame.current && frame.draw();
    viewer.has = (name) => frame.views.some((view) => view.name === name);
    viewer.update = (part) => frame.update(part);
    moveByKeys(frame.tabs);
    frame.fillTabs();
    const asked = viewer.asked();
    viewer.open(asked.name, asked.argument, true);
    requestAnimationFrame(() => {
      viewer.readyAt = performance.now();
    });
  };

  // Canvases take their colours from the style sheet when they are drawn.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => viewer.redraw?.());
  addEventListener("hashchange", () => {
    const { name, argument } = viewer.asked();
    viewer.open?.(name, argument, true);
  });
})();
