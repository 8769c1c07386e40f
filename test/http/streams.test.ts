/** The three streams over HTTP: what they tell, how they go on, how they end. */
import { describe, expect, it } from "vitest";
import { KernelProgress, LedgerEvent, type SubmitResponse } from "../../src/index.ts";
import { letRun } from "../../src/testing/index.ts";
import { counted, eventsOf, gatedSteps, intent, payloads, publishing, step, story } from "../gates/story.ts";
import { codeOf, openEdge, submitPath } from "./edge-fixture.ts";
import { follow, type Message, messagesIn, readMessages, streamPath } from "./sse-reader.ts";

const channels = ["events", "progress", "assistant"] as const;
const names = { events: "kernel.event", progress: "kernel.progress", assistant: "kernel.assistant.delta" } as const;
const hint = { intent_hint: { intent_type: intent, inputs: {} } };
const tick = () => new Promise<void>((resolve) => setImmediate(resolve));
const dataOf = (messages: readonly Message[]) => messages.map((message) => message.data);

/** A step that says three things, each by itself, and how far it is. */
const talking = () => {
  const speak = counted("Story.Speak", {}, async ({ stream, report }) => {
    for (const word of ["one ", "two ", "three"]) {
      stream(word);
      await tick();
    }
    report(50);
    await tick();
    return { said: true };
  });
  return story([speak], [step("speak", speak)]);
};

describe("a stream", () => {
  it("[API-06][STR-01][STR-02] of each channel has its address, its name and its schema, live", async () => {
    await using edge = await openEdge({ capabilities: [talking()] });
    const { body } = await edge.post<SubmitResponse>(submitPath, hint);
    const responses = await Promise.all(channels.map((channel) => edge.fetch(body.stream[channel])));
    expect(channels.map((channel) => body.stream[channel])).toEqual(
      channels.map((channel) => streamPath(body.workflow_id, channel)),
    );
    const reading = Promise.all(responses.map(readMessages));
    await edge.t.rest(body.workflow_id);
    const told = await reading;
    for (const [i, channel] of channels.entries()) {
      expect(responses[i]?.status).toBe(200);
      expect(responses[i]?.headers.get("content-type")).toBe("text/event-stream");
      const messages = told[i] ?? [];
      expect(messages.length).toBeGreaterThan(1);
      for (const { event, lines } of messages) {
        expect([event, lines]).toEqual([names[channel], ["id", "event", "data"]]);
      }
    }
    for (const data of dataOf(told[0] ?? [])) LedgerEvent.parse(data);
    for (const data of dataOf(told[1] ?? [])) KernelProgress.parse(data);
    for (const { type } of dataOf(told[2] ?? []))
      expect(["delta", "step", "artifact", "gate", "final"]).toContain(type);
  });

  it("[STR-03] of events is the ledger, in order, numbered by sequence, also for who comes late", async () => {
    await using edge = await openEdge({ capabilities: [talking()] });
    const { workflow_id: id } = await edge.t.run(intent);
    const messages = await readMessages(await edge.fetch(streamPath(id, "events")));
    expect(dataOf(messages)).toEqual(JSON.parse(JSON.stringify(await eventsOf(edge.t, id))));
    expect(messages.map((message) => message.id)).toEqual(messages.map(({ data }) => data["sequence"]));
  });

  it.each([
    [
      [1, 1, 1, 1, 1],
      [0, 20, 40, 60, 80, 100],
    ],
    [
      [3, 1],
      [0, 75, 100],
    ],
  ])("[STR-04] of progress with weights %j tells %j", async (weights, expected) => {
    const work = counted("Story.Work");
    const steps = weights.map((weight, i) => step(`s${i}`, work, { weight, depends_on: i === 0 ? [] : [`s${i - 1}`] }));
    await using edge = await openEdge({ capabilities: [story([work], steps)] });
    const { workflow_id: id } = await edge.t.run(intent);
    const percents = dataOf(await readMessages(await edge.fetch(streamPath(id, "progress")))).map(
      (at) => at["percent"],
    );
    expect([...new Set(percents)]).toEqual(expected);
  });

  it("[STR-05] labels what a running step says of itself as not final, and moves no percent", async () => {
    await using edge = await openEdge({ capabilities: [talking()] });
    const { workflow_id: id } = await edge.t.run(intent);
    const told = dataOf(await readMessages(await edge.fetch(streamPath(id, "progress"))));
    const subs = told.filter((at) => at["sub"] !== undefined);
    expect(subs).toMatchObject([{ percent: 0, sub: { step_id: "speak", percent: 50, final: false } }]);
  });

  it("[STR-06] of the assistant leaves no trace in the ledger and is told again from it", async () => {
    const play = async (subscribed: boolean) => {
      await using edge = await openEdge({ capabilities: [talking()] });
      const id = await edge.t.submit(intent);
      const live = subscribed ? readMessages(await edge.fetch(streamPath(id, "assistant"))) : Promise.resolve([]);
      await edge.t.rest(id);
      const again = await readMessages(await edge.fetch(streamPath(id, "assistant")));
      return { live: await live, again, types: await edge.t.types(id) };
    };
    const [heard, unheard] = [await play(true), await play(false)];
    expect(heard.live).toEqual(heard.again);
    expect(heard.live.at(-1)?.data).toMatchObject({ type: "final", state: "completed" });
    expect(heard.types).toEqual(unheard.types);
    expect(dataOf(heard.again)).toEqual(dataOf(unheard.again));
  });

  it("[STR-07] chunks are batched into STEP_STREAMED first and shown as deltas in their order", async () => {
    await using edge = await openEdge({ capabilities: [talking()] });
    const { workflow_id: id } = await edge.t.run(intent);
    const told = dataOf(await readMessages(await edge.fetch(streamPath(id, "assistant"))));
    const deltas = told.filter((item) => item["type"] === "delta");
    expect(deltas.map((item) => item["text"])).toEqual(["one ", "two ", "three"]);
    const sequences = deltas.map((item) => item["sequence"] as number);
    expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
    const batches = (await payloads(edge.t, id, "STEP_STREAMED")).filter(({ chunks }) => chunks.length > 0);
    expect(batches.map((batch) => [batch.attempt, batch.sequence, batch.chunks.join("")])).toEqual(
      deltas.map((item) => [1, item["sequence"], item["text"]]),
    );
  });
});

