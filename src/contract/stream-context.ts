/**
 * What is known of a stream after the rows read so far: what all its events share, and the facts that later rows need not
 * say again.
 *
 * Owns: which fact of which event is kept. Never: reads or writes a row.
 * C1  The same events give the same context, to whoever writes and to whoever reads.
 */
import { genesisHash } from "./chain.ts";
import type { EventType } from "./event.ts";
import { isPlainObject, type Json, type JsonObject } from "./json.ts";
import type { TurnEnvelope } from "./turn.ts";

/** What a stream's events share, as its first row says it. */
export type Shared = Omit<TurnEnvelope, "now" | "first" | "count" | "inputs">;

/** What was said of a step last. All members are there from the start: they are read and changed for each event. */
export class StepFacts {
  step: JsonObject | undefined = undefined;
  payload_hash: unknown = undefined;
  action: JsonObject | undefined = undefined;
  failure: JsonObject | undefined = undefined;
  result: Json | undefined = undefined;
  gate: JsonObject | undefined = undefined;
  outcome: JsonObject | undefined = undefined;
}

class Facts {
  actor: JsonObject | undefined = undefined;
  version: unknown = undefined;
  round: unknown = undefined;
  token: number | undefined = undefined;
  policy_version: unknown = undefined;
  /** Whose decision at a gate was judged last, in this row. */
  decider: unknown = undefined;
  /** The gate that was decided last, and its step. */
  decided: { readonly gate_id: unknown; readonly step_id: string | null } | undefined = undefined;
  gate_id: unknown = undefined;
  output_text: unknown = undefined;
  /** The plan of the next event, where it is not the one that the envelope names. */
  plan: string | undefined = undefined;
}

export const noFacts: Readonly<StepFacts> = Object.freeze(new StepFacts());

export class StreamContext {
  shared: Shared | null = null;
  /** The last sequence read, and the hash of its row. */
  last = 0;
  head = genesisHash;
  /** The instant of that row, epoch ms. */
  now = 0;
  /** The instant of the first row, epoch ms; null where it is not known. */
  began: number | null = null;
  facts = new Facts();
  readonly #steps = new Map<string, StepFacts>();
  /** By operator: the last step of a plan that calls it. */
  readonly operators = new Map<unknown, JsonObject>();
  readonly timeouts = new Map<unknown, unknown>();

  /** A row that says all by itself: what was known before counts no more. */
  begin(shared: Shared, began: number | null): void {
    this.facts = new Facts();
    this.#steps.clear();
    this.operators.clear();
    this.timeouts.clear();
    this.shared = shared;
    this.began = began;
  }

  /** The same knowledge, to go on from more than once. */
  copy(): StreamContext {
    const copy = new StreamContext();
    const { shared, last, head, now, began } = this;
    Object.assign(copy, { shared, last, head, now, began });
    Object.assign(copy.facts, this.facts);
    for (const [step, facts] of this.#steps) copy.#steps.set(step, Object.assign(new StepFacts(), facts));
    for (const [operator, step] of this.operators) copy.operators.set(operator, step);
    for (const [operator, timeout] of this.timeouts) copy.timeouts.set(operator, timeout);
    return copy;
  }

  /** A row ends here: what is foretold within a row alone is not carried over. */
  follow({ last, head, now = 0 }: { readonly last: number; readonly head: string; readonly now?: number }): void {
    this.last = last;
    this.head = head;
    this.now = now;
    this.facts.decider = undefined;
  }

  of(step: string | null): Readonly<StepFacts> {
    return (step === null ? undefined : this.#steps.get(step)) ?? noFacts;
  }

  learn(type: EventType, step: string | null, payload: JsonObject): void {
    lessons[type]?.(this, payload, step);
  }

  /** As `of`, to be changed; what is no step's is kept nowhere. */
  at(step: unknown): StepFacts {
    const kept = typeof step === "string" ? this.#steps.get(step) : undefined;
    if (kept !== undefined) return kept;
    const facts = new StepFacts();
    if (typeof step === "string") this.#steps.set(step, facts);
    return facts;
  }
}

/** A member that is a record; an empty one where it is none. */
export const recordOf = (value: unknown): JsonObject => (isPlainObject(value) ? value : none);
const none: JsonObject = Object.freeze({});

type Lesson = (context: StreamContext, payload: JsonObject, step: string | null) => void;

const keepGate: Lesson = (context, payload, step) => {
  const gate = recordOf(payload["gate"]);
  context.facts.gate_id = gate["gate_id"];
  context.at(step).gate = gate;
};

const keepDecided: Lesson = (context, payload, step) => {
  context.facts.decided = { gate_id: payload["gate_id"], step_id: step };
};

const keepOutcome: Lesson = (context, payload) => {
  const outcome = recordOf(payload["outcome"]);
  context.at(outcome["step_id"]).outcome = outcome;
};

const lessons: { readonly [T in EventType]?: Lesson } = {
  INTENT_RECEIVED({ facts }, payload) {
    const intent = recordOf(payload["intent"]);
    facts.actor = recordOf(intent["actor"]);
    facts.version = intent["version"];
  },
  POLICY_DECIDED(context, payload, step) {
    const { facts } = context;
    facts.policy_version = payload["policy_version"];
    if (payload["stage"] === "action") context.at(step).payload_hash = payload["payload_hash"];
    if (payload["stage"] === "gate") facts.decider = recordOf(payload["by"])["principal"];
  },
  PLAN_CREATED(context, payload) {
    const plan = recordOf(payload["plan"]);
    const { plan_id, round, steps } = plan;
    context.facts.round = round;
    context.facts.plan = plan_id === context.shared?.plan_id ? undefined : (plan_id as string);
    for (const step of Array.isArray(steps) ? steps.map(recordOf) : []) {
      context.operators.set(step["operator"], step);
      context.at(step["step_id"]).step = step;
    }
  },
  ACTION_STARTED(context, payload, step) {
    const token = recordOf(payload["token"])["id"];
    if (typeof token === "number") context.facts.token = token;
    context.timeouts.set(payload["operator_name"], payload["timeout_ms"]);
    context.at(step).action = payload;
  },
  ACTION_SUCCEEDED(context, { result }, step) {
    context.at(step).result = result as Json;
  },
  ACTION_FAILED(context, payload, step) {
    context.at(step).failure = payload;
  },
  STEP_SUCCEEDED(context, { output_text }, step) {
    context.facts.output_text = output_text;
    context.at(step).result = undefined;
  },
  GATE_OPENED: keepGate,
  GATE_REVISED: keepGate,
  USER_APPROVED: keepDecided,
  USER_REJECTED: keepDecided,
  OUTCOME_DRAFTED: keepOutcome,
  OUTCOME_FINALIZED: keepOutcome,
};
