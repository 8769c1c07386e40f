/**
 * A process with a kernel on a ledger in Postgres, for tests that end it. A line of its input is a number of jobs to
 * begin, `each N`: one list that runs a job for each of N items, or `queue N`: jobs in queues of two keys. It answers
 * on its output, a line of JSON each. What its operator does in the world is a row of the table `effects`.
 */
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { Pool } from "pg";
import { z } from "zod";
import { createKernel, defineCapability, defineOperator } from "../../src/index.ts";
import { postgresLedger } from "../../src/ledger/postgres/index.ts";

const [url = "", schema = "", owner = "", leaseMs = "30000", ledgerUrl = url] = process.argv.slice(2);
const effects = new Pool({ connectionString: url, max: 4 });

const act = defineOperator({
  name: "Test.Act",
  input: z.record(z.string(), z.unknown()),
  effect: "write_draft",
  idempotent: true,
  async run({ idempotencyKey }) {
    const row = `INSERT INTO ${schema}.effects (key, kernel, begun) VALUES ($1, $2, to_timestamp($3::float8 / 1000))`;
    await effects.query(row, [idempotencyKey, owner, Date.now()]);
    await pause(100);
    return {};
  },
});

const steps = ["s1", "s2", "s3", "s4"].map((step_id, i) => ({
  step_id,
  name: step_id,
  operator: "Test.Act",
  params: {},
  depends_on: i === 0 ? [] : [`s${i}`],
}));

const job = defineCapability({
  intentType: "Test.Job",
  version: "1.0",
  input: z.record(z.string(), z.unknown()),
  operators: [act],
  plan: { reasoning: "one after another", steps },
});

const list = defineCapability({
  intentType: "Test.List",
  version: "1.0",
  input: z.object({ items: z.number() }),
  operators: [],
  plan: ({ intent, each, run }) => ({
    reasoning: "a job for each item",
    steps: [
      each({
        step_id: "each",
        name: "Each",
        items: Array.from({ length: Number(intent.inputs["items"]) }, (_, item) => item),
        concurrency: 4,
        do: (item) => run({ capability: job, input: { item } }),
      }),
    ],
  }),
});

const queued = defineCapability({
  intentType: "Test.Queued",
  version: "1.0",
  input: z.object({ key: z.string() }),
  operators: [act],
  queue: { key: "{{input.key}}", concurrency: 2, rate: { limit: 3, perMs: 1_000 } },
  plan: { reasoning: "in its turn", steps: steps.slice(0, 2) },
});

const kernel = await createKernel({
  ledger: postgresLedger({ url: ledgerUrl, schema }),
  capabilities: [job, list, queued],
  defaultPolicies: false,
  owner,
  limits: { leaseMs: Number(leaseMs) },
});
let begun = 0;

/** A kernel that was away for a while answers that it is busy, or was: under its key the request is made again. */
async function submit(idempotency_key: string, intent_type: string, inputs: object): Promise<string> {
  const caller = { tenant_id: 1, principal: { type: "user", id: 1, role: "user" }, idempotency_key };
  for (;;) {
    try {
      return (await kernel.submit({ ...caller, intent_hint: { intent_type, inputs: { ...inputs } } })).workflow_id;
    } catch (thrown) {
      console.error(String(thrown));
      await pause(50);
    }
  }
}

const say = (value: object): void => void process.stdout.write(`${JSON.stringify(value)}\n`);
say({ ready: true });

for await (const line of createInterface({ input: process.stdin })) {
  const [what = "", number = what] = line.split(" ");
  const ids: string[] = [];
  const begin = async (intent_type: string, inputs: object): Promise<unknown> =>
    ids.push(await submit(`${owner} ${begun + ids.length}`, intent_type, inputs));
  if (what === "each") await begin("Test.List", { items: Number(number) });
  else if (what === "queue")
    for (let n = 0; n < Number(number); n += 1) await begin("Test.Queued", { key: `k${n % 2}` });
  else for (let n = 0; n < Number(number); n += 1) await begin("Test.Job", {});
  begun += ids.length;
  say({ ids });
}
await kernel.stop({ drainMs: 0 });
await effects.end();
