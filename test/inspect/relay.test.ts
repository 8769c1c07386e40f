/** The relay: who may view, what a viewer that does not read is for, and what becomes of a source that fails. */
import { once } from "node:events";
import { get } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { Inspection } from "../../src/contract/inspection.ts";
import type { LedgerEvent } from "../../src/index.ts";
import {
  playEvents,
  type ServeInspectorOptions,
  serveInspector,
  showPayload,
} from "../../src/observers/inspect/index.ts";
import { createVirtualClock } from "../../src/testing/index.ts";
import { refusalOf } from "../fixtures.ts";
import { goldens } from "./story.ts";

const [, events] = goldens[0]!;
const again = (of: readonly LedgerEvent[] = events): AsyncIterable<Inspection> => ({
  [Symbol.asyncIterator]: () => playEvents(of),
});

async function relay(source: AsyncIterable<Inspection>, options: Partial<ServeInspectorOptions> = {}) {
  const server = await serveInspector(source, { port: 0, ...options });
  return { ...server, feed: server.url.replace("http", "ws"), [Symbol.asyncDispose]: server.close };
}

async function closeOf(viewer: WebSocket): Promise<readonly [number, string]> {
  const [code, reason] = (await once(viewer, "close")) as [number, Buffer];
  return [code, String(reason)];
}

/** How an upgrade is answered. */
async function statusOf(feed: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const viewer = new WebSocket(feed, { headers });
  viewer.on("error", () => undefined);
  return new Promise((resolve) => {
    viewer.on("unexpected-response", (_request, response) => resolve(response.statusCode ?? 0));
    viewer.on("open", () => {
      viewer.terminate();
      resolve(101);
    });
  });
}

async function pageOf(url: string, host?: string) {
  const request = get(url, host === undefined ? {} : { headers: { host } });
  const [response] = (await once(request, "response")) as [import("node:http").IncomingMessage];
  return { status: response.statusCode, headers: response.headers, html: await text(response) };
}

