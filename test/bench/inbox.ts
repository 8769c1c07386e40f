/**
 * Pages of lists over many waiting gates and as many workflows of one tenant, in a file and on Postgres: the time that
 * the kernel takes for the first page of each filter, and for its total. `cpu_ms` is the processor time of this
 * process, `server_cpu_ms` that of the database. Environment: COUNT (100,000), POSTGRES (a URL; a server of its own is
 * started without it), STORES (sqlite,postgres).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { z } from "zod";
import { createKernel, defineCapability, defineOperator, type Kernel } from "../../src/index.ts";
import { startServer } from "../postgres/start-server.ts";
import { median } from "./measure.ts";
import { appendCopies, recording } from "./parked-ledger.ts";
import { ledgerAt, type Place } from "./place.ts";
import { cpuOfServer } from "./postgres-stage.ts";

const count = Number(process.env["COUNT"] ?? 100_000);
const originals = 240;
const day = 86_400_000;

const pay = defineOperator({
  name: "Bank.Pay",
  effect: "write_draft",
  input: z.object({ supplier: z.string(), euro: z.number() }),
  output: z.object({ ok: z.boolean() }),
  run: () => ({ ok: true }),
});
const gates = [
  { reason: "payments over 1,000 euro need a person", roles: ["user"] },
  { reason: "two of three", roles: ["user"], separation: true, expiry: { after_ms: 7 * day, action: "deny" } },
  { reason: "finance looks", roles: ["admin"], expiry: { after_ms: 2 * day, action: "deny" } },
] as const;
const capabilities = ["Bank.Invoice", "Bank.Refund", "Bank.Salary"].map((intentType, i) =>
  defineCapability({
    intentType,
    version: "1.0",
    input: z.object({ supplier: z.string(), euro: z.number() }),
    operators: [pay],
    plan: ({ input }) => ({
      reasoning: "ask, then pay",
      steps: [
        {
          step_id: "pay",
          name: `Pay ${input.euro} euro to ${input.supplier}`,
          operator: "Bank.Pay",
          params: input,
          gate: gates[i] as object,
          risk_level: (["low", "medium", "high"] as const)[Math.floor(input.euro / 100) % 3] ?? "low",
        },
      ],
    }),
  }),
);

const me = { tenant_id: 1, principal: { type: "user", id: "ann", role: "user" } } as const;

async function fill(place: Place): Promise<void> {
  const { ledger, taken } = recording(ledgerAt(place));
  const kernel = await createKernel({ ledger, capabilities });
  const ids: string[] = [];
  for (let n = 0; n < originals; n += 1) {
    const principal = { type: "user", id: `user-${n % 37}`, role: "user" };
    const { intentType } = capabilities[n % 3] as (typeof capabilities)[number];
    const inputs = { supplier: n === 7 ? "Needle Ltd" : `Supplier ${n % 41}`, euro: 100 + n };
    const intent_hint = { intent_type: intentType, inputs };
    const { workflow_id } = await kernel.submit({ tenant_id: 1, principal, input: { mode: "data" }, intent_hint });
    await kernel.settled(workflow_id);
    ids.push(workflow_id);
  }
  await kernel.stop();
  await appendCopies(place, { originals: ids.map((id) => taken.get(id) ?? []), count });
}

type GateFilter = NonNullable<Parameters<Kernel["gates"]>[0]>;
type WorkflowFilter = NonNullable<Parameters<Kernel["workflows"]>[0]>;
const never = "no such text";
const gateFilters: Readonly<Record<string, GateFilter>> = {
  newest: { sort: "newest" },
  oldest: { sort: "oldest" },
  "due first": { sort: "due" },
  "without an order": {},
  mine: { mine: true, sort: "due" },
  "mine, not voted": { mine: true, voted: false, sort: "oldest" },
  voted: { voted: true, sort: "newest" },
  "mine, not snoozed": { mine: true, snoozed: false, sort: "due" },
  "looked after by me": { assigned: "me", sort: "due" },
  "mine, looked after by nobody": { mine: true, assigned: "nobody", snoozed: false, sort: "due" },
  "a role": { role: "admin", sort: "due" },
  "a type": { intent_type: "Bank.Salary", sort: "oldest" },
  "an operator that is not there": { operator: "Bank.None", sort: "due" },
  "an asker": { principal: "user-36", sort: "newest" },
  risk: { risk: "high", sort: "due" },
  "due before": { due_before: new Date(Date.now() + 3 * day).toISOString(), sort: "due" },
  age: { until: new Date(Date.now() - day).toISOString(), sort: "oldest" },
  "a text": { text: "needle", sort: "due" },
  "a text that is not there": { text: never, sort: "newest" },
  "mine, type, risk, text": { mine: true, intent_type: "Bank.Refund", risk: "low", text: never, sort: "due" },
};
const workflowFilters: Readonly<Record<string, WorkflowFilter>> = {
  newest: {},
  oldest: { sort: "oldest" },
  "a state": { states: ["waiting_for_user"], sort: "oldest" },
  "a state that none has": { states: ["failed"] },
  "a type": { intent_type: "Bank.Salary" },
  "an asker": { principal: "user-36", sort: "oldest" },
  "since, until": { since: "2020-01-01", until: "2020-02-01" },
  "a text": { text: "needle" },
  "a text that is not there": { text: never, sort: "oldest" },
  "state, type, asker": { states: ["completed"], intent_type: "Bank.Salary", principal: "user-36" },
};

/** What the processes of the database have used so far, ms; 0 for a file. */
type ServerCpu = () => Promise<number>;

