/**
 * A guard that is killed between a person's approval and the result: the call is made once, its result is given once,
 * and where nobody knows whether the call was made, a person is asked.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { call, textOf } from "./guard-fixture.ts";
import { type Face, hostileServer, type StartedGuard, startGuard } from "./start-guard.ts";

const acts = { tools: [{ name: "act", inputSchema: { type: "object" } }] };

interface Scene {
  readonly start: (node?: readonly string[]) => Promise<StartedGuard>;
  readonly server: ReturnType<typeof hostileServer>;
  /** Has the guard die at this commit from now on. */
  readonly dieAt: (point: string) => void;
}

function prepare(face: Face): Scene {
  const made = makeTempFolder();
  onTestFinished(() => made[Symbol.dispose]());
  const folder = made.path;
  const server = hostileServer(folder, acts);
  const plan = join(folder, "die-at");
  return {
    server,
    dieAt: (point) => writeFileSync(plan, point),
    async start(node = []) {
      const guard = await startGuard({
        folder,
        face,
        wait: 60,
        server: server.server,
        node,
        options,
        env: { DIE_AT: plan },
      });
      onTestFinished(guard.stop);
      return guard;
    },
  };
}

const options = ["--host", join(import.meta.dirname, "short-lease.ts")];
const failing = ["--import", join(import.meta.dirname, "die-at-commit.mjs")];

async function oneGate(guard: StartedGuard) {
  await expect.poll(guard.gates, { timeout: 10_000 }).toHaveLength(1);
  const [gate = expect.fail()] = await guard.gates();
  return gate;
}

/** Begins the call, and approves it at a guard that dies then. */
async function approveAndDie({ start, dieAt, server }: Scene, how: string): Promise<void> {
  const guard = await start(failing);
  void call(guard.client, "act", { n: 1 }).catch(() => undefined);
  const gate = await oneGate(guard);
  if (how === "in the call") server.be({ ...acts, kills: true });
  else dieAt(how);
  await guard.approve(gate);
  await guard.ended;
  server.be(acts);
}

/** What a person was asked after the restart. */
type Asked = "nothing" | "approval" | "in_doubt";

/** Calls again as a client does, and answers for a person, who looks at what the server was asked. */
async function callAgain(guard: StartedGuard, { server }: Scene): Promise<{ asked: Asked; text: string }> {
  const waiting = call(guard.client, "act", { n: 1 }).then(textOf);
  const over = waiting.then(() => "nothing" as const);
  const asked = await Promise.race([over, oneGate(guard)]);
  if (asked === "nothing") return { asked, text: await waiting };
  const isMade = server.called().length > 0;
  const done = { resolution: "done", result: { content: [{ type: "text", text: "called act 1" }] } };
  await guard.approve(asked, asked.kind === "approval" ? {} : isMade ? done : { resolution: "retry" });
  return { asked: asked.kind as Asked, text: await waiting };
}

const points: readonly (readonly [Face, string, Asked])[] = [
  ["stdio", "ACTION_STARTED before", "approval"],
  ["stdio", "ACTION_STARTED after", "in_doubt"],
  ["stdio", "ACTION_SUCCEEDED before", "in_doubt"],
  ["stdio", "ACTION_SUCCEEDED after", "nothing"],
  ["http", "in the call", "in_doubt"],
  ["http", "ACTION_SUCCEEDED after", "nothing"],
  // The result was received and that was not recorded: it is given again, and nothing is called for it.
  ["stdio", "handover: before", "nothing"],
  ["http", "handover: before", "nothing"],
];

it.each(points)("over %s, killed %s: calls once, gives the result once, and asks %s", async (...point) => {
  const [face, how, wanted] = point;
  const scene = prepare(face);
  await approveAndDie(scene, how);
  const guard = await scene.start();
  const { asked, text } = await callAgain(guard, scene);
  expect([asked, text]).toEqual([wanted, "called act 1"]);
  expect(scene.server.called()).toEqual(["act 1"]);
  await expectAnother(guard, scene);
});

it("asks a person about the same call once it is recorded that its result was received", async () => {
  const scene = prepare("stdio");
  await approveAndDie(scene, "handover: after");
  await expectAnother(await scene.start(), scene);
});

/** The result has been given: the same call is another one now, which is not made before a person approves it. */
async function expectAnother(guard: StartedGuard, { server }: Scene): Promise<void> {
  const another = call(guard.client, "act", { n: 1 });
  await guard.reject(await oneGate(guard));
  expect((await another).structuredContent).toMatchObject({ error: { code: "T5_HUMAN_DENIED" } });
  expect(server.called()).toEqual(["act 1"]);
}
