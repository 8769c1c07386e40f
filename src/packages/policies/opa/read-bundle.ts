/**
 * The bundle that `opa build -t wasm` writes: a tar archive, compressed by gzip, with a module, data and a manifest.
 *
 * 1.  A bundle that is cut off, holds a file twice, or unpacks to more than its limit is refused.
 * 2.  Data lie in `data.json` at the top, where `opa build` puts them; data elsewhere are refused, not lost.
 */
import { gunzipSync } from "node:zlib";
import { z } from "zod";
import { messageOf } from "../../../contract/kernel-error.ts";
import { refuseOpa } from "./opa-problem.ts";

/** The parts of a bundle that are used. */
export interface OpaParts {
  readonly wasm: Uint8Array;
  readonly data: Readonly<Record<string, unknown>>;
}

const maxUnpackedBytes = 64 * 2 ** 20;
const blockBytes = 512;

const Data = z.record(z.string(), z.unknown());
/** The part of OPA's manifest that says in which module an entry point is. */
const Manifest = z.object({
  wasm: z.array(z.object({ entrypoint: z.string(), module: z.string() })).default([]),
});

/** Returns the module with the entry point, and the data. @throws KernelErrorException T5_POLICY_INVALID. */
export function readBundle(bundle: Uint8Array, entrypoint: string): OpaParts {
  const files = readArchive(unpack(bundle));
  const stray = [...files.keys()].find((name) => /\/data\.(json|ya?ml)$|^data\.ya?ml$/.test(name));
  if (stray !== undefined)
    refuseOpa(`bundle:${stray}`, "data lie in data.json at the top: make the bundle with opa build");
  const { wasm: modules } = readJson(files, ".manifest", Manifest, { wasm: [] });
  const module = modules.find((one) => one.entrypoint === entrypoint)?.module;
  if (modules.length > 0 && module === undefined)
    refuseOpa("bundle:.manifest", `it has no entry point ${entrypoint}, but ${namesOf(modules)}`);
  const name = withoutRoot(module ?? "policy.wasm");
  const wasm = files.get(name) ?? refuseOpa("bundle", `it holds no ${name}: make it with opa build -t wasm`);
  return { wasm, data: readJson(files, "data.json", Data, {}) };
}

const namesOf = (modules: readonly { readonly entrypoint: string }[]): string =>
  modules.map(({ entrypoint }) => entrypoint).join(", ");

function unpack(bundle: Uint8Array): Buffer {
  try {
    return gunzipSync(bundle, { maxOutputLength: maxUnpackedBytes });
  } catch (thrown) {
    return refuseOpa("bundle", `it cannot be unpacked: ${messageOf(thrown)}`);
  }
}

/** Returns the files of a tar archive by their names, without the root. */
function readArchive(archive: Buffer): ReadonlyMap<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  for (let at = 0; at < archive.length && archive[at] !== 0; ) {
    const size = Number.parseInt(textAt(archive, at + 124, 12), 8);
    const begin = at + blockBytes;
    const isWhole = textAt(archive, at + 257, 5) === "ustar" && size >= 0 && begin + size <= archive.length;
    if (!isWhole) return refuseOpa("bundle", "it is no whole tar archive");
    const prefix = textAt(archive, at + 345, 155);
    const name = withoutRoot(`${prefix === "" ? "" : `${prefix}/`}${textAt(archive, at, 100)}`);
    const kind = textAt(archive, at + 156, 1);
    if (files.has(name)) return refuseOpa(`bundle:${name}`, "the bundle holds this file twice");
    if (kind === "0" || kind === "") files.set(name, archive.subarray(begin, begin + size));
    at = begin + Math.ceil(size / blockBytes) * blockBytes;
  }
  return files;
}

const textAt = (archive: Buffer, at: number, length: number): string => {
  const field = archive.subarray(at, at + length);
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end < 0 ? length : end);
};

const withoutRoot = (name: string): string => name.replace(/^(\.?\/)+/, "");

function readJson<T>(files: ReadonlyMap<string, Uint8Array>, name: string, shape: z.ZodType<T>, usual: T): T {
  const file = files.get(name);
  if (file === undefined) return usual;
  try {
    return shape.parse(JSON.parse(Buffer.from(file).toString()));
  } catch (thrown) {
    return refuseOpa(`bundle:${name}`, messageOf(thrown));
  }
}
