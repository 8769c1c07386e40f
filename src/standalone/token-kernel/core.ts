/**
 * The loop of a token kernel: take, admit, record, execute, record. `create-token-kernel.ts` shows it to hosts.
 *
 * Owns: the order of things. Never: which is next (the ready queue), whether it may (admission), whether an event may
 * follow (the chart in machines/token.ts), what a token does (the executor).
 * 1.  No clock, no chance: the same submissions, seed and executor give the same events, byte for byte. Time is the
 *     position in the stream (EVT-02).
 * 2.  Admission and `started` are synchronous and in order; only executors may take their time.
 * 3.  A draft that is refused at submit leaves nothing, not even an id; a token that is refused at admission leaves its
 *     event.
 * 4.  Who depends on a token that failed, was refused or was cancelled is cancelled; who depends on one that yielded
 *     waits for what it yielded.
 */
import { compileChart, tokenMachine } from "../../../machines/index.ts";
import { digest } from "../../contract/digest.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { deepFreeze, type Json, type JsonObject } from "../../contract/json.ts";
import { raise } from "../../contract/kernel-error.ts";
import { isPromise } from "../../contract/maybe-promise.ts";
import {
  type CapabilityHandle,
  type CapabilityLimits,
  type KernelToken,
  rolledBack,
  type TokenDraft,
  type TokenEvent,
  type TokenEventKind,
  type TokenId,
} from "../../contract/token.ts";
import {
  type RunningToken,
  sealSnapshot,
  type TokenCapture,
  type TokenSnapshot,
} from "../../contract/token-snapshot.ts";
import { errorOf } from "../../engine/actors/within.ts";
import { admitToken } from "../../tiers/t5-ego/admission/admit-token.ts";
import { createAdmission, registerCapability } from "../../tiers/t5-ego/admission/register-capability.ts";
import { restoreAccounts, TokenAccounts } from "./accounts.ts";
import { createContext } from "./context.ts";
import {
  type ExecutionStatus,
  type ReadDraft,
  readCapture,
  readCustom,
  readDraft,
  readJson,
  readLimits,
  readMemory,
  readStatus,
  refuseLimit,
  refuseNow,
  type TokenKernelLimits,
  type TokenKernelOptions,
  tokenRef,
} from "./options.ts";
import { type RunSummary, TokenStream } from "./stream.ts";

/** The result of the token that was taken. */
export interface Processed {
  readonly token_id: TokenId;
  readonly status: "completed" | "failed" | "yielded" | "refused";
}

const chart = compileChart(tokenMachine);

type Settled = { readonly output: Json } | { readonly yielded: readonly ReadDraft[] };

export class TokenKernelCore {
  readonly chain: TokenSnapshot[] = [];
  accounts: TokenAccounts;
  readonly #stream = new TokenStream();
  readonly #options: TokenKernelOptions;
  readonly #limits: TokenKernelLimits;
  /** Lets a replay submit what came while an executor ran; called before anything of that executor is recorded. */
  readonly #catchUp: () => void;
  #executing = false;

