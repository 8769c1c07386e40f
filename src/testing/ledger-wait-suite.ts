/**
 * The part of the ledger store suite about waits of parked steps and events from outside.
 *
 * Owns: the promises on both, and on waits whose end is in the ledger. Never: is registered by itself.
 */
import type { ReceivedEvent } from "../contract/received-event.ts";
import type { IndexedWait, WaitSource } from "../ports/wait-store.ts";
import { putWorkflow, type SuiteParts } from "./ledger-suite-parts.ts";
import { nextTurn, type TestStream, testStream } from "./ledger-turns.ts";

const waitOf = (source: WaitSource, key: string, since = 1): IndexedWait => ({ source, name: "signed", key, since });

const eventOf = (event_id: string, key: string, more: Partial<ReceivedEvent> = {}): ReceivedEvent => ({
  ...{ event_id, name: "signed", key, payload: { by: "\u0000" }, broadcast: false },
  expires_at: "1970-01-01T00:01:40.000Z",
  ...more,
});

const begin = (stream: TestStream, step_id: string, wait: IndexedWait) =>
  nextTurn(stream, { indexes: { waits: [{ step_id, wait }] } });

export function addWaitTests(parts: SuiteParts): void {
  addIndexedWaitTests(parts);
  addEventTests(parts);
  addOverdueTests(parts);
}

function addIndexedWaitTests({ test, expect }: SuiteParts): void {
  test("a wait is in the index from its row to the row that ends it, in the order of beginning", async (store) => {
    const [one, two] = [await putWorkflow(store, testStream(1)), await putWorkflow(store, testStream(2))];
    const other = await putWorkflow(store, testStream(3, { tenant_id: "umbrella" }));
    const first = begin(one, "s1", waitOf("event", "k", 5));
    const second = begin(two, "s1", waitOf("event", "k", 3));
    const child = begin(second.after, "s2", waitOf("workflow", "wf_x", 4));
    await store.append([first.entry, second.entry, child.entry, begin(other, "s1", waitOf("event", "k")).entry]);
    const found = async (query: Partial<Parameters<typeof store.waits>[0]>) =>
      (await store.waits({ tenant_id: "acme", limit: 9, ...query })).map(({ workflow_id, step_id }) => [
        workflow_id,
        step_id,
      ]);
    expect(await found({ source: "event", name: "signed", key: "k" })).toEqual([
      [two.id, "s1"],
      [one.id, "s1"],
    ]);
    expect(await found({ workflow_id: two.id, limit: 1 })).toEqual([[two.id, "s1"]]);
    expect(await store.waits({ tenant_id: "acme", source: "workflow", limit: 9 })).toEqual([
      {
        workflow_id: two.id,
        step_id: "s2",
        tenant_id: "acme",
        source: "workflow",
        name: "signed",
        key: "wf_x",
        since: 4,
      },
    ]);
    await store.append([nextTurn(first.after, { indexes: { waits: [{ step_id: "s1", wait: null }] } }).entry]);
    expect(await found({ source: "event" })).toEqual([[two.id, "s1"]]);
  });
}

function addEventTests({ test, expect }: SuiteParts): void {
  test("an event is found by its id, and for a wait until it is taken or has expired", async (store) => {
    const stream = await putWorkflow(store, testStream(1));
    const events = [eventOf("e2", "k"), eventOf("e1", "k"), eventOf("e3", "other")];
    const received = nextTurn(stream, { indexes: { events } });
    await store.append([received.entry]);
    const kept = async (now: number, tenant_id = "acme") => {
      const found = await store.events({ tenant_id, name: "signed", key: "k", now, limit: 9 });
      return found.map(({ event_id }) => event_id);
    };
    expect(await store.findEvent("acme", "e2")).toEqual({ ...events[0], tenant_id: "acme", taken_by: null });
    expect(await store.findEvent("umbrella", "e2")).toEqual(null);
    expect(await kept(99_999)).toEqual(["e1", "e2"]);
    expect([await kept(100_000), await kept(0, "umbrella")]).toEqual([[], []]);
    const taking = nextTurn(received.after, { indexes: { taken: ["e2"] } });
    const later = nextTurn(taking.after, { indexes: { events: [eventOf("e4", "k")] } });
    await store.append([taking.entry, later.entry]);
    expect((await store.findEvent("acme", "e2"))?.taken_by).toEqual(stream.id);
    expect(await store.events({ tenant_id: "acme", name: "signed", key: "k", now: 0, limit: 1 })).toEqual([
      { ...events[1], tenant_id: "acme", taken_by: null },
    ]);
    expect(await kept(0)).toEqual(["e1", "e4"]);
  });
}

function addOverdueTests({ test, expect }: SuiteParts): void {
  test("a wait is overdue once its event is there, or its workflow has ended", async (store) => {
    const child = await putWorkflow(store, testStream(1), { state: "completed" });
    const running = await putWorkflow(store, testStream(2), { state: "running" });
    const parent = await putWorkflow(store, testStream(3));
    const other = await putWorkflow(store, testStream(4, { tenant_id: "umbrella" }));
    const waits = [
      { step_id: "s1", wait: waitOf("event", "k") },
      { step_id: "s2", wait: waitOf("workflow", child.id) },
      { step_id: "s3", wait: waitOf("workflow", running.id) },
      { step_id: "s4", wait: waitOf("event", "none") },
    ];
    const parked = nextTurn(parent, { indexes: { waits, events: [eventOf("e1", "k")] } });
    await store.append([parked.entry, begin(other, "s1", waitOf("workflow", child.id)).entry]);
    const at = { workflow_id: parent.id, tenant_id: "acme" };
    const ended = { ...at, step_id: "s2", source: "workflow", event_id: null };
    expect(await store.overdueWaits(0, 9)).toEqual([{ ...at, step_id: "s1", source: "event", event_id: "e1" }, ended]);
    expect(await store.overdueWaits(100_000, 9)).toEqual([ended]);
    await store.append([nextTurn(parked.after, { indexes: { taken: ["e1"] } }).entry]);
    expect(await store.overdueWaits(0, 9)).toEqual([ended]);
  });
}