describe("the relay", () => {
  it("tells all and closes; a source that cannot be read closes with its code", async () => {
    await using sound = await relay(again());
    expect(await closeOf(new WebSocket(sound.feed))).toEqual([1000, "all was told"]);
    const damaged = events.map((event, at) =>
      at === 3 ? ({ ...event, payload: null } as unknown as LedgerEvent) : event,
    );
    await using broken = await relay(again(damaged));
    expect(await closeOf(new WebSocket(broken.feed))).toEqual([1011, "T0_LEDGER_CORRUPT"]);
  });

  it("is for programs of this machine and its own page, by its own name", async () => {
    await using one = await relay(again());
    const host = one.url.slice("http://".length);
    const localhost = host.replace("127.0.0.1", "localhost");
    const asked: readonly (readonly [Readonly<Record<string, string>>, number])[] = [
      [{}, 101],
      [{ origin: one.url }, 101],
      [{ origin: `http://${localhost}`, host: localhost }, 101],
      [{ origin: "https://evil.example" }, 403],
      [{ origin: "null" }, 403],
      [{ origin: "https://stately.ai" }, 403],
      [{ host: "evil.example" }, 403],
    ];
    for (const [headers, status] of asked)
      expect([headers, await statusOf(one.feed, headers)]).toEqual([headers, status]);
    expect((await pageOf(one.url, "evil.example")).status).toBe(403);
    expect((await pageOf(`${one.url}/else`)).status).toBe(404);
  });

  it("shows a page that frames the inspector and nothing else, and says where what is inspected goes", async () => {
    await using one = await relay(again());
    const { status, headers, html } = await pageOf(one.url);
    const policy = String(headers["content-security-policy"]);
    expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-src https://stately.ai;");
    expect(policy).toContain(`connect-src ${one.feed};`);
    expect(html).toContain("goes to the page of https://stately.ai");
    const pages = ["<p>1</p>", "<p>2</p>", "<p>3</p>"];
    const page = async () => ({ html: pages.shift() ?? "", policy: "default-src 'none'" });
    await using own = await relay(again(), { page });
    expect([(await pageOf(own.url)).html, (await pageOf(own.url)).html]).toEqual(["<p>1</p>", "<p>2</p>"]);
    expect((await pageOf(own.url)).headers["content-security-policy"]).toBe("default-src 'none'");
    await using broken = await relay(again(), { page: () => Promise.reject(new Error("no player")) });
    expect((await pageOf(broken.url)).status).toBe(500);
  });

  it("cuts off a viewer that takes nothing, and lets go of what was opened for it", async () => {
    const clock = createVirtualClock();
    let left = 0;
    const large = (event: LedgerEvent): LedgerEvent => ({
      ...event,
      payload: { ...event.payload, more: "x".repeat(4_000_000) },
    });
    const source: AsyncIterable<Inspection> = {
      async *[Symbol.asyncIterator]() {
        try {
          yield* playEvents(events.map(large), { redact: showPayload });
        } finally {
          left += 1;
        }
      },
    };
    await using one = await relay(source, { clock, maxStallMs: 1_000 });
    const { port } = new URL(one.url);
    const socket = connect(Number(port), "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(
      `GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    );
    await once(socket, "readable");
    // It never reads: what the machine keeps for it is full at some time, and then one message waits.
    for (let round = 0; round < 2_000 && left === 0; round += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      if (clock.pending() > 0 && round % 50 === 49) await clock.advance(1_000);
    }
    expect(left).toBe(1);
    socket.destroy();
  });

  it("takes so many viewers and no more", async () => {
    const waiting: AsyncIterable<Inspection> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => undefined),
        return: async () => ({ done: true, value: undefined }),
      }),
    };
    await using one = await relay(waiting, { maxViewers: 1 });
    const first = new WebSocket(one.feed);
    await once(first, "open");
    expect(await statusOf(one.feed, {})).toBe(503);
    first.terminate();
  });

  it("refuses options that are none, and an address that is taken", async () => {
    const wrong: readonly object[] = [
      { port: -1 },
      { port: 0, host: "0.0.0.0" },
      { port: 0, ui: "mine" },
      { port: 0, url: "javascript:alert(1)" },
      { port: 0, maxStall: 1 },
      { port: 0, maxViewers: 0 },
    ];
    for (const options of wrong)
      expect((await refusalOf(serveInspector(again(), options as ServeInspectorOptions))).code).toBe(
        "T0_VALIDATION_SCHEMA_MISMATCH",
      );
    await using one = await relay(again());
    const taken = refusalOf(serveInspector(again(), { port: Number(new URL(one.url).port) }));
    expect((await taken).code).toBe("T0_HTTP_ADDRESS_UNAVAILABLE");
  });

  it("ends with a source that can be read once and gives more than is kept", async () => {
    await using one = await relay(playEvents(events), { maxKept: 5 });
    expect(await closeOf(new WebSocket(one.feed))).toEqual([1011, "T0_VALIDATION_PAYLOAD_TOO_LARGE"]);
  });
});

describe("the pace of a play", () => {
  const gap = async (more: object): Promise<number> => {
    const clock = createVirtualClock(0);
    const at = (seconds: number): string => new Date(seconds * 1000).toISOString();
    const [first, second] = events as [LedgerEvent, LedgerEvent];
    const played = Array.fromAsync(
      playEvents(
        [
          { ...first, timestamp: at(0) },
          { ...second, timestamp: at(86_400) },
        ],
        { clock, ...more },
      ),
    );
    await clock.settle();
    if (clock.pending() > 0) await clock.advanceToNext();
    await played;
    return clock.now();
  };

  it.each([
    ["none at once", {}, 0],
    ["none by steps", { speed: "step" }, 0],
    ["two seconds for a day", { speed: 1 }, 2_000],
    ["a fifth of that at five times the speed", { speed: 5 }, 400],
    ["the day itself where pauses are to be real", { speed: 1, real: true }, 86_400_000],
  ])("has pauses: %s", async (_what, options, ms) => {
    expect(await gap(options)).toBe(ms);
  });

  it("is left at once by a viewer, also while it waits, and leaves no timer", async () => {
    const clock = createVirtualClock(0);
    const late = events.map((event, at) => ({ ...event, timestamp: new Date(at * 60_000).toISOString() }));
    const viewer = playEvents(late, { speed: 1, real: true, clock });
    const reading = Array.fromAsync(viewer);
    await clock.settle();
    expect(clock.pending()).toBe(1);
    await viewer.return();
    await reading;
    expect(clock.pending()).toBe(0);
  });

  it("is no number at or below zero", async () => {
    for (const speed of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, "fast"])
      expect((await refusalOf((async () => playEvents(events, { speed: speed as number }))())).code).toBe(
        "T0_VALIDATION_SCHEMA_MISMATCH",
      );
  });
});

describe("what cannot be played", () => {
  it("is told as damage, whatever is wrong with an event, and a redact that throws shows nothing", async () => {
    const refused = async (given: readonly unknown[], options = {}): Promise<string> =>
      (await refusalOf(Array.fromAsync(playEvents(given as readonly LedgerEvent[], options)))).code;
    for (const bad of [null, 1, "x", {}, { ...events[0], payload: null }, { ...events[0], actor: null, payload: {} }])
      expect(await refused([bad])).toBe("T0_LEDGER_CORRUPT");
    const redact = (): never => {
      throw new Error("no");
    };
    expect(await refused(events, { redact })).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  });
});
