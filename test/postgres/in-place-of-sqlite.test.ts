/**
 * The ledgers of the project "kernel on postgres": a virtual clock waits for their calls, and not on their connections.
 */
import { expect, it } from "vitest";
import { aliveHandles } from "../../src/testing/let-run.ts";
import { sqliteLedger } from "./in-place-of-sqlite.ts";

const connections = (): number => aliveHandles().filter(([, isConnection]) => isConnection).length;

it("an open ledger has no connection that a virtual clock takes for one that may answer an operator", async () => {
  const before = connections();
  const ledger = sqliteLedger();
  await ledger.open();
  expect(await ledger.position()).toBe(0);
  expect(connections()).toBe(before);
  await ledger.close();
  expect(connections()).toBe(before);
});
