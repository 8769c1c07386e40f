/** What the benchmark's workflows take in the ledger: bytes of their rows, counted. */
import { expect, it } from "vitest";
import { openWorkload } from "../bench/workload.ts";
import { freshPaths } from "./ledger-files.ts";

const freshPath = freshPaths();

async function bytesOf(gated: boolean): Promise<number> {
  const work = await openWorkload(freshPath());
  try {
    if (gated) await work.gateApprove(await work.gateStart("b1234"));
    else await work.plain("b1234");
    const [made] = await work.kernel.workflows({ limit: 1 });
    const rows = await Array.fromAsync(work.kernel.export(made?.workflow_id ?? ""));
    return rows.reduce((sum, { envelope, body }) => sum + envelope.length + (body?.length ?? 0), 0);
  } finally {
    await work.kernel.stop();
  }
}

it("[LED-01] a workflow of five steps takes at most 16 kB of rows; gated, with six steps, at most 22 kB", async () => {
  expect(await bytesOf(false)).toBeLessThanOrEqual(16_000);
  expect(await bytesOf(true)).toBeLessThanOrEqual(22_000);
});
