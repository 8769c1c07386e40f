/**
 * The port of browsers' sessions: where login codes and sessions are kept, so that they outlive a process and are the same
 * in all that share the store.
 *
 * 1.  What is kept leads to no code and to no secret: `name` is a digest.
 * 2.  Of all who redeem one code at once, in whatever processes, one is told true.
 * 3.  Of each kind at most so many stay; those that were used longest ago go.
 */
import type { ScopedCaller } from "../contract/auth-context.ts";

/** A session of a browser, or a link that begins one, by digest. */
export interface SessionRecord {
  readonly name: string;
  /** A code that was redeemed stays, as `used`: whoever brings it again is told. */
  readonly kind: "code" | "used" | "session";
  /** Tenant and principal as one text: what `drop` goes by. */
  readonly holder: string;
  readonly caller: ScopedCaller;
  /** These are epoch ms. */
  readonly born_at: number;
  readonly used_at: number;
  readonly ends_at: number;
}

/** The store of browser sessions. */
export interface SessionStore {
  /** Gives the names that had to go for it. */
  readonly keep: (record: SessionRecord, most: number) => Promise<readonly string[]>;
  /** Finds a session by its name; null where there is none. */
  readonly find: (name: string) => Promise<SessionRecord | null>;
  /** Keeps when a session was last used. */
  readonly touch: (name: string, at: number) => Promise<void>;
  /** Makes a `code` that has not ended at this instant `used`. */
  readonly redeem: (name: string, at: number) => Promise<boolean>;
  /** Removes one, or the codes and sessions that are this holder's; gives the names that went. */
  readonly drop: (which: { readonly name: string } | { readonly holder: string }) => Promise<readonly string[]>;
}
