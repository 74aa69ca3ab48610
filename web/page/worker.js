// Answers the page's questions. Files are read here, in the ranges that the module requests.
(() => {
  "use strict";
  let page;
  let instance;
  const files = [];
  const ended = new Set();
  // The number of bytes of a blob that are read at a time.
  const PIECE = 4 << 20;
  const bytes = (file, start, size) =>
    new Uint8Array(new FileReaderSync().readAsArrayBuffer(file.slice(start, start + size)));

  // Passes a range of a file to `take`, piece by piece; between pieces, a job can be cancelled.
  async function pieces(id, file, start, size, take, part = (share) => share) {
    for (let at = 0; at < size; at += PIECE) {
      if (ended.has(id)) throw new Error("ended");
      const piece = Math.min(PIECE, size - at);
      take(new Uint8Array(await file.slice(start + at, start + at + piece).arrayBuffer()), at);
      postMessage({ id, share: part((at + piece) / size) });
    }
  }

  // Bytes as a string with one character for each, which can be searched.
  function latin1(bytes) {
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    return text;
  }

  const jobs = {
    add: ([file]) => {
      const read = (start, size) => bytes(file, start, size);
      const entries = () => entriesOf(read(0, file.size), wasm_bindgen.takes_entry);
      const added = JSON.parse(page.add(file.name, file.size, { read, entries }));
      files.push(file);
      return added;
    },
    roles: () => JSON.parse(page.roles()),
    // The page parses JSON itself, to keep numbers that JavaScript would round.
    part: ([name]) => page.part(name),
    compare: () => page.compare(),
    branch: ([index, path, first, ofBundle]) => page.branch(index, path, first, ofBundle),
    hash: async ([index, start, size], id) => {
      const hash = new wasm_bindgen.Hashing();
      await pieces(id, files[index], start, size, (piece) => hash.add(piece));
      return hash.finish();
    },
    spread: async ([index, offset], id) => {
      const spread = page.spread(index, offset);
      const numbers = spread.parts();
      const parts = Array.from({ length: numbers.length / 3 }, (_, at) => numbers.slice(3 * at, 3 * at + 3));
      const all = parts.reduce((sum, [, , size]) => sum + size, 0);
      let before = 0;
      for (const [of, start, size] of parts) {
        const done = before;
        const part = (share) => (done + share * size) / all;
        await pieces(id, files[of], start, size, (piece) => spread.add(piece), part);
        before += size;
      }
      return page.spread_out(spread);
    },
    save: async ([index, start, size, offset, safetensors], id) => {
      const saving = page.export(index, offset, size, safetensors);
      const header = saving.header();
      // The browser reads a range of the file only when it writes it.
      if (header) return new Blob([header, files[index].slice(start, start + size)]);
      const all = new Uint8Array(size);
      await pieces(id, files[index], start, size, (piece, at) => all.set(piece, at));
      return new Blob([saving.finish(all)]);
    },
    // The first place of a pattern from `start`; `null` if there is none. Pieces overlap, so that none is missed between two.
    search: ([index, pattern, start], id) => {
      const file = files[index];
      const wanted = latin1(pattern);
      for (let at = start; at < file.size; at += PIECE) {
        if (ended.has(id)) throw new Error("ended");
        const piece = bytes(file, at, Math.min(PIECE + pattern.length, file.size - at));
        const found = latin1(piece).indexOf(wanted);
        if (found >= 0) return at + found;
      }
      return null;
    },
    memory: () => instance.memory.buffer.byteLength,
  };

  onmessage = async ({ data: { id, module, ask, end, with: values } }) => {
    if (module) {
      instance = wasm_bindgen.initSync({ module });
      page = new wasm_bindgen.Page();
      return;
    }
    if (end) {
      ended.add(end);
      return;
    }
    try {
      postMessage({ id, answer: await jobs[ask](values, id) });
    } catch (error) {
      // The module's own errors are strings. Any other error, such as out of memory, ends the worker.
      const text = typeof error === "string" ? error : error.message;
      postMessage({ id, error: text, fatal: error instanceof WebAssembly.RuntimeError });
    } finally {
      ended.delete(id);
    }
  };
})();
