// For Node: a path or a file URL can be opened, and only the parts that are needed are read.
import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "./model.js";

export { FileError, Model } from "./model.js";

function openPath(path) {
  const file = openSync(path, "r");
  const status = fstatSync(file);
  if (!status.isFile()) {
    closeSync(file);
    throw new TypeError(`${path} is not a file`);
  }
  const read = (start, size) => {
    const bytes = new Uint8Array(size);
    let done = 0;
    while (done < size) {
      const count = readSync(file, bytes, done, size - done, start + done);
      if (count === 0) break;
      done += count;
    }
    return bytes.subarray(0, done);
  };
  return { name: basename(path), size: status.size, read, close: () => closeSync(file) };
}

export const { open, verify } = connect(
  () => readFileSync(new URL("./module.wasm", import.meta.url)),
  (source) => {
    if (typeof source === "string") return openPath(source);
    if (source instanceof URL) return openPath(fileURLToPath(source));
    return undefined;
  },
);
