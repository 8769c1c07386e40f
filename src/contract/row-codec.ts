/**
 * The row codec: the events of a turn as a row says them, and back. A row says what its readers could not foretell from
 * what its stream said before (stream-context.ts, event-forms.ts).
 *
 * A body is a JSON list of entries, in the order of events:
 *   [type, step, members, more]   an event; what is empty at the end is left out. `members`: what of its payload was not
 *                                 foretold, or [payload] where it is whole. `more`: id, plan, actor, where other than
 *                                 foretold; null for none.
 *   {members}                     the event that is foretold to come next, with what it says otherwise.
 *   (nothing)                     an event that is foretold to come next and says nothing otherwise, of the types in
 *                                 `silent`;
 *   n                             after n of these, one more was foretold and did not come: an [event] follows.
 * The id of a row's first event is in the envelope; each further one is the next after the one before it (`idAfter`).
 *
 * Owns: entries. Never: hashes, knows a store.
 * R1  unpackEvents(parsed packed events) gives the events again, to the byte of their JSON text, in the same context.
 * R2  An event is packed once, when it is noted: what is no JSON is refused then, and leaves no trace.
 */
import { kernelError } from "./error-codes.ts";
import { type Actor, type EventType, eventTypes } from "./event.ts";
import { forms } from "./event-forms.ts";
import { isEmpty, isSameJson, packMembers, unpackMembers } from "./foretold.ts";
import { EventPlace } from "./form.ts";
import { idAfter } from "./ids.ts";
import type { JsonObject } from "./json.ts";
import { raise } from "./kernel-error.ts";
import { moduleRef } from "./module-ref.ts";
import { recordOf, type StreamContext } from "./stream-context.ts";
import type { TurnEvent } from "./turn.ts";

const known: ReadonlySet<string> = new Set(eventTypes);
const sealRef = moduleRef(0, "ledger", "seal");

/** An event in full, as one JSON text. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for what is no JSON. */
export function eventText(event: TurnEvent): string {
  return textOf(event, event.type);
}

function textOf(value: unknown, type: string): string {
  try {
    return JSON.stringify(value);
  } catch (thrown) {
    return refuseEvent(`${type} carries what is no JSON: ${(thrown as Error).message}`);
  }
}

const refuseEvent = (message: string): never => raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, sealRef));

/** What of an event is foretold beside its payload; null: there is none. */
interface More {
  readonly id: string | null;
  readonly plan: string | null | undefined;
  readonly actor: Actor | undefined;
}

/** The type and step that are foretold to come next in a row. */
interface Next {
  readonly type: EventType;
  readonly step: string | null;
}

/** Says the events of one row, one after another. */
export class RowPacker {
  readonly #walk: RowWalk;
  readonly #entries: string[] = [];
  /** Events without a word since the last entry. */
  #omitted = 0;
  /** Of the first event; null before it. */
  firstId: string | null = null;
  count = 0;

  /** @param now the row's instant, epoch ms. */
  constructor(context: StreamContext, now: number) {
    this.#walk = new RowWalk(context, now);
  }

  get body(): string {
    return `[${this.#entries.join(",")}]`;
  }

  /** @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for an event type there is not, and for what is no JSON. */
  add(event: TurnEvent): void {
    const { type, step, payload } = event;
    if (!known.has(type)) refuseEvent(`there is no event type ${type}`);
    const form = forms[type];
    const members = form === undefined ? payload : packMembers(payload, form, this.#walk.place.moveTo(type, step));
    const more = this.#moreOf(event);
    const { next } = this.#walk;
    const isNext = next !== null && next.type === type && next.step === step && more === null && members !== null;
    const isSilent = next !== null && silent.has(next.type);
    const packed = packedText(members, event);
    if (isNext && isSilent && packed === emptyText) this.#omitted += 1;
    else {
      if (isSilent) this.#entries.push(String(this.#omitted));
      this.#entries.push(isNext && !isSilent ? packed : entryText(event, packed, more));
      this.#omitted = 0;
    }
    this.firstId ??= event.id;
    this.count += 1;
    this.#walk.pass(event);
  }

  /** What is other than foretold; null where nothing is. */
  #moreOf(event: TurnEvent): JsonObject | null {
    const { id, plan, actor } = this.#walk.moreOf(event.type, event.payload);
    const isNextId = this.firstId === null || event.id === id;
    const isSameActor = isSameJson(event.actor, actor);
    if (isNextId && event.plan === plan && isSameActor) return null;
    return {
      ...(!isNextId && { id: event.id }),
      ...(event.plan !== plan && { plan: event.plan ?? null }),
      ...(!isSameActor && { actor: event.actor ?? null }),
    };
  }
}

