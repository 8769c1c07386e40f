/**
 * The token kernel as hosts hold it: prioritized tokens under budgets, one event for each thing that happens to one
 * (seed 001). It stands alone; inside a workflow the executor schedules and admits by the same queue and the same
 * admission.
 *
 * Owns: the names. Never: the work (core.ts), the way back from a record (replay-tokens.ts).
 */
import type {
  CapabilityEntry,
  CapabilityHandle,
  CapabilityLimits,
  GovernorUsage,
  TokenDraft,
  TokenEvent,
  TokenId,
} from "../../contract/token.ts";
import type { TokenCapture, TokenSnapshot } from "../../contract/token-snapshot.ts";
import { type Processed, TokenKernelCore } from "./core.ts";
import { type Answered, checkTokenOptions, type TokenExecutor, type TokenKernelOptions } from "./options.ts";
import type { RunSummary } from "./stream.ts";

/** Tokens under capabilities, a governor and budgets, without workflows. */
export interface TokenKernel<E extends TokenExecutor = TokenExecutor> {
  /** @throws KernelErrorException (input) for a bad name or limit, or a known name with other limits. */
  readonly registerCapability: (name: string, limits?: Partial<CapabilityLimits>) => CapabilityHandle;
  /**
   * Queues a token and gives its id.
   * @throws KernelErrorException: input for a bad draft or dependency, resource for a full queue; nothing is recorded.
   */
  readonly submitToken: (draft: TokenDraft) => TokenId;
  /** Takes the next ready token; null when there is none. A promise only if the executor gave one. */
  readonly processNext: () => Answered<E, Processed | null>;
  /** Takes one token after the other until none is ready. */
  readonly run: () => Answered<E, RunSummary>;
  readonly events: () => readonly TokenEvent[];
  /** One event a line, without a line break at the end. */
  readonly toJsonl: () => string;
  /** All that a kernel needs to go on from here, as plain JSON. */
  readonly snapshot: () => TokenCapture;
  /** Returns the checkpoints that executors saved, and rollbacks: a chain for `verifySnapshots`. */
  readonly snapshots: () => readonly TokenSnapshot[];
  /** Goes back to a snapshot; what was spent stays spent. @throws KernelErrorException while a token runs. */
  readonly rollback: (index: number) => TokenSnapshot;
  readonly capabilities: () => readonly CapabilityEntry[];
  readonly governor: () => GovernorUsage;
  readonly queueLength: () => number;
}

/**
 * Creates a kernel for tokens alone.
 * @throws KernelErrorException (input) for invalid options and limits, and for a snapshot that is broken or of another
 * seed.
 */
export function createTokenKernel<E extends TokenExecutor>(options: TokenKernelOptions<E>): TokenKernel<E> {
  checkTokenOptions(options as unknown as TokenKernelOptions);
  const core = new TokenKernelCore(options);
  return {
    registerCapability: (name, limits) => core.registerCapability(name, limits),
    submitToken: (draft) => core.submitToken(draft),
    // The core's answer is a promise only if the executor gave one.
    processNext: () => core.processNext() as Answered<E, Processed | null>,
    run: () => core.run() as Answered<E, RunSummary>,
    events: () => [...core.stream],
    toJsonl: () => core.toJsonl(),
    snapshot: () => core.snapshot(),
    snapshots: () => [...core.chain],
    rollback: (index) => core.rollback(index),
    capabilities: () => [...core.accounts.admission.capabilities.values()],
    governor: () => core.accounts.admission.governor,
    queueLength: () => core.accounts.queue.size,
  };
}
