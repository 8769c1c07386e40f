/** The feed over HTTP, and what holds for every stream: limits, headers, cursors. */
import { describe, expect, it } from "vitest";
import { FeedItem } from "../../src/index.ts";
import { letRun } from "../../src/testing/index.ts";
import { intent, publishing } from "../gates/story.ts";
import { codeOf, openEdge } from "./edge-fixture.ts";
import { follow, messagesIn, readMessages, streamPath } from "./sse-reader.ts";

const feedPath = "/v1/kernel/stream/feed";
const channels = ["events", "progress", "assistant"] as const;

describe("the feed over HTTP", () => {
  it("begins with what is open, without ids; after the bookmark each message has its position", async () => {
    await using edge = await openEdge({ capabilities: [publishing().capability] });
    const { workflow_id: id } = await edge.t.run(intent);
    const response = await edge.fetch(feedPath);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    const feed = follow(response);
    await letRun();
    expect(feed.text()).toMatch(/^retry: 1000\n\nevent: kernel\.feed\ndata: \{"type":"workflow","position":null/);
    await edge.t.approve(id);
    await edge.t.rest(id);
    await letRun();
    const messages = messagesIn(feed.text());
    for (const { event, data } of messages) {
      expect(event).toBe("kernel.feed");
      FeedItem.parse(data);
    }
    const [snapshot, bookmark, ...live] = messages;
    expect(snapshot?.lines).toEqual(["event", "data"]);
    expect(bookmark?.data["type"]).toBe("bookmark");
    for (const message of [bookmark, ...live]) expect(message?.id).toBe(message?.data["position"]);
    expect(live.at(-1)?.data).toMatchObject({ workflow_id: id, state: "completed" });
    await feed.stop();
    const again = follow(await edge.fetch(feedPath, { headers: { "last-event-id": String(bookmark?.id) } }));
    await letRun();
    expect(messagesIn(again.text())).toEqual(live);
    await again.stop();
  });

  it("is for readers, shows each tenant its own, and refuses a cursor or filter that is none", async () => {
    await using edge = await openEdge({ capabilities: [publishing().capability] });
    await edge.t.run(intent);
    const status = async (as: string, query = "") => (await edge.ask(`${feedPath}${query}`, { as })).status;
    expect(await Promise.all([status("nobody's"), status("stranger")])).toEqual([401, 401]);
    for (const query of ["?after=soon", "?after=-1", "?only=plans", "?intent_type="])
      expect(await status("own", query)).toBe(400);
    const feed = follow(await edge.fetch(`${feedPath}?after=0`, { as: "foreign" }));
    await letRun();
    expect(messagesIn(feed.text())).toEqual([]);
    await feed.stop();
    const gates = follow(await edge.fetch(`${feedPath}?after=0&only=gates&intent_type=${intent}`));
    await letRun();
    expect(messagesIn(gates.text())).toHaveLength(1);
    await gates.stop();
  });
});

describe("every stream", () => {
  it.each([...channels, "feed"])(
    "of %s has its headers on HEAD too, is not compressed, and HEAD leaves nothing behind",
    async (name) => {
      await using edge = await openEdge({ capabilities: [publishing().capability] });
      const { workflow_id: id } = await edge.t.run(intent);
      const path = name === "feed" ? feedPath : streamPath(id, name);
      const before = [edge.t.kernel.vitals().listeners, edge.t.clock.pending()];
      const headers = { "accept-encoding": "gzip, deflate, br, zstd" };
      for (const method of ["HEAD", "GET"]) {
        const response = await edge.fetch(path, { method, headers });
        expect(response.status).toBe(200);
        expect(response.headers.get("content-encoding")).toBeNull();
        expect(response.headers.get("cache-control")).toBe("no-cache, no-transform");
        expect(response.headers.get("x-accel-buffering")).toBe("no");
        await response.body?.cancel();
        await letRun();
        expect([edge.t.kernel.vitals().listeners, edge.t.clock.pending()]).toEqual(before);
      }
    },
  );

  it.each([...channels, "feed"])("of %s refuses a Last-Event-ID that is no number", async (name) => {
    await using edge = await openEdge({ capabilities: [publishing().capability] });
    const { workflow_id: id } = await edge.t.run(intent);
    const path = name === "feed" ? feedPath : streamPath(id, name);
    for (const last of ["soon", "-1", "1.5", "1e3", "9".repeat(16), "1 2"]) {
      const refused = await edge.ask(path, { headers: { "last-event-id": last } });
      expect([refused.status, codeOf(refused)]).toEqual([400, "T0_VALIDATION_SCHEMA_MISMATCH"]);
    }
  });

  it("of one caller are as many as may be; another caller still has a place", async () => {
    const limits = { maxStreams: 10, maxStreamsPerCaller: 2 };
    await using edge = await openEdge({ capabilities: [publishing().capability] }, { limits });
    const { workflow_id: id } = await edge.t.run(intent);
    const open = [follow(await edge.fetch(feedPath)), follow(await edge.fetch(streamPath(id, "events")))];
    const refused = await edge.ask(feedPath);
    expect([refused.status, codeOf(refused), refused.headers.get("retry-after")]).toEqual([
      429,
      "T0_HTTP_CALLER_STREAM_LIMIT",
      "1",
    ]);
    open.push(follow(await edge.fetch(feedPath, { as: "admin" })));
    await open[0]?.stop();
    open.push(follow(await edge.fetch(feedPath)));
    await Promise.all(open.map((stream) => stream.stop()));
  });

  it("that is refused, or over, gives its place back", async () => {
    const limits = { maxStreams: 1, maxStreamsPerCaller: 1 };
    await using edge = await openEdge({ capabilities: [publishing().capability] }, { limits });
    const { workflow_id: id } = await edge.t.run(intent);
    for (let i = 0; i < 3; i += 1) expect((await edge.fetch(streamPath("wf_none", "events"))).status).toBe(404);
    await edge.t.approve(id);
    await edge.t.rest(id);
    for (let i = 0; i < 3; i += 1) {
      const [last] = (await readMessages(await edge.fetch(streamPath(id, "events")))).slice(-1);
      expect((await edge.fetch(`${streamPath(id, "events")}?after=${last?.id}`)).status).toBe(204);
    }
  });

  it.each(channels)(
    "a client of %s that reconnects from what it saw last, whatever that was, comes to the end",
    async (channel) => {
      await using edge = await openEdge({ capabilities: [publishing().capability] });
      const { workflow_id: id } = await edge.t.run(intent);
      await edge.t.approve(id);
      await edge.t.rest(id);
      const length = (await edge.t.types(id)).length;
      for (let seen = 0; seen <= length; seen += 1) {
        let last = seen;
        const statuses: number[] = [];
        // A client reconnects until it is answered 204.
        while (statuses.at(-1) !== 204 && statuses.length < 4) {
          const response = await edge.fetch(streamPath(id, channel), { headers: { "last-event-id": String(last) } });
          statuses.push(response.status);
          last = messagesIn(await response.text()).at(-1)?.id ?? last;
        }
        expect(statuses.length).toBeLessThanOrEqual(2);
        expect(statuses.at(-1)).toBe(204);
      }
    },
  );
});