const emptyText = "{}";

/** Of most events nothing is said beside what is foretold. */
function packedText(members: JsonObject | null, { type, payload }: TurnEvent): string {
  if (members === null) return textOf([payload], type);
  return isEmpty(members) ? emptyText : textOf(members, type);
}

function entryText({ type, step }: TurnEvent, packed: string, more: JsonObject | null): string {
  const head = `["${type}"`;
  if (more !== null) return `${head},${JSON.stringify(step)},${packed},${textOf(more, type)}]`;
  if (packed !== emptyText) return `${head},${JSON.stringify(step)},${packed}]`;
  return step === null ? `${head}]` : `${head},${JSON.stringify(step)}]`;
}

type Entry = readonly [
  type: EventType,
  step?: string | null,
  members?: JsonObject | readonly [JsonObject],
  more?: Told,
];
type Told = { readonly id?: string; readonly plan?: string | null; readonly actor?: Actor | null };

/** What a row says of its events beside them: its instant (epoch ms), their number, the first one's id. */
export interface PackedRow {
  readonly now: number;
  readonly count: number;
  readonly id: string;
}

/** A body holds an event of a type that is not in the list: another release wrote it. */
export class UnknownEvent extends Error {
  constructor(type: string) {
    super(`an event ${type}`);
    this.name = "UnknownEvent";
  }
}

/** The events of a body that was parsed; the context goes on behind them. @throws UnknownEvent; whatever a body leads to that no kernel wrote. */
export function unpackEvents(
  body: unknown,
  { now, count, id }: PackedRow,
  context: StreamContext,
): readonly TurnEvent[] {
  const entries = body as readonly (number | JsonObject | Entry)[];
  const walk = new RowWalk(context, now);
  const events: TurnEvent[] = [];
  let at = 0;
  let omitted = 0;
  while (events.length < count) {
    const { next } = walk;
    const isSilent = next !== null && silent.has(next.type);
    const isOmitted = isSilent && entries[at] !== omitted;
    if (isSilent && !isOmitted) at += 1;
    const entry = isOmitted ? nothing : entries[at];
    if (!isOmitted) at += 1;
    omitted = isOmitted ? omitted + 1 : 0;
    const told = readEntry(entry, next);
    if (typeof told[0] === "string" && !known.has(told[0])) throw new UnknownEvent(told[0]);
    const spelling = { type: told[0], step: told[1] ?? null, members: told[2] ?? nothing, more: told[3] ?? nothing };
    const event = walk.spell(spelling, events.length === 0 ? id : null);
    events.push(event);
    walk.pass(event);
  }
  if (at !== entries.length) throw new SyntaxError("a body says more than its envelope counts");
  return events;
}

const nothing: JsonObject = Object.freeze({});

function readEntry(entry: unknown, next: Next | null): Entry {
  if (Array.isArray(entry)) return entry as unknown as Entry;
  if (next === null || typeof entry !== "object" || entry === null)
    throw new SyntaxError("a body says less than its envelope counts");
  return [next.type, next.step, entry as JsonObject];
}

interface Spelling {
  readonly type: EventType;
  readonly step: string | null;
  readonly members: JsonObject | readonly [JsonObject];
  readonly more: Told;
}

/** Where a row has come to: the same walk for who packs it and who unpacks it. */
class RowWalk {
  readonly place: EventPlace;
  readonly #context: StreamContext;
  #id: string | null = null;
  /** Steps of the plan that this row holds, and how many of them were queued in their order. */
  #queue: readonly unknown[] = [];
  #queued = 0;
  next: Next | null = null;

  constructor(context: StreamContext, now: number) {
    this.#context = context;
    this.place = new EventPlace(context, now);
  }