describe("going on", () => {
  it.each(channels)("(A-42) %s cut off at any message goes on without gap or repeat", async (channel) => {
    await using edge = await openEdge({ capabilities: [talking()] });
    const { workflow_id: id } = await edge.t.run(intent);
    const all = await readMessages(await edge.fetch(streamPath(id, channel)));
    for (const [i, { id: last }] of all.slice(0, -1).entries()) {
      const headers = { "last-event-id": String(last) };
      // What the client saw counts for more than the address it first asked.
      const again = await readMessages(await edge.fetch(`${streamPath(id, channel)}?after=0`, { headers }));
      expect(again).toEqual(all.slice(i + 1));
      expect(await readMessages(await edge.fetch(`${streamPath(id, channel)}?after=${last}`))).toEqual(again);
    }
    const end = await edge.fetch(streamPath(id, channel), { headers: { "last-event-id": String(all.at(-1)?.id) } });
    expect([end.status, await end.text()]).toEqual([204, ""]);
  });

  it("a stream stays open at a gate, keeps itself open, and closes after the terminal event", async () => {
    await using edge = await openEdge({ capabilities: [publishing().capability] }, { heartbeatMs: 1000, retryMs: 250 });
    const { workflow_id: id } = await edge.t.run(intent);
    const stream = follow(await edge.fetch(streamPath(id, "events")));
    await letRun();
    expect(stream.text().startsWith("retry: 250\n\n")).toBe(true);
    expect(messagesIn(stream.text()).at(-1)?.data).toMatchObject({ event_type: "WORKFLOW_WAITING" });
    for (let i = 0; i < 3; i += 1) await edge.t.clock.advance(1000);
    expect(stream.text().match(/^: heartbeat$/gm)).toHaveLength(3);
    expect(stream.isClosed()).toBe(false);
    await edge.t.approve(id);
    await edge.t.rest(id);
    await letRun();
    expect(messagesIn(stream.text()).at(-1)?.data).toMatchObject({ event_type: "WORKFLOW_COMPLETED" });
    expect(stream.isClosed()).toBe(true);
    expect(dataOf(messagesIn(stream.text()))).toEqual(JSON.parse(JSON.stringify(await eventsOf(edge.t, id))));
  });

  it("a reader that goes away leaves no listener and no timer", async () => {
    await using edge = await openEdge({ capabilities: [publishing().capability] });
    const { workflow_id: id } = await edge.t.run(intent);
    const before = [edge.t.kernel.vitals().listeners, edge.t.clock.pending()];
    const stream = follow(await edge.fetch(streamPath(id, "progress")));
    await letRun();
    expect(edge.t.kernel.vitals().listeners).toBe((before[0] as number) + 1);
    await stream.stop();
    await letRun();
    expect(edge.t.kernel.vitals().listeners).toBe(before[0]);
    expect(edge.t.clock.pending()).toBe(before[1]);
  });

  it("no more streams are open than may be; a place is free again when one closes", async () => {
    await using edge = await openEdge({ capabilities: [publishing().capability] }, { limits: { maxStreams: 2 } });
    const { workflow_id: id } = await edge.t.run(intent);
    const open = [await edge.fetch(streamPath(id, "events")), await edge.fetch(streamPath(id, "progress"))].map(follow);
    const refused = await edge.ask(streamPath(id, "events"));
    expect([refused.status, codeOf(refused), refused.headers.get("retry-after")]).toEqual([
      503,
      "T0_HTTP_STREAM_LIMIT",
      "1",
    ]);
    await open[0]?.stop();
    for (let i = 0; i < 3; i += 1)
      expect((await edge.fetch(streamPath(id, "events"), { method: "HEAD" })).status).toBe(200);
    const again = follow(await edge.fetch(streamPath(id, "events")));
    await letRun();
    expect(messagesIn(again.text()).length).toBeGreaterThan(0);
    await Promise.all([again.stop(), open[1]?.stop()]);
  });
});

