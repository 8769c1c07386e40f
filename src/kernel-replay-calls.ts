/**
 * Operator calls of a replay: no operator runs, each call is answered by the end that the ledger recorded of it (C-37).
 *
 * Owns: the calls under way, and which recorded events have been given to them. Never: makes a call, moves time.
 * O1  A call ends when its recorded end is what comes next: completions keep their recorded order.
 * O2  A call whose end is not in the record, or is a timeout that left it running, does not answer. One that said itself
 *     that nobody knows how it ended says so again.
 */

import { z } from "zod";
import type { Usage } from "./contract/action.ts";
import { KernelErrorException } from "./contract/error.ts";
import { type EventPayloads, type EventType, type LedgerEvent, payloadOf } from "./contract/event.ts";
import type { Json } from "./contract/json.ts";
import type { Operator, OperatorCall, OperatorContext } from "./contract/operator.ts";
import type { Verdict } from "./ports/perception.ts";
import type { RecordedSource } from "./runtime/recorded-source.ts";

/** What the record holds has passed the operator's own schema. */
const anything = z.unknown();

interface OpenCall {
  readonly call: OperatorCall;
  readonly resolve: (result: Json) => void;
  readonly reject: (thrown: unknown) => void;
}

export class RecordedCalls {
  readonly #source: () => RecordedSource;
  readonly #onCall: () => void;
  /** By step and attempt. */
  readonly #open = new Map<string, OpenCall>();
  /** Calls that a later one of the same step and attempt has followed: what they say now comes late. */
  readonly #late = new Map<string, OpenCall>();
  readonly #given = new Set<number>();
  readonly #sanitized: string[] = [];

  constructor(source: () => RecordedSource, onCall: () => void) {
    this.#source = source;
    this.#onCall = onCall;
  }

  /** The operator as a replay has it: its word on inputs holds, what it would do or show comes from the record. */
  answering(operator: Operator): Operator {
    return {
      metadata: operator.metadata,
      input: operator.input,
      output: anything,
      tool: null,
      run: (call) => this.#hold(call as unknown as OperatorCall),
      preview: operator.preview === null ? null : ({ context }) => this.#shown(context),
      check: operator.check == null ? null : ({ context }) => this.#checked(context.step_id),
    };
  }

  isOpen(stepId: string | null): boolean {
    return [...this.#open.values(), ...this.#late.values()].some(({ call }) => call.context.step_id === stepId);
  }

  /** The process that made the calls is gone. */
  drop(): void {
    this.#open.clear();
    this.#late.clear();
  }

  /** A recorded event has been met: a start makes way for its own call. */
  meet(event: LedgerEvent): void {
    if (event.event_type !== "ACTION_STARTED") return;
    const key = keyOf(event.step_id, payloadOf(event, "ACTION_STARTED").attempt);
    const before = this.#open.get(key);
    if (before !== undefined) this.#late.set(key, before);
    this.#open.delete(key);
  }

  /**
   * Gives a recorded event that comes next to the call it came from; false when it comes from none, or was given. `orLate`
   * where nothing else can happen: an end that no call of now waits for is a late one.
   */
  give(event: LedgerEvent, orLate = false): boolean {
    switch (event.event_type) {
      case "STEP_STREAMED":
        return this.#streamed(event);
      case "TOKEN_RECORDED":
      case "ROUTE_DECIDED":
        return this.#said(event);
      case "OUTPUT_SANITIZED":
      case "OUTPUT_UNCHECKED":
        return this.#ended(this.#source().peek("ACTION_SUCCEEDED", event.step_id), orLate);
      case "ACTION_SUCCEEDED":
      case "ACTION_FAILED":
        return this.#ended(event, orLate);
      case "BUDGET_SETTLED":
        return orLate && this.#settled(event);
      default:
        return false;
    }
  }

  /** What the host's validator said of an output, which the record holds as it left it. */
  readonly validateOutput = (): Verdict<string> => {
    const { next } = this.#source();
    // What the key store answers with is looked at again without a call.
    const again = next?.event_type === "OUTPUT_SANITIZED" ? payloadOf(next, "OUTPUT_SANITIZED").reason : undefined;
    const reason = this.#sanitized.shift() ?? again;
    return reason === undefined ? { ok: true } : { ok: false, reason };
  };

  #hold(call: OperatorCall): Promise<Json> {
    return new Promise((resolve, reject) => {
      this.#open.set(keyOf(call.context.step_id, call.attempt), { call, resolve, reject });
      this.#onCall();
    });
  }

