/** Three processes on one database, killed one after another: each instant of a schedule begins one workflow. */
import { Client } from "pg";
import { expect, it } from "vitest";
import { z } from "zod";
import { createKernel, defineCapability, defineOperator } from "../../src/index.ts";
import { freshLedger, freshSchema, serverUrl } from "./server.ts";
import { createEffects, killNodes, type Node, startNode } from "./start-node.ts";

/** The same capability as that of the processes, for the kernel that makes the schedule and runs nothing. */
const act = defineOperator({ name: "Test.Act", input: z.record(z.string(), z.unknown()), run: () => ({}) });
const job = defineCapability({
  intentType: "Test.Job",
  version: "1.0",
  input: z.record(z.string(), z.unknown()),
  operators: [act],
  plan: { reasoning: "act", steps: [{ step_id: "s1", name: "s1", operator: "Test.Act" }] },
});
const leaseMs = 1_500;

it("each instant begins one workflow, whichever process dies when", async () => {
  const schema = freshSchema();
  const kernel = await createKernel({ ledger: freshLedger(schema), capabilities: [job], recover: false });
  const client = new Client({ connectionString: serverUrl, options: `-c search_path=${schema}` });
  await client.connect();
  await createEffects(client);
  const ann = { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } };
  const nodes: Node[] = [];
  const start = async (owner: string) => nodes.push(await startNode([serverUrl, schema, owner, String(leaseMs)]));
  const firedBeyond = async (count: number): Promise<void> => {
    const text = `SELECT count(*) > ${count} AS yes, pg_sleep(0.05) FROM schedule_entries
      WHERE record LIKE '%SCHEDULE_FIRED%'`;
    while ((await client.query(text)).rows[0]?.yes !== true);
  };
  try {
    await kernel.setSchedule({
      ...ann,
      name: "often",
      every_ms: 1_000,
      overlap: "allow",
      catch_up: "all",
      intent_type: "Test.Job",
    });
    for (const owner of ["a", "b", "c"]) await start(owner);
    for (const [n, at] of [2, 4].entries()) {
      await firedBeyond(at);
      nodes[n]?.process.kill("SIGKILL");
      await start(`again${n}`);
    }
    await firedBeyond(7);
    await kernel.pauseSchedule({ ...ann, name: "often" });
    const { history } = await kernel.schedule({ tenant_id: 1, name: "often", limit: 1_000 });
    const fired = history.filter(({ event_type }) => event_type === "SCHEDULE_FIRED").map(({ detail }) => detail);
    const instants = fired.map(({ instant }) => Date.parse(String(instant))).toReversed();
    expect(new Set(instants).size).toBe(instants.length);
    expect(new Set(fired.map(({ workflow_id }) => workflow_id)).size).toBe(fired.length);
    // No instant between the first and the last is lost: catch_up asks for all.
    expect(instants).toEqual(instants.map((_, i) => (instants[0] ?? 0) + 1_000 * i));
    const { rows } = await client.query("SELECT count(*)::int AS n FROM workflows WHERE schedule = 'often'");
    const { schedule } = await kernel.schedule({ tenant_id: 1, name: "often" });
    expect(schedule?.refused).toBe(0);
    // The one that was under way at the pause may be accepted, and not be in the history yet.
    expect((rows[0] as { readonly n: number }).n - fired.length).toBeLessThanOrEqual(1);
  } finally {
    await killNodes(nodes);
    await client.end();
    await kernel.stop({ drainMs: 0 });
  }
}, 60_000);
