/** Three processes that share queues, killed one after another: no limit is exceeded, and each workflow ends once. */
import { Client } from "pg";
import { expect, it } from "vitest";
import { createKernel } from "../../src/index.ts";
import { rowOpener } from "../ledgers/reseal.ts";
import { judgeQueues } from "../sim/judge-queues.ts";
import { freshLedger, freshSchema, serverUrl } from "./server.ts";
import { createEffects, killNodes, type Node, startNode } from "./start-node.ts";

const ofEach = 6;
const leaseMs = 1_500;

it("queues keep to their limits and their order, and nobody starves, whichever process dies when", async () => {
  const schema = freshSchema();
  const ledger = freshLedger(schema);
  const reader = await createKernel({ ledger, capabilities: [], recover: false });
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
    const first = await Promise.all(["a", "b", "c"].map(start));
    const ids = (await Promise.all(first.map((node) => node.submitQueued(ofEach)))).flat();
    for (const [n, node] of first.entries()) {
      await doneBeyond(6 * n);
      node.process.kill("SIGKILL");
      await start(`again${n}`);
    }
    for (const id of ids) expect((await reader.settled(id)).state).toBe("completed");
    const openRow = rowOpener();
    const durable = (await ledger.tail(0, 10_000)).flatMap(({ row }) =>
      openRow(row).map((event) => ({ at: 0, event })),
    );
    expect(judgeQueues({ durable })).toEqual([]);
    const types = durable.map(({ event }) => event.event_type);
    const counted = (type: string): number => types.filter((one) => one === type).length;
    expect([counted("WORKFLOW_ADMITTED"), counted("WORKFLOW_COMPLETED")]).toEqual([3 * ofEach, 3 * ofEach]);
    const { rows } = await client.query("SELECT count(DISTINCT key)::int AS n FROM effects");
    expect(rows).toEqual([{ n: 2 * 3 * ofEach }]);
    expect(await reader.queues({ tenant_id: 1 })).toEqual([]);
  } finally {
    await killNodes(nodes);
    await client.end();
    await reader.stop({ drainMs: 0 });
  }
}, 120_000);
