/**
 * The player: makes the messages to an inspector of each event of a ledger. A ledger event is the statechart's event,
 * so no live actor is needed: the same events give the same messages, from a kernel, afterwards, or from an export.
 *
 * Owns: the actors, by the kinds that are shown. Never: waits, reads a clock, does IO.
 * 1.  Every actor is announced before it is used, parents first; every event has an announced source.
 * 2.  States are the fold's: the charts move them, by the table that the live actors share (machines/addresses.ts).
 * 3.  A hidden kind has no actors: its container replaces it as a source, and its events are not sent.
 * 4.  Only the result of `redact` is shown of an event.
 */
import { z } from "zod";
import { type Address, addressesOf, type Begun } from "../../../machines/addresses.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { LedgerEvent } from "../../contract/event.ts";
import type { Party } from "../../contract/events/event-row.ts";
import { factsOf, movesChart, typesWhere } from "../../contract/events.ts";
import { hostFunction } from "../../contract/host-object.ts";
import type { Inspection } from "../../contract/inspection.ts";
import { isPlainObject, type JsonObject } from "../../contract/json.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { type ActorEvent, ActorList, rootId } from "./actor-list.ts";
import { type Redact, redactEvent } from "./redact.ts";
import { arrowOf, type Person, personIn } from "./senders.ts";
import { keepNames } from "./step-names.ts";

export const kinds = ["workflow", "steps", "gates", "actions", "people", "operators", "policy"] as const;
/** A kind of actors that a viewer may ask for. */
export type Kind = (typeof kinds)[number];
/** Actions are the records of idempotency keys, which are shown on request. */
const usual: readonly Kind[] = kinds.filter((kind) => kind !== "actions");

const playerRef = moduleRef(6, "inspect", "player");

export const PlayerOptions = z.strictObject({
  /** Kinds of actors that are shown; all by default. */
  show: z.array(z.enum(kinds)).readonly().optional(),
  /** Returns the shown content of an event; `redactEvent` by default. */
  redact: hostFunction<Redact>().optional(),
  /**
   * Whether actors of steps have the names that plans give to the steps, which are texts of whoever wrote the plan; by
   * default they are called by their ids.
   */
  names: z.boolean().optional(),
});
export interface PlayerOptions extends Readonly<z.input<typeof PlayerOptions>> {}

export const tierNames = [
  ...["foundation", "perception", "cognition", "planning"],
  ...["execution", "ego", "metacognition", "orchestration"],
] as const;

/** States of the kernel and its tiers, by session id, where they are known; else as they are when all is well. */
export type HostStates = Readonly<Record<string, string>>;

interface Home extends Begun {
  readonly id: string;
  /** Operators by step. */
  readonly steps: Map<string, string | null>;
  /** Steps by gate. */
  readonly gates: Map<string, string | null>;
  /** Steps by action. */
  readonly actions: Map<string, string | null>;
  /** The names of steps by their ids, and of the steps that they add by these ids with their kind after a space. */
  readonly names: Map<string, string>;
}

type Delivered = { readonly event: LedgerEvent; readonly received: ActorEvent; readonly context: JsonObject };
type Moved = Omit<Address, "chart"> & { readonly chart: Address["chart"] | "action" };

export class Player {
  readonly actors = new ActorList();
  readonly #shown: ReadonlySet<Kind>;
  readonly #redact: Redact;
  readonly #names: boolean;
  readonly #hosts: HostStates;
  readonly #homes = new Map<string, Home>();

  constructor({ show = usual, redact = redactEvent, names = false }: PlayerOptions = {}, hosts: HostStates = {}) {
    this.#shown = new Set(show);
    this.#redact = redact;
    this.#names = names;
    this.#hosts = hosts;
  }

