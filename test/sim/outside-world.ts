/**
 * What is outside all kernels: calls that reached an operator and what they did there, and the order in which rows
 * became durable. It outlives every process.
 */
import { stepPath } from "../../machines/charts.ts";
import { foldWorkflow } from "../../machines/fold.ts";
import { type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import { gateIdOf } from "../../src/contract/gate.ts";
import type { TurnRow } from "../../src/contract/turn.ts";
import type { WorkflowRecord } from "../../src/contract/workflow.ts";
import { rowOpener } from "../ledgers/reseal.ts";
import type { Story, StoryOperator } from "./story.ts";
import type { StoryRelease } from "./story-deploy.ts";
import type { Written } from "./story-masks.ts";

export interface Called {
  readonly process: string;
  readonly workflow_id: string;
  readonly step_id: string;
  readonly key: string;
  /** As whoever calls it has it. */
  readonly operator: StoryOperator;
  readonly input: unknown;
  /** Rows that were durable when it began. */
  readonly at: number;
  /** Whether its plan, or a rule of whoever calls it, asks a person. */
  readonly asks: boolean;
  /** Which attempt of its step. */
  readonly attempt: number;
  /** Whether it is made once more, since its process was gone. */
  readonly recovered: boolean;
  /** The policy that the step's own gate was opened under. */
  readonly policy: string | null;
  /** The status of the step's own gate then; null where it had none. */
  readonly gate: string | null;
  /** The digest of what that gate showed. */
  readonly shown: string | null;
  sent: boolean;
}

/** What the story ends: a call, or an answer of the host's. */
export interface Pending {
  readonly process: string;
  readonly called: Called | null;
  readonly end: () => void;
}

export interface Durable {
  readonly at: number;
  readonly event: LedgerEvent;
}

/** A person's decision, as it was put to a process by that process's clock. */
export interface GivenDecision {
  readonly workflow_id: string;
  readonly gate_id: string;
  readonly by: unknown;
  readonly decision: "approve" | "reject";
  /** What they named of what they looked at; null where they put something else in its place. */
  readonly named: { readonly payload_digest?: string; readonly basis_digest?: string } | null;
  /** Epoch ms. */
  readonly now: number;
  /** Rows that were durable. */
  readonly at: number;
}

/** What the charts say of a workflow, to be compared. */
export function statesOf({ state, steps, gates }: WorkflowRecord): string {
  const byId = (one: readonly [string, string], other: readonly [string, string]): number =>
    one[0] < other[0] ? -1 : 1;
  return JSON.stringify([
    state,
    [...steps].map(([id, step]) => [id, stepPath(step)] as const).sort(byId),
    [...gates].map(([id, { status }]) => [id, status] as const).sort(byId),
  ]);
}

/** What a person was told of: the workflow, and how far its log went then. */
interface Acknowledged {
  readonly what: string;
  readonly workflow_id: string;
  readonly sequence: number;
}

/** How often a host's function of this process did not answer in time, or at all. */
export const unanswered = (process: string): string => `unanswered ${process}`;

export class OutsideWorld {
  readonly calls: Called[] = [];
  durable: Durable[] = [];
  /** Which release each process runs. */
  readonly releases = new Map<string, StoryRelease | null>();
  /** The intent types that each process leaves to the others. */
  readonly leaves = new Map<string, readonly string[]>();
  /** Who wrote each row. */
  readonly writers: string[] = [];
  readonly records = new Map<string, WorkflowRecord | null>();
  /** Of each workflow, as of each of its rows. */
  readonly states = new Map<string, string[]>();
  readonly said: GivenDecision[] = [];
  readonly marks = new Map<string, number>();
  pending: Pending[] = [];
  readonly acknowledged: Acknowledged[] = [];
  /** Who made each signature with their own key. */
  readonly signed = new Map<string, unknown>();
  /** Those that were counted; and routes that were taken. */
  readonly used = new Set<string>();
  /** What writers of memory were told is written. */
  readonly remembered = new Set<unknown>();
  /** What persons wrote that a mask may be over, and what a host was told, in logs and hooks. */
  readonly texts: Written[] = [];
  readonly overheard: string[] = [];
  /** What previews rest on: it changes when the story says so. */
  basis = 1;
  /** Nothing happens any more; who is asked again answers. */
  isOver = false;
  /** What was seen to be wrong as it happened. */
  readonly broken: string[] = [];
  /** Hooks that have last refused to let a step be called, by process, workflow and step. */
  readonly refusing = new Map<string, Set<string>>();
  #rows = 0;
  #kept: { readonly row: TurnRow; readonly at: number }[] = [];
  #open = rowOpener();
  readonly #counts = new Map<string, number>();

  get rows(): number {
    return this.#rows;
  }

  /** The rows that are durable, in the order in which they became so. */
  get kept(): readonly TurnRow[] {
    return this.#kept.map(({ row }) => row);
  }

  mark(name: string): void {
    this.marks.set(name, (this.marks.get(name) ?? 0) + 1);
  }

  /** A row of this process is durable. */
  keep(row: TurnRow, writer: string): void {
    this.#rows += 1;
    this.writers.push(writer);
    this.#kept.push({ row, at: this.#rows });
    for (const event of this.#read(row, this.#rows)) this.#see(event);
  }

  /** The last so many rows are gone; what is written from here on has numbers of its own. */
  lose(rows: number): void {
    if (rows === 0) return;
    this.#kept = this.#kept.slice(0, -rows);
    this.durable = [];
    this.records.clear();
    this.states.clear();
    this.#open = rowOpener();
    for (const { row, at } of this.#kept) this.#read(row, at);
  }

  /** A person was told that what stands in this workflow's log at an event of theirs, or at its beginning, is done. */
  acknowledge(what: string, workflow_id: string, isTheirs: (event: LedgerEvent) => boolean): void {
    const own = this.durable.findLast(({ event }) => event.workflow_id === workflow_id && isTheirs(event));
    this.acknowledged.push({ what, workflow_id, sequence: own?.event.sequence ?? 1 });
  }

  /** What people were told of and is no more. */
  forgotten(): readonly string[] {
    const lost = this.acknowledged.filter((a) => (this.records.get(a.workflow_id)?.sequence ?? 0) < a.sequence);
    return lost.map((a) => `forgotten: ${a.what} of ${a.workflow_id} at ${a.sequence}`);
  }

  #read(row: TurnRow, at: number): readonly LedgerEvent[] {
    const events = [...this.#open(row)];
    for (const event of events) {
      this.durable.push({ at, event });
      if (event.workflow_id !== null)
        this.records.set(row.stream, foldWorkflow(this.records.get(row.stream) ?? null, event));
    }
    const record = this.records.get(row.stream) ?? null;
    if (record === null) return events;
    const states = this.states.get(row.stream) ?? [];
    if (states.push(statesOf(record)) === 1) this.states.set(row.stream, states);
    return events;
  }

  /** Keeps what a host was told, where somebody looks for it. */
  overhear({ masks }: Pick<Story, "masks">, said: object): void {
    if (masks.length > 0) this.overheard.push(JSON.stringify(said) ?? "");
  }

  say(said: Omit<GivenDecision, "at">): void {
    this.said.push({ ...said, at: this.#rows });
  }

  #see(event: LedgerEvent): void {
    const { event_type: type, payload } = event;
    this.mark(type);
    if (typeof payload["cause"] === "string") this.mark(`${type} ${payload["cause"]}`);
    if (type === "POLICY_DECIDED") this.mark(`${payload["stage"]}: ${payload["decision"]}`);
    if (payload["cached"] === true) this.mark(`${type} cached`);
    if (payload["late"] === true) this.mark("late end");
    if (payload["recovered"] === true) this.mark("made again after a crash");
  }

  /** Counts what is asked under this name, as the calls of a step of one workflow: which answer is next. */
  count(name: string): number {
    const n = this.counted(name);
    this.#counts.set(name, n + 1);
    return n;
  }

  counted(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  call(call: Omit<Called, "at" | "recovered" | "asks" | "policy" | "gate" | "shown" | "sent">): Called {
    const { gates, steps } = this.records.get(call.workflow_id) ?? {};
    const gate = gates?.get(gateIdOf(call.step_id));
    const { status = null, payload_digest: shown = null, policy_version: policy = null } = gate ?? {};
    const { ruling, asks: always } = call.operator;
    const isGated = steps?.get(call.step_id)?.step.gate != null;
    const asks = isGated || always === true || ruling === "REQUIRE_APPROVAL";
    const recovered = this.#startOf(call)?.payload["recovered"] === true;
    const called = { ...call, recovered, at: this.#rows, asks, policy, gate: status, shown, sent: false };
    this.calls.push(called);
    const planned = steps?.get(call.step_id)?.step.operator_version;
    if (planned !== undefined && planned !== (call.operator.version ?? "1.0"))
      this.broken.push(`version: ${call.step_id} of ${call.workflow_id} was called as ${call.operator.version}`);
    const refusing = this.refusing.get(`${call.process} ${call.workflow_id} ${call.step_id}`)?.size ?? 0;
    if (refusing > 0) this.broken.push(`refused: ${call.step_id} of ${call.workflow_id} was called by ${call.process}`);
    return called;
  }

  /** A model is asked on a decision that is on record for this very attempt, once for each. */
  askModel({
    workflow_id,
    step_id,
    attempt,
    endpoint,
  }: Pick<Called, "workflow_id" | "step_id" | "attempt"> & { readonly endpoint: string }): void {
    const isOf = ({ event }: Durable): boolean =>
      event.event_type === "ROUTE_DECIDED" && event.workflow_id === workflow_id && event.step_id === step_id;
    const event = this.durable.findLast(isOf)?.event;
    const { decision = null, attempt: of } = event === undefined ? {} : payloadOf(event, "ROUTE_DECIDED");
    this.mark(`route ${decision?.reason.kind}`);
    if (event === undefined || of !== attempt || decision?.endpoint.name !== endpoint || this.used.has(event.event_id))
      this.broken.push(
        `route: ${step_id} of ${workflow_id} asks ${endpoint} at attempt ${attempt}, which is not on record`,
      );
    this.used.add(event?.event_id ?? "");
  }

  #startOf({ workflow_id, step_id }: Pick<Called, "workflow_id" | "step_id">): LedgerEvent | undefined {
    const isStart = ({ event }: Durable): boolean =>
      event.event_type === "ACTION_STARTED" && event.workflow_id === workflow_id && event.step_id === step_id;
    return this.durable.findLast(isStart)?.event;
  }

  /** Resolves when the story says so. */
  wait(process: string): Promise<void> {
    if (this.isOver) return Promise.resolve();
    this.count(unanswered(process));
    return new Promise((end) => this.pending.push({ process, called: null, end }));
  }

  /** What a hook said before a call. */
  ask(where: string, hook: string, refuses: boolean): void {
    const refusing = this.refusing.get(where) ?? new Set();
    if (refuses) refusing.add(hook);
    else refusing.delete(hook);
    this.refusing.set(where, refusing);
  }

  take(pending: Pending): void {
    this.pending = this.pending.filter((other) => other !== pending);
  }

  /** Whoever of the host's has not answered does. */
  answer(): void {
    const late = this.pending.filter(({ called }) => called === null);
    for (const pending of late) {
      this.take(pending);
      pending.end();
    }
  }

  /** The process is gone: whether what it was doing took effect nobody here knows but the world. */
  bury(process: string): void {
    const lost = this.pending.filter((pending) => pending.process === process);
    this.pending = this.pending.filter((pending) => pending.process !== process);
    for (const [i, { called }] of lost.entries()) if (called !== null && (called.at + i) % 2 === 0) called.sent = true;
  }
}
