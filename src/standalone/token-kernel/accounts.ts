/**
 * The state of a token kernel: tokens and their states, the queue, the accounts, memory. Snapshots hold it.
 *
 * Owns: the state, and its form as plain data. Never: decides; the chart, admission and the queue do.
 * 1.  `restoreAccounts(accounts.capture())` go on as the accounts themselves would.
 * 2.  Tokens that completed are forgotten, but for their id.
 */
import type { AdmissionState } from "../../contract/admission.ts";
import type { Json } from "../../contract/json.ts";
import type { KernelToken, TokenId } from "../../contract/token.ts";
import type { RunningToken, TokenKernelState } from "../../contract/token-snapshot.ts";
import { ReadyQueue } from "../../engine/actors/ready-queue.ts";

/** States that leave a trace: who depends on one of these waits in vain. */
const deadStates = ["failed", "refused", "cancelled"] as const;

export class TokenAccounts {
  lastId = 0;
  admission: AdmissionState;
  readonly queue = new ReadyQueue<TokenId>();
  readonly queued = new Map<TokenId, KernelToken>();
  readonly running = new Map<TokenId, RunningToken>();
  /** Running by the record, but not in this process: taken up again before anything else. */
  readonly suspended: TokenId[] = [];
  readonly memory = new Map<string, Json>();
  readonly #states = new Map<TokenId, string>();
  readonly #heirs = new Map<TokenId, readonly TokenId[]>();

  constructor(admission: AdmissionState) {
    this.admission = admission;
  }

  /** Returns the state by the chart's name. */
  stateOf(id: TokenId): string {
    return this.#states.get(id) ?? (id <= this.lastId ? "completed" : "submitted");
  }

  isDead(id: TokenId): boolean {
    return deadStates.some((state) => state === this.#states.get(id));
  }

  move(id: TokenId, state: string): void {
    if (state === "completed") this.#states.delete(id);
    else this.#states.set(id, state);
    if (state !== "scheduled") this.queued.delete(id);
    if (state !== "running") this.running.delete(id);
  }

  enqueue(token: KernelToken, waitsFor: readonly TokenId[]): void {
    this.queued.set(token.id, token);
    this.queue.add({ id: token.id, priority: token.priority, sequence: token.id, dependencies: waitsFor });
  }

  /** Replaces a token by those that continue its work. */
  handOn(id: TokenId, heirs: readonly TokenId[]): void {
    this.#heirs.set(id, heirs);
    this.queue.replace(id, heirs);
  }

  /** Returns the dependencies that have not completed, with successors in place of yielded tokens. */
  unmetOf(dependencies: readonly TokenId[]): readonly TokenId[] {
    const unmet = new Set<TokenId>();
    const seen = new Set<TokenId>();
    const open = dependencies.toReversed();
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      if (seen.has(id) || this.stateOf(id) === "completed") continue;
      seen.add(id);
      const heirs = this.#heirs.get(id);
      if (heirs === undefined) unmet.add(id);
      else open.push(...heirs.toReversed());
    }
    return [...unmet];
  }

  /** Returns whether one of `ids` is `target`, or waits for it. */
  reaches(ids: readonly TokenId[], target: TokenId): boolean {
    const seen = new Set<TokenId>();
    const open = [...ids];
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      if (id === target) return true;
      if (seen.has(id)) continue;
      seen.add(id);
      open.push(...this.queue.dependenciesOf(id));
    }
    return false;
  }

  capture(): TokenKernelState {
    const inState = (wanted: string): TokenId[] =>
      [...this.#states].flatMap(([id, state]) => (state === wanted ? [id] : [])).sort((a, b) => a - b);
    return {
      last_id: this.lastId,
      queue: this.queue
        .entries()
        .map(({ id, dependencies }) => ({ token: this.queued.get(id) as KernelToken, waits_for: [...dependencies] })),
      running: [...this.running.values()],
      failed: inState("failed"),
      refused: inState("refused"),
      cancelled: inState("cancelled"),
      yielded: [...this.#heirs].map(([token_id, tokens]) => ({ token_id, tokens: [...tokens] })),
      capabilities: [...this.admission.capabilities.values()],
      governor: this.admission.governor,
      memory: [...this.memory].map(([key, value]) => ({ key, value })),
    };
  }

  /** Takes over a captured state; only for accounts that are new. */
  fill(state: TokenKernelState): void {
    this.lastId = state.last_id;
    for (const name of deadStates) for (const id of state[name]) this.#states.set(id, name);
    for (const { token_id, tokens } of state.yielded) {
      this.#states.set(token_id, "yielded");
      this.#heirs.set(token_id, tokens);
    }
    for (const { token, waits_for } of state.queue) {
      this.#states.set(token.id, "scheduled");
      this.enqueue(token, waits_for);
    }
    for (const running of state.running) {
      this.#states.set(running.token.id, "running");
      this.running.set(running.token.id, running);
      this.suspended.push(running.token.id);
    }
    for (const { key, value } of state.memory) this.memory.set(key, value);
  }
}

/** Restores accounts from the state. The accounts may be others than the state's: spent amounts stay spent. */
export function restoreAccounts(
  state: TokenKernelState,
  admission: AdmissionState = admissionOf(state),
): TokenAccounts {
  const accounts = new TokenAccounts(admission);
  accounts.fill(state);
  return accounts;
}

const admissionOf = ({ capabilities, governor }: TokenKernelState): AdmissionState => ({
  capabilities: new Map(capabilities.map((entry) => [entry.handle, entry])),
  governor,
});
