/**
 * A kernel as an agent of A2A, and the official client: a refund is a task that requires input; one is approved with
 * other cents than were asked for, the next one is rejected in words. `npm start`
 */
import { type Message, type Part, type Task, TaskState } from "@a2a-js/sdk";
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from "@a2a-js/sdk/client";
import { createKernel } from "countersign";
import { createA2aHandler } from "countersign/a2a";
import { createHttpApp } from "countersign/http";
import { person, refund } from "../shop/refund.ts";

await using kernel = await createKernel({ capabilities: [refund] });
const a2a = createA2aHandler(kernel, { answersGates: true });
const app = createHttpApp(kernel, {
  tokens: [{ token: "my-own", ...person("bo") }],
  mounts: { "/a2a": a2a.handle },
  callbacks: { "/.well-known/agent-card.json": a2a.card },
});

/** Asks the app in this process; over a network it is `fetch` with the header. */
const fetchImpl = async (url: string | URL | Request, init?: RequestInit) => {
  const headers = new Headers(init?.headers);
  headers.set("authorization", "Bearer my-own");
  return app.fetch(new Request(url as string, { ...init, headers }));
};
const factory = new ClientFactory({
  transports: [new JsonRpcTransportFactory({ fetchImpl })],
  cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
});
const client = await factory.createFromUrl("http://127.0.0.1:8787");

const data = (value: object): Part => ({
  content: { $case: "data", value },
  metadata: undefined,
  filename: "",
  mediaType: "application/json",
});
const dataOf = (parts: readonly Part[]) =>
  parts.flatMap(({ content }) => (content?.$case === "data" ? [content.value] : []));
let messages = 0;
async function send(part: object, more: Partial<Message>): Promise<Task> {
  messages += 1;
  const usual = {
    contextId: "",
    taskId: "",
    role: 1,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  } as const;
  const message = {
    ...usual,
    parts: [data(part)],
    ...more,
    messageId: `m-${messages}`,
    extensions: [],
    referenceTaskIds: [],
  };
  return (await client.sendMessage({ tenant: "", message, configuration: undefined, metadata: undefined })) as Task;
}

for (const answer of [
  { decision: "approve", edit: { order: "A-7", cents: 999 } },
  { decision: "reject", comment: "ask the customer first" },
]) {
  const task = await send({ order: "A-7", cents: 1999 }, { metadata: { "countersign/skill": "Shop.Refund" } });
  console.log("asked:", TaskState[task.status?.state ?? 0]);
  const [asked] = dataOf(task.status?.message?.parts ?? []);
  const done = await send({ question: asked?.question, ...answer }, { taskId: task.id });
  console.log(`${answer.decision}:`, TaskState[done.status?.state ?? 0]);
  const { steps } = await kernel.workflow(task.id, person("bo"));
  console.log("paid:", steps.find(({ step_id }) => step_id === "pay")?.output_text || "nothing");
}
await a2a.close();
