/** `gates` of one workflow shows what previews leave out; a list of many points to the command that shows all. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { createKernel } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { counted, intent, step, story } from "../gates/story.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { runHere } from "./command-line.ts";

it("[API-08] names the fields that no preview shows, of one workflow", async () => {
  using folder = makeTempFolder();
  const db = join(folder.path, "ledger.db");
  const send = counted("Note.Send", { effect: "final_write", preview: () => ({ preview: "a note" }) });
  const plan = [
    step("short", send, { params: { folder: "/etc" }, gate: {} }),
    step("long", send, { params: { text: "x".repeat(5000) }, gate: {} }),
  ];
  const caller = { tenant_id: 1, principal: { type: "user", id: "ann", role: "user" } };
  const ledger = sqliteLedger({ path: db });
  let id = "";
  {
    await using kernel = await createKernel({ ledger, capabilities: [story([send], plan)] });
    id = (await kernel.submit({ ...caller, intent_hint: { intent_type: intent } })).workflow_id;
    await kernel.settled(id);
  }
  const { out } = await runHere("gates", "--db", db);
  expect(out).not.toContain("/etc");
  expect(out).toContain("`review`");
  const whole = await runHere("gates", "--workflow", id, "--db", db);
  expect(whole.out).toContain('folder    "/etc"');
  expect(whole.out).toContain('text      "xxx');
});
