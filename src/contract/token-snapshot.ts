/**
 * Snapshots of a token kernel: each holds the whole state at one moment and the hash of the one before (EVT-14).
 *
 * Owns: the content of a snapshot, and the chain. Never: makes or restores the state (the token kernel does).
 * 1.  hash = digest of everything else in the entry, the previous hash included; the first follows 64 zeros. The hash
 *     of the events up to its time is part of it, so a snapshot vouches for the stream as well.
 * 2.  Nothing is rewritten: going back to a snapshot appends an entry that names it.
 */
import { z } from "zod";
import { digest, sha256 } from "./digest.ts";
import { isPlainObject, JsonValue } from "./json.ts";
import { CapabilityEntry, GovernorUsage, KernelToken, TokenEvent, TokenId, tokenEventToJson } from "./token.ts";

const ids = z.array(TokenId);
const count = z.int().nonnegative();

/**
 * A token that has started and not ended: its last checkpoint, and the count of random numbers it had drawn by then.
 */
export const RunningToken = z.object({ token: KernelToken, checkpoint: JsonValue, draws: count });
export type RunningToken = z.infer<typeof RunningToken>;

/**
 * The whole state that determines what a token kernel does next. Ids up to `last_id` that are not listed here have
 * completed.
 */
export const TokenKernelState = z.object({
  last_id: count,
  queue: z.array(z.object({ token: KernelToken, waits_for: ids })),
  running: z.array(RunningToken),
  failed: ids,
  refused: ids,
  cancelled: ids,
  /** The yielded tokens, each with the tokens that continue its work. */
  yielded: z.array(z.object({ token_id: TokenId, tokens: ids })),
  capabilities: z.array(CapabilityEntry),
  governor: GovernorUsage,
  memory: z.array(z.object({ key: z.string(), value: JsonValue })),
});
export type TokenKernelState = z.infer<typeof TokenKernelState>;

/** A sealed state of a token kernel, chained to the one before. */
export const TokenSnapshot = z.object({
  index: count,
  /** The token that saved it; null for the moment at which a host captured the kernel. */
  token_id: TokenId.nullable(),
  /** The virtual time: events up to this one had happened. */
  timestamp: count,
  /** The events up to then, each hashed with those before it (`hashEvents`). */
  events_hash: z.string(),
  /** The state that the token's executor saved. */
  executor_state: JsonValue,
  /** The index of the snapshot that was gone back to, or null. */
  restores: count.nullable(),
  state: TokenKernelState,
  previous_hash: z.string(),
  hash: z.string(),
});
export type TokenSnapshot = z.infer<typeof TokenSnapshot>;

/** A portable state from which a kernel can continue: plain JSON. The last snapshot is the state to begin with. */
export const TokenCapture = z.object({
  seed: z.union([z.number(), z.string()]),
  limits: z.record(z.string(), z.int().nonnegative().nullable()),
  events: z.array(TokenEvent),
  snapshots: z.array(TokenSnapshot).min(1),
});
export type TokenCapture = z.infer<typeof TokenCapture>;

const genesis = "0".repeat(64);

/**
 * Returns the hash of a stream: each line of its JSON is hashed with the hash of those before; 64 zeros before the
 * first.
 */
export const hashEvents = (events: readonly TokenEvent[], before: string = genesis): string =>
  events.reduce((hash, event) => sha256(hash + JSON.stringify(tokenEventToJson(event))), before);

/** Returns the next entry of the chain. */
export function sealSnapshot(
  chain: readonly TokenSnapshot[],
  content: Omit<TokenSnapshot, "index" | "previous_hash" | "hash">,
): TokenSnapshot {
  const entry = { index: chain.length, ...content, previous_hash: chain.at(-1)?.hash ?? genesis };
  return { ...entry, hash: digest(entry) };
}

/** The position and the kind of a break in a chain of snapshots. */
export interface SnapshotBreak {
  readonly index: number;
  /** `format`: it is no snapshot at all. */
  readonly reason: "index" | "previous_hash" | "hash" | "restores" | "format";
}

/** Returns the first entry that differs from its seal or is out of place; null if there is none. Never throws. */
export function verifySnapshots(chain: readonly TokenSnapshot[]): SnapshotBreak | null {
  if (!Array.isArray(chain)) return { index: 0, reason: "format" };
  let previous = genesis;
  for (let index = 0; index < chain.length; index += 1) {
    const entry: unknown = chain[index];
    const reason = isPlainObject(entry) ? breakSafely(entry as TokenSnapshot, index, previous) : "format";
    if (reason !== null) return { index, reason };
    previous = (entry as TokenSnapshot).hash;
  }
  return null;
}

/** Returns the break of an entry. One that cannot be hashed was never sealed. */
function breakSafely(entry: TokenSnapshot, index: number, previous: string): SnapshotBreak["reason"] | null {
  try {
    return breakOf(entry, index, previous) ?? (TokenSnapshot.safeParse(entry).success ? null : "format");
  } catch {
    return "format";
  }
}

function breakOf(entry: TokenSnapshot, index: number, previous: string): SnapshotBreak["reason"] | null {
  const { hash, ...sealed } = entry;
  if (entry.index !== index) return "index";
  if (entry.previous_hash !== previous) return "previous_hash";
  if (hash !== digest(sealed)) return "hash";
  return entry.restores !== null && entry.restores >= index ? "restores" : null;
}