  moreOf(type: EventType, payload: JsonObject): More {
    const id = this.#id === null ? null : idAfter(this.#id);
    const plan = type === "PLAN_CREATED" ? this.#planIn(payload) : this.#context.facts.plan;
    return { id, plan, actor: byPerson.has(type) ? personIn(payload) : undefined };
  }

  spell({ type, step, members, more }: Spelling, first: string | null): TurnEvent {
    const payload = Array.isArray(members)
      ? (members[0] as JsonObject)
      : this.#spellMembers(type, step, members as JsonObject);
    const foretold = this.moreOf(type, payload);
    const id = first ?? more.id ?? foretold.id;
    if (id === null) throw new SyntaxError("an event has no id");
    const plan = more.plan === undefined ? foretold.plan : (more.plan ?? undefined);
    const actor = more.actor === undefined ? foretold.actor : (more.actor ?? undefined);
    return { id, type, step, plan, actor, payload };
  }

  #spellMembers(type: EventType, step: string | null, members: JsonObject): JsonObject {
    const form = forms[type];
    return form === undefined ? members : unpackMembers(members, form, this.place.moveTo(type, step));
  }

  /** The event is told: what follows from it. */
  pass({ type, step, payload, id }: TurnEvent): void {
    this.#id = id;
    this.#context.learn(type, step, payload);
    if (type === "PLAN_CREATED") {
      const { steps } = recordOf(payload["plan"]);
      this.#queue = Array.isArray(steps) ? steps : [];
      this.#queued = 0;
    }
    if (type === "WORKFLOW_STARTED" || type === "STEP_QUEUED") this.next = this.#queuedAfter(step);
    else this.next = followers[type]?.(step, payload) ?? null;
  }

  /** The plan's step after this one; after none, its first. */
  #queuedAfter(step: string | null): Next | null {
    if (step !== null && recordOf(this.#queue[this.#queued])["step_id"] !== step) return null;
    if (step !== null) this.#queued += 1;
    const { step_id } = recordOf(this.#queue[this.#queued]);
    return typeof step_id === "string" ? { type: "STEP_QUEUED", step: step_id } : null;
  }

  #planIn(payload: JsonObject): string | undefined {
    const { plan_id } = recordOf(payload["plan"]);
    return plan_id === this.#context.shared?.plan_id ? undefined : (plan_id as string);
  }
}

/** Events in the name of the person that their payload names. */
const byPerson: ReadonlySet<EventType> = new Set([
  "USER_APPROVED",
  "USER_REJECTED",
  "GATE_VOTED",
  "GATE_DECISION_KEPT",
] as const);

function personIn(payload: JsonObject): Actor | undefined {
  const { type, id } = recordOf(payload["principal"]);
  return type === undefined ? undefined : ({ type, id } as Actor);
}

/** These come without a word where they are foretold. */
const silent: ReadonlySet<EventType> = new Set([
  "WORKFLOW_STARTED",
  "STEP_QUEUED",
  "STEP_SUCCEEDED",
  "WORKFLOW_WAITING",
  "WORKFLOW_RESUMED",
] as const);

type Following = (step: string | null, payload: JsonObject) => Next;
const sameStep =
  (type: EventType): Following =>
  (step) => ({ type, step });
const ofWorkflow = (type: EventType): Following => {
  const next = { type, step: null };
  return () => next;
};

/** What follows an event in its row as a rule. A plan's steps, queued, follow WORKFLOW_STARTED. */
const followers: { readonly [T in EventType]?: Following } = {
  CONTEXT_BUILT: ofWorkflow("POLICY_DECIDED"),
  POLICY_DECIDED: (step) => ({ type: step === null ? "PLAN_CREATED" : "ACTION_STARTED", step }),
  PLAN_CREATED: ofWorkflow("WORKFLOW_STARTED"),
  STEP_STARTED: sameStep("POLICY_DECIDED"),
  ACTION_SUCCEEDED: sameStep("STEP_SUCCEEDED"),
  GATE_OPENED: ofWorkflow("WORKFLOW_WAITING"),
  USER_APPROVED: ofWorkflow("WORKFLOW_RESUMED"),
  WORKFLOW_RESUMED: (_step, { step_id }) => ({ type: "ACTION_STARTED", step: step_id as string | null }),
  STEP_SUCCEEDED: ofWorkflow("WORKFLOW_COMPLETED"),
};
