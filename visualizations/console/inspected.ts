/**
 * What the inspector's stream has told so far: the actors, and what each was sent.
 *
 * 1.  What is told of an actor again is in place of what was told before.
 * 2.  Bounded: of messages the newest are kept; an actor beyond the limit is counted and not shown.
 */
import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Inspection, StateValue } from "../../src/contract/inspection.ts";
import { followInspection } from "./live.ts";

export interface Actor {
  readonly id: string;
  readonly name: string;
  readonly parent: string | null;
  readonly definition: string;
  readonly status: "active" | "done" | "stopped";
  /** Dotted from the chart's root; empty for who has no chart. */
  readonly state: string;
  readonly last: string | null;
}

export interface Message {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly type: string;
}

export interface Inspected {
  readonly actors: ReadonlyMap<string, Actor>;
  readonly messages: readonly Message[];
  /** Messages that are no longer kept. */
  readonly gone: number;
  /** Actors beyond the limit, which are not shown. */
  readonly hidden: ReadonlySet<string>;
}

const most = { actors: 500, messages: 2000 } as const;
const nothing: Inspected = { actors: new Map(), messages: [], gone: 0, hidden: new Set() };

/** `running.calling` of `{ running: "calling" }`. */
export function pathOf(value: StateValue): string {
  if (typeof value === "string") return value;
  const [first] = Object.entries(value);
  return first === undefined ? "" : `${first[0]}.${pathOf(first[1])}`;
}

/** All of a batch at once. */
export function receiveAll({ actors, messages, gone, hidden }: Inspected, batch: readonly Inspection[]): Inspected {
  const known = new Map(actors);
  const received = [...messages];
  const beyond = new Set(hidden);
  for (const reported of batch) {
    if (reported.type === "@xstate.event") {
      received.push({ id: reported.id, from: reported.sourceId, to: reported.sessionId, type: reported.event.type });
      continue;
    }
    const before = known.get(reported.sessionId);
    const stands = { status: reported.snapshot.status, state: pathOf(reported.snapshot.value) };
    if (reported.type === "@xstate.snapshot") {
      if (before !== undefined) known.set(reported.sessionId, { ...before, ...stands, last: reported.event.type });
    } else if (before !== undefined || known.size < most.actors) {
      const { sessionId: id, name, parentId: parent = null, definition } = reported;
      known.set(id, { id, name, parent, definition, last: null, ...stands });
    } else beyond.add(reported.sessionId);
  }
  const over = Math.max(0, received.length - most.messages);
  return { actors: known, messages: received.slice(over), gone: gone + over, hidden: beyond };
}

/** From the first event on, and what comes, a picture at a time. */
export function useInspected(workflowId: string | null): ReadonlySignal<Inspected> {
  const inspected = useSignal(nothing);
  useEffect(() => {
    let batch: Inspection[] = [];
    const show = () => {
      inspected.value = receiveAll(inspected.peek(), batch);
      batch = [];
    };
    const tell = (reported: Inspection) => {
      if (batch.length === 0) window.setTimeout(show, 50);
      batch.push(reported);
    };
    // Of all runs it is told from the beginning again; of one it goes on.
    const onState = (state: "live" | "waiting") => {
      if (state === "live" && workflowId === null) inspected.value = nothing;
    };
    return followInspection(workflowId, { tell, onState });
  }, [workflowId, inspected]);
  return inspected;
}
