/**
 * The context of an executor: the only way from inside a token to the kernel around it.
 *
 * Owns: the functions that executors use. Never: state; every call goes to the kernel, which records it.
 * 1.  A call after the token has ended is refused and leaves nothing.
 * 2.  Chance is the kernel's seed and the token's id: what other tokens draw meanwhile does not matter.
 */
import { seededRandom } from "../../adapters/seeded-random.ts";
import { digest } from "../../contract/digest.ts";
import type { Json } from "../../contract/json.ts";
import type { CapabilityHandle, CapabilityUsage, GovernorUsage } from "../../contract/token.ts";
import type { RunningToken, TokenSnapshot } from "../../contract/token-snapshot.ts";

/** The context that an executor of tokens receives. */
export interface TokenContext {
  readonly goal: string | null;
  readonly context_hash: string;
  readonly granted_capabilities: readonly CapabilityHandle[];
  /** The last checkpoint of this token, if it is restored from a snapshot; null on a first run. */
  readonly restored: Json;
  /** Virtual: the timestamp of the last event. */
  readonly now: () => number;
  /** Returns a number in [0, 1), repeated by the seed. */
  readonly random: () => number;
  /** Returns the usage of the token's own capability, including this call; null for a token without one. */
  readonly capabilityUsage: () => CapabilityUsage | null;
  /** Returns the usage of all tokens, including this one. */
  readonly resourceUsage: () => GovernorUsage;
  /** Records `custom` under a label of the executor's own. */
  readonly emit: (label: string, detail?: Readonly<Record<string, unknown>>) => void;
  /** Saves the executor's state and, with it, the kernel's: records `snapshot_created`. */
  readonly checkpoint: (state: unknown) => TokenSnapshot;
  /** Shared by all tokens; each use is recorded. `read` gives undefined for a key that nobody wrote. */
  readonly memory: {
    readonly write: (key: string, value: unknown) => void;
    readonly read: (key: string) => Json | undefined;
  };
}

/** The functions of the kernel for a running token. */
export interface ContextHooks {
  readonly now: () => number;
  readonly capabilityUsage: () => CapabilityUsage | null;
  readonly resourceUsage: () => GovernorUsage;
  readonly emit: (label: string, detail: unknown) => void;
  readonly checkpoint: (state: unknown, draws: number) => TokenSnapshot;
  readonly write: (key: string, value: unknown) => void;
  readonly read: (key: string) => Json | undefined;
}

export function createContext(seed: number | string, running: RunningToken, hooks: ContextHooks): TokenContext {
  const { token, checkpoint, draws } = running;
  const { now, capabilityUsage, resourceUsage, write, read } = hooks;
  const chance = drawFor(seed, token.id, draws);
  return Object.freeze({
    goal: token.goal,
    context_hash: token.context_hash,
    granted_capabilities: token.granted_capabilities,
    restored: checkpoint,
    now,
    random: chance.random,
    capabilityUsage,
    resourceUsage,
    emit: (label: string, detail: unknown = {}) => hooks.emit(label, detail),
    checkpoint: (state: unknown) => hooks.checkpoint(state, chance.drawn()),
    memory: Object.freeze({ write, read }),
  });
}

/** Returns the token's own random numbers, from the one after those it has drawn. */
function drawFor(seed: number | string, tokenId: number, drawn: number) {
  const next = seededRandom(Number.parseInt(digest({ seed, token_id: tokenId }).slice(0, 8), 16));
  let count = 0;
  const random = (): number => {
    count += 1;
    return next();
  };
  while (count < drawn) random();
  return { random, drawn: () => count };
}
