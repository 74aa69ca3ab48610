// The worker that runs the WebAssembly module, and the questions to it.
const page = {};

(() => {
  "use strict";

  const unpack = async () => {
    const packed = Uint8Array.from(atob(packedModule), (character) => character.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return WebAssembly.compile(await new Response(stream).arrayBuffer());
  };
  const module = unpack();
  let worker;
  let next = 0;
  const waiting = new Map();

  const failAll = (text) => {
    for (const question of waiting.values()) question.failed(new Error(text));
    waiting.clear();
  };

  const receive = ({ data: { id, answer, error, fatal, share } }) => {
    const question = waiting.get(id);
    if (!question) return;
    if (share !== undefined) {
      question.progress?.(share);
      return;
    }
    waiting.delete(id);
    if (error === undefined) question.done(answer);
    else question.failed(Object.assign(new Error(error), { fatal }));
  };

  const start = () => {
    const fresh = new Worker(URL.createObjectURL(new Blob([workerSource], { type: "text/javascript" })));
    fresh.onmessage = receive;
    fresh.onerror = (event) => failAll(event.message);
    module.then((module) => fresh.postMessage({ module }));
    return fresh;
  };

  // Asks the worker; the answer is a promise, with `end` to cancel the question.
  page.ask = (ask, values = [], progress = undefined) => {
    const id = (next += 1);
    const to = worker;
    const answer = new Promise((done, failed) => waiting.set(id, { done, failed, progress }));
    module.then(() => to.postMessage({ id, ask, with: values }));
    return Object.assign(answer, { end: () => to.postMessage({ end: id }) });
  };

  page.json = async (ask, values) => viewer.parse(await page.ask(ask, values));

  // A new worker without files. All data of the old one is freed.
  page.restart = () => {
    worker?.terminate();
    // Questions about the old files stay without an answer: their views are gone.
    waiting.clear();
    worker = start();
  };
  page.restart();
  page.module = module;
})();
