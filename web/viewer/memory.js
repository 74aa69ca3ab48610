// Planned memory: address against time, each tensor as a box from its first use to its last.
(() => {
  "use strict";
  const { element, bytes, grouped, shape } = viewer;

  viewer.views.push({
    name: "memory",
    title: () => "Memory",
    short: "Memory",
    part: "memory",
    fits: (report) => report.memory?.methods.some((method) => method.buffers.some((buffer) => buffer.tensors.length)),
    whole: true,
    draw(report, main, argument) {
      const choices = report.memory.methods.flatMap((method) =>
        method.buffers.filter((buffer) => buffer.tensors.length).map((buffer) => ({ method, buffer })),
      );
      const side = viewer.side();
      const stage = element("div", { class: "stage" });
      const label = element("span", { class: "note" });
      const start = (choice, value) => {
        const buffer = viewer.timedBuffer(choice.buffer);
        stage.replaceChildren();
        label.textContent = viewer.bufferText(choice.method, buffer);
        picture(stage, side, choice.method, buffer, value);
      };
      const title = ({ method, buffer }) =>
        `${viewer.cut(viewer.name(method.name), 40)}, buffer ${buffer.memory_id}: ${bytes(buffer.size)}`;
      const select = element(
        "select",
        { "aria-label": "Method and buffer", onchange: () => start(choices[select.value]) },
        choices.map((choice, index) => element("option", { value: index }, title(choice))),
      );
      main.append(element("div", { class: "tools" }, select, label), element("div", { class: "split" }, stage, side));
      const value = Number(/^%(\d+)$/.exec(argument || "")?.[1] ?? NaN);
      select.value = firstChoice(choices, value);
      start(choices[select.value], value);
    },
  });

  // The buffer that has a value, or else the largest.
  function firstChoice(choices, value) {
    const holder = choices.findIndex(({ buffer }) => buffer.tensors.some((tensor) => tensor.value === value));
    if (holder >= 0) return holder;
    return choices.reduce((best, { buffer }, index) => (buffer.size > choices[best].buffer.size ? index : best), 0);
  }

  const LEFT = 76;
  const BOTTOM = 30;
  const RIGHT = 12;
  const TOP = 26;

  // The coordinates of times and addresses in a picture of some size, zoomed in time by `view`.
  class Scale {
    view = d3.zoomIdentity;
    width = 1;
    height = 1;

    constructor(end, bufferSize) {
      this.end = end;
      this.bufferSize = bufferSize;
    }

    get span() {
      return Math.max(1, this.width - LEFT - RIGHT);
    }

    // The width of an instruction.
    get unit() {
      return (this.span * this.view.k) / (this.end + 1);
    }

    x(time) {
      return this.view.applyX(LEFT + (this.span * time) / (this.end + 1));
    }

    y(address) {
      return TOP + (this.height - BOTTOM - TOP) * (1 - address / this.bufferSize);
    }

    timeAt(x) {
      const time = Math.floor(((this.view.invertX(x) - LEFT) / this.span) * (this.end + 1));
      return Math.max(0, Math.min(this.end, time));
    }

    box({ first, last, offset, size }) {
      return { left: this.x(first), right: this.x(last + 1), top: this.y(offset + size), bottom: this.y(offset) };
    }
  }

  // The picture of a buffer; `value` is chosen first.
  function picture(stage, side, method, buffer, value) {
    const end = viewer.endTime(method);
    const scale = new Scale(end, buffer.size);
    const state = { chosen: buffer.tensors.find((tensor) => tensor.value === value) || null };
    state.time = state.chosen ? state.chosen.first : buffer.needed_at;
    const zoom = d3
      .zoom()
      .scaleExtent([1, Math.max(4, end / 8)])
      .extent(() => [
        [LEFT, 0],
        [scale.width - RIGHT, scale.height],
      ])
      .on("zoom", (event) => {
        scale.view = event.transform;
        canvas.redraw();
      });
    const canvas = viewer.canvas(stage, (context, width, height) => {
      Object.assign(scale, { width, height });
      zoom.translateExtent([
        [LEFT, -Infinity],
        [width - RIGHT, Infinity],
      ]);
      context.font = "11px system-ui, sans-serif";
      context.save();
      context.beginPath();
      context.rect(LEFT, 0, width - LEFT, height - BOTTOM + 1);
      context.clip();
      for (const tensor of buffer.tensors) drawTensor(context, scale, tensor, tensor === state.chosen);
      drawTime(context, scale, state.time);
      context.restore();
      drawAddresses(context, scale);
      drawTimes(context, scale);
    });
    const choose = (tensor) => {
      state.chosen = tensor;
      viewer.chosen(tensor ? `%${tensor.value}` : undefined);
      canvas.redraw();
    };
    const goTo = (time) => {
      state.time = Math.max(0, Math.min(end, time));
      side.replaceChildren(...neededList(method, buffer, state.time, choose));
      canvas.redraw();
    };
    listen(canvas.canvas, { stage, scale, buffer, method, state, choose, goTo });
    d3.select(canvas.canvas).call(zoom).on("dblclick.zoom", null);
    goTo(state.time);
  }

  function listen(canvas, { stage, scale, buffer, method, state, choose, goTo }) {
    const place = (event) => {
      const { left, top } = stage.getBoundingClientRect();
      return [event.clientX - left, event.clientY - top];
    };
    // The smallest tensor at a place.
    const hit = (event) => {
      const [x, y] = place(event);
      const isInside = ({ left, right, top, bottom }) => left <= x && x <= right && top <= y && y <= bottom;
      const found = buffer.tensors.filter((tensor) => isInside(scale.box(tensor)));
      return found.sort((left, right) => left.size - right.size)[0];
    };
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "Planned memory: addresses by instruction");
    canvas.addEventListener("mousemove", (event) => {
      const tensor = hit(event);
      viewer.tip(tensor && viewer.plannedText(tensor, method), event);
    });
    canvas.addEventListener("mouseleave", () => viewer.tip());
    canvas.addEventListener("click", (event) => {
      choose(hit(event) || null);
      goTo(scale.timeAt(place(event)[0]));
    });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      state.chosen = null;
      goTo(state.time + step);
    });
  }

  const hues = {};
  // Tensors of the same type and shape have the same colour.
  function colorOf(tensor) {
    if (tensor.kept) return viewer.colors.initial_state;
    const key = tensor.sizes.join(",") + tensor.scalar_type;
    hues[key] ??= `hsl(${(Object.keys(hues).length * 137.5) % 360} 45% 78%)`;
    return hues[key];
  }

  function drawTensor(context, scale, tensor, isChosen) {
    const { left, right, top, bottom } = scale.box(tensor);
    const [width, height] = [right - left, bottom - top];
    if (right < LEFT || left > scale.width) return;
    context.fillStyle = colorOf(tensor);
    context.fillRect(left, top, Math.max(1, width), Math.max(1, height));
    if (isChosen || (width > 4 && height > 4)) {
      context.strokeStyle = viewer.css(isChosen ? "ink" : "paper");
      context.lineWidth = isChosen ? 2 : 0.6;
      context.strokeRect(left, top, Math.max(1, width), Math.max(1, height));
    }
    if (width > 90 && height > 14) {
      context.fillStyle = "#102030";
      const text = viewer.cut(`${tensor.name || `%${tensor.value}`} ${shape(tensor)}`, Math.floor(width / 6.4));
      context.fillText(text, Math.max(left, LEFT) + 4, (top + bottom) / 2 + 4);
    }
  }

  // The line has an edge in the colour of the paper, so that it is seen on boxes too.
  function drawTime(context, scale, time) {
    context.beginPath();
    context.moveTo(scale.x(time + 0.5), 0);
    context.lineTo(scale.x(time + 0.5), scale.height - BOTTOM);
    context.strokeStyle = viewer.css("paper");
    context.lineWidth = 4;
    context.stroke();
    context.strokeStyle = viewer.css("error");
    context.setLineDash([4, 3]);
    context.lineWidth = 2;
    context.stroke();
  }

  // Labels at round addresses, and at the end of the buffer.
  function drawAddresses(context, scale) {
    const size = scale.bufferSize;
    context.fillStyle = viewer.css("soft");
    context.strokeStyle = viewer.css("line");
    context.textAlign = "right";
    const addresses = viewer.roundAddresses(size).filter((address) => scale.y(address) - scale.y(size) > 14);
    for (const address of [...addresses, size]) {
      context.fillText(bytes(address), LEFT - 6, scale.y(address) + 4);
      context.beginPath();
      context.moveTo(LEFT - 3, scale.y(address));
      context.lineTo(LEFT, scale.y(address));
      context.stroke();
    }
    context.textAlign = "left";
    context.fillText("address", 6, 13);
  }

  // Labels under the middle of an instruction.
  function drawTimes(context, scale) {
    const { end, width, height } = scale;
    context.textAlign = "center";
    for (const time of viewer.labelledTimes(end, scale.unit)) {
      const x = scale.x(time + 0.5);
      if (x < LEFT || x > width - RIGHT + 1) continue;
      const label = time === 0 ? "inputs" : time === end ? "outputs" : grouped(time - 1);
      context.fillText(label, Math.min(x, width - 26), height - 16);
    }
    context.textAlign = "right";
    context.fillText("instruction →", width - 10, height - 3);
    context.textAlign = "left";
  }

  const HELP =
    "Each box is a tensor: its height is its size, its width the time for which it is needed. Tensors of the same type and shape have the same colour. Empty space at the dashed line is memory that the plan does not use at that time. Click, or use the arrow keys, to list the tensors that are needed at an instruction; scroll to zoom in on time.";
  const MAX_SHOWN = 200;

  // The tensors that are needed at a time, as text.
  function neededList(method, buffer, time, choose) {
    const moment = (at) => viewer.moment(at, method);
    const needed = viewer.neededAt(buffer.tensors, time);
    const total = bytes(needed.reduce((sum, tensor) => sum + tensor.size, 0));
    const more = needed.length - MAX_SHOWN;
    // A time as a link to the instruction's node.
    const node = (label, at) =>
      at < 1 || at > method.instructions
        ? label || moment(at)
        : viewer.linkTo("graph", `instruction ${at - 1}`, label || moment(at));
    const entry = (tensor) =>
      element(
        "li",
        {},
        viewer.link(() => choose(tensor), tensor.name || `%${tensor.value}`),
        " ",
        element("span", { class: "mono" }, shape(tensor)),
        `, ${bytes(tensor.size)}`,
        tensor.name ? element("small", {}, ` %${tensor.value}`) : "",
        element(
          "small",
          {},
          ", from ",
          node(tensor.made_by, tensor.first),
          " to ",
          node(tensor.last_used_by, tensor.last),
        ),
      );
    const shared = "tensors that share memory are counted separately";
    return [
      element("h3", {}, time === buffer.needed_at ? `Peak: ${moment(time)}` : `At ${moment(time)}`),
      viewer.note(`${viewer.count(needed.length, "tensor")} needed, ${total} (${shared}).`),
      element("ul", {}, needed.slice(0, MAX_SHOWN).map(entry)),
      ...(more > 0 ? [viewer.note(`… ${grouped(more)} more`)] : []),
      element("h4", {}, "How to read it"),
      viewer.note(HELP),
    ];
  }
})();
