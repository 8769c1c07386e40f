/** The events of a session, for a client whose connection broke: what is kept, and how much. */
import { expect, it } from "vitest";
import { type KeptEvents, SessionEvents } from "../../src/faces/mcp/session-events.ts";
import { notificationWith } from "../../src/protocol/relayed-message.ts";

const message = (n: number) => notificationWith("notifications/message", { n });

async function replay(events: SessionEvents, id: string): Promise<readonly unknown[]> {
  const sent: unknown[] = [];
  await events.replayEventsAfter(id, { send: async (_id, one) => void sent.push(one) });
  return sent;
}

it("sends the messages of one stream that came after an event, and none of another stream", async () => {
  const events = new SessionEvents({ chars: 0 });
  const first = await events.storeEvent("a", message(1));
  await events.storeEvent("b", message(2));
  const last = await events.storeEvent("a", message(3));
  expect(await events.getStreamIdForEventId(first)).toBe("a");
  expect(await replay(events, first)).toEqual([message(3)]);
  expect(await replay(events, last)).toEqual([]);
});

const size = JSON.stringify(message(1)).length;
const limits: readonly (readonly [string, KeptEvents])[] = [
  ["events", { maxEvents: 2, maxChars: 1_000, maxCharsOfAll: 1_000 }],
  ["characters", { maxEvents: 9, maxChars: 2 * size, maxCharsOfAll: 1_000 }],
  ["characters of all sessions", { maxEvents: 9, maxChars: 1_000, maxCharsOfAll: 2 * size }],
];

it.each(limits)("drops its oldest events beyond the limit of %s, and its own alone", async (_what, bounds) => {
  const all = { chars: 0 };
  const events = new SessionEvents(all, bounds);
  const ids = [];
  for (const n of [1, 2, 3]) ids.push(await events.storeEvent("a", message(n)));
  const known = await Promise.all(ids.map((id) => events.getStreamIdForEventId(id)));
  expect(known).toEqual([undefined, "a", "a"]);
  expect(all.chars).toBe(2 * size);
  const other = new SessionEvents(all, bounds);
  await other.storeEvent("b", message(4));
  expect(await replay(events, ids[1] ?? "")).toEqual([message(3)]);
  other.clear();
  events.clear();
  expect(all.chars).toBe(0);
});
