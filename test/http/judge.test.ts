/**
 * A client that others wrote, the `eventsource` package, follows servers that stop and start again, and one that only
 * reads.
 */
import { join } from "node:path";
import { EventSource } from "eventsource";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHttpApp, serveHttp } from "../../src/faces/http/index.ts";
import { createKernel, type FeedItem, type Kernel, type KernelOptions, type LedgerEvent } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { intent, publishing } from "../gates/story.ts";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";
import { streamPath } from "./sse-reader.ts";

const token = "judge";
const feedPath = "/v1/kernel/stream/feed";

let folder: TempFolder;
beforeEach(() => {
  folder = makeTempFolder();
});
afterEach(() => folder[Symbol.dispose]());

const openKernel = (options: KernelOptions = {}): Promise<Kernel> =>
  createKernel({
    ledger: sqliteLedger({ path: join(folder.path, "ledger.db") }),
    limits: { tailPollMs: 20 },
    ...options,
  });
const runs = () => openKernel({ capabilities: [publishing().capability] });

async function serve(kernel: Kernel, port = 0) {
  const app = createHttpApp(kernel, { tokens: [{ token, ...testCaller }], retryMs: 10 });
  const server = await serveHttp(app, { port });
  const stop = async () => {
    await server.close();
    await kernel.stop({ drainMs: 0 });
  };
  return { kernel, url: server.url, port: Number(new URL(server.url).port), stop };
}

/** What the client hands on, with the ids it gives them. */
function listen<T>(url: string, name: string) {
  const got: T[] = [];
  const ids: string[] = [];
  const statuses: number[] = [];
  const waiting = new Set<() => void>();
  const source = new EventSource(url, {
    fetch: async (input, init) => {
      const response = await fetch(input, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } });
      statuses.push(response.status);
      return response;
    },
  });
  source.addEventListener(name, ({ data, lastEventId }) => {
    got.push(JSON.parse(data as string) as T);
    ids.push(lastEventId);
    for (const look of waiting) look();
  });
  const seen = (wanted: (item: T) => boolean, times = 1): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (got.filter(wanted).length >= times) resolve();
      };
      waiting.add(look);
      look();
    });
  /** Resolves when the client gives up reconnecting. */
  const over = new Promise<void>((resolve) => {
    source.onerror = () => source.readyState === source.CLOSED && resolve();
  });
  return { got, ids, statuses, seen, over, close: () => source.close() };
}

const submit = async (kernel: Kernel): Promise<string> =>
  (await kernel.submit({ ...testCaller, intent_hint: { intent_type: intent, inputs: {} } })).workflow_id;
const approve = async (kernel: Kernel, id: string): Promise<unknown> => {
  await kernel.decideGate(id, { ...testCaller, decision: "approve" });
  return kernel.settled(id);
};
const collect = async <T>(items: AsyncGenerator<T, void, void>): Promise<readonly T[]> => {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
};
const isIn = (state: string) => (item: FeedItem) => item.type === "workflow" && item.state === state;

describe("a client that others wrote", () => {
  it("[STR-03] (A-42) follows a workflow through two restarts of its server without gap or repetition", async () => {
    let server = await serve(await runs());
    const { port } = server;
    const id = await submit(server.kernel);
    const client = listen<LedgerEvent>(`${server.url}${streamPath(id, "events")}`, "kernel.event");
    await client.seen((event) => event.event_type === "WORKFLOW_WAITING");
    for (let restart = 0; restart < 2; restart += 1) {
      await server.stop();
      server = await serve(await runs(), port);
    }
    await approve(server.kernel, id);
    await client.over;
    const ledger = await collect(server.kernel.events(id, { live: false }));
    await server.stop();
    expect(client.got).toEqual(JSON.parse(JSON.stringify(ledger)));
    expect(client.ids).toEqual(ledger.map(({ sequence }) => String(sequence)));
    expect(client.statuses.at(-1)).toBe(204);
  });

  it("follows the feed through restarts without gap or repeat, though others write while it is away", async () => {
    let server = await serve(await runs());
    const { port } = server;
    const ids = [await submit(server.kernel), await submit(server.kernel)];
    await Promise.all(ids.map((id) => server.kernel.settled(id)));
    const client = listen<FeedItem>(`${server.url}${feedPath}`, "kernel.feed");
    await client.seen((item) => item.type === "bookmark");
    expect(client.got.filter(isIn("waiting_for_user"))).toHaveLength(2);
    for (const [i, id] of ids.entries()) {
      await server.stop();
      const away = await runs();
      await approve(away, id);
      await away.stop();
      server = await serve(await runs(), port);
      await client.seen(isIn("completed"), i + 1);
    }
    const last = await submit(server.kernel);
    await server.kernel.settled(last);
    await client.seen((item) => item.type === "workflow" && item.workflow_id === last && item.gates.length > 0);
    client.close();
    const bookmark = client.got.find((item) => item.type === "bookmark");
    const after = { after: bookmark?.position as number, live: false };
    const ledger = await collect(server.kernel.feed(after, testCaller));
    await server.stop();
    const live = client.got.slice(client.got.indexOf(bookmark as FeedItem) + 1);
    expect(live).toEqual(ledger);
    // A snapshot has no ids of its own; then the id is the ledger's position.
    expect(client.ids.slice(0, 2)).toEqual(["", ""]);
    expect(client.ids.slice(2)).toEqual([bookmark, ...live].map((item) => String(item?.position)));
  });

  it("is told by a process that runs nothing what another one does, as it is committed", async () => {
    const works = await runs();
    const server = await serve(await openKernel({ recover: false }));
    const feed = listen<FeedItem>(`${server.url}${feedPath}`, "kernel.feed");
    await feed.seen((item) => item.type === "bookmark");
    const id = await submit(works);
    await feed.seen(isIn("waiting_for_user"));
    const events = listen<LedgerEvent>(`${server.url}${streamPath(id, "events")}`, "kernel.event");
    await events.seen((event) => event.event_type === "WORKFLOW_WAITING");
    await approve(works, id);
    await Promise.all([events.over, feed.seen(isIn("completed"))]);
    feed.close();
    expect(events.got).toEqual(JSON.parse(JSON.stringify(await collect(works.events(id, { live: false })))));
    expect(feed.got.slice(1)).toEqual(
      await collect(works.feed({ after: feed.got[0]?.position as number, live: false }, testCaller)),
    );
    await server.stop();
    await works.stop();
  });
});
