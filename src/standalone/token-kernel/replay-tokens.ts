/**
 * The way back from a record of token events to the kernel that wrote it (EVT-13): what came from outside is fed in
 * again, where it came in; everything else must follow by itself.
 *
 * Owns: reading JSON Lines, the order of feeding, and the comparison. Never: copies an event; each is made again.
 * 1.  Submissions come from outside when their `scheduled` names no parent; they are fed at the same place in the
 *     stream, be it in the midst of another token's run.
 * 2.  Limits and capabilities that nobody gives are read from the record: `started` shows the governor's ceilings, and
 *     a refusal what was left. A ceiling that nothing ever met stands nowhere, and makes no difference.
 * 3.  Several asynchronous executors at once are started in the recorded order; what they do between is theirs.
 */

import { wallClock } from "../../adapters/wall-clock.ts";
import type { StartedDetail } from "../../contract/admission.ts";
import { canonicalJson } from "../../contract/digest.ts";
import { KernelErrorException } from "../../contract/kernel-error.ts";
import { isPromise } from "../../contract/maybe-promise.ts";
import {
  type CapabilityEntry,
  type CapabilityHandle,
  type CapabilityLimits,
  type CapabilityUsage,
  type GovernorLimits,
  rolledBack,
  type TokenDraft,
  TokenEvent,
  tokenEventToJson,
} from "../../contract/token.ts";
import type { TokenCapture } from "../../contract/token-snapshot.ts";
import { messageOf } from "../../engine/actors/within.ts";
import { TokenKernelCore } from "./core.ts";
import { checkReplayOptions, refuseRecord, type TokenKernelOptions } from "./options.ts";

/** The options of the recorded kernel. */
export interface TokenReplayOptions extends TokenKernelOptions {
  /** The capabilities in the order of their handles; by default those that the record shows. */
  readonly capabilities?: readonly { readonly name: string; readonly limits?: Partial<CapabilityLimits> }[];
  /**
   * The time that an executor may continue while the record shows no end, in real ms; 30,000. Its expiry is the
   * difference.
   */
  readonly patienceMs?: number;
  /** Begin at this capture in place of the beginning; the record holds the whole stream all the same. */
  readonly snapshot?: TokenCapture;
}

/** The first event that is not as it was recorded; null stands for an event that is not there. */
export interface TokenReplayDifference {
  readonly timestamp: number;
  readonly expected: TokenEvent | null;
  readonly actual: TokenEvent | null;
  readonly reason: string;
}

/** Whether a token kernel, run again from its record, gave the same lines. */
export interface TokenReplay {
  readonly identical: boolean;
  /** The lines of the fresh kernel, up to the end of the record or just past the first difference. */
  readonly jsonl: string;
  readonly difference: TokenReplayDifference | null;
}

/**
 * Returns the events of JSON Lines, sorted by timestamp; empty lines are ignored.
 * @throws KernelErrorException (input, T4_TOKEN_RECORD_INVALID) that names the line, from 1.
 */
export function parseTokenEvents(jsonl: string): readonly TokenEvent[] {
  if (typeof jsonl !== "string") refuseRecord("a record is JSON Lines, as text", { line: 0 });
  const events = jsonl.split("\n").flatMap((line, i) => (line.trim() === "" ? [] : [parseLine(line, i + 1)]));
  return events.sort((a, b) => a.timestamp - b.timestamp);
}

function parseLine(line: string, number: number): TokenEvent {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (thrown) {
    refuseRecord(`line ${number} is not JSON: ${messageOf(thrown)}`, { line: number });
  }
  const read = TokenEvent.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  return refuseRecord(`line ${number} is no token event: ${issue?.path.join(".")} ${issue?.message}`, { line: number });
}

/**
 * Runs the recorded tokens again in a fresh kernel with the same seed and executor.
 * @throws KernelErrorException (input) for a malformed record or snapshot; a difference is an answer, no error.
 */
export async function replayTokens(jsonl: string, options: TokenReplayOptions): Promise<TokenReplay> {
  checkReplayOptions(options);
  const recorded = parseTokenEvents(jsonl);
  try {
    const replay = new TokenReplaying(recorded, options);
    await replay.run();
    const difference = replay.difference();
    return { identical: difference === null, jsonl: replay.core.toJsonl(), difference };
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) throw thrown;
    // Lines that are token events each, and tell together what no kernel writes.
    return refuseRecord(`the record cannot be replayed: ${messageOf(thrown)}`, { events: recorded.length });
  }
}

