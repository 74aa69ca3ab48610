import type { Answers, Finding, Fit, Memory, Operators, Releases, SizeReport, Summary, Weight } from "./answers.js";

export type * from "./answers.js";

/** The bytes of a file; in Node, also its path or `file:` URL, of which only the parts are read that an answer needs. */
export type Source = Uint8Array | ArrayBuffer | Blob | string | URL;

export interface Options {
  /** The name for messages; by default the file's own. */
  name?: string;
  /** The `.ptd` files that a program is used with. */
  data?: Source[];
}

/** A device: the keys of `pte fit --target`. What is left out is not checked. */
export interface Target {
  runtime?: string;
  libraries?: string[];
  operators?: Record<string, string[]>;
  "all-operators"?: boolean;
  "scalar-types"?: string[];
  backends?: string[];
  arena?: number | string;
  "method-allocator"?: number | string;
  "temp-allocator"?: boolean;
  accelerator?: string;
  scratch?: number | string;
  "pointer-bits"?: 32 | 64;
  "largest-file"?: number | string;
}

/** A file that cannot be read. */
export class FileError extends Error {
  /** The rule that it breaks, where, and what was expected. */
  readonly finding: Finding;
}

/**
 * An open file. Answers are those of the command `pte` with `--json`; each is computed once.
 * An integer that a number cannot hold is a `bigint`.
 */
export class Model {
  private constructor();
  /** Methods with inputs, outputs, operators and delegates; keys of a `.ptd`; metadata. */
  readonly summary: Summary;
  /** Where the bytes went. */
  readonly size: SizeReport | null;
  /** Planned memory; `null` for a file that is not a program. */
  readonly memory: Memory | null;
  /** Operators and backends; `null` for a file that is not a program. */
  readonly operators: Operators | null;
  /** The methods as graphs, with their layout. */
  readonly graphs: Answers["graphs"];
  /** Where the file loads, and what each release of ExecuTorch does with it. */
  readonly releases: Releases;
  /** The data of tensors, the largest first. */
  readonly tensors: Weight[];
  /** Checks the file at the strict level, with its `.ptd` files. */
  verify(): Finding[];
  /** Compares a program with a device. */
  fit(target: Target): Fit;
  /** Reads the bytes of a tensor. Fails if they are in no file that was opened. */
  bytes(tensor: Weight): Uint8Array;
  /** Makes a NumPy `.npy` file of a tensor. */
  npy(tensor: Weight): Uint8Array;
  /** Frees the memory of the WebAssembly module, and closes files. Memory of models that are not closed is never freed. */
  close(): void;
  [Symbol.dispose](): void;
}

/** Opens a `.pte`, `.ptd`, `.bpte` or `.etdp` file, or an XNNPACK payload. Fails with a `FileError` if it is damaged. */
export function open(source: Source, options?: Options): Promise<Model>;

/** Checks a file at the strict level; a damaged one has the finding that stops reading. */
export function verify(source: Source, options?: Options): Promise<Finding[]>;
