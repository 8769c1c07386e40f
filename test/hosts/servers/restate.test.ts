/** Drives by way of a real Restate server, which is killed here as well; the ledger is in a real Postgres. */
import { once } from "node:events";
import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { restateHost } from "../../../src/hosts/restate/index.ts";
import { createKernel } from "../../../src/index.ts";
import { freePort } from "../../free-port.ts";
import { freshLedger, freshSchema, serverUrl } from "../../postgres/server.ts";
import { hostSuite } from "./host-suite.ts";
import type { NodeOptions } from "./node.ts";
import { type Balancer, openBalancer, type RestateServer, startRestate } from "./restate-server.ts";
import { isDone, isUnderWay, openStage, type Stage } from "./stage.ts";

let server: RestateServer;
beforeAll(async () => {
  server = await startRestate();
});
afterAll(() => server[Symbol.asyncDispose]());

interface Deployments {
  readonly deployments: readonly { readonly id: string }[];
}

interface Fleet {
  readonly balancer: Balancer;
  /** What the next process of it is started with: Restate reaches all of them by one balancer. */
  readonly next: (more?: Partial<NodeOptions>) => Promise<Partial<NodeOptions>>;
}

async function openFleet(service: string): Promise<Fleet> {
  const balancer = await openBalancer();
  const next = async (more: Partial<NodeOptions> = {}) => {
    const port = await freePort();
    balancer.targets.push(port);
    const register = { admin: server.admin, uri: balancer.uri };
    return { restate: { ingress: server.ingress, serve: { port }, register, service, sweepMs: 2000 }, ...more };
  };
  return { balancer, next };
}

async function onFleet(service: string, use: (fleet: Fleet, stage: Stage) => Promise<void>): Promise<void> {
  const fleet = await openFleet(service);
  const stage = await openStage({ url: serverUrl, schema: freshSchema() });
  try {
    await use(fleet, stage);
  } finally {
    await stage[Symbol.asyncDispose]();
    fleet.balancer.close();
  }
}

const fleet = openFleet("suite");
afterAll(async () => (await fleet).balancer.close());
hostSuite("Restate", async () => (await fleet).next());

describe("Restate", () => {
  it("that is killed and returns loses nothing: running calls end, none is made twice or put in doubt", async () => {
    await onFleet("killed", async ({ next }, stage) => {
      const first = await stage.start("first", await next({ callMs: 300 }));
      const ids = await first.submit("Test.Once", 6);
      await stage.until(isUnderWay(3));
      await server.kill();
      const second = await stage.start("second", await next({ callMs: 300 }));
      const away = [...(await first.submit("Test.Once")), ...(await second.submit("Test.Once"))];
      await stage.until("SELECT count(*) = 2 FROM workflows WHERE state = 'accepted'");
      expect([first.told, second.told]).toEqual([["T4_DISPATCHER_UNAVAILABLE"], ["T4_DISPATCHER_UNAVAILABLE"]]);
      await server.start();
      await stage.until(isDone(8));
      const keys = (await stage.effects()).map(({ key }) => key);
      expect(keys).toHaveLength(32);
      expect(new Set(keys).size).toBe(32);
      expect(await stage.isSound([...ids, ...away])).toBe(true);
    });
  });

  it("that returns empty, or has lost the address of the drives, is told again, and loses nothing", async () => {
    await onFleet("forgotten", async ({ next }, stage) => {
      const only = await stage.start("only", await next());
      await only.submit("Test.Job");
      await stage.until(isDone(1));
      await server.kill();
      await server.start("new");
      await only.submit("Test.Job");
      await stage.until(isDone(2));
      const { deployments } = (await (await fetch(`${server.admin}/deployments`)).json()) as Deployments;
      for (const { id } of deployments)
        await fetch(`${server.admin}/deployments/${id}?force=true`, { method: "DELETE" });
      await only.submit("Test.Job");
      await stage.until(isDone(3));
      expect(only.told).toEqual(["T4_DISPATCHER_REFUSED", "T4_DISPATCHER_REFUSED"]);
      expect(await stage.effects()).toHaveLength(12);
    });
  });

  it("calls another process while the first is paused past its lease, which begins nothing on waking", async () => {
    await onFleet("paused", async ({ next }, stage) => {
      const slow = { leaseMs: 1000, callMs: 400 };
      const [one, other] = [await next(slow), await next(slow)];
      const [first, second] = await Promise.all([stage.start("first", one), stage.start("second", other)]);
      const ids = await second.submit("Test.Job", 6);
      // All are in a call then, and none is about to begin one.
      await stage.until("SELECT count(*) = 6 AND count(*) FILTER (WHERE kernel = 'first') > 0 FROM effects");
      first.process.kill("SIGSTOP");
      await stage.until(isDone(6));
      const wokenAt = await stage.now();
      first.process.kill("SIGCONT");
      expect(await first.submit("Test.Job")).toHaveLength(1);
      await stage.until(isDone(7));
      const done = await stage.effects();
      const keys = new Set(done.filter(({ at }) => at < wokenAt).map(({ key }) => key));
      expect(keys.size).toBe(24);
      expect(done.filter(({ key, at }) => keys.has(key) && at >= wokenAt)).toEqual([]);
      expect(await stage.isSound(ids)).toBe(true);
    });
  });

  it("lets a drive take as long as its calls, and is told of workflows that do not exist", async () => {
    await onFleet("long", async ({ next }, stage) => {
      const only = await stage.start("only", await next({ callMs: 300 }));
      const unknown = await fetch(`${server.ingress}/long/wf_unknown/drive`, { method: "POST" });
      expect([unknown.status, await unknown.text()]).toEqual([404, expect.stringContaining("T4_WORKFLOW_NOT_FOUND")]);
      await only.submit("Test.Once");
      await stage.until(isDone(1));
      expect(await stage.effects()).toHaveLength(4);
    });
  });

  it("notices within its keep-alive that a process behind a balancer is gone: nothing waits longer", async () => {
    await onFleet("hidden", async ({ next, balancer }, stage) => {
      balancer.hidesBreaks = true;
      const first = await stage.start("first", await next());
      await first.submit("Test.Job", 4);
      await stage.until(isUnderWay(4));
      const second = await stage.start("second", await next());
      first.process.kill("SIGKILL");
      const killedAt = await stage.now();
      await stage.until(isDone(4));
      expect((await stage.now()) - killedAt).toBeLessThan(15_000);
      expect(second.told).toEqual([]);
    });
  });

  it("that refuses to register an address without drives ends the kernel's start without a trace", async () => {
    const register = { admin: server.admin, uri: `http://127.0.0.1:${await freePort()}` };
    const serve = { port: await freePort() };
    const starting = createKernel({
      ledger: freshLedger(),
      host: restateHost({ ingress: server.ingress, serve, register }),
    });
    await expect(starting).rejects.toMatchObject({ error: { code: "T4_DISPATCHER_REFUSED" } });
    const after = createServer().listen(serve.port, "127.0.0.1");
    await once(after, "listening");
    after.close();
  });
});
