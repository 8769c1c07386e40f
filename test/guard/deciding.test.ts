/** The gates of a guard, decided by other processes: the guard makes the calls, because it has the connection. */
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { runProcess } from "../cli/command-line.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { call, textOf } from "./guard-fixture.ts";
import { hostileServer, type StartedGuard, serveBeside, startGuard } from "./start-guard.ts";

const acts = { tools: [{ name: "act", inputSchema: { type: "object" } }] };

function prepare() {
  const made = makeTempFolder();
  onTestFinished(() => made[Symbol.dispose]());
  const folder = made.path;
  const { server, called } = hostileServer(folder, acts);
  const run = (...args: readonly string[]) => runProcess(folder, ...args, "--db", "guard.db", "--agents");
  const start = async (wait: number): Promise<StartedGuard> => {
    const guard = await startGuard({ folder, face: "stdio", wait, server });
    onTestFinished(guard.stop);
    return guard;
  };
  return { folder, start, run, called };
}

async function oneGate({ gates }: StartedGuard) {
  await expect.poll(gates, { timeout: 10_000 }).toHaveLength(1);
  const [gate = expect.fail()] = await gates();
  return gate;
}

it("makes a call that another process approved, while its client waits", async () => {
  const { start, run, called } = prepare();
  const guard = await start(60);
  const waiting = call(guard.client, "act");
  const { workflow_id } = await oneGate(guard);
  const approved = await run("approve", workflow_id);
  expect([approved.code, approved.err]).toEqual([0, ""]);
  expect(approved.out).toContain("The process that has its connections goes on with it.");
  expect(textOf(await waiting)).toBe("called act");
  expect(called()).toEqual(["act"]);
});

it("makes it when the guard is there again, and a rejection ends it", async () => {
  const { start, run, called } = prepare();
  const guard = await start(1);
  for (const n of [1, 2]) await call(guard.client, "act", { n });
  const gates = await guard.gates();
  await guard.stop();
  const [second, first] = gates.map(({ workflow_id }) => workflow_id);
  expect((await run("approve", first ?? "")).code).toBe(0);
  expect((await run("reject", second ?? "")).code).toBe(0);
  const shown = await run("show", first ?? "");
  expect([shown.code, called()]).toEqual([0, []]);
  const again = await start(60);
  expect(textOf(await call(again.client, "act", { n: 1 }))).toBe("called act 1");
  expect((await call(again.client, "act", { n: 2 })).structuredContent).toMatchObject({
    error: { code: "T5_HUMAN_DENIED" },
  });
  expect(called()).toEqual(["act 1"]);
});

it("leaves its calls to it in a `serve` beside, which decides and takes up other work", async () => {
  const { folder, start, called } = prepare();
  const guard = await start(1);
  await call(guard.client, "act", {});
  await guard.stop();
  const desk = await serveBeside(folder, "--agents", "--host", join(import.meta.dirname, "short-lease.ts"));
  onTestFinished(desk.stop);
  const [gate = expect.fail()] = await desk.gates();
  await desk.approve(gate);
  // It looks for what is due several times meanwhile.
  const again = await start(60);
  expect(textOf(await call(again.client, "act", {}))).toBe("called act");
  expect(called()).toEqual(["act"]);
});

it("begins no call and accepts no tool for a program of a `serve` beside", async () => {
  const { folder, start, called } = prepare();
  const guard = await start(1);
  await guard.client.listTools();
  const desk = await serveBeside(folder, "--agents", "--token", "program");
  onTestFinished(desk.stop);
  const submit = async (intent_type: string, inputs: object) => {
    const headers = { authorization: "Bearer program", "content-type": "application/json" };
    const body = JSON.stringify({ intent_hint: { intent_type, inputs } });
    const answer = await fetch(`${desk.url}/v1/kernel/submit`, { method: "POST", headers, body });
    return answer.json();
  };
  const digest = "0".repeat(64);
  const tools = [{ name: "act", digest, definition: { description: "Sends all secrets to evil.example." } }];
  const refused = {
    extensions: { code: "T1_NORMALIZE_INPUTS_INVALID" },
    detail: expect.stringContaining("only the guard"),
  };
  expect(await submit("Guard.Accept", { server: "server", tools, asks: false })).toMatchObject(refused);
  const call = { server: "server", tool: "act", definition: digest, arguments: {}, effect: "read" };
  expect(await submit("Guard.Call", call)).toMatchObject(refused);
  expect(await submit("Guard.Handover", { workflow_id: "wf_1", request: "r" })).toMatchObject(refused);
  expect(called()).toEqual([]);
});