  constructor(options: TokenKernelOptions, catchUp: () => void = () => undefined) {
    const { snapshot, seed } = options;
    const capture = snapshot === undefined ? null : readCapture(snapshot, seed);
    this.#options = options;
    this.#catchUp = catchUp;
    this.#limits = deepFreeze(readLimits(capture?.limits ?? options.limits));
    this.accounts = new TokenAccounts(createAdmission(this.#limits));
    if (capture !== null) this.#restore(capture);
  }

  #restore({ events, snapshots }: TokenCapture): void {
    for (const event of events) this.#stream.record(event);
    const last = snapshots.at(-1) as TokenSnapshot;
    this.chain.push(...(last.token_id === null ? snapshots.slice(0, -1) : snapshots).map(deepFreeze));
    this.accounts = restoreAccounts(deepFreeze(last.state));
  }

  registerCapability(name: string, limits?: Partial<CapabilityLimits>): CapabilityHandle {
    const { state, handle } = registerCapability(this.accounts.admission, name, limits);
    this.accounts.admission = state;
    return handle;
  }

  submitToken(draft: TokenDraft): TokenId {
    return this.#schedule(this.#requireRoom([this.#check(draft)])[0] as ReadDraft, null);
  }

  processNext(): Processed | null | Promise<Processed | null> {
    this.#requireOutside();
    const resumed = this.accounts.running.get(this.accounts.suspended.shift() ?? 0);
    if (resumed !== undefined) return this.#execute(resumed);
    const id = this.accounts.queue.next();
    return id === undefined ? null : this.#admit(this.accounts.queued.get(id) as KernelToken);
  }

  run(): RunSummary | Promise<RunSummary> {
    const from = this.stream.length;
    for (let next = this.processNext(); next !== null; next = this.processNext())
      if (isPromise(next)) return this.#runOn(next, from);
    return this.#stream.summarize(from, this.accounts.queue.size);
  }

  async #runOn(first: Promise<Processed | null>, from: number): Promise<RunSummary> {
    for (let next = await first; next !== null; next = await this.processNext());
    return this.#stream.summarize(from, this.accounts.queue.size);
  }

  get stream(): readonly TokenEvent[] {
    return this.#stream.events;
  }

  toJsonl(): string {
    return this.#stream.toJsonl();
  }

  snapshot(): TokenCapture {
    const { seed } = this.#options;
    const now = this.#seal({ token_id: null, executor_state: null, restores: null });
    return { seed, limits: this.#limits, events: [...this.stream], snapshots: [...this.chain, now] };
  }

  rollback(index: number): TokenSnapshot {
    this.#requireOutside();
    const target = this.chain[index];
    if (target === undefined)
      raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `there is no snapshot ${index}`, tokenRef));
    if (this.accounts.running.size > this.accounts.suspended.length) refuseNow("a token is running");
    const before = this.accounts;
    // A copy, so that a context of the run that went before is none of the one to come.
    this.accounts = restoreAccounts(deepFreeze(structuredClone(target.state)), before.admission);
    this.#forget(before);
    this.#recordRollback(target, before);
    const entry = deepFreeze(this.#seal({ ...target, restores: index }));
    this.chain.push(entry);
    return entry;
  }

