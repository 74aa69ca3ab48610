// The viewer of reports. `viewer.show(report)` draws the JSON of `Model::report`, with the findings of verification; every string
// from a file is put into the page as text, never as markup.
const viewer = { views: [] };

// Colours, meanings, and the reading of a report.
(() => {
  "use strict";

  // The colour of each kind of bytes and of each kind of node, the same in every picture.
  viewer.colors = {
    constant: "#8fb8de",
    initial_state: "#f2c48d",
    delegate: "#b9aee0",
    named: "#9fd3c0",
    external: "#c9d6a3",
    program: "#f0e0a0",
    header: "#d8b4a0",
    padding: "#d5dde5",
    unreferenced: "#e39a9a",
  };
  viewer.nodeColors = {
    input: "#d8ead2",
    output: "#d8ead2",
    state: "#fbe5cc",
    delegate: "#d9d3ec",
    inside: "#d9d3ec",
    move: "#f6d3d3",
    jump: "#f6d3d3",
    kernel: "#dce9f7",
    unknown: "#dddddd",
    block: "#e2e6f6",
  };
  // The colours for a small scale, at which boxes have a few pixels.
  viewer.farColors = {
    input: "#6aa84f",
    output: "#6aa84f",
    state: "#e69138",
    delegate: "#8e7cc3",
    inside: "#8e7cc3",
    move: "#cc5555",
    jump: "#cc5555",
    kernel: "#6a9fd4",
    unknown: "#999999",
    block: "#7f8fd0",
  };

  // The meaning of each kind of bytes, for users who do not know the format.
  viewer.kinds = {
    constant: "tensors that methods read",
    initial_state: "initial content of tensors that methods write",
    delegate: "payloads that backends run",
    named: "data with a key, for backends and methods",
    external: "data for programs in other files",
    program: "tables: methods, operators, values, names of data",
    header: "where the parts of the file are",
    padding: "unused bytes that align the data",
    unreferenced: "nothing in the file refers to it",
  };

  // A page's data: base64 of zlib of JSON.
  viewer.unpack = async (text) => {
    const bytes = Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return viewer.parse(await new Response(stream).text());
  };

  // An integer that JavaScript would round also keeps its digits.
  const exact = (key, value, context) =>
    Number.isInteger(value) && !Number.isSafeInteger(value) && context?.source
      ? Object.assign(new Number(value), { digits: context.source })
      : value;

  viewer.parse = (json) => (/[:,[]\s*-?\d{16}/.test(json) ? JSON.parse(json, exact) : JSON.parse(json));
})();
