/**
 * npm run bench:restate: kernels on one Postgres, with Restate before them and without, in the same run and taking
 * turns; and how soon work goes on when a kernel, or Restate, is killed. Prints a line of JSON a measurement, and
 * medians.
 *
 * Environment: ROUNDS (3), KERNELS (3), WORKFLOWS (300) of four steps without effect.
 */
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "../../free-port.ts";
import { startServer } from "../../postgres/start-server.ts";
import type { NodeOptions } from "./node.ts";
import { openBalancer, startRestate } from "./restate-server.ts";
import { isDone, isUnderWay, openStage, type Stage } from "./stage.ts";

const rounds = Number(process.env["ROUNDS"] ?? 3);
const kernels = Number(process.env["KERNELS"] ?? 3);
const workflows = Number(process.env["WORKFLOWS"] ?? 300);

const database = await startServer(["max_connections=200", "listen_addresses=127.0.0.1"]);
// As the guide advises.
const restate = await startRestate({
  RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_INTERVAL: "5s",
  RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_TIMEOUT: "5s",
  RESTATE_WORKER__INVOKER__HTTP2_STREAMS_PER_CONNECTION_LIMIT: "16",
});
let schemas = 0;

type Fleet = () => Promise<Partial<NodeOptions>>;
const alone: Fleet = async () => ({});

async function onStage<T>(use: (stage: Stage, next: Fleet) => Promise<T>, dispatched: boolean): Promise<T> {
  schemas += 1;
  const balancer = await openBalancer();
  const service = `measured-${schemas}`;
  const next: Fleet = async () => {
    const port = await freePort();
    balancer.targets.push(port);
    const register = { admin: restate.admin, uri: balancer.uri };
    return { restate: { ingress: restate.ingress, serve: { port }, register, service } };
  };
  const stage = await openStage({ url: database.url, schema: `measured_${schemas}` });
  try {
    return await use(stage, dispatched ? next : alone);
  } finally {
    await stage[Symbol.asyncDispose]();
    balancer.close();
  }
}

const drain = (dispatched: boolean) =>
  onStage(async (stage, next) => {
    const nodes = [];
    for (let n = 0; n < kernels; n += 1) nodes.push(await stage.start(`kernel-${n}`, await next()));
    const share = Math.ceil(workflows / kernels);
    await Promise.all(nodes.map((node) => node.submit("Test.Plain", 10)));
    await stage.until(isDone(10 * kernels));
    const begunAt = await stage.now();
    await Promise.all(nodes.map((node) => node.submit("Test.Plain", share)));
    await stage.until(isDone((10 + share) * kernels));
    const ms = (await stage.now()) - begunAt;
    return { per_s: Math.round((1000 * share * kernels) / ms) };
  }, dispatched);

/** Twenty of forty workflows are on the kernel that is killed, in calls of 200 ms. */
const killKernel = (dispatched: boolean) =>
  onStage(async (stage, next) => {
    const first = await stage.start("first", { ...(await next()), callMs: 200 });
    const second = await stage.start("second", { ...(await next()), callMs: 200 });
    await Promise.all([first.submit("Test.Job", 20), second.submit("Test.Job", 20)]);
    await stage.until(isUnderWay(60));
    first.process.kill("SIGKILL");
    const killedAt = await stage.now();
    await stage.until(isDone(40));
    const done = await stage.effects();
    const lastOn = new Map(done.filter(({ at }) => at < killedAt).map(({ workflow, kernel }) => [workflow, kernel]));
    const goneOn = done.find(({ at, workflow }) => at > killedAt && lastOn.get(workflow) === "first");
    return {
      gone_on_ms: Math.round((goneOn?.at ?? Number.NaN) - killedAt),
      all_done_ms: Math.round((await stage.now()) - killedAt),
      again: done.length - new Set(done.map(({ key }) => key)).size,
    };
  }, dispatched);

/** Restate comes back after 0.4 s; twenty workflows are under way, twenty more are accepted meanwhile. */
const killRestate = () =>
  onStage(async (stage, next) => {
    const first = await stage.start("first", { ...(await next()), callMs: 200 });
    await stage.start("second", { ...(await next()), callMs: 200 });
    await first.submit("Test.Job", 20);
    await stage.until(isUnderWay(20));
    await restate.kill();
    const killedAt = await stage.now();
    await first.submit("Test.Job", 20);
    await pause(400);
    await restate.start();
    const backAt = await stage.now();
    await stage.until(isDone(40));
    const done = await stage.effects();
    return {
      away_ms: Math.round(backAt - killedAt),
      all_done_ms: Math.round((await stage.now()) - killedAt),
      again: done.length - new Set(done.map(({ key }) => key)).size,
    };
  }, true);

const measured: Record<string, () => Promise<Readonly<Record<string, number>>>> = {
  "throughput, Postgres alone": () => drain(false),
  "throughput, with Restate": () => drain(true),
  "kernel killed, Postgres alone": () => killKernel(false),
  "kernel killed, with Restate": () => killKernel(true),
  "Restate killed": killRestate,
};

const told: Record<string, Readonly<Record<string, number>>[]> = {};
for (let round = 0; round < rounds; round += 1)
  for (const [what, measure] of Object.entries(measured)) {
    const figures = await measure();
    told[what] = [...(told[what] ?? []), figures];
    console.log(JSON.stringify({ what, round, ...figures }));
  }
const medianOf = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
console.table(
  Object.fromEntries(
    Object.entries(told).map(([what, all]) => [
      what,
      Object.fromEntries(Object.keys(all[0] ?? {}).map((name) => [name, medianOf(all.map((one) => one[name] ?? 0))])),
    ]),
  ),
);
await restate[Symbol.asyncDispose]();
await database.stop();
