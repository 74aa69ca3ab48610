// Texts: strings from files, numbers, types and shapes. Nothing here needs a browser.
(() => {
  "use strict";

  // A string from a file: characters that are invisible or change the direction of text are escaped, as on a terminal.
  viewer.text = (text) =>
    String(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu, (character) =>
      character === "\n" ? "\n" : `\\u{${character.codePointAt(0).toString(16)}}`,
    );

  // A text of at most so many characters, which ends with `…` if it was longer.
  viewer.cut = (text, limit) => {
    const characters = [...viewer.text(text)];
    return characters.length > limit ? characters.slice(0, limit - 1).join("") + "…" : characters.join("");
  };

  // A number of bytes in the largest unit in which it is at least 1.
  viewer.bytes = (count) => {
    const units = ["KiB", "MiB", "GiB", "TiB"];
    let [rest, unit] = [count, "B"];
    for (const larger of units) {
      if (Math.abs(rest) < 1023.95) break;
      [rest, unit] = [rest / 1024, larger];
    }
    return unit === "B" ? `${count} B` : `${rest.toFixed(1)} ${unit}`;
  };

  // An integer with its thousands separated.
  viewer.grouped = (number) => number.toLocaleString("en");

  viewer.count = (count, what, more = `${what}s`) => `${viewer.grouped(count)} ${count === 1 ? what : more}`;

  // A part of a whole in percent.
  viewer.share = (part, whole) =>
    part > 0 && part < whole / 2000 ? "< 0.1 %" : `${((100 * part) / (whole || 1)).toFixed(1)} %`;

  // A name, which may be empty, invisible or very long.
  viewer.name = (name) => (String(name).trim() ? viewer.cut(name, 300) : JSON.stringify(name));

  // A path of modules, which is empty for the model itself.
  viewer.module = (path) => (path === "" ? "the model" : viewer.cut(path, 80));

  // Any number, in at most four digits unless it is an integer.
  viewer.number = (number) => {
    if (Number.isInteger(number) && Math.abs(number) < 1e9) return viewer.grouped(number);
    const short = Number(Number(number).toPrecision(4));
    return Math.abs(short) < 1e9 ? String(short) : short.toExponential();
  };

  // Times of traces. A trace does not have the length of a tick: a nanosecond, unless the user chooses another.
  viewer.tick = 1;
  viewer.time = (count) => {
    const ticks = count * viewer.tick;
    const units = [
      ["s", 1e9],
      ["ms", 1e6],
      ["µs", 1e3],
      ["ns", 1],
    ];
    const [unit, per] = units.find(([, per]) => ticks >= per) || ["ns", 1];
    return `${Number((ticks / per).toPrecision(3))} ${unit}`;
  };

  const shortTypes = {
    FLOAT: "f32",
    HALF: "f16",
    BFLOAT16: "bf16",
    DOUBLE: "f64",
    LONG: "i64",
    INT: "i32",
    SHORT: "i16",
    CHAR: "i8",
    BYTE: "u8",
    BOOL: "bool",
    UINT16: "u16",
    UINT32: "u32",
    UINT64: "u64",
    8: "complex32",
    9: "complex64",
    10: "complex128",
    18: "bits1x8",
    19: "bits2x4",
    20: "bits4x2",
    21: "bits8",
  };
  viewer.type = (type) => shortTypes[type] || String(type).toLowerCase();

  // The usual order of dimensions: 0, 1, 2, …
  viewer.isContiguous = (order) => order.every((dim, index) => dim === index);

  // `f32[1, 3]` for anything with a type and sizes.
  viewer.shape = (tensor) => {
    if (!tensor || !tensor.sizes) return "";
    const dynamic = tensor.shape_dynamism;
    const size = (size) => (dynamic === "DYNAMIC_BOUND" ? `<=${size}` : dynamic === "DYNAMIC_UNBOUND" ? "?" : size);
    const order = viewer.isContiguous(tensor.dim_order || []) ? "" : ` dim order ${tensor.dim_order.join(",")}`;
    return `${viewer.type(tensor.scalar_type)}[${tensor.sizes.map(size).join(", ")}]${order}`;
  };

  // The use of a weight by a node inside a delegate: `XNNConv2d 3: weight`.
  viewer.inside = (use) => `${use.operator ? `${use.operator} ${use.node}: ` : ""}${use.role}`;
  viewer.insideShape = (use) => `${use.type}[${use.sizes.join(", ")}]`;

  // Equal texts that follow each other, as one entry: `{ text, first, count }`.
  viewer.runs = (texts) => {
    const runs = [];
    texts.forEach((text, first) => {
      if (runs.at(-1)?.text === text) runs.at(-1).count += 1;
      else runs.push({ text, first, count: 1 });
    });
    return runs;
  };

  // The number of times that each text occurs, the most frequent first: `[text, count]`.
  viewer.frequencies = (texts) => {
    const counts = new Map();
    for (const text of texts) counts.set(text, (counts.get(text) || 0) + 1);
    return [...counts].sort((left, right) => right[1] - left[1]);
  };

  // Reports leave out what is not known, or have `null` for it.
  viewer.isKnown = (value) => value !== undefined && value !== null;
})();
