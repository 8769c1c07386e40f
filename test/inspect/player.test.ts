/** The player: every golden ledger, at every prefix, told as a whole picture whose states are the fold's. */
import { describe, expect, it } from "vitest";
import { createMachine } from "xstate";
import { Inspection } from "../../src/contract/inspection.ts";
import { type Kind, kinds } from "../../src/observers/inspect/player.ts";
import { type Redact, redactEvent, showPayload } from "../../src/observers/inspect/redact.ts";
import { foldedStates, goldens, pictureOf, playAll, statesIn } from "./story.ts";

const everything = { show: kinds };

describe.each(goldens)("the golden ledger %s", (_name, events) => {
  const workflowId = events[0]!.workflow_id as string;
  const told = playAll(events, everything);

  it("is told in the three shapes, under ids of its own", () => {
    for (const message of told) expect(Inspection.parse(message)).toEqual(message);
    expect(new Set(told.map(({ id }) => id)).size).toBe(told.length);
  });

  it("announces everybody before they are used, parents first, and knows the source of every event", () => {
    const known = new Set<string>();
    for (const message of told) {
      if (message.type === "@xstate.actor") {
        if (message.parentId === undefined) expect(message.sessionId).toBe("kernel");
        else expect(known).toContain(message.parentId);
        known.add(message.sessionId);
      }
      expect(known).toContain(message.sessionId);
      if (message.type === "@xstate.event") {
        expect(known).toContain(message.sourceId);
        expect(message.sourceId).not.toBe(message.sessionId);
      }
    }
  });

  it("names a step by its name where payloads or names are shown, and by its id otherwise", () => {
    const plan = events.find(({ event_type: type }) => type === "PLAN_CREATED")?.payload["plan"] as
      | { readonly steps: readonly { readonly step_id: string; readonly name: string; readonly operator: string }[] }
      | undefined;
    const nameOf = (redact: Redact, id: string) => pictureOf(playAll(events, { redact })).get(id)?.name;
    for (const { step_id, name, operator } of plan?.steps.slice(0, 2) ?? []) {
      expect(nameOf(showPayload, `${workflowId}/${step_id}`)).toBe(`${name} ${operator}`);
      expect(nameOf(redactEvent, `${workflowId}/${step_id}`)).toBe(`${step_id} ${operator}`);
      const named = pictureOf(playAll(events, { names: true })).get(`${workflowId}/${step_id}`);
      expect(named?.name).toBe(`${name} ${operator}`);
    }
  });

  it("has an edit of a gate come from the person who made it", () => {
    for (const { event_id, payload } of events.filter(({ event_type: type }) => type === "GATE_REVISED")) {
      if (payload["cause"] !== "edit") continue;
      const { type, id } = payload["principal"] as { readonly type: string; readonly id: string | number };
      const first = told.find((one) => one.type === "@xstate.event" && one.id.startsWith(`${event_id}.`));
      expect(first).toMatchObject({ sourceId: `${type}:${id}` });
    }
  });

  it("opens in XState with every state it tells", () => {
    const machines = new Map<string, ReturnType<typeof createMachine>>();
    for (const message of told) {
      if (message.type === "@xstate.actor")
        machines.set(message.sessionId, createMachine(JSON.parse(message.definition) as object));
      if (message.type === "@xstate.event") continue;
      const machine = machines.get(message.sessionId) as NonNullable<ReturnType<typeof createMachine>>;
      expect(machine.resolveState(message.snapshot as never).value).toEqual(message.snapshot.value);
    }
  });

  it("stands where the fold stands, at every prefix", () => {
    for (let length = 1; length <= events.length; length += 1) {
      const prefix = events.slice(0, length);
      const states = statesIn(pictureOf(playAll(prefix, everything)), workflowId);
      expect(states, `after ${length}`).toMatchObject(foldedStates(prefix));
      const more = Object.keys(states).filter((id) => !(id in foldedStates(prefix)));
      // A gate that a restart has made void: the fold has none.
      expect(more.map((id) => states[id]).filter((state) => state !== "voided")).toEqual([]);
    }
  });

  it("leaves nothing of a workflow active once it has ended", () => {
    const ended = /^WORKFLOW_(COMPLETED|FAILED|CANCELLED)$/.test(
      events.findLast(({ event_type: type }) => type.startsWith("WORKFLOW_"))?.event_type ?? "",
    );
    const own = [...pictureOf(told)].filter(([id]) => id.startsWith(workflowId));
    const active = own.filter(([, { status }]) => status === "active");
    expect(active.length > 0).toBe(!ended);
  });

  it.each(kinds)("is whole without what is of the kind %s", (left) => {
    const part = playAll(events, { show: kinds.filter((kind): kind is Kind => kind !== left) });
    const known = new Set(part.flatMap((message) => (message.type === "@xstate.actor" ? [message.sessionId] : [])));
    for (const message of part) {
      expect(known).toContain(message.sessionId);
      if (message.type === "@xstate.event") expect(known).toContain(message.sourceId);
    }
    const whole = statesIn(pictureOf(told), workflowId);
    expect(whole).toMatchObject(statesIn(pictureOf(part), workflowId));
  });
});
