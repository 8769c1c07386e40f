/**
 * The port of browsers' sessions: the store of login codes and sessions, so that they outlive a process and are the
 * same in all processes that share the store.
 *
 * 1.  The stored records lead to no code and to no secret: `name` is a digest.
 * 2.  If several callers redeem one code at once, in any processes, one succeeds.
 * 3.  The number of each kind is limited; the least recently used are dropped.
 */
import type { ScopedCaller } from "../contract/auth-context.ts";

/** A session of a browser, or a link that begins one, by digest. */
export interface SessionRecord {
  readonly name: string;
  /** The kind; a redeemed code stays, as `used`, so that its repetition is recognised. */
  readonly kind: "code" | "used" | "session";
  /** Tenant and principal as one text, by which `drop` selects. */
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
  /** Finds a session by its name; null if there is none. */
  readonly find: (name: string) => Promise<SessionRecord | null>;
  /** Keeps when a session was last used. */
  readonly touch: (name: string, at: number) => Promise<void>;
  /** Makes a `code` that has not ended at this instant `used`. */
  readonly redeem: (name: string, at: number) => Promise<boolean>;
  /** Removes one, or the codes and sessions that are this holder's; gives the names that went. */
  readonly drop: (which: { readonly name: string } | { readonly holder: string }) => Promise<readonly string[]>;
}
