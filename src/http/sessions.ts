/**
 * Browser sessions: a code that is used once becomes a secret that a cookie carries.
 *
 * Owns: codes and sessions, in this process's memory. Never: a secret itself; only digests are kept.
 * S1  Code and secret are 256 random bits. A code is good once, and until it expires; a session ends when it was idle too
 *     long, when it is too old, and when its holder says so.
 * S2  Both are bounded: beyond the limit the one that was used longest ago goes.
 * S3  What was opened with a session is told when it ends, however it does. Only requests keep a session from being idle.
 * S4  The CSRF token follows from the secret and does not lead back to it.
 */
import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../index.ts";
import { createEnders, type Enders, type Watch } from "./credential-end.ts";
import type { HttpCaller } from "./http-options.ts";

export interface SessionTimes {
  readonly codeMs: number;
  readonly idleMs: number;
  readonly maxAgeMs: number;
  readonly maxCodes: number;
  readonly maxSessions: number;
}

export interface Session {
  readonly caller: HttpCaller;
  readonly csrfToken: string;
  /** When it ends unless it is used again; epoch ms. */
  readonly expiresAt: number;
  readonly watch: Watch;
}

export interface Sessions {
  /** A code that becomes a session of this caller's. */
  readonly mintCode: (caller: HttpCaller) => string;
  /** The secret of a new session; null where the code is none, or no longer. */
  readonly begin: (code: string) => string | null;
  readonly find: (secret: string) => Session | null;
  readonly end: (secret: string) => void;
}

interface Code {
  readonly digest: Buffer;
  readonly caller: HttpCaller;
  readonly expiresAt: number;
}

interface Kept {
  readonly caller: HttpCaller;
  readonly bornAt: number;
  usedAt: number;
  readonly enders: Enders;
}

/** The form of codes and secrets; anything else is not looked up. */
export const secretPattern = /^[\w-]{43}$/;
const newSecret = (): string => randomBytes(32).toString("base64url");
const digestOf = (text: string): Buffer => hash("sha256", text, "buffer");

/** By its digest a secret may be looked up: how long that takes tells of the digest, and a digest leads to no secret. */
const nameOf = (secret: string): string => hash("sha256", secret, "base64url");
const csrfOf = (secret: string): string => hash("sha256", `csrf ${secret}`, "base64url");

export function createSessions(times: SessionTimes, clock: Clock): Sessions {
  const { now } = clock;
  const kept = new Map<string, Kept>();
  const endOf = ({ bornAt, usedAt }: Kept): number => Math.min(bornAt + times.maxAgeMs, usedAt + times.idleMs);
  const end = (name: string): void => {
    const session = kept.get(name);
    kept.delete(name);
    session?.enders.end();
  };
  /** An open stream waits for the session's end, whenever requests have put that off to. */
  const watch = (name: string, session: Kept): Watch => {
    return (tell) => {
      let cancel = (): void => undefined;
      const arm = (): void => {
        cancel = clock.setTimer(endOf(session), () => (endOf(session) <= now() ? end(name) : arm()), true);
      };
      arm();
      const forget = session.enders.watch(tell);
      return () => {
        cancel();
        forget();
      };
    };
  };
  const begin = (caller: HttpCaller): string => {
    const secret = newSecret();
    for (const name of tooMany(kept, times.maxSessions)) end(name);
    kept.set(nameOf(secret), { caller, bornAt: now(), usedAt: now(), enders: createEnders() });
    return secret;
  };
  const find = (secret: string): Session | null => {
    const name = nameOf(secret);
    const session = kept.get(name);
    if (session === undefined) return null;
    if (endOf(session) <= now()) {
      end(name);
      return null;
    }
    session.usedAt = now();
    kept.delete(name);
    kept.set(name, session);
    const { caller } = session;
    return { caller, csrfToken: csrfOf(secret), expiresAt: endOf(session), watch: watch(name, session) };
  };
  const codes = createCodes(times, now);
  return {
    mintCode: codes.mint,
    begin(code) {
      const caller = codes.take(code);
      return caller === null ? null : begin(caller);
    },
    find,
    end: (secret) => end(nameOf(secret)),
  };
}

/** Codes are few: each is compared, in constant time. */
function createCodes({ codeMs, maxCodes }: SessionTimes, now: () => number) {
  let codes: readonly Code[] = [];
  const living = (): readonly Code[] => codes.filter((code) => code.expiresAt > now());
  return {
    mint(caller: HttpCaller): string {
      const code = newSecret();
      codes = [...living(), { digest: digestOf(code), caller, expiresAt: now() + codeMs }].slice(-maxCodes);
      return code;
    },
    take(code: string): HttpCaller | null {
      const digest = digestOf(code);
      codes = living();
      const found = codes.filter((known) => timingSafeEqual(known.digest, digest));
      codes = codes.filter((known) => !found.includes(known));
      return found[0]?.caller ?? null;
    },
  };
}

/** What goes so that one more finds room. The Map's order is that of use: the first was used longest ago. */
const tooMany = (kept: ReadonlyMap<string, Kept>, most: number): readonly string[] =>
  [...kept.keys()].slice(0, Math.max(0, kept.size - most + 1));
