/**
 * Keys on the command line: the file of approvers' public keys (`--keys`), and the private key that signs (`--sign`).
 * Never: prints or keeps a private key.
 */
import { readFileSync } from "node:fs";
import { InvalidArgumentError } from "commander";
import type { ApproverKeys } from "../ports/signature-verifier.ts";
import { readJsonObject } from "./options.ts";

/** `{"user:ann": JWK, "7": [JWK, JWK]}`: by type and id, or by the id alone. */
export function readApproverKeys(path: string): ApproverKeys {
  const keys = readJsonObject(`@${path}`);
  return ({ type, id }) => {
    const found = keys[`${type}:${id}`] ?? keys[String(id)];
    return typeof found === "object" ? found : null;
  };
}

/** A private Ed25519 key: a JWK, or PKCS #8 in PEM. */
export function readSigningKey(path: string): object | string {
  try {
    const text = readFileSync(path, "utf8");
    return text.trimStart().startsWith("{") ? (JSON.parse(text) as object) : text;
  } catch (error) {
    throw new InvalidArgumentError(`The key cannot be read: ${(error as Error).message}.`);
  }
}
