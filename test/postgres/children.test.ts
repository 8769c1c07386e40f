/** Three processes on one database, killed one after another: no end of a child is lost, and nothing begins twice. */
import { Client } from "pg";
import { expect, it } from "vitest";
import { createKernel } from "../../src/index.ts";
import { freshLedger, freshSchema, serverUrl } from "./server.ts";
import { createEffects, killNodes, type Node, startNode } from "./start-node.ts";

const items = 12;
const stepsOfJob = 4;
const leaseMs = 1_500;

it("the list ends with the result of each child, whichever process dies when", async () => {
  const schema = freshSchema();
  const reader = await createKernel({ ledger: freshLedger(schema), capabilities: [], recover: false });
  const client = new Client({ connectionString: serverUrl, options: `-c search_path=${schema}` });
  await client.connect();
  await createEffects(client);
  const doneBeyond = async (count: number): Promise<void> => {
    const text = `SELECT count(DISTINCT key) > ${count} AS yes, pg_sleep(0.05) FROM effects`;
    while ((await client.query(text)).rows[0]?.yes !== true);
  };
  const nodes: Node[] = [];
  const start = async (owner: string): Promise<Node> => {
    const node = await startNode([serverUrl, schema, owner, String(leaseMs)]);
    nodes.push(node);
    return node;
  };
  try {
    const [first] = [await start("a"), await start("b"), await start("c")];
    const id = await (first as Node).submitList(items);
    for (const [n, done] of [8, 24].entries()) {
      await doneBeyond(done);
      nodes[n]?.process.kill("SIGKILL");
      await start(`again${n}`);
    }
    const state = await reader.settled(id);
    expect(state.state).toBe("completed");
    expect(JSON.parse(state.steps[0]?.output_text ?? "{}")).toMatchObject({ total: items, succeeded: items });
    const children = await reader.workflows({ intent_type: "Test.Job", limit: 100 });
    expect(children.map((child) => child.state)).toEqual(Array(items).fill("completed"));
    const { rows } = await client.query("SELECT count(DISTINCT key)::int AS n FROM effects");
    expect(rows).toEqual([{ n: items * stepsOfJob }]);
  } finally {
    await killNodes(nodes);
    await client.end();
    await reader.stop({ drainMs: 0 });
  }
}, 120_000);
