/**
 * The actors that an inspector knows: each is announced before it is used, with its state and context.
 *
 * Owns: the messages. Never: knows the meaning of an event.
 * 1.  An actor is announced with its definition and its first state; when it begins again, it is announced again under
 *     its id.
 * 2.  A final state, and any state after `end`, is `done`: no actor stays alive that cannot move.
 */
import { actionMachine } from "../../../machines/action.ts";
import { lifecycleCharts } from "../../../machines/charts.ts";
import { definitionOf } from "../../../machines/definitions.ts";
import { gateMachine } from "../../../machines/gate.ts";
import { kernelMachine } from "../../../machines/kernel.ts";
import { stepMachine } from "../../../machines/step.ts";
import { nestState } from "../../../machines/table.ts";
import { tierMachine } from "../../../machines/tier.ts";
import { workflowMachine } from "../../../machines/workflow.ts";
import { type ActorSnapshot, type Inspection, inspectionVersion } from "../../contract/inspection.ts";
import type { JsonObject } from "../../contract/json.ts";

const definitions = {
  kernel: JSON.stringify(definitionOf(kernelMachine)),
  tier: JSON.stringify(definitionOf(tierMachine)),
  workflow: JSON.stringify(definitionOf(workflowMachine)),
  step: JSON.stringify(definitionOf(stepMachine)),
  gate: JSON.stringify(definitionOf(gateMachine)),
  action: JSON.stringify(definitionOf(actionMachine)),
} as const;

/** The chart of an actor; people and operators have none. */
export type ActorKind = keyof typeof definitions | null;

export interface NewActor {
  readonly id: string;
  readonly name: string;
  readonly parent: string | null;
  readonly kind: ActorKind;
  /** A dotted path; the chart's first state by default. */
  readonly state?: string;
  readonly context?: JsonObject;
}

export interface ActorEvent {
  readonly type: string;
  readonly [key: string]: unknown;
}

interface Actor {
  readonly kind: ActorKind;
  state: string | null;
  context: JsonObject;
  ended: boolean;
}

export const rootId = "kernel";

export class ActorList {
  readonly #actors = new Map<string, Actor>();
  #reported: Inspection[] = [];
  #occasion = { id: "", createdAt: "0", reported: 0 };

  /** Begins the messages of an event: with an id of its own, and the instant in epoch ms. */
  at(id: string, ms: number): void {
    this.#occasion = { id, createdAt: String(ms), reported: 0 };
  }

  /** Returns the messages since the last call. */
  take(): readonly Inspection[] {
    const reported = this.#reported;
    this.#reported = [];
    return reported;
  }

  has(id: string): boolean {
    return this.#actors.has(id);
  }

  begin({ id, name, parent, kind, state, context = {} }: NewActor): void {
    const first = state ?? (isMoved(kind) ? lifecycleCharts[kind].initial : null);
    const actor = { kind, state: first, context, ended: false };
    this.#actors.set(id, actor);
    const definition = kind === null ? JSON.stringify({ id: name }) : definitions[kind];
    const parentId = parent === null ? {} : { parentId: parent };
    this.#reported.push({
      type: "@xstate.actor",
      ...this.#head(id),
      name,
      ...parentId,
      definition,
      snapshot: snapshotOf(actor),
    });
  }

  receive(id: string, sourceId: string, event: ActorEvent): void {
    this.#reported.push({ type: "@xstate.event", ...this.#head(id), sourceId, event });
  }

  /**
   * Moves an actor's chart by the event, adds to its context, and sends its state; an actor without a chart has no
   * state.
   */
  move(
    id: string,
    event: ActorEvent,
    { moves, context }: { readonly moves: JsonObject | null; readonly context: JsonObject },
  ) {
    const actor = this.#actors.get(id);
    if (actor === undefined || !isMoved(actor.kind)) return;
    const { state } = actor;
    if (moves !== null && state !== null)
      actor.state = lifecycleCharts[actor.kind].next(state, { ...moves, type: event.type }) ?? state;
    actor.context = { ...actor.context, ...context };
    this.#stand(id, actor, event);
  }

  /** Ends an actor: nothing moves it until `resume`. */
  end(id: string, event: ActorEvent): void {
    const actor = this.#actors.get(id);
    if (actor === undefined || actor.ended) return;
    const { status } = snapshotOf(actor);
    actor.ended = true;
    if (status === "active") this.#stand(id, actor, event);
  }

  resume(id: string): void {
    const actor = this.#actors.get(id);
    if (actor !== undefined) actor.ended = false;
  }

  forget(id: string): void {
    this.#actors.delete(id);
  }

  #stand(id: string, actor: Actor, event: ActorEvent): void {
    this.#reported.push({ type: "@xstate.snapshot", ...this.#head(id), event, snapshot: snapshotOf(actor) });
  }

  #head(sessionId: string) {
    const { id, createdAt } = this.#occasion;
    this.#occasion.reported += 1;
    return { sessionId, rootId, createdAt, id: `${id}.${this.#occasion.reported}`, _version: inspectionVersion };
  }
}

type Moved = keyof typeof lifecycleCharts;
const isMoved = (kind: ActorKind): kind is Moved => kind !== null && kind in lifecycleCharts;

function snapshotOf({ kind, state, context, ended }: Actor): ActorSnapshot {
  const isFinal = ended || (isMoved(kind) && state !== null && lifecycleCharts[kind].isFinal(state));
  return { status: isFinal ? "done" : "active", value: state === null ? {} : nestState(state), context };
}
