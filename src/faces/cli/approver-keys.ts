/**
 * Keys on the command line: the file of approvers' public keys (`--keys`), and the private key that signs (`--sign`).
 * Never: prints or keeps a private key.
 */
import { readFileSync } from "node:fs";
import { InvalidArgumentError } from "commander";
import { isPlainObject, type JsonObject } from "../../contract/json.ts";
import type { ApproverKeys } from "../../ports/signature-verifier.ts";
import { decodeUtf8 } from "../../protocol/decode-utf8.ts";
import { readJson } from "./options.ts";
import { UsageError } from "./report-error.ts";

/**
 * Reads the public keys of the file at `path`, a JSON object such as `{"user:ann": JWK, "7": [JWK, JWK]}`. A
 * principal's keys are found by its type and id, else by its id alone. @throws UsageError.
 */
export function readApproverKeys(path: string): ApproverKeys {
  const keys = readKeysFile(path);
  return ({ type, id }) => {
    const found = keys[`${type}:${id}`] ?? keys[String(id)];
    return typeof found === "object" ? found : null;
  };
}

/** Reads the file of `--keys`. It is read when the command runs, so that an unreadable file is a usage error. */
function readKeysFile(path: string): JsonObject {
  try {
    const keys = readJson(`@${path}`);
    if (isPlainObject(keys)) return keys as JsonObject;
    throw new Error('It must be a JSON object, such as {"user:ann": JWK}.');
  } catch (error) {
    throw new UsageError(`--keys ${path}: ${(error as Error).message}`);
  }
}

/** Reads a private Ed25519 key from the file at `path`: a JWK, or PKCS #8 in PEM. @throws InvalidArgumentError. */
export function readSigningKey(path: string): object | string {
  try {
    const text = decodeUtf8(readFileSync(path));
    return text.trimStart().startsWith("{") ? (JSON.parse(text) as object) : text;
  } catch (error) {
    throw new InvalidArgumentError(`The key cannot be read: ${(error as Error).message}.`);
  }
}
