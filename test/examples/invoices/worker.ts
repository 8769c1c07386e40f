/** One process that works on the batch. It is killed, and the next one goes on. */
import { createKernel } from "countersign";
import { sqliteLedger } from "countersign/sqlite";
import { batch, settle } from "./batch.ts";

export const ann = { tenant_id: 1, principal: { type: "user", id: "ann", role: "user" } } as const;

export const openKernel = () =>
  createKernel({
    ledger: sqliteLedger({ path: "batch.db" }),
    capabilities: [batch, settle],
    defaultPolicies: false,
    limits: { leaseMs: 1000 }, // what a dead process held is free after a second
  });

const invoices = Array.from({ length: 200 }, (_, i) => ({
  id: `inv-${i + 1}`,
  cents: (i + 1) % 60 === 0 ? 150_000 : 4_200,
}));

/** The same key each time: the second process is answered with the work that the first one began. */
export const begin = async (kernel: Awaited<ReturnType<typeof openKernel>>): Promise<string> =>
  (await kernel.of(batch).submit({ ...ann, inputs: { invoices }, idempotency_key: "november" })).workflow_id;

if (import.meta.main) await begin(await openKernel());
