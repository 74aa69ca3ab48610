"use strict";
(() => {
  const { element, bytes, shape } = viewer;

  viewer.views.push({
    name: "memory",
    title: () => "Memory",
    short: "Memory",
    part: "memory",
    fits: (report) => report.memory?.methods.some((method) => method.buffers.some((buffer) => buffer.tensors.length)),
    whole: true,
    draw(report, main, argument) {
      const choices = report.memory.methods.flatMap((method) => method.buffers.filter((buffer) => buffer.tensors.length).map((buffer) => ({ method, buffer })));
      const side = element("div", { class: "side", tabindex: 0, role: "region", "aria-label": "Details" });
      const stage = element("div", { class: "stage" });
      const label = element("span", { class: "note" });
      const select = element("select", { "aria-label": "Method and buffer", onchange: () => start(choices[select.value]) }, choices.map(({ method, buffer }, index) => element("option", { value: index }, `${viewer.cut(viewer.name(method.name), 40)}, buffer ${buffer.memory_id}: ${bytes(buffer.size)}`)));
      main.append(element("div", { class: "tools" }, select, label), element("div", { class: "split" }, stage, side));
      const start = (choice, value) => { stage.replaceChildren(); picture(stage, side, label, choice, value); };
      const largest = choices.reduce((best, choice, index) => (choice.buffer.size > choices[best].buffer.size ? index : best), 0);
      // The argument is a value: the buffer that has it.
      const value = Number(/^%(\d+)$/.exec(argument || "")?.[1] ?? NaN);
      const holds = choices.findIndex(({ buffer }) => buffer.tensors.some((tensor) => tensor.value === value));
      select.value = holds < 0 ? largest : holds;
      start(choices[select.value], value);
    },
  });

  const LEFT = 76;
  const BOTTOM = 30;
  const RIGHT = 12;
  const TOP = 26;

  // Address against time: each tensor is a box from its first use to its last. Times are the numbers of instructions plus 1, because
  // the inputs are set at time 0, which is -1 in the report.
  function picture(stage, side, label, { method, buffer: reported }, value) {
    const later = (period) => ({ ...period, first: period.first + 1, last: period.last + 1 });
    const tensors = reported.tensors.map((tensor) => ({ ...later(tensor), idle: (tensor.idle || []).map(later) }));
    const buffer = { ...reported, tensors, needed_at: reported.needed_at + 1 };
    const end = method.instructions + 1;
    const moment = (at) => (at === 0 ? "the inputs" : at === end ? "the outputs" : `instruction ${at - 1}`);
    label.textContent = `At most ${method.assumed ? "about " : ""}${bytes(buffer.needed)} are needed at one time (${moment(buffer.needed_at)}); the buffer takes ${bytes(buffer.size)}${buffer.lost ? `, ${bytes(buffer.lost)} more` : ""}. ${viewer.count(buffer.tensors.length, "tensor")}${method.jumps ? ". The method jumps: times are those in the list of instructions" : ""}.${method.not_counted ? ` Not counted, because no file has it: what ${method.not_counted.join(", ")} allocates by itself.` : ""}`;
    let view = d3.zoomIdentity;
    let chosen = buffer.tensors.find((tensor) => tensor.value === value) || null;
    let time = chosen ? chosen.first : buffer.needed_at;
    const size = { width: 1, height: 1 };
    const span = () => Math.max(1, size.width - LEFT - RIGHT);
    const x = (at) => view.applyX(LEFT + (span() * at) / (end + 1));
    const y = (address) => TOP + (size.height - BOTTOM - TOP) * (1 - address / buffer.size);
    const timeAt = (px) => ((view.invertX(px) - LEFT) / span()) * (end + 1);
    const zoom = d3.zoom().scaleExtent([1, Math.max(4, end / 8)]).extent(() => [[LEFT, 0], [size.width - RIGHT, size.height]]).on("zoom", (event) => { view = event.transform; canvas.redraw(); });
    const canvas = viewer.canvas(stage, (context, width, height) => {
      Object.assign(size, { width, height });
      zoom.translateExtent([[LEFT, -Infinity], [width - RIGHT, Infinity]]);
      context.font = "11px system-ui, sans-serif";
      context.save();
      context.beginPath();
      context.rect(LEFT, 0, width - LEFT, height - BOTTOM + 1);
      context.clip();
      for (const tensor of buffer.tensors) {
        const [left, right] = [x(tensor.first), x(tensor.last + 1)];
        if (right < LEFT || left > width) continue;
        const [top, bottom] = [y(tensor.offset + tensor.size), y(tensor.offset)];
        context.fillStyle = color(tensor);
        context.fillRect(left, top, Math.max(1, right - left), Math.max(1, bottom - top));
        if (tensor === chosen || (right - left > 4 && bottom - top > 4)) {
          context.strokeStyle = viewer.css(tensor === chosen ? "ink" : "paper");
          context.lineWidth = tensor === chosen ? 2 : 0.6;
          context.strokeRect(left, top, Math.max(1, right - left), Math.max(1, bottom - top));
        }
        if (right - left > 90 && bottom - top > 14) {
          context.fillStyle = "#102030";
          context.fillText(viewer.cut(`${tensor.name || `%${tensor.value}`} ${shape(tensor)}`, Math.floor((right - left) / 6.4)), Math.max(left, LEFT) + 4, (top + bottom) / 2 + 4);
        }
      }
      // The line has an edge in the colour of the paper, so that it is seen on boxes too.
      context.beginPath();
      context.moveTo(x(time + 0.5), 0);
      context.lineTo(x(time + 0.5), height - BOTTOM);
      context.strokeStyle = viewer.css("paper");
      context.lineWidth = 4;
      context.stroke();
      context.strokeStyle = viewer.css("error");
      context.setLineDash([4, 3]);
      context.lineWidth = 2;
      context.stroke();
      context.restore();
      axes(context, width, height);
    });

    function axes(context, width, height) {
      context.fillStyle = viewer.css("soft");
      context.strokeStyle = viewer.css("line");
      context.textAlign = "right";
      // Labels at round addresses, and at the end of the buffer.
      const gap = 2 ** Math.max(0, Math.ceil(Math.log2(buffer.size / 6)));
      const addresses = Array.from({ length: Math.ceil(buffer.size / gap) }, (_, index) => index * gap).filter((address) => y(address) - y(buffer.size) > 14);
      for (const address of [...addresses, buffer.size]) {
        context.fillText(bytes(address), LEFT - 6, y(address) + 4);
        context.beginPath();
        context.moveTo(LEFT - 3, y(address));
        context.lineTo(LEFT, y(address));
        context.stroke();
      }
      context.textAlign = "center";
      // Labels under the middle of an instruction, at most one for each 70 pixels.
      const wide = span() * view.k / (end + 1);
      // Times are the numbers of instructions plus 1.
      const step = [1, 2, 5].flatMap((digit) => [1, 10, 100, 1e3, 1e4, 1e5].map((power) => digit * power)).sort((one, other) => one - other).find((step) => step * wide >= 70) || end + 1;
      for (let at = 0; at <= end; at += 1) {
        if (at > 0 && at !== end && ((at - 1) % step || (step > 1 && (end - at < step || at < step)))) continue;
        const px = x(at + 0.5);
        if (px >= LEFT && px <= width - RIGHT + 1) context.fillText(at === 0 ? "inputs" : at === end ? "outputs" : (at - 1).toLocaleString("en"), Math.min(px, width - 26), height - 16);
      }
      context.textAlign = "left";
      context.fillText("address", 6, 13);
      context.textAlign = "right";
      context.fillText("instruction →", width - 10, height - 3);
      context.textAlign = "left";
    }

    const inside = (event) => {
      const { left, top } = stage.getBoundingClientRect();
      return [event.clientX - left, event.clientY - top];
    };
    const hit = (event) => {
      const [px, py] = inside(event);
      const found = buffer.tensors.filter((tensor) => x(tensor.first) <= px && px <= x(tensor.last + 1) && y(tensor.offset + tensor.size) <= py && py <= y(tensor.offset));
      return found.sort((one, other) => one.size - other.size)[0];
    };
    const text = (tensor) => `%${tensor.value}: ${shape(tensor)}${tensor.name ? ` ${tensor.name}` : ""}\n${bytes(tensor.size)} at address ${tensor.offset.toLocaleString("en")}\nneeded from ${moment(tensor.first)} to ${moment(tensor.last)}${tensor.kept ? "\nkeeps its content from run to run" : ""}${tensor.module ? `\nmodule ${tensor.module}` : ""}`;
    // The instruction at a time, as a link to its node.
    const at = (label, when) => (when < 1 || when > method.instructions || !viewer.has("graph") ? label || moment(when) : viewer.link(() => viewer.open("graph", `instruction ${when - 1}`), label || moment(when)));
    const choose = (tensor) => { chosen = tensor; viewer.chosen(tensor ? `%${tensor.value}` : undefined); canvas.redraw(); };
    const list = () => {
      const idle = (tensor) => tensor.idle.some((gap) => gap.first <= time && time <= gap.last);
      const alive = buffer.tensors.filter((tensor) => tensor.first <= time && time <= tensor.last && !idle(tensor)).sort((one, other) => other.size - one.size);
      side.replaceChildren(element("h3", {}, time === buffer.needed_at ? `Peak: ${moment(time)}` : `At ${moment(time)}`),
        element("p", { class: "note" }, `${viewer.count(alive.length, "tensor")} needed, ${bytes(alive.reduce((sum, tensor) => sum + tensor.size, 0))} (tensors that share memory are each counted).`),
        element("ul", {}, alive.slice(0, 200).map((tensor) => element("li", {}, viewer.link(() => choose(tensor), tensor.name || `%${tensor.value}`), " ", element("span", { class: "mono" }, shape(tensor)), `, ${bytes(tensor.size)}`, tensor.name ? element("small", {}, ` %${tensor.value}`) : "", element("small", {}, ", from ", at(tensor.made_by, tensor.first), " to ", at(tensor.last_used_by, tensor.last))))),
        ...(alive.length > 200 ? [element("p", { class: "note" }, `… ${(alive.length - 200).toLocaleString("en")} more`)] : []),
        element("h4", {}, "How to read it"), element("p", { class: "note" }, "A box is a tensor: as high as its bytes, as long as it is needed. Tensors of one type and shape have one colour. Empty space at the dashed line is what the plan loses there. Click, or use the arrow keys, to see what is needed at an instruction; scroll to zoom into time."));
    };
    canvas.canvas.addEventListener("mousemove", (event) => { const tensor = hit(event); viewer.tip(tensor && text(tensor), event); });
    canvas.canvas.addEventListener("mouseleave", () => viewer.tip());
    canvas.canvas.addEventListener("click", (event) => {
      choose(hit(event) || null);
      time = Math.max(0, Math.min(end, Math.floor(timeAt(inside(event)[0]))));
      list();
      canvas.redraw();
    });
    canvas.canvas.tabIndex = 0;
    canvas.canvas.setAttribute("role", "img");
    canvas.canvas.setAttribute("aria-label", "Planned memory: addresses against instructions");
    canvas.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      time = Math.max(0, Math.min(end, time + step));
      chosen = null;
      list();
      canvas.redraw();
    });
    d3.select(canvas.canvas).call(zoom).on("dblclick.zoom", null);
    list();
    viewer.memory = { time: () => time };
  }

  const hues = {};
  function color(tensor) {
    if (tensor.kept) return viewer.colors.initial_state;
    const key = tensor.sizes.join(",") + tensor.scalar_type;
    hues[key] ??= `hsl(${(Object.keys(hues).length * 137.5) % 360} 45% 78%)`;
    return hues[key];
  }
})();
