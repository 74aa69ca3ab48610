// Elements of the page.
(() => {
  "use strict";

  // An element with attributes, handlers (`onclick`) and children: elements or strings.
  viewer.element = (name, attributes, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (key === "style") element.style.cssText = value || "";
      else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
    }
    const present = children.flat().filter(viewer.isKnown);
    element.append(...present.map((child) => (child instanceof Node ? child : viewer.text(child))));
    return element;
  };

  viewer.note = (...children) => viewer.element("p", { class: "note" }, ...children);

  // Makes an element respond to clicks and to the keyboard.
  viewer.link = (act, ...children) => {
    const onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      act();
    };
    return viewer.element("a", { role: "button", tabindex: 0, onclick: act, onkeydown }, ...children);
  };

  // A link to a view, if the page has it; otherwise the text alone.
  viewer.linkTo = (view, argument, text) =>
    viewer.has(view) ? viewer.link(() => viewer.open(view, argument), text) : text;

  // A row of a table of facts: its name and its value.
  viewer.fact = (name, ...value) =>
    viewer.element("tr", {}, viewer.element("th", {}, name), viewer.element("td", {}, ...value));
  viewer.facts = (...rows) => viewer.element("table", {}, viewer.element("tbody", {}, ...rows));

  // The column beside a picture or a list.
  viewer.side = () => viewer.element("div", { class: "side", tabindex: 0, role: "region", "aria-label": "Details" });

  // The handlers that show a text while the pointer is over an element.
  viewer.tipped = (text) => ({
    onmousemove: (event) => viewer.tip(text(), event),
    onmouseleave: () => viewer.tip(),
  });

  viewer.tip = (text, event) => {
    if (text && !event) return;
    const tip = document.getElementById("tip");
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = viewer.text(text);
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 6))}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 16, innerHeight - height - 6))}px`;
  };

  // A button that copies a text.
  viewer.copy = (title, text) => {
    const onclick = async (event) => {
      event.stopPropagation();
      try {
        await navigator.clipboard.writeText(text());
        button.textContent = "Copied";
      } catch {
        button.textContent = "The browser does not allow copying";
      }
      setTimeout(() => {
        button.textContent = title;
      }, 1500);
    };
    const button = viewer.element("button", { class: "copy", onclick }, title);
    return button;
  };

  // A canvas that fills its parent. It is redrawn when its size changes, at most once per frame.
  viewer.canvas = (stage, draw) => {
    const canvas = viewer.element("canvas", {});
    stage.append(canvas);
    const context = canvas.getContext("2d");
    let waiting = false;
    const now = () => {
      waiting = false;
      const { width, height } = stage.getBoundingClientRect();
      const scale = devicePixelRatio || 1;
      if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
        canvas.width = Math.round(width * scale);
        canvas.height = Math.round(height * scale);
      }
      context.setTransform(scale, 0, 0, scale, 0, 0);
      context.clearRect(0, 0, width, height);
      draw(context, width, height);
    };
    const redraw = () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(now);
    };
    new ResizeObserver(redraw).observe(stage);
    return { canvas, redraw, now };
  };

  // A colour of the style sheet, for canvases.
  viewer.css = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
})();
