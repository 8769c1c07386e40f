/**
 * A process with a kernel on a ledger in Postgres and a host, for tests that end it: a line of JSON on its input is a
 * command, a line on its output what came of it. What its operators do in the world is a row of the table `effects`.
 */
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { Pool } from "pg";
import { z } from "zod";
import { type RestateHostOptions, restateHost } from "../../../src/hosts/restate/index.ts";
import {
  createKernel,
  defineCapability,
  defineOperator,
  type Operator,
  type OperatorCall,
  operatorError,
} from "../../../src/index.ts";
import { postgresLedger } from "../../../src/ledger/postgres/index.ts";

/** What a process is started with. */
export interface NodeOptions {
  readonly url: string;
  readonly schema: string;
  readonly owner: string;
  readonly restate?: RestateHostOptions;
  readonly leaseMs?: number;
  /** How long each call takes. */
  readonly callMs?: number;
}

/** What it is told to do. */
export type NodeCommand =
  | { readonly do: "submit"; readonly type: string; readonly count: number }
  | { readonly do: "approve" | "state"; readonly id: string }
  | { readonly do: "stop"; readonly drainMs: number };

const {
  url,
  schema,
  owner,
  restate,
  leaseMs = 30_000,
  callMs = 100,
} = JSON.parse(process.argv[2] ?? "") as NodeOptions;
const effects = new Pool({ connectionString: url, max: 4 });
const say = (value: object): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

const act = async ({ idempotencyKey, context }: OperatorCall<unknown>): Promise<object> => {
  const effect = [idempotencyKey, context.workflow_id, owner];
  await effects.query(`INSERT INTO ${schema}.effects (key, workflow, kernel) VALUES ($1, $2, $3)`, effect);
  await pause(callMs);
  return {};
};
const common = { input: z.record(z.string(), z.unknown()), effect: "write_draft" } as const;
/** May be called again under its key. */
const repeatable = defineOperator({
  ...common,
  name: "Test.Act",
  idempotent: true,
  run: act,
});
/** A call that is lost leaves a person a question. */
const once = defineOperator({ ...common, name: "Test.Once", run: act });
const late = defineOperator({
  ...common,
  name: "Test.Late",
  idempotent: true,
  retry: "STANDARD",
  run(call) {
    if (call.attempt > 1 || call.context.step_id !== "s1") return act(call);
    throw operatorError({ code: "BUSY", message: "busy", category: "transient", retry_after_ms: 1000 });
  },
});

const plain = defineOperator({ name: "Test.Plain", input: common.input, effect: "none", run: () => ({}) });

const chain = (operator: string, gateAt = 0) =>
  ["s1", "s2", "s3", "s4"].map((step_id, i) => ({
    step_id,
    name: step_id,
    operator,
    params: {},
    depends_on: i === 0 ? [] : [`s${i}`],
    ...(i > 0 && i === gateAt ? { gate: { reason: "look first" } } : {}),
  }));

const job = (intentType: string, operator: Operator, gateAt?: number) =>
  defineCapability({
    intentType,
    version: "1.0",
    input: z.record(z.string(), z.unknown()),
    operators: [operator],
    plan: { reasoning: "one after another", steps: chain(operator.metadata.name, gateAt) },
  });

const kernel = await createKernel({
  ledger: postgresLedger({ url, schema }),
  capabilities: [
    job("Test.Job", repeatable),
    job("Test.Gated", repeatable, 2),
    job("Test.Once", once),
    job("Test.Late", late),
    job("Test.Plain", plain),
  ],
  defaultPolicies: false,
  owner,
  limits: { leaseMs, restAfterMs: 100 },
  logger: { debug() {}, info() {}, warn() {}, error: (detail) => say({ told: detail }) },
  ...(restate === undefined ? {} : { host: restateHost(restate) }),
});
say({ ready: true });

const caller = { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } };

async function submit(type: string, count: number): Promise<readonly string[]> {
  const one = () => kernel.submit({ ...caller, intent_hint: { intent_type: type, inputs: {} } });
  return (await Promise.all(Array.from({ length: count }, one))).map(({ workflow_id }) => workflow_id);
}

async function obey(command: NodeCommand): Promise<object> {
  switch (command.do) {
    case "submit":
      return { ids: await submit(command.type, command.count) };
    case "approve":
      return { answer: await kernel.decideGate(command.id, { ...caller, decision: "approve" }) };
    case "state":
      return { state: (await kernel.workflow(command.id)).state };
    default:
      await kernel.stop({ drainMs: command.drainMs });
      await effects.end();
      return { stopped: true };
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const command = JSON.parse(line) as NodeCommand;
  void obey(command)
    .catch((error: unknown) => ({ failed: String(error) }))
    .then((answer) => {
      say(answer);
      if (command.do === "stop") process.stdin.destroy();
    });
});