describe("who may follow", () => {
  it("is refused before anything is streamed: nobody, without scope, of another tenant, with no number", async () => {
    await using edge = await openEdge({ capabilities: [gatedSteps(1).capability] });
    const { workflow_id: id } = await edge.t.run(intent);
    for (const channel of channels) {
      const status = async (as: string, query = "") =>
        (await edge.ask(`${streamPath(id, channel)}${query}`, { as })).status;
      expect(await Promise.all(["nobody's", "stranger", "foreign"].map((as) => status(as)))).toEqual([401, 401, 404]);
      expect(await status("own", "?after=soon")).toBe(400);
      expect((await edge.ask(streamPath("wf_none", channel))).status).toBe(404);
    }
  });

  it("a request that was refused has ended: its one event, then nothing more", async () => {
    await using edge = await openEdge({ capabilities: [talking()], roles: { user: { scopes: ["outcome:read"] } } });
    await edge.post(submitPath, hint);
    const id = edge.t.signals.map((signal) => JSON.stringify(signal.body).match(/wf_[0-9A-Z]{26}/)?.[0]).find(Boolean);
    const messages = await readMessages(await edge.fetch(streamPath(id as string, "events")));
    expect(dataOf(messages)).toMatchObject([{ event_type: "INTENT_REJECTED" }]);
    expect((await edge.fetch(`${streamPath(id as string, "events")}?after=1`)).status).toBe(204);
    expect((await edge.fetch(streamPath(id as string, "assistant"))).status).toBe(204);
  });
});
