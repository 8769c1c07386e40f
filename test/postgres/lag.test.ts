/**
 * What keeps followers back is told: a transaction of anybody in the cluster that has not ended, by how many, for how
 * long.
 */
import { Client } from "pg";
import { expect, it } from "vitest";
import { createKernel } from "../../src/index.ts";
import { createObserver } from "../../src/observers/telemetry/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { intent, publishing } from "../gates/story.ts";
import { readSamples } from "../telemetry/read-samples.ts";
import { freshLedger, serverUrl } from "./server.ts";

it("a transaction that stays open keeps feeds back, and not workflows; measurements tell by how much", async () => {
  const ledger = freshLedger();
  const kernel = await createKernel({ ledger, capabilities: [publishing().capability] });
  const observer = createObserver();
  observer.watch(kernel);
  const gauge = async (name: string) => readSamples(await observer.prometheus()).sum(`countersign_ledger_${name}`);
  const other = new Client(serverUrl);
  await other.connect();
  await other.query("BEGIN; SELECT pg_current_xact_id()");
  const shown = await ledger.position();
  const { workflow_id } = await kernel.submit({ ...testCaller, intent_hint: { intent_type: intent, inputs: {} } });
  expect((await kernel.settled(workflow_id)).state).toBe("waiting_for_user");
  expect(await ledger.position()).toBe(shown);
  expect(await gauge("lag_rows")).toBe((await ledger.read(workflow_id)).length);
  expect(await gauge("xmin_age")).toBeGreaterThan(1);
  expect(await gauge("xmin_duration_seconds")).toBeGreaterThan(0);
  await other.query("COMMIT");
  expect(await kernel.lag()).toMatchObject({ rows: 0 });
  expect(await ledger.position()).toBeGreaterThan(shown);
  await other.end();
  observer.stop();
  await kernel.stop();
});