const looks = 5;

async function measure(
  serverCpu: ServerCpu,
  look: () => Promise<{ readonly length: number; readonly total?: number | undefined }>,
) {
  const [times, used]: [number[], number[]] = [[], []];
  let found: Awaited<ReturnType<typeof look>> = { length: 0 };
  const before = await serverCpu();
  for (let i = 0; i < looks; i += 1) {
    const began = performance.now();
    const cpu = process.cpuUsage();
    found = await look();
    times.push(performance.now() - began);
    const { user, system } = process.cpuUsage(cpu);
    used.push((user + system) / 1_000);
  }
  const server_cpu_ms = Math.round((await serverCpu()) - before) / looks;
  const [ms, cpu_ms] = [times, used].map((all) => Number(median(all).toFixed(1)));
  return { ms, cpu_ms, server_cpu_ms, items: found.length, total: found.total };
}

async function measureAll(store: string, place: Place, serverCpu: ServerCpu): Promise<void> {
  const began = performance.now();
  await fill(place);
  console.log(JSON.stringify({ store, count, filled_s: Math.round((performance.now() - began) / 1000) }));
  const kernel = await createKernel({ ledger: ledgerAt(place), capabilities });
  for (const [list, filters] of [
    ["gates", gateFilters],
    ["workflows", workflowFilters],
  ] as const)
    for (const [name, filter] of Object.entries(filters)) {
      const read = (more: object) => () =>
        list === "gates" ? kernel.gates({ ...filter, ...more }, me) : kernel.workflows({ ...filter, ...more }, me);
      const page = await measure(serverCpu, read({}));
      const counted = await measure(serverCpu, read({ limit: 1, total: true }));
      console.log(JSON.stringify({ store, list, filter: name, page, counted }));
    }
  await kernel.stop();
}

const stores = (process.env["STORES"] ?? "sqlite,postgres").split(",");
if (stores.includes("sqlite")) {
  const folder = mkdtempSync(join(tmpdir(), "countersign-inbox-"));
  await measureAll("sqlite", { path: join(folder, "ledger.db"), synchronous: "normal" }, async () => 0);
  rmSync(folder, { recursive: true });
}
if (stores.includes("postgres")) {
  const given = process.env["POSTGRES"];
  const server = given === undefined ? await startServer(["listen_addresses=127.0.0.1", "fsync=off"]) : null;
  const url = given ?? (server?.url as string);
  const client = new Client({ connectionString: url });
  await client.connect();
  const serverCpu = async () => [...(await cpuOfServer(client)).values()].reduce((sum, ms) => sum + ms, 0);
  await measureAll("postgres", { url, schema: `inbox_${Date.now()}` }, serverCpu);
  await client.end();
  await server?.stop();
}