  tell(event: LedgerEvent): readonly Inspection[] {
    const context = this.#contextOf(event);
    const delivered: Delivered = { event, received: { ...context, type: event.event_type }, context };
    const ms = Date.parse(event.timestamp);
    this.beginHosts(ms);
    this.actors.at(event.event_id, ms);
    if (policyEvents.has(event.event_type) && !this.#shown.has("policy")) return this.actors.take();
    // A refused request has no workflow.
    const isRefused = event.workflow_id === null || event.event_type === "INTENT_REJECTED";
    this.#play(delivered, isRefused ? null : this.#homeOf(event, delivered));
    return this.actors.take();
  }

  /**
   * Returns the context. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for a `redact` that throws: then
   * nothing is shown.
   */
  #contextOf(event: LedgerEvent): JsonObject {
    try {
      const context = this.#redact(event);
      return isPlainObject(context) ? context : {};
    } catch (thrown) {
      const message =
        `redact threw at ${event.event_type}: ` + `${thrown instanceof Error ? thrown.message : String(thrown)}`;
      return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, playerRef));
    }
  }

  /** Announces the kernel and its tiers, which exist before anything else. */
  beginHosts(ms: number): void {
    if (this.actors.has(rootId)) return;
    this.actors.at(rootId, ms);
    const begin = (session: string, name: string, kind: "kernel" | "tier", state: string): void =>
      this.actors.begin({
        ...{ id: session, name, kind, state: this.#hosts[session] ?? state },
        parent: kind === "kernel" ? null : rootId,
      });
    begin(rootId, "kernel", "kernel", "ready");
    tierNames.forEach((name, tier) => void begin(`t${tier}`, `T${tier} ${name}`, "tier", "active"));
  }

  /** Actors of workflows that are known. */
  get size(): number {
    return [...this.#homes.values()].reduce((sum, home) => sum + 1 + idsIn(home).length, 0);
  }

  /** Drops a workflow; a later event begins it anew. */
  forget(workflowId: string): void {
    const home = this.#homes.get(workflowId);
    this.#homes.delete(workflowId);
    if (home === undefined) return;
    for (const id of [...idsIn(home), workflowId]) this.actors.forget(id);
  }

  #play(delivered: Delivered, home: Home | null): void {
    const { event, received, context } = delivered;
    const moved: readonly Moved[] = home === null ? [] : [...addressesOf(event, home), ...actionsIn(event, home)];
    for (const address of moved) if (address.begins && home !== null) this.#begin(address, home, delivered);
    if (beginsAnew.has(event.event_type) && home !== null)
      for (const id of [home.id, ...idsIn(home)]) this.actors.resume(id);
    const hearing = home === null ? [] : moved.filter(({ hears }) => hears).map((address) => sessionOf(address, home));
    const first = this.#sayTo(delivered, home, hearing);
    for (const id of new Set([...(first === null ? [] : [first]), ...hearing]))
      this.actors.move(id, received, { moves: hearing.includes(id) ? event.payload : null, context });
    if (home !== null && ends.has(event.event_type)) this.#end(home, received);
  }

  /** Sends the event to its first receiver, from its sender; and from there to the others. Returns the first. */
  #sayTo({ event, received }: Delivered, home: Home | null, hearing: readonly string[]): string | null {
    const { from, to } = arrowOf(event);
    const target = this.#isShown(to) ? this.#nearest(to, event, home) : null;
    const sender = this.#nearest(from, event, home);
    const source = sender === target ? this.#above(sender, home) : sender;
    if (target !== null) this.actors.receive(target, source, received);
    const others = hearing.filter((id) => id !== target && id !== source && this.actors.has(id));
    // Parts of the workflow pass on what they receive; operators and tiers do not.
    const passesOn = target !== null && home !== null && `${target}/`.startsWith(`${home.id}/`);
    for (const id of others) this.actors.receive(id, passesOn ? target : source, received);
    return target;
  }

  #isShown(role: Party): boolean {
    const kind = kindOf[role as keyof typeof kindOf];
    return kind === undefined || this.#shown.has(kind);
  }

  /** Returns the actor of a role in an event, or its container. */
  #nearest(role: Party, event: LedgerEvent, home: Home | null): string {
    const found = this.#find(role, event, home);
    if (found !== null && this.actors.has(found)) return found;
    if (role === "operator" || role === "gate") return this.#nearest("step", event, home);
    return role === "step" ? this.#nearest("workflow", event, home) : "t4";
  }

  #above(id: string, home: Home | null): string {
    if (home !== null && id !== home.id && id.startsWith(`${home.id}/`) && this.actors.has(home.id)) return home.id;
    return id === "t4" ? rootId : "t4";
  }

  #find(role: Party, event: LedgerEvent, home: Home | null): string | null {
    const { step_id, payload } = event;
    if (role === "person") return this.#personOf(personIn(event));
    if (role === "workflow") return home?.id ?? null;
    if (role === "operator") return this.#operatorOf(payload["operator_name"] ?? home?.steps.get(step_id ?? ""));
    if (home === null || (role !== "step" && role !== "gate")) return role;
    if (role === "step") return step_id === null ? null : `${home.id}/${step_id}`;
    const gate = payload["gate"];
    return gateSession(home, String(isPlainObject(gate) ? gate["gate_id"] : payload["gate_id"]));
  }

  #personOf(person: Person | null): string | null {
    if (person === null || !this.#shown.has("people")) return null;
    return this.#beginOnce(`${person.type}:${person.id}`, `${person.type} ${person.id}`);
  }

  #operatorOf(name: unknown): string | null {
    if (typeof name !== "string" || !this.#shown.has("operators")) return null;
    return this.#beginOnce(`op:${name}`, name);
  }

  #beginOnce(id: string, name: string): string {
    if (!this.actors.has(id)) this.actors.begin({ id, name, parent: rootId, kind: null });
    return id;
  }

  #homeOf(event: LedgerEvent, { context }: Delivered): Home {
    const id = event.workflow_id as string;
    const known = this.#homes.get(id);
    if (known !== undefined) return known;
    const home = newHome(id);
    this.#homes.set(id, home);
    const { intent } = event.payload;
    const type = isPlainObject(intent) ? intent["type"] : "workflow";
    if (this.#shown.has("workflow"))
      this.actors.begin({ id, name: `${String(type)} ${id.slice(-6)}`, parent: "t4", kind: "workflow", context });
    return home;
  }

  #begin(moved: Moved, home: Home, { event, context }: Delivered): void {
    const { chart, id } = moved;
    const { step_id, payload } = event;
    if (chart === "step") keepNames(home.names, event);
    if (chart === "step") home.steps.set(id, operatorOf(stepIn(payload, id)) ?? home.steps.get(id) ?? null);
    else if (chart === "gate") home.gates.set(id, step_id);
    else if (chart === "action") home.actions.set(id, step_id);
    if (chart === "workflow" || !this.#shown.has(`${chart}s`)) return;
    const named = chart === "step" ? stepIn(context, id) : null;
    const name = this.#names && chart === "step" ? home.names.get(id) : named?.["name"];
    this.actors.begin({
      id: sessionOf(moved, home),
      name: chart === "step" ? `${name ?? id} ${home.steps.get(id) ?? ""}`.trimEnd() : id,
      parent: this.#containerOf(chart, home, step_id),
      kind: chart,
      context: named ?? {},
    });
  }

  /** Gates and actions belong to their step, steps to their workflow. */
  #containerOf(chart: "step" | "gate" | "action", home: Home, stepId: string | null): string {
    const step = `${home.id}/${stepId}`;
    if (chart !== "step" && stepId !== null && this.actors.has(step)) return step;
    return this.actors.has(home.id) ? home.id : "t4";
  }

  /** Ends a workflow: it leaves nothing alive, whatever its charts show of approved gates. */
  #end(home: Home, received: ActorEvent): void {
    for (const id of [...idsIn(home), home.id]) this.actors.end(id, received);
  }
}

