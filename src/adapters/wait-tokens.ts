/**
 * One-time addresses of waits: the names of workflow and step, and a keyed digest of both.
 *
 * Owns: making and reading them. Never: stores one; the ledger has neither an address nor its digest.
 * 1.  An address cannot be guessed without the secret, and is the same in each process that has it.
 * 2.  A token that is read is genuine; all others are alike, whatever they name.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { z } from "zod";

const isPage = (url: string): boolean => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);

/** The option `waitTokens` of a kernel. */
export const WaitTokenOptions = z.strictObject({
  /**
   * Keys of at least 32 characters, which all processes on the ledger share. The first makes addresses, and each is
   * accepted, so that a key can be replaced.
   */
  secrets: z.array(z.string().min(32, "needs at least 32 characters")).min(1).readonly(),
  /** The address at which the HTTP API takes answers, such as `https://work.example.com/v1/waits/`. */
  url: z.string().refine(isPage, "must be an http or https address"),
});
export type WaitTokenOptions = z.output<typeof WaitTokenOptions>;

/** The wait that an address is for. */
export interface TokenOwner {
  readonly workflow_id: string;
  readonly step_id: string;
}

export interface WaitTokens {
  readonly urlOf: (owner: TokenOwner) => string;
  /** Returns the wait that a token is for; null unless this kernel, or one with its secret, has made the token. */
  readonly read: (token: string) => TokenOwner | null;
}

/** Makes the addresses of a kernel that has the option. */
export function createWaitTokens({ secrets, url }: WaitTokenOptions): WaitTokens {
  const base = url.endsWith("/") ? url : `${url}/`;
  return {
    urlOf({ workflow_id, step_id }) {
      const name = Buffer.from(JSON.stringify([workflow_id, step_id])).toString("base64url");
      return `${base}${name}.${macOf(secrets[0] as string, name).toString("base64url")}`;
    },
    read(token) {
      const [name = "", mac = "", ...more] = token.split(".");
      const given = Buffer.from(mac, "base64url");
      const isGenuine = more.length === 0 && secrets.some((secret) => isSame(macOf(secret, name), given));
      if (!isGenuine || given.toString("base64url") !== mac) return null;
      const [workflow_id, step_id] = JSON.parse(Buffer.from(name, "base64url").toString()) as [string, string];
      return { workflow_id, step_id };
    },
  };
}

const macOf = (secret: string, name: string): Buffer =>
  createHmac("sha256", secret).update(`countersign wait ${name}`).digest();

const isSame = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other);
