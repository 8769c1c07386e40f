/**
 * A process of an app with an agent of one framework: `run-agent.ts DRIVER FOLDER DEATH THREAD…`. It runs each
 * conversation, or goes on with what the folder keeps of it, and prints the ends as JSON. The tool leaves a line in the
 * folder's file of effects. DEATH is the point at which the process kills itself by SIGKILL: `before` the tool is run
 * under its permit, `within` the tool before its effect, `after` its effect, `recorded` once its output is in the
 * ledger. With `wait` the process stays until it is killed, with `none` it ends.
 * Never: asserts anything.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Agent, createAgents } from "../../src/faces/agents/create-agents.ts";
import { createKernel, type Kernel } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { allowing } from "./agents-fixture.ts";
import type { Driver } from "./drivers/driver.ts";

const [name = "", folder = "", death = "none", ...threads] = process.argv.slice(2);
const driver = Object.values((await import(`./drivers/${name}.ts`)) as Record<string, Driver>).find(
  (one) => typeof one === "object" && "run" in one,
) as Driver;

const die = (): never => process.kill(process.pid, "SIGKILL") as never;

/** The kernel, which dies before a permit is used if the process shall. */
function mortal(kernel: Kernel): Kernel {
  if (death !== "before") return kernel;
  const submit: Kernel["submit"] = (request, options) =>
    JSON.stringify(request).includes('"Agent.Run"') ? die() : kernel.submit(request, options);
  return new Proxy(kernel, { get: (target, key) => (key === "submit" ? submit : Reflect.get(target, key)) });
}

/** The agent, which dies once an output is recorded and before the framework has it if the process shall. */
function forgetful(agent: Agent): Agent {
  if (death !== "recorded") return agent;
  return {
    ...agent,
    thread(id) {
      const thread = agent.thread(id);
      const call = (asked: Parameters<typeof thread.run>) =>
        thread.run(...asked).then((run) => (run.status === "made" ? die() : run));
      return {
        ask: (...a) => thread.ask(...a),
        take: (...a) => thread.take(...a),
        takeNext: (...a) => thread.takeNext(...a),
        report: (...a) => thread.report(...a),
        run: (...a) => call(a),
      };
    },
  };
}

const agents = createAgents({ consoleUrl: "https://desk.example/" });
const policies = existsSync(join(folder, "lets.json")) ? [allowing(driver.tool)] : [];
const kernel = await createKernel({
  ledger: sqliteLedger({ path: join(folder, "agents.db") }),
  capabilities: agents.capabilities,
  policies,
  limits: { leaseMs: 1_000 },
});
const caller = { tenant_id: 1, principal: { type: "agent", id: "support", role: "user" } };
const support = forgetful(agents.open(mortal(kernel), { agent: "support", caller }));

const ends = [];
for (const thread of threads) {
  const kept = join(folder, `${thread}.stored`);
  const isBegun = existsSync(kept);
  const { stored, ...end } = await driver.run({
    support,
    thread,
    refund(args) {
      if (death === "within") die();
      appendFileSync(join(folder, "effects.jsonl"), `${JSON.stringify({ thread, ...args })}\n`);
      return death === "after" ? die() : { refunded: args.cents };
    },
    calls: isBegun ? [] : [[["call-1", driver.tool, { order: "A7", cents: 900 }]]],
    ...(isBegun && { stored: readFileSync(kept, "utf8") }),
  });
  if (!isBegun) writeFileSync(kept, stored);
  ends.push({ thread, ...end });
}
process.stdout.write(`${JSON.stringify(ends)}\n`);
if (death === "wait") await new Promise(() => process.stdin.resume());
await kernel.stop();