  /** What the gate that opens next shows; until the step goes on without one, what it rests on is as it was shown. */
  #shown({ step_id, basis = [] }: OperatorContext): object {
    const next = this.#first(step_id, ["GATE_OPENED", "GATE_REVISED", ...goingOn]);
    if (next === null || goingOn.includes(next.event_type)) return { preview: "", diff: null, basis };
    const { gate } = payloadOf(next, "GATE_OPENED");
    return { preview: gate.preview, diff: gate.diff, ...(gate.basis === undefined ? {} : { basis: gate.basis }) };
  }

  /** A call that its operator found it could not make failed before anybody was asked about it. */
  #checked(stepId: string): void {
    const next = this.#first(stepId, ["GATE_OPENED", "GATE_REVISED", "STEP_FAILED", ...goingOn]);
    if (next?.event_type === "STEP_FAILED") throw new KernelErrorException(payloadOf(next, "STEP_FAILED").error);
  }

  #first(stepId: string, types: readonly EventType[]): LedgerEvent | null {
    const found = types.flatMap((type) => this.#source().peek(type, stepId) ?? []);
    return found.sort((a, b) => a.sequence - b.sequence)[0] ?? null;
  }

  #streamed(event: LedgerEvent): boolean {
    const batch = payloadOf(event, "STEP_STREAMED");
    const open = this.#open.get(keyOf(event.step_id, batch.attempt));
    if (open === undefined || batch.final || this.#given.has(event.sequence)) return false;
    this.#given.add(event.sequence);
    write(open.call, batch);
    return true;
  }

  /** What an operator recorded while it ran: events of its own, checkpoints, the routes that it asked for. */
  #said(event: LedgerEvent): boolean {
    const open = [...this.#open.values()].find(({ call }) => call.context.step_id === event.step_id);
    if (open === undefined || this.#given.has(event.sequence)) return false;
    this.#given.add(event.sequence);
    say(open.call, event);
    return true;
  }

  #ended(event: LedgerEvent | null, orLate: boolean): boolean {
    if (event === null || this.#given.has(event.sequence)) return false;
    const end = payloadOf(event, event.event_type as "ACTION_SUCCEEDED" | "ACTION_FAILED");
    const key = keyOf(event.step_id, end.attempt);
    const open = this.#open.get(key) ?? (orLate ? this.#late.get(key) : undefined);
    if (open === undefined || end.cached) return false;
    const { call, resolve, reject } = open;
    const isOut = "pending" in end && end.pending && end.error.code !== "T4_ACTION_IN_DOUBT";
    if (isOut && Object.keys(end.usage).length === 0) return false;
    this.#given.add(event.sequence);
    if (isOut) return this.#report(call, end.usage);
    const last = this.#lastBatch(event.step_id as string, call.attempt);
    if (last !== null) write(call, last);
    this.#report(call, end.usage);
    (this.#open.has(key) ? this.#open : this.#late).delete(key);
    if ("error" in end) reject(new KernelErrorException(end.error));
    else {
      const sanitized = this.#source().peek("OUTPUT_SANITIZED", event.step_id);
      if (sanitized !== null && sanitized.sequence < event.sequence)
        this.#sanitized.push(payloadOf(sanitized, "OUTPUT_SANITIZED").reason);
      resolve(end.result);
    }
    return true;
  }

  /** An end that nobody had an ear for any more left nothing but what was settled of its reservation. */
  #settled({ step_id, payload, sequence }: LedgerEvent): boolean {
    const [key, open] = [...this.#late, ...this.#open].find(([, { call }]) => call.context.step_id === step_id) ?? [];
    if (key === undefined || open === undefined || this.#given.has(sequence)) return false;
    this.#given.add(sequence);
    const { tokens, money } = (payload as unknown as EventPayloads["BUDGET_SETTLED"]).amounts;
    this.#report(open.call, { tokens: { in: 0, out: tokens, total: tokens }, cost: { total: money } } as Usage);
    (this.#late.get(key) === open ? this.#late : this.#open).delete(key);
    open.reject(new Error("its end came when nobody waited for it"));
    return true;
  }

  /** A call that its timeout left running had said what it used by then. */
  #report(call: OperatorCall, usage: Usage): true {
    for (const [name, used] of Object.entries(usage)) call.usage({ [name]: used } as Usage);
    return true;
  }

  /** What was streamed last is written down after the end. */
  #lastBatch(stepId: string, attempt: number): EventPayloads["STEP_STREAMED"] | null {
    const source = this.#source();
    const event = source.peek("STEP_STREAMED", stepId);
    const again = source.peek("ACTION_STARTED", stepId);
    if (event === null || (again !== null && again.sequence < event.sequence)) return null;
    const batch = payloadOf(event, "STEP_STREAMED");
    return batch.final && batch.attempt === attempt ? batch : null;
  }
}

/** How a step goes on from its gate. */
const goingOn: readonly EventType[] = ["USER_APPROVED", "GATE_VOTED", "ACTION_STARTED"];

function say(call: OperatorCall, event: LedgerEvent): void {
  if (event.event_type === "ROUTE_DECIDED")
    return void call.route(payloadOf(event, "ROUTE_DECIDED").request).catch(() => undefined);
  const { kind, label, detail } = payloadOf(event, "TOKEN_RECORDED");
  if (kind === "snapshot_created") call.checkpoint(detail["state"]);
  else call.emit(label ?? "", detail);
}

const keyOf = (stepId: string | null, attempt: number): string => `${attempt}/${stepId ?? ""}`;

function write(call: OperatorCall, { chunks, percent }: EventPayloads["STEP_STREAMED"]): void {
  for (const chunk of chunks) call.stream(chunk);
  if (percent !== null) call.report(percent);
}
