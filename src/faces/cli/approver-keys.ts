/**
 * Keys on the command line: the file of approvers' public keys (`--keys`), and the private key that signs (`--sign`).
 * Never: prints or keeps a private key.
 */
import { isPlainObject, type JsonObject } from "../../contract/json.ts";
import type { ApproverKeys } from "../../ports/signature-verifier.ts";
import { readJsonFile } from "./options.ts";
import { readTextFile, refuseFile } from "./refuse-file.ts";

/**
 * Reads the public keys of the file at `path`, a JSON object such as `{"user:ann": JWK, "7": [JWK, JWK]}`. A
 * principal's keys are found by its type and id, else by its id alone. @throws KernelErrorException
 * T0_CLI_FILE_INVALID.
 */
export function readApproverKeys(path: string): ApproverKeys {
  const keys = readKeysFile(path);
  return ({ type, id }) => {
    const found = keys[`${type}:${id}`] ?? keys[String(id)];
    return typeof found === "object" ? found : null;
  };
}

/** Reads the file of `--keys`, when the command runs. */
function readKeysFile(path: string): JsonObject {
  const what = `--keys ${path}`;
  const keys = readJsonFile(path, what);
  if (isPlainObject(keys)) return keys as JsonObject;
  return refuseFile(what, 'It must be a JSON object, such as {"user:ann": JWK}.');
}

/** Reads a private Ed25519 key from a file: a JWK, or PKCS #8 in PEM. @throws T0_CLI_FILE_INVALID, without the key. */
export function readSigningKey(path: string): object | string {
  const what = `--sign ${path}`;
  const text = readTextFile(path, what);
  if (!text.trimStart().startsWith("{")) return text;
  try {
    return JSON.parse(text) as object;
  } catch {
    return refuseFile(what, "The key cannot be read: it is no JSON.");
  }
}
