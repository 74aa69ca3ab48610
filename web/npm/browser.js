// For browsers and bundlers, which find the module by its URL.
import { connect } from "./model.js";

export { FileError, Model } from "./model.js";

export const { open, verify } = connect(async () =>
  (await fetch(new URL("./module.wasm", import.meta.url))).arrayBuffer(),
);
