/**
 * Canonical JSON (RFC 8785) and SHA-256 digests, which anybody can compute again.
 *
 * Owns: key order by UTF-16 code units, number form, the refusal of values that JSON lacks, the depth limit. Never:
 * hashes anything but bytes or canonical text. The only room file of contract/ that uses node:crypto.
 */
import { hash } from "node:crypto";
import { kernelError } from "./error-codes.ts";
import { raise } from "./kernel-error.ts";
import { moduleRef } from "./module-ref.ts";

/** Levels of nesting that canonical JSON accepts; a cycle ends here as well. */
export const maxJsonDepth = 1000;

const canonicalRef = moduleRef(0, "digest", "canonical_json");

/**
 * Returns the RFC 8785 text of a value. Members that are undefined, functions or symbols are dropped as in JSON, and
 * are null in lists; toJSON is honoured. Throws an input KernelErrorException for NaN, infinities, bigints, lone
 * surrogates, an undefined root, and more than `maxJsonDepth` levels or a cycle.
 */
export function canonicalJson(value: unknown): string {
  return write(value, "", 0) ?? refuse("there is no value at the root");
}

function write(input: unknown, key: string, depth: number): string | undefined {
  const value = unwrap(input, key);
  switch (typeof value) {
    case "string":
      return writeText(value);
    case "number":
      // A number's text is its JSON.
      return Number.isFinite(value) ? String(value) : refuse(`${value} has no JSON form`);
    case "boolean":
      return String(value);
    case "bigint":
      return refuse("a bigint has no JSON form");
    case "object":
      return value === null ? "null" : writeObject(value, depth + 1);
    default:
      return undefined;
  }
}

function unwrap(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { toJSON } = value as { toJSON?: unknown };
  const json: unknown = typeof toJSON === "function" ? toJSON.call(value, key) : value;
  return json instanceof Number || json instanceof String || json instanceof Boolean ? json.valueOf() : json;
}

/** Text that JSON writes unescaped between quotes. */
const plainText = /^[ !#-[\]-~]*$/;

function writeText(text: string): string {
  if (plainText.test(text)) return `"${text}"`;
  return text.isWellFormed() ? JSON.stringify(text) : refuse("text with a lone surrogate has no UTF-8 form");
}

function writeObject(value: object, depth: number): string {
  if (depth > maxJsonDepth) refuseDepth();
  if (Array.isArray(value)) return writeList(value, depth);
  let members = "";
  for (const key of sortedKeys(value)) {
    const text = write((value as Record<string, unknown>)[key], key, depth);
    if (text !== undefined) members += `${members === "" ? "" : ","}${writeText(key)}:${text}`;
  }
  return `{${members}}`;
}

function writeList(list: readonly unknown[], depth: number): string {
  let items = "";
  for (let at = 0; at < list.length; at += 1)
    items += `${at === 0 ? "" : ","}${write(list[at], String(at), depth) ?? "null"}`;
  return `[${items}]`;
}

/**
 * Returns the keys in order. Most objects have few keys that are nearly sorted, for which insertion is cheaper than
 * sorting a list.
 */
function sortedKeys(value: object): string[] {
  const keys = Object.keys(value);
  if (keys.length > fewKeys) return keys.sort();
  for (let i = 1; i < keys.length; i += 1) {
    const key = keys[i]!;
    let at = i;
    for (; at > 0 && keys[at - 1]! > key; at -= 1) keys[at] = keys[at - 1]!;
    keys[at] = key;
  }
  return keys;
}

const fewKeys = 24;

function refuse(reason: string): never {
  raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `canonical JSON: ${reason}`, canonicalRef));
}

function refuseDepth(): never {
  const message = `canonical JSON: nested deeper than ${maxJsonDepth} levels, or cyclic`;
  raise(kernelError("T0_VALIDATION_PAYLOAD_TOO_LARGE", message, canonicalRef, { detail: { limit: maxJsonDepth } }));
}

/** Returns the lower-case hex SHA-256 of bytes, or of text as UTF-8. */
export function sha256(data: string | Uint8Array): string {
  return hash("sha256", data);
}

/** Returns the lower-case hex SHA-256 of the value's canonical JSON. */
export function digest(value: unknown): string {
  return sha256(canonicalJson(value));
}