  /** Ids are given once: what was submitted after the snapshot is cancelled, not unmade. */
  #forget(before: TokenAccounts): void {
    for (let id = this.accounts.lastId + 1; id <= before.lastId; id += 1) this.accounts.move(id, "cancelled");
    this.accounts.lastId = before.lastId;
  }

  /** Records one event for each token whose state has changed, that of the snapshot first. */
  #recordRollback({ index, token_id }: TokenSnapshot, before: TokenAccounts): void {
    const owner = token_id as TokenId;
    const ids = Array.from({ length: before.lastId }, (_, i) => i + 1).filter(
      (id) => id !== owner && before.stateOf(id) !== this.accounts.stateOf(id),
    );
    for (const id of [owner, ...ids]) {
      const detail = { restores: index, state: this.accounts.stateOf(id) };
      this.#stream.record({ token_id: id, kind: "custom", label: rolledBack, detail });
    }
  }

  #check(draft: unknown): ReadDraft {
    const read = readDraft(draft, this.#limits);
    const next = this.accounts.lastId + 1;
    for (const id of read.dependencies) if (id >= next) refuseDependency(id, id === next ? "itself" : "unknown");
    return read;
  }

  #requireRoom(drafts: readonly ReadDraft[]): readonly ReadDraft[] {
    const { max_queued, max_submitted } = this.#limits;
    if (this.accounts.queue.size + drafts.length > max_queued) refuseLimit("max_queued", max_queued);
    if (this.accounts.lastId + drafts.length > max_submitted) refuseLimit("max_submitted", max_submitted);
    return drafts;
  }

  #schedule(draft: ReadDraft, parent: TokenId | null): TokenId {
    const id = this.accounts.lastId + 1;
    const token: KernelToken = deepFreeze({ id, ...draft });
    this.#emit(id, "scheduled", { ...token, sequence: id, parent });
    this.accounts.lastId = id;
    const waitsFor = this.accounts.unmetOf(token.dependencies);
    this.accounts.enqueue(token, waitsFor);
    const dead = waitsFor.find((dependency) => this.accounts.isDead(dependency));
    if (dead !== undefined) this.#cancelDependents(dead);
    return id;
  }

  #admit(token: KernelToken): Processed | Promise<Processed> {
    const { id } = token;
    this.accounts.queue.remove(id);
    const admission = admitToken(token, this.accounts.admission);
    if (!admission.admitted) {
      this.#emit(id, admission.kind, admission.detail);
      this.#cancelDependents(id);
      return { token_id: id, status: "refused" };
    }
    this.accounts.admission = admission.state;
    this.#emit(id, "started", admission.detail);
    const charged = deepFreeze({ ...token, budget: admission.budget });
    return this.#execute({ token: charged, checkpoint: null, draws: 0 });
  }

  #execute(running: RunningToken): Processed | Promise<Processed> {
    const { id } = running.token;
    this.accounts.running.set(id, running);
    const end = (answer: unknown): Processed => this.#end(running.token, () => this.#settle(id, answer));
    const fail = (thrown: unknown): Processed => this.#end(running.token, () => rethrow(thrown));
    let answer: unknown;
    try {
      answer = this.#call(running);
    } catch (thrown) {
      return fail(thrown);
    }
    return answer instanceof Promise ? answer.then(end, fail) : end(answer);
  }

  #call(running: RunningToken): unknown {
    this.#executing = true;
    try {
      const answer = this.#options.executor(running.token, this.#contextOf(running));
      return isPromise(answer) ? Promise.resolve(answer) : answer;
    } finally {
      this.#executing = false;
    }
  }

  /** Applies the executor's answer; all of it is checked before any of it is applied. */
  #settle(id: TokenId, answer: unknown): Settled {
    const status = readStatus(answer as ExecutionStatus);
    if (status.status === "Completed") return { output: readJson(status.output ?? null, this.#limits, "output") };
    const yielded = this.#requireRoom(status.tokens.map((draft) => this.#check(draft)));
    for (const { dependencies } of yielded)
      if (this.accounts.reaches(this.accounts.unmetOf(dependencies), id)) refuseDependency(id, "cyclic");
    return { yielded };
  }

  #end(token: KernelToken, settle: () => Settled): Processed {
    const { id, budget } = token;
    this.#catchUp();
    let settled: Settled;
    try {
      settled = settle();
    } catch (thrown) {
      return this.#fail(token, thrown);
    }
    if ("yielded" in settled) return this.#yield(id, settled.yielded);
    this.#emit(id, "completed", { status: "completed", output: settled.output, budget });
    this.accounts.queue.complete(id);
    return { token_id: id, status: "completed" };
  }

  #fail({ id, budget }: KernelToken, thrown: unknown): Processed {
    const { code, message } = errorOf(thrown, "T4_TOKEN_EXECUTOR_FAILED", tokenRef);
    const error = { code, message: message.slice(0, maxMessage).toWellFormed() };
    this.#emit(id, "completed", { status: "failed", error, budget });
    this.#cancelDependents(id);
    return { token_id: id, status: "failed" };
  }

  #yield(id: TokenId, drafts: readonly ReadDraft[]): Processed {
    const tokens = drafts.map((_, i) => this.accounts.lastId + 1 + i);
    this.#emit(id, "yielded", { tokens });
    this.accounts.handOn(id, tokens);
    for (const draft of drafts) this.#schedule(draft, id);
    return { token_id: id, status: "yielded" };
  }

  /** Cancels everything that depends on `id`, directly or indirectly. */
  #cancelDependents(id: TokenId): void {
    const dead = [id];
    for (const dependency of dead)
      for (const dependent of this.accounts.queue.dependentsOf(dependency)) {
        this.accounts.queue.remove(dependent);
        this.#emit(dependent, "custom", { dependency }, "dependency_cancelled");
        dead.push(dependent);
      }
  }

  #contextOf(running: RunningToken) {
    const { capability } = running.token;
    return createContext(this.#options.seed, running, {
      now: () => this.stream.length,
      capabilityUsage: () => this.accounts.admission.capabilities.get(capability ?? 0)?.usage ?? null,
      resourceUsage: () => this.accounts.admission.governor,
      emit: (label, detail) => this.#emitCustom(this.#requireRun(running), label, detail),
      checkpoint: (state, draws) => this.#checkpoint(this.#requireRun(running), state, draws),
      write: (key, value) => this.#write(this.#requireRun(running), key, value),
      read: (key) => this.#read(this.#requireRun(running), key),
    });
  }

  #emitCustom(id: TokenId, label: unknown, detail: unknown): void {
    const custom = readCustom({ label, detail }, this.#limits);
    this.#emit(id, "custom", custom.detail, custom.label);
  }

  #checkpoint(id: TokenId, state: unknown, draws: number): TokenSnapshot {
    const { max_snapshots } = this.#limits;
    const { token } = this.accounts.running.get(id) as RunningToken;
    const executor_state = readJson(state, this.#limits, "a checkpoint");
    if (this.chain.length >= max_snapshots) refuseLimit("max_snapshots", max_snapshots);
    this.accounts.running.set(id, { token, checkpoint: executor_state, draws });
    this.#emit(id, "snapshot_created", { index: this.chain.length, state_hash: digest(executor_state) });
    const entry = deepFreeze(this.#seal({ token_id: id, executor_state, restores: null }));
    this.chain.push(entry);
    return entry;
  }

  #write(id: TokenId, key: unknown, value: unknown): void {
    const { max_memory_keys } = this.#limits;
    const { memory } = this.accounts;
    const written = deepFreeze(readMemory({ key, value: value ?? null }, this.#limits));
    if (!memory.has(written.key) && memory.size >= max_memory_keys) refuseLimit("max_memory_keys", max_memory_keys);
    this.#emit(id, "memory_write", written);
    memory.set(written.key, written.value);
  }

  #read(id: TokenId, wanted: unknown): Json | undefined {
    const { key } = readMemory({ key: wanted, value: null }, this.#limits);
    this.#emit(id, "memory_read", { key, found: this.accounts.memory.has(key) });
    return this.accounts.memory.get(key);
  }

  /** Returns the id of a token that still runs in this run: it was not restored from a snapshot since. */
  #requireRun({ token }: RunningToken): TokenId {
    this.#catchUp();
    if (this.accounts.running.get(token.id)?.token === token) return token.id;
    return refuseNow(`token ${token.id} has ended`, { token_id: token.id });
  }

  #requireOutside(): void {
    if (this.#executing) refuseNow("an executor is running: it yields tokens, and does not process them");
  }

  #seal(about: Pick<TokenSnapshot, "token_id" | "executor_state" | "restores">): TokenSnapshot {
    const { token_id, executor_state, restores } = about;
    const now = { timestamp: this.stream.length, events_hash: this.#stream.hash, state: this.accounts.capture() };
    return sealSnapshot(this.chain, { token_id, executor_state, restores, ...now });
  }

  #emit(id: TokenId, kind: TokenEventKind, detail: object, label: string | null = null): void {
    const { status = null } = detail as { readonly status?: string };
    const from = this.accounts.stateOf(id);
    const state = chart.next(from, { type: kind, label, status } as { readonly type: string });
    if (state === undefined) refuseNow(`token ${id} is ${from}: it accepts no ${kind}`, { token_id: id, state: from });
    this.accounts.move(id, state);
    this.#stream.record({ token_id: id, kind, label, detail: detail as JsonObject });
  }
}

/** The limit on the characters that are kept of an executor's error. */
const maxMessage = 2_000;

function rethrow(thrown: unknown): never {
  throw thrown;
}

function refuseDependency(dependency: TokenId, reason: "itself" | "unknown" | "cyclic"): never {
  const message = `a token may not depend on ${dependency}: ${reason}`;
  raise(kernelError("T4_TOKEN_DEPENDENCY_INVALID", message, tokenRef, { detail: { dependency, reason } }));
}
