/** What a notifier needs to find its messages again is kept in Postgres as in SQLite. */
import { expect, it } from "vitest";
import { letStoreAnswer } from "../../src/testing/let-run.ts";
import { restartBeforeDecision } from "../notifiers/slack-restart.ts";
import { freshLedger, freshSchema } from "./server.ts";

it("the receipt of a message survives the process that posted it, and a week in which the gate is open", async () => {
  const schema = freshSchema();
  const { posted, replaced, methods } = await restartBeforeDecision(() => letStoreAnswer(freshLedger(schema)));
  expect([posted?.text, replaced?.text]).toEqual([
    expect.stringMatching(/^Decision wanted: /),
    expect.stringMatching(/^Approved: /),
  ]);
  expect(methods).toEqual(["chat.postMessage", "chat.postMessage", "chat.update"]);
});
