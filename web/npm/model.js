// The API, for any place that has the WebAssembly module's bytes. All answers are made by the module, which is the same as the page's.
import { parse } from "./json.js";
import bindings from "./module.js";

/** A file that cannot be read. `finding` says which rule it breaks, where, and what was expected. */
export class FileError extends Error {
  constructor(name, finding) {
    super(`${name}: ${finding.message}`);
    this.name = "FileError";
    this.finding = finding;
  }
}

/** Calls the module, whose own errors are strings. */
function ask(question) {
  try {
    return question();
  } catch (error) {
    throw typeof error === "string" ? new Error(error) : error;
  }
}

/** A program with its data, or another file of ExecuTorch's. */
export class Model {
  #page;
  #files;
  #answers = new Map();

  constructor(page, files) {
    this.#page = page;
    this.#files = files;
  }

  #part(name) {
    if (!this.#page) throw new Error("the model is closed");
    if (!this.#answers.has(name)) this.#answers.set(name, parse(ask(() => this.#page.part(name))));
    return this.#answers.get(name);
  }

  get summary() {
    return this.#part("first").summary;
  }

  get size() {
    return this.#part("size");
  }

  get memory() {
    return this.#part("memory");
  }

  get operators() {
    return this.#part("operators");
  }

  get releases() {
    return this.#part("releases");
  }

  get graphs() {
    return this.#part("graphs");
  }

  get tensors() {
    return this.#part("weights");
  }

  verify() {
    return this.#part("findings");
  }

  fit(target) {
    if (!this.#page) throw new Error("the model is closed");
    return parse(ask(() => this.#page.fit(JSON.stringify(target))));
  }

  #place(tensor) {
    if (!this.#page) throw new Error("the model is closed");
    if (typeof tensor.offset !== "number") throw new Error("the bytes of this tensor are in no file that was opened");
    const index = tensor.data === undefined ? 0 : 1 + tensor.data;
    const start = index === 0 ? (this.#part("first").program_offset ?? 0) : 0;
    return { index, offset: tensor.offset, read: () => this.#files[index].read(start + tensor.offset, tensor.size) };
  }

  bytes(tensor) {
    const bytes = this.#place(tensor).read();
    if (bytes.length !== tensor.size) throw new Error("the file has become shorter");
    return bytes;
  }

  npy(tensor) {
    const { index, offset } = this.#place(tensor);
    const bytes = this.bytes(tensor);
    const saving = ask(() => this.#page.export(index, offset, tensor.size, false));
    try {
      const header = saving.header();
      if (!header) return ask(() => saving.finish(bytes));
      const file = new Uint8Array(header.length + bytes.length);
      file.set(header);
      file.set(bytes, header.length);
      return file;
    } finally {
      saving.free();
    }
  }

  close() {
    this.#page?.free();
    this.#page = undefined;
    for (const file of this.#files) file.close?.();
    this.#files = [];
    this.#answers.clear();
  }

  [Symbol.dispose ?? Symbol.for("Symbol.dispose")]() {
    this.close();
  }
}

/** Makes the functions of the package. `readModule` returns the module's bytes; `special` opens sources that only one platform has. */
export function connect(readModule, special = () => undefined) {
  let ready;

  async function fileOf(source, name) {
    const opened = special(source);
    if (opened) return name === undefined ? opened : { ...opened, name };
    if (typeof Blob !== "undefined" && source instanceof Blob) {
      const bytes = new Uint8Array(await source.arrayBuffer());
      return inMemory(bytes, name ?? source.name);
    }
    if (ArrayBuffer.isView(source))
      return inMemory(new Uint8Array(source.buffer, source.byteOffset, source.byteLength), name);
    if (source instanceof ArrayBuffer) return inMemory(new Uint8Array(source), name);
    throw new TypeError("expected bytes (a Uint8Array or an ArrayBuffer), a Blob, or, in Node, a path");
  }

  const inMemory = (bytes, name = "model") => ({
    name,
    size: bytes.length,
    read: (start, size) => bytes.subarray(start, start + size),
  });

  async function opened(source, { name, data = [] } = {}) {
    ready ??= Promise.resolve(readModule()).then((module) => bindings.initSync({ module }));
    await ready;
    const page = new bindings.Page();
    const files = [];
    const errors = [];
    const add = async (source, name) => {
      const file = await fileOf(source, name);
      files.push(file);
      const added = parse(ask(() => page.add(file.name, file.size, file)));
      if (added.error) errors.push(new FileError(file.name, added.error));
      return added;
    };
    const model = new Model(page, files);
    try {
      await add(source, name);
      for (const source of data) await add(source);
      const roles = parse(ask(() => page.roles()));
      const unused = files.find((_, index) => (index === 0 ? roles.main !== 0 : !roles.data.includes(index)));
      if (unused && errors.length === 0)
        throw new TypeError(`${unused.name}: expected a program, and .ptd files with it`);
    } catch (error) {
      model.close();
      throw error;
    }
    return { model, errors };
  }

  return {
    async open(source, options) {
      const { model, errors } = await opened(source, options);
      if (errors.length > 0) {
        model.close();
        throw errors[0];
      }
      return model;
    },

    async verify(source, options) {
      const { model } = await opened(source, options);
      try {
        return model.verify();
      } finally {
        model.close();
      }
    },
  };
}
