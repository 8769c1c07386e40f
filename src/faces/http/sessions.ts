/**
 * Browser sessions: a code that is used once becomes a secret that a cookie carries.
 *
 * Owns: the end of codes and sessions, and its notification. Never: keeps them (the store does), nor a secret itself.
 * 1.  Code and secret are 256 random bits. A code is valid once, and until it expires; a session ends when it was idle
 *     too long, when it is too old, and when its holder signs out. All of that holds over restarts, and in all
 *     processes that share the store.
 * 2.  Both are bounded: beyond the limit the least recently used one is dropped.
 * 3.  Streams that were opened with a session are notified of its end, however it ends: at once in this process, within
 *     `recheckMs` in another. Only requests keep a session from being idle, except those marked as automatic.
 * 4.  The CSRF token is derived from the secret and does not reveal it.
 */
import { hash, randomBytes } from "node:crypto";
import { canonicalJson } from "../../contract/digest.ts";
import type { Clock, SessionRecord, SessionStore } from "../../index.ts";
import { createNamedEnders, endingWith, repeatedly, type Watch } from "./credential-end.ts";
import type { HttpCaller } from "./http-options.ts";

export interface SessionTimes {
  readonly codeMs: number;
  readonly idleMs: number;
  readonly maxAgeMs: number;
  readonly recheckMs: number;
  readonly maxCodes: number;
  readonly maxSessions: number;
}

export interface Session {
  readonly caller: HttpCaller;
  readonly csrfToken: string;
  /** The instant of its end unless it is used again; epoch ms. */
  readonly expiresAt: number;
  readonly watch: Watch;
}

/** The state of a code, and its instant (epoch ms). */
export type CodeState = { readonly is: "good" | "unknown" } | { readonly is: "used" | "expired"; readonly at: number };

export interface Sessions {
  /** A code that becomes a session of this caller's. */
  readonly mintCode: (caller: HttpCaller) => Promise<string>;
  readonly lookAt: (code: string) => Promise<CodeState>;
  /** Returns the secret of a new session; null if the code is unknown, or no longer valid. */
  readonly begin: (code: string) => Promise<string | null>;
  /** Finds a session; with `isUse` its idle time starts again. */
  readonly find: (secret: string, isUse: boolean) => Promise<Session | null>;
  readonly end: (secret: string) => Promise<void>;
  /** Ends all sessions of a principal, and the codes that would become some; gives how many those were. */
  readonly endAll: (caller: HttpCaller) => Promise<number>;
}

/** The form of codes and secrets; anything else is not looked up. */
export const secretPattern = /^[\w-]{43}$/;
const newSecret = (): string => randomBytes(32).toString("base64url");

/**
 * Returns the digest by which a secret is looked up: the time of a look-up depends on the digest, which reveals no
 * secret.
 */
const nameOf = (secret: string): string => hash("sha256", secret, "base64url");
const csrfOf = (secret: string): string => hash("sha256", `csrf ${secret}`, "base64url");
const holderOf = ({ tenant_id, principal }: HttpCaller): string =>
  canonicalJson([tenant_id, principal.type, principal.id]);

/** A session's use is written down when it moved by this part of `idleMs`: a request need not wait for a disk. */
const useStep = 1 / 100;

export function createSessions(times: SessionTimes, store: SessionStore, clock: Clock): Sessions {
  const { now } = clock;
  const enders = createNamedEnders();
  const endOf = ({ ends_at, used_at }: SessionRecord): number => Math.min(ends_at, used_at + times.idleMs);
  const findLiving = async (name: string): Promise<SessionRecord | null> => {
    const record = await store.find(name);
    return record?.kind === "session" && endOf(record) > now() ? record : null;
  };
  const use = async (record: SessionRecord): Promise<SessionRecord> => {
    if (now() - record.used_at < times.idleMs * useStep) return record;
    await store.touch(record.name, now());
    return { ...record, used_at: now() };
  };
  const keep = async (kind: "code" | "session", caller: HttpCaller): Promise<string> => {
    const secret = newSecret();
    const [ageMs, most] = kind === "code" ? [times.codeMs, times.maxCodes] : [times.maxAgeMs, times.maxSessions];
    const at = { born_at: now(), used_at: now(), ends_at: now() + ageMs };
    const record = { name: nameOf(secret), kind, holder: holderOf(caller), caller, ...at };
    enders.end(await store.keep(record, most));
    return secret;
  };
  const drop = async (which: Parameters<SessionStore["drop"]>[0]): Promise<number> => {
    const names = await store.drop(which);
    enders.end(names);
    return names.length;
  };
  const untilEnd = async (name: string): Promise<number | null> => {
    const record = await findLiving(name);
    return record === null ? null : Math.min(endOf(record), now() + times.recheckMs);
  };
  return {
    mintCode: (caller) => keep("code", caller),
    lookAt: async (code) => stateOf(await store.find(nameOf(code)), now()),
    async begin(code) {
      const name = nameOf(code);
      if (!(await store.redeem(name, now()))) return null;
      const record = await store.find(name);
      return record === null ? null : keep("session", record.caller);
    },
    async find(secret, isUse) {
      const found = await findLiving(nameOf(secret));
      if (found === null) return null;
      const record = isUse ? await use(found) : found;
      const { name, caller } = record;
      const watch = endingWith(
        enders.watch(name),
        repeatedly(clock, () => untilEnd(name), now()),
      );
      return { caller, csrfToken: csrfOf(secret), expiresAt: endOf(record), watch };
    },
    end: async (secret) => void (await drop({ name: nameOf(secret) })),
    endAll: (caller) => drop({ holder: holderOf(caller) }),
  };
}

function stateOf(record: SessionRecord | null, now: number): CodeState {
  if (record === null || record.kind === "session") return { is: "unknown" };
  if (record.kind === "used") return { is: "used", at: record.used_at };
  return record.ends_at > now ? { is: "good" } : { is: "expired", at: record.ends_at };
}
