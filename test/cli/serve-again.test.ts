/** What a client was asked by one server is answered at the next one, if it was started with the same tokens. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { root } from "../tidy/source-files.ts";
import { serveAt } from "./serve-here.ts";

const index = JSON.stringify(join(root, "src/index.ts"));
const shop = `
import { defineCapability, defineOperator } from ${index};
import { z } from ${JSON.stringify(join(root, "node_modules/zod/index.js"))};
const pay = defineOperator({ name: "Order.Pay", effect: "final_write", input: z.object({}), run: () => "paid" });
const plan = { reasoning: "pay", steps: [{ step_id: "pay", name: "Pay", operator: "Order.Pay", params: {} }] };
export const order = defineCapability({
  intentType: "Shop.Order", version: "1.0", input: z.object({}), operators: [pay], plan,
});
`;

/** The last event of a run; its problem if it was refused. */
async function run(url: string, token: string, more: object) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const body = JSON.stringify({ threadId: "t-1", runId: `r-${JSON.stringify(more).length}`, messages: [], ...more });
  const answer = await fetch(`${url}/ag-ui`, { method: "POST", headers, body });
  const lines = (await answer.text()).split("\n").filter((line) => /^(data: )?\{/.test(line));
  return { status: answer.status, last: JSON.parse((lines.at(-1) ?? "{}").replace(/^data: /, "")) as Last };
}
interface Last {
  readonly type?: string;
  readonly outcome?: { readonly type: string; readonly interrupts?: readonly { readonly id: string }[] };
  readonly result?: { readonly workflow_id: string };
  readonly extensions?: { readonly code?: string };
}

/** Returns what serves one ledger with one shop, with the given approver's token. */
function openShop() {
  const folder = makeTempFolder();
  onTestFinished(() => folder[Symbol.dispose]());
  const [module, db] = [join(folder.path, "shop.ts"), join(folder.path, "l.db")];
  writeFileSync(module, shop);
  const own = ["--db", db, "--capabilities", module];
  return (approver: string, ...more: readonly string[]) =>
    serveAt("none", "program", ...own, "--approver-token", approver, ...more);
}

it("[GAT-07] an interrupt of AG-UI survives a restart with the same tokens, and none with others", async () => {
  const folder = makeTempFolder();
  onTestFinished(() => folder[Symbol.dispose]());
  const module = join(folder.path, "shop.ts");
  writeFileSync(module, shop);
  const serve = (approver: string) =>
    serveAt(
      "none",
      "program",
      "--db",
      join(folder.path, "l.db"),
      "--capabilities",
      module,
      "--approver-token",
      approver,
    );
  const first = await serve("person");
  const own = { intent_type: "Shop.Order", inputs: {} };
  const begun = await run(first.url, "program", { forwardedProps: { countersign: own } });
  const forwardedProps = { countersign: { workflow_id: begun.last.result?.workflow_id } };
  const { last } = await run(first.url, "person", { forwardedProps });
  const interruptId = last.outcome?.interrupts?.[0]?.id;
  expect([last.type, typeof interruptId]).toEqual(["RUN_FINISHED", "string"]);
  await first.stop();
  const resume = [{ interruptId, status: "resolved", payload: { approved: true } }];
  const other = await serve("another-person");
  const refused = await run(other.url, "another-person", { resume });
  expect([refused.status, refused.last.extensions?.code]).toEqual([403, "T0_AGUI_RESUME_FORGED"]);
  await other.stop();
  const second = await serve("person");
  expect(await run(second.url, "person", { resume })).toMatchObject({
    status: 200,
    last: { type: "RUN_FINISHED", outcome: { type: "success" } },
  });
});

it("addresses that clients of A2A have notified of their tasks are kept in the ledger", async () => {
  const serve = openShop();
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  const ask = async (url: string, method: string, params: object) => {
    const headers = { authorization: "Bearer program", "content-type": "application/json", "a2a-version": "1.0" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const answer = await fetch(`${url}/a2a`, { method: "POST", headers, body });
    return (await answer.json()) as { readonly result?: object; readonly error?: object };
  };
  const first = await serve("person", "--push-secret", secret);
  const forwardedProps = { countersign: { intent_type: "Shop.Order", inputs: {} } };
  const taskId = (await run(first.url, "program", { forwardedProps })).last.result?.workflow_id;
  const config = { taskId, id: "mine", url: "https://client.example/in" };
  expect((await ask(first.url, "CreateTaskPushNotificationConfig", config)).result).toMatchObject(config);
  await first.stop();
  const second = await serve("person", "--push-secret", secret);
  const listed = await ask(second.url, "ListTaskPushNotificationConfigs", { taskId });
  expect(listed.result).toMatchObject({ configs: [config] });
  await second.stop();
  const without = await serve("person");
  const refused = await ask(without.url, "CreateTaskPushNotificationConfig", config);
  expect(JSON.stringify(refused.error)).toContain("T0_A2A_PUSH_OFF");
});
