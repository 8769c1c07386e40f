/** Notifications of tasks: signed, to no private address, in order, and gone on with by another process. */
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { createMemoryPushStore } from "../../src/faces/protocols/a2a/index.ts";
import { type SqliteLedger, sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { memoryLedger } from "../../src/testing/index.ts";
import { freshPaths } from "../fixtures.ts";
import { held, intent, publishing } from "../gates/story.ts";
import { receiveHttp } from "../notifiers/receivers.ts";
import { asked, codeOf, data, openA2a, rpc, send } from "./a2a-fixture.ts";
import { expectPushLaw } from "./push-store-law.ts";

const freshPath = freshPaths();

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const begin = { skill: intent, parts: [data({})] };
const story = () => ({ capabilities: [publishing().capability] });

interface Told {
  readonly statusUpdate: { readonly taskId: string; readonly status: { readonly state: string } };
}
const stateOf = (body: string): string => (JSON.parse(body) as Told).statusUpdate.status.state;

describe("a notification of a task", () => {
  it("tells each state once, signed as the standard's own library signs, with the client's token", async () => {
    await using receiver = await receiveHttp();
    await using face = await openA2a(story(), { push: { secret, allowPrivate: true } });
    const url = `http://127.0.0.1:${receiver.port}/in`;
    const config = { tenant: "", id: "", taskId: "", url, token: "mine", authentication: undefined };
    const client = await face.connect();
    const task = await send(client, { ...begin, configuration: { taskPushNotificationConfig: config } });
    await receiver.inbox.until(({ body }) => stateOf(body) === "TASK_STATE_INPUT_REQUIRED");
    const parts = [data({ question: asked(task)[0]?.question, decision: "approve" })];
    await send(client, { taskId: task.id, parts });
    await receiver.inbox.until(({ body }) => stateOf(body) === "TASK_STATE_COMPLETED");
    const ids = receiver.inbox.items.map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { headers, body } of receiver.inbox.items) {
      expect(headers).toMatchObject({ "x-a2a-notification-token": "mine", "content-type": "application/a2a+json" });
      expect([
        isSigned(body, headers as Record<string, string>),
        isSigned(`${body} `, headers as Record<string, string>),
      ]).toEqual([true, false]);
    }
  });

  it("reaches no private address, and plain http only where the host allows it", async () => {
    const { promise: givenUp, release } = held<unknown>();
    const quiet = { debug: () => undefined, info: () => undefined, error: () => undefined };
    const logger = { ...quiet, warn: (detail: object) => release(detail) };
    const store = createMemoryPushStore();
    await using face = await openA2a(story(), { push: { secret, store }, logger });
    const task = await send(await face.connect(), begin);
    const create = (url: string) => rpc(face, "CreateTaskPushNotificationConfig", { taskId: task.id, url });
    for (const url of ["http://client.example/", "https://user:pw@client.example/"])
      expect(codeOf((await create(url)).body)).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    expect((await create("https://127.0.0.1:1/")).body.result).toMatchObject({ id: "push-1" });
    await face.t.kernel.cancel(task.id, { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } });
    expect(await givenUp).toMatchObject({ attempt: 1, thrown: { error: { code: "T6_NOTICE_ADDRESS" } } });
  });

  it("is listed and removed by its own caller, and by nobody else, without its credentials", async () => {
    await using face = await openA2a(story(), { push: { secret } });
    const task = await send(await face.connect(), begin);
    const url = "https://client.example/in";
    const authentication = { scheme: "Bearer", credentials: "hidden" };
    const params = { taskId: task.id, id: "mine", url, token: "hidden", authentication };
    await rpc(face, "CreateTaskPushNotificationConfig", params);
    const list = async (as: string) =>
      (await rpc(face, "ListTaskPushNotificationConfigs", { taskId: task.id }, { as })).body.result;
    expect(await list("own")).toMatchObject({ configs: [{ id: "mine", taskId: task.id, url }] });
    expect(JSON.stringify(await list("own"))).not.toContain("hidden");
    expect(await list("support")).toMatchObject({ configs: [] });
    const drop = (as: string) => rpc(face, "DeleteTaskPushNotificationConfig", { taskId: task.id, id: "mine" }, { as });
    expect(codeOf((await drop("support")).body)).toBe("T0_A2A_PUSH_UNKNOWN");
    expect((await drop("own")).body.result).toEqual({});
    expect(codeOf((await drop("own")).body)).toBe("T0_A2A_PUSH_UNKNOWN");
  });

  it("goes on in another process from where it was, by the store that both have", async () => {
    await using receiver = await receiveHttp();
    const [store, ledger] = [createMemoryPushStore(), memoryLedger()];
    const kept: LedgerStore = Object.assign(Object.create(ledger), { close: async () => undefined });
    const options = { push: { secret, allowPrivate: true, store } };
    const first = await openA2a({ ...story(), ledger: kept }, options);
    const task = await send(await first.connect(), begin);
    await rpc(first, "CreateTaskPushNotificationConfig", {
      taskId: task.id,
      url: `http://127.0.0.1:${receiver.port}/`,
    });
    await first[Symbol.asyncDispose]();
    await using second = await openA2a({ ...story(), ledger, seed: 2 }, options);
    const parts = [data({ question: asked(task)[0]?.question, decision: "approve" })];
    await send(await second.connect(), { taskId: task.id, parts });
    await receiver.inbox.until(({ body }) => stateOf(body) === "TASK_STATE_COMPLETED");
    expect(receiver.inbox.items.map(({ body }) => (JSON.parse(body) as Told).statusUpdate.taskId)).toContain(task.id);
  });

  it("is sent again by the next process if none has taken it, to the address that a ledger keeps", async () => {
    let isUp = false;
    await using receiver = await receiveHttp((response) => void response.writeHead(isUp ? 204 : 503).end());
    const path = freshPath();
    const openAt = (ledger: SqliteLedger, seed: number) =>
      openA2a({ ...story(), ledger, seed }, { push: { secret, allowPrivate: true, store: ledger.pushes } });
    const first = await openAt(sqliteLedger({ path }), 1);
    const client = await first.connect();
    const task = await send(client, begin);
    const url = `http://127.0.0.1:${receiver.port}/`;
    await rpc(first, "CreateTaskPushNotificationConfig", { taskId: task.id, id: "mine", url });
    await send(client, { taskId: task.id, parts: [data({ question: asked(task)[0]?.question, decision: "approve" })] });
    await receiver.inbox.count(1);
    await first[Symbol.asyncDispose]();
    isUp = true;
    const ledger = sqliteLedger({ path });
    await using second = await openAt(ledger, 2);
    const ended = ({ body }: { readonly body: string }): boolean => stateOf(body) === "TASK_STATE_COMPLETED";
    await receiver.inbox.until((one) => ended(one) && isUp && receiver.inbox.items.indexOf(one) > 0);
    const [refused] = receiver.inbox.items;
    const ids = receiver.inbox.items.map(({ headers }) => headers["webhook-id"]);
    expect(ids.lastIndexOf(refused?.headers["webhook-id"])).toBeGreaterThan(0);
    while ((await ledger.pushes.list()).length > 0) await second.t.clock.settle();
  });

  it("is kept by each store as it was given", async () => {
    await expectPushLaw(createMemoryPushStore());
    const ledger = sqliteLedger({ path: freshPath() });
    await ledger.open();
    await expectPushLaw(ledger.pushes);
    await ledger.close();
  });

  it("is bounded for each task", async () => {
    await using face = await openA2a(story(), { push: { secret }, limits: { maxPushPerTask: 1 } });
    const task = await send(await face.connect(), begin);
    const create = (id: string) =>
      rpc(face, "CreateTaskPushNotificationConfig", { taskId: task.id, id, url: "https://c.example/" });
    expect((await create("a")).body.result).toBeDefined();
    expect((await create("a")).body.result).toBeDefined();
    expect(codeOf((await create("b")).body)).toBe("T0_A2A_PUSH_LIMIT");
  });
});

/** Whether the standard's own library gives one of the signatures that were sent. */
function isSigned(body: string, headers: Readonly<Record<string, string>>): boolean {
  const at = new Date(Number(headers["webhook-timestamp"]) * 1000);
  const signature = new Webhook(secret).sign(headers["webhook-id"] ?? "", at, body);
  return (headers["webhook-signature"] ?? "").split(" ").includes(signature);
}
