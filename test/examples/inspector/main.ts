/**
 * A kernel in Stately's inspector, live: open the address it prints. `npm start` looks itself, as a viewer would, and
 * ends.
 */
import { createKernel } from "countersign";
import { inspectKernel, serveInspector } from "countersign/inspect";
import { WebSocket } from "ws";
import { person, refund, request } from "../shop/refund.ts";

await using kernel = await createKernel({ capabilities: [refund] });
const inspector = inspectKernel(kernel); // nothing is read while nobody looks
const server = await serveInspector(inspector, { port: 0 });

const viewer = new WebSocket(server.url.replace("http", "ws"));
const actors = new Set<string>();
const shown = new Promise<void>((all) => {
  viewer.on("message", (text) => {
    const told = JSON.parse(String(text)) as {
      type: string;
      sessionId: string;
      snapshot?: { value: unknown; status: string };
    };
    if (told.type === "@xstate.actor") actors.add(told.sessionId);
    if (told.snapshot?.value === "completed") all();
  });
});
const { workflow_id } = await kernel.submit({ ...person("ann"), ...request });
await kernel.settled(workflow_id);
await kernel.decideGate(workflow_id, { ...person("bo"), decision: "approve" });
await shown;
console.log("a viewer saw more than twelve actors, to the end:", actors.size > 12);
viewer.close();
await server.close();
