/** What a notifier needs to find its messages again is kept in Postgres as in SQLite. */
import { Client } from "pg";
import { expect, it } from "vitest";
import { letStoreAnswer } from "../../src/testing/let-run.ts";
import { restartBeforeDecision } from "../notifiers/slack-restart.ts";
import { channelId } from "../notifiers/slack-stand-in.ts";
import { freshLedger, freshSchema, serverUrl } from "./server.ts";

it("the receipt of a message survives the process that posted it, and a week in which the gate is open", async () => {
  const schema = freshSchema();
  const { posted, replaced, methods } = await restartBeforeDecision(() => letStoreAnswer(freshLedger(schema)));
  expect([posted?.text, replaced?.text]).toEqual([
    expect.stringMatching(/^Decision wanted: /),
    expect.stringMatching(/^Approved: /),
  ]);
  expect(methods).toEqual(["chat.postMessage", "chat.postMessage", "chat.update"]);
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  const kept = await client.query(`SELECT receipt FROM ${schema}.deliveries WHERE receipt IS NOT NULL`);
  await client.end();
  // That of the gate which is still open.
  expect(kept.rows).toEqual([{ receipt: JSON.stringify({ channel: channelId, ts: "1700000000.000002" }) }]);
});