const policyEvents = typesWhere(({ judges = false }) => judges);
const ends = typesWhere((facts) => facts.ends === "workflow");
/** The types of the events that begin a further run of a workflow. */
const beginsAnew: ReadonlySet<string> = new Set(["WORKFLOW_RESTARTED", "WORKFLOW_ROLLING_BACK"]);
const kindOf = { workflow: "workflow", step: "steps", gate: "gates", operator: "operators", person: "people" } as const;

function newHome(id: string): Home {
  const gates = new Map<string, string | null>();
  const gatesOf = (stepId: string | null): Iterable<string> =>
    [...gates].filter(([, step]) => stepId === null || step === stepId).map(([gateId]) => gateId);
  return { id, steps: new Map(), gates, gatesOf, actions: new Map(), names: new Map() };
}

/** Returns the ids of all that a workflow contains. */
const idsIn = (home: Home): readonly string[] => [
  ...[...home.gates.keys()].map((id) => gateSession(home, id)),
  ...[...home.steps.keys(), ...home.actions.keys()].map((id) => `${home.id}/${id}`),
];

/** Returns the session of a gate: a plan may name a step like the gate of another one. */
const gateSession = ({ id: home, steps }: Home, id: string): string => `${home}/${steps.has(id) ? "gate:" : ""}${id}`;

function sessionOf({ chart, id }: Moved, home: Home): string {
  if (chart === "workflow") return home.id;
  return chart === "gate" ? gateSession(home, id) : `${home.id}/${id}`;
}

/** Returns a step as the plan in a payload has it, or in its redacted form. */
function stepIn({ plan }: JsonObject, id: string): JsonObject | null {
  const steps = isPlainObject(plan) ? plan["steps"] : null;
  const found = Array.isArray(steps) ? steps.find((step) => isPlainObject(step) && step["step_id"] === id) : null;
  return found ?? null;
}

const operatorOf = (step: JsonObject | null): string | null => (step === null ? null : String(step["operator"]));

/**
 * Returns the actions of an event. The record of an idempotency key begins with its first call; all receive a restart.
 */
function actionsIn({ event_type: type, payload }: LedgerEvent, { actions }: Home): readonly Moved[] {
  const at = (id: string, begins: boolean): Moved => ({ chart: "action", id, begins, hears: true });
  if (type === "WORKFLOW_RESTARTED") return [...actions.keys()].map((id) => at(id, false));
  const id = payload["action_id"];
  if (!movesChart("action", factsOf(type)) || typeof id !== "string") return [];
  return actions.has(id) || type === "ACTION_STARTED" ? [at(id, !actions.has(id))] : [];
}
