// The times and labels of planned memory. Nothing here needs a browser. Times are the numbers of instructions plus 1, because the inputs are set at time 0,
// which is -1 in the report.
(() => {
  "use strict";
  const { bytes, count, grouped, shape } = viewer;

  const later = (period) => ({ ...period, first: period.first + 1, last: period.last + 1 });

  // A buffer of the report, with the times of the picture.
  viewer.timedBuffer = (buffer) => ({
    ...buffer,
    needed_at: buffer.needed_at + 1,
    tensors: buffer.tensors.map((tensor) => ({ ...later(tensor), idle: (tensor.idle || []).map(later) })),
  });

  // The time of the outputs.
  viewer.endTime = (method) => method.instructions + 1;

  viewer.moment = (time, method) => {
    if (time === 0) return "the inputs";
    return time === viewer.endTime(method) ? "the outputs" : `instruction ${time - 1}`;
  };

  // The tensors that need their memory at a time, the largest first.
  viewer.neededAt = (tensors, time) => {
    const during = ({ first, last }) => first <= time && time <= last;
    const needed = tensors.filter((tensor) => during(tensor) && !tensor.idle.some(during));
    return needed.sort((left, right) => right.size - left.size);
  };

  viewer.bufferText = (method, buffer) => {
    const about = method.assumed ? "about " : "";
    const lost = buffer.lost ? `, ${bytes(buffer.lost)} more` : "";
    const jumps = method.jumps ? ". The method has jumps: times follow the list of instructions" : "";
    const peak = `Peak: ${about}${bytes(buffer.needed)} (${viewer.moment(buffer.needed_at, method)})`;
    const tensors = count(buffer.tensors.length, "tensor");
    return `${peak}. The buffer has ${bytes(buffer.size)}${lost}. ${tensors}${jumps}.`;
  };

  // The memory of a run: its total and its parts, and what is not known.
  viewer.runText = (run) => {
    const parts = [
      ["planned", run.planned],
      ["method", run.method],
      ["XNNPACK workspace", run.xnnpack?.workspace],
      ["XNNPACK tables", run.xnnpack?.tables],
      ["packed weights", run.xnnpack?.packed],
      ["Ethos-U scratch", run.scratch],
      ["weights in place", run.weights_in_place],
      ["program", run.program],
    ];
    const shown = parts
      .filter(([, size]) => size !== undefined && size !== 0)
      .map(([name, size]) => `${name} ${size === null ? "not known" : bytes(size)}`);
    const unknown = run.not_known || [];
    const bound = unknown.length ? "at least " : run.at_most ? "at most " : "";
    return [
      `${bound}${bytes(run.total)}: ${shown.join(", ")}`,
      ...unknown.map((what) => `not known, not counted: ${what}`),
    ];
  };

  viewer.plannedText = (tensor, method) => {
    const lines = [
      `%${tensor.value}: ${shape(tensor)}${tensor.name ? ` ${tensor.name}` : ""}`,
      `${bytes(tensor.size)} at address ${grouped(tensor.offset)}`,
      `needed from ${viewer.moment(tensor.first, method)} to ${viewer.moment(tensor.last, method)}`,
      tensor.kept ? "keeps its content between runs" : "",
      tensor.module ? `module ${tensor.module}` : "",
    ];
    return lines.filter(Boolean).join("\n");
  };

  // Round addresses, at most about six, below the end of the buffer.
  viewer.roundAddresses = (size) => {
    const gap = 2 ** Math.max(0, Math.ceil(Math.log2(size / 6)));
    return Array.from({ length: Math.ceil(size / gap) }, (_, index) => index * gap);
  };

  // The times that have a label if an instruction is some pixels wide: at most one for each 70 pixels, and both ends.
  viewer.labelledTimes = (end, width) => {
    const powers = [1, 10, 100, 1e3, 1e4, 1e5];
    const steps = powers.flatMap((power) => [power, 2 * power, 5 * power]);
    const step = steps.find((step) => step * width >= 70) || end + 1;
    const times = Array.from({ length: end + 1 }, (_, time) => time);
    const isApart = (time) => step === 1 || (time >= step && end - time >= step);
    return times.filter((time) => time === 0 || time === end || ((time - 1) % step === 0 && isApart(time)));
  };
})();
