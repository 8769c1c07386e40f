/** Addresses that are notified of tasks are kept in Postgres as in every store, and in no index of the log. */
import { expect, it } from "vitest";
import { postgresLedger } from "../../src/ledger/postgres/index.ts";
import { expectPushLaw, pushRecord } from "../protocols/push-store-law.ts";
import { freshSchema, serverUrl } from "./server.ts";

it("records of notified addresses outlive the process that kept them", async () => {
  const schema = freshSchema();
  const open = async () => {
    const ledger = postgresLedger({ url: serverUrl, schema });
    await ledger.open();
    return ledger;
  };
  const first = await open();
  await expectPushLaw(first.pushes);
  await first.close();
  const second = await open();
  expect(await second.pushes.list()).toEqual([pushRecord("b", { told: 9 })]);
  await second.close();
});
