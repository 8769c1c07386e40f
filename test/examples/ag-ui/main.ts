/**
 * A page that speaks AG-UI, by the official client: a refund interrupts its run, the person at the page changes the
 * cents and approves, and the next run tells what was paid. A second refund is rejected. `npm start`
 */
import { HttpAgent } from "@ag-ui/client";
import { createKernel } from "countersign";
import { createAgUiHandler } from "countersign/ag-ui";
import { createHttpApp } from "countersign/http";
import { person, refund, request } from "../shop/refund.ts";

await using kernel = await createKernel({ capabilities: [refund] });
const app = createHttpApp(kernel, {
  tokens: [{ token: "my-own", ...person("bo") }],
  mounts: { "/ag-ui": createAgUiHandler(kernel).handle },
});

for (const payload of [
  { approved: true, editedArgs: { order: "A-7", cents: 999 } },
  { approved: false, comment: "ask the customer first" },
]) {
  const page = new HttpAgent({
    url: "http://127.0.0.1:8787/ag-ui",
    headers: { authorization: "Bearer my-own" },
    fetch: async (url, init) => app.fetch(new Request(url, init)), // over a network: leave it out
  });
  await page.runAgent({ forwardedProps: { countersign: request.intent_hint } });
  const [asked] = page.pendingInterrupts;
  console.log("interrupted:", asked?.reason, asked?.message?.split("\n")[0]);
  await page.runAgent({ resume: [{ interruptId: asked?.id ?? "", status: "resolved", payload }] });
  console.log("the page reads:", page.state.state, page.messages.at(-1)?.content ?? "nothing was paid");
}
