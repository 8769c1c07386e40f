/** Stately's own relay and receiver as judges: what they are given is what they give, whole, early or late. */
import { once } from "node:events";
import { createWebSocketReceiver } from "@statelyai/inspect";
import { createInspectorServer } from "@statelyai/inspect/server";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { Inspection } from "../../src/contract/inspection.ts";
import { inspectKernel, playEvents, serveInspector } from "../../src/observers/inspect/index.ts";
import { kinds } from "../../src/observers/inspect/player.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { gated, intentType } from "../actors/fixture.ts";
import { freePort } from "../free-port.ts";
import { goldens, pictureOf, playAll } from "./story.ts";

/** Resolves with so many messages as Stately's receiver hands them on. */
function receive(server: string, count: number): Promise<readonly unknown[]> {
  const got: unknown[] = [];
  return new Promise((resolve) => {
    createWebSocketReceiver({ server }).subscribe((message) => {
      got.push(message);
      if (got.length === count) resolve(got);
    });
  });
}

const plain = (told: readonly Inspection[]): unknown => JSON.parse(JSON.stringify(told));

describe("Stately's relay and receiver", () => {
  it("hand on every message of every golden ledger as it was told", async () => {
    const port = await freePort();
    const relay = createInspectorServer({ port, autoOpen: false });
    try {
      const told = goldens.flatMap(([, events]) => playAll(events, { show: kinds }));
      const received = receive(`ws://127.0.0.1:${port}`, told.length);
      const sender = new WebSocket(`ws://127.0.0.1:${port}`);
      await once(sender, "open");
      for (const message of told) sender.send(JSON.stringify(message));
      expect(await received).toEqual(plain(told));
      sender.terminate();
    } finally {
      relay.stop();
    }
  });
});

describe("our relay, read by Stately's receiver", () => {
  it.each([
    ["an inspector's feed, and again for who comes late", true],
    ["a play that can be read once, and again for who comes late", false],
  ])("tells %s", async (_what, isLive) => {
    await using t = await createTestKernel({ capabilities: [gated()] });
    const { workflow_id } = await t.run(intentType);
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    const events = await Array.fromAsync(t.kernel.events(workflow_id, { live: false }));
    const told = playAll(events);
    const source = isLive
      ? inspectKernel(t.kernel, { workflows: [workflow_id], tiers: false, clock: t.clock })
      : playEvents(events);
    const server = await serveInspector(source, { port: 0 });
    try {
      const feed = server.url.replace("http", "ws");
      const early = (await receive(feed, told.length)) as readonly Inspection[];
      const late = (await receive(feed, told.length)) as readonly Inspection[];
      expect(pictureOf(early)).toEqual(pictureOf(plain(told) as readonly Inspection[]));
      expect(late).toEqual(early);
      const arrows = early.filter((message) => message.type === "@xstate.event");
      expect(arrows.filter(({ sourceId }) => sourceId === undefined)).toEqual([]);
    } finally {
      await server.close();
    }
    expect(t.kernel.vitals().listeners).toBe(1);
  });
});