class TokenReplaying {
  readonly core: TokenKernelCore;
  readonly #recorded: readonly TokenEvent[];
  readonly #passes: (event: TokenEvent | undefined) => CapabilityHandle | null;
  readonly #derived: ReadonlyMap<CapabilityHandle, CapabilityEntry>;
  readonly #open = new Set<Promise<unknown>>();
  #compared = 0;
  /** The refusal of the fresh kernel where the recorded one accepted, or the event that it waited for in vain. */
  #refused: string | null = null;
  readonly #patienceMs: number;

  constructor(recorded: readonly TokenEvent[], options: TokenReplayOptions) {
    const given = options.capabilities;
    this.#recorded = recorded;
    this.#patienceMs = options.patienceMs ?? 30_000;
    this.#passes = findShelved(recorded);
    this.#derived = given === undefined ? deriveCapabilities(recorded, this.#passes) : new Map();
    this.core = new TokenKernelCore({ limits: deriveLimits(recorded), ...options }, () => this.#feed());
    if (options.snapshot === undefined)
      for (const { name, limits } of given ?? []) this.core.registerCapability(name, limits);
  }

  async run(): Promise<void> {
    while (this.core.stream.length < this.#recorded.length && this.#isSame() && this.#refused === null) {
      const before = this.core.stream.length;
      this.#feed();
      if (this.core.stream.length > before) continue;
      if ((this.#begins() || this.#open.size === 0) && this.#take()) continue;
      // Nothing is ready: what comes next, if anything, comes from an executor that has not ended.
      if (this.#open.size === 0 || !(await this.#awaitEnd())) return;
    }
    // What still runs has an end, which the record lacks.
    while (this.core.stream.length === this.#recorded.length && this.#open.size > 0)
      if (!(await this.#awaitEnd())) return;
  }

  /**
   * Waits for the end of an executor; false if none ends in time, because it waits for something that the record lacks.
   */
  async #awaitEnd(): Promise<boolean> {
    let cancel: () => void = () => undefined;
    const late = new Promise<false>((resolve) => {
      cancel = wallClock.setTimer(wallClock.now() + this.#patienceMs, () => resolve(false));
    });
    const ended = Promise.race(this.#open).then(
      () => true,
      () => true,
    );
    const inTime = await Promise.race([ended, late]);
    cancel();
    if (!inTime) this.#refused ??= "an executor goes on, and the record tells of no end";
    return inTime;
  }

  difference(): TokenReplayDifference | null {
    const { stream } = this.core;
    for (let at = 0; at < Math.max(stream.length, this.#recorded.length); at += 1) {
      const [expected = null, actual = null] = [this.#recorded[at], stream[at]];
      if (textOf(expected) !== textOf(actual))
        return { timestamp: at + 1, expected, actual, reason: this.#refused ?? reasonOf(expected, actual) };
    }
    if (this.#refused === null) return null;
    return { timestamp: this.#recorded.length + 1, expected: null, actual: null, reason: this.#refused };
  }

  get #next(): TokenEvent | undefined {
    return this.#recorded[this.core.stream.length];
  }

  /** Returns whether all that was made so far is as it was recorded; each event is compared once. */
  #isSame(): boolean {
    const { stream } = this.core;
    while (this.#compared < stream.length) {
      if (textOf(stream[this.#compared]) !== textOf(this.#recorded[this.#compared])) return false;
      this.#compared += 1;
    }
    return true;
  }

  /** Feeds all input from outside at this place of the stream. */
  #feed(): void {
    for (let next = this.#next; next !== undefined && isSubmission(next); next = this.#next)
      if (!this.#try(() => this.core.submitToken(draftOf(next)))) return;
  }

  #begins(): boolean {
    const kind = this.#next?.kind ?? "";
    return kind === "started" || kind.endsWith("_violation");
  }

  /** Takes what is next, and returns whether there was anything to take. */
  #take(): boolean {
    const { label = null, detail = {} } = this.#next ?? {};
    if (label === rolledBack) return this.#try(() => this.core.rollback(detail["restores"] as number));
    this.#register();
    const answer = this.core.processNext();
    if (!isPromise(answer)) return answer !== null;
    const open: Promise<unknown> = answer.finally(() => this.#open.delete(open));
    // One that ends after the difference is known is awaited by nobody.
    open.catch(() => undefined);
    this.#open.add(open);
    return true;
  }

  /** Registers a capability when the record first shows it. */
  #register(): void {
    const { accounts } = this.core;
    const entry = this.#derived.get(this.#passes(this.#next) ?? 0);
    if (entry === undefined || accounts.admission.capabilities.has(entry.handle)) return;
    const capabilities = new Map(accounts.admission.capabilities).set(entry.handle, entry);
    accounts.admission = { ...accounts.admission, capabilities };
  }

  #try(act: () => unknown): boolean {
    try {
      act();
      return true;
    } catch (thrown) {
      this.#refused ??= `the fresh kernel refused it: ${messageOf(thrown)}`;
      return false;
    }
  }
}

/** Returns the submitted draft: `scheduled` holds it beside the token's place in the stream. */
const draftOf = ({ detail: { sequence: _at, parent: _of, ...token } }: TokenEvent): TokenDraft =>
  token as unknown as TokenDraft;

const isSubmission = ({ kind, detail }: TokenEvent): boolean => kind === "scheduled" && detail["parent"] === null;

const textOf = (event: TokenEvent | null | undefined): string =>
  event === null || event === undefined ? "" : JSON.stringify(tokenEventToJson(event));

function reasonOf(expected: TokenEvent | null, actual: TokenEvent | null): string {
  if (expected === null) return "the record has ended, and the fresh kernel goes on";
  if (actual === null) return "the record goes on, and the fresh kernel has nothing to do";
  const keys = ["timestamp", "token_id", "kind", "label"] as const;
  const key = keys.find((name) => expected[name] !== actual[name]);
  return `${key ?? `detail.${differingKey(expected.detail, actual.detail)}`} is not the same`;
}

function differingKey(one: TokenEvent["detail"], other: TokenEvent["detail"]): string {
  const keys = Object.keys({ ...one, ...other });
  return keys.find((key) => canonicalJson(one[key] ?? null) !== canonicalJson(other[key] ?? null)) ?? "order";
}

/**
 * Returns the governor's ceilings, as far as the record shows them. Nothing was consumed before the first `started`.
 */
function deriveLimits(recorded: readonly TokenEvent[]): Partial<GovernorLimits> {
  const started = recorded.find(({ kind }) => kind === "started")?.detail as unknown as StartedDetail | undefined;
  const limits: Record<string, number | null> = {};
  for (const { kind, detail } of recorded)
    if (kind === "resource_violation") limits[detail["resource"] as string] ??= detail["remaining"] as number;
  const of = (resource: keyof StartedDetail["resources"]["usage"]): number | null =>
    started === undefined ? (limits[resource] ?? null) : started.resources.usage[resource].limit;
  return { cpu_time: of("cpu"), memory_bytes: of("memory"), network_bytes: of("network"), tokens: of("tokens") };
}

/** Tells of an event the capability that must have been registered by then; null for none. */
function findShelved(recorded: readonly TokenEvent[]): (event: TokenEvent | undefined) => CapabilityHandle | null {
  const scheduled = recorded.filter(({ kind }) => kind === "scheduled");
  const needs = new Map(scheduled.map(({ token_id, detail }) => [token_id, detail["capability"] as number | null]));
  const tells = (event: TokenEvent) => event.kind === "started" || event.kind.endsWith("_violation");
  return (event) =>
    event === undefined || !tells(event) || event.detail["error"] === "not_found"
      ? null
      : (needs.get(event.token_id) ?? null);
}

/** Returns each capability that was used or refused, with the ceilings that a refusal showed, and no usage. */
function deriveCapabilities(
  recorded: readonly TokenEvent[],
  passes: (event: TokenEvent) => CapabilityHandle | null,
): ReadonlyMap<CapabilityHandle, CapabilityEntry> {
  const entries = new Map<CapabilityHandle, CapabilityEntry>();
  const used = new Map<CapabilityHandle, CapabilityUsage>();
  for (const event of recorded) {
    const handle = passes(event);
    if (handle === null) continue;
    const known = entries.get(handle);
    const { invocations = 0, tokens_total = 0, capability_name } = event.detail as Partial<StartedDetail>;
    if (event.kind === "started") used.set(handle, { invocations, tokens: tokens_total });
    const limits = known?.limits ?? { max_invocations: null, max_tokens: null };
    entries.set(handle, {
      handle,
      name: capability_name ?? known?.name ?? `capability ${handle}`,
      limits: { ...limits, ...ceilingOf(event.detail, used.get(handle) ?? unused) },
      usage: unused,
    });
  }
  return entries;
}

const unused: CapabilityUsage = { invocations: 0, tokens: 0 };

/** Returns the ceilings that a refusal shows: the used and the remaining amounts. */
function ceilingOf({ error, remaining }: TokenEvent["detail"], used: CapabilityUsage): Partial<CapabilityLimits> {
  if (error === "invocation_budget_exceeded") return { max_invocations: used.invocations + (remaining as number) };
  return error === "token_budget_exceeded" ? { max_tokens: used.tokens + (remaining as number) } : {};
}
