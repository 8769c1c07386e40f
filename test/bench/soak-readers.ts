/**
 * node test/bench/soak-readers.ts: what unread large answers of one reader take, and how long others wait beside them.
 * One process serves and reads, so that its resident memory counts both.
 *
 * Environment: CONNECTIONS (200), KILOCHARS of each of ten steps (3900).
 */
import { connect } from "node:net";
import { z } from "zod";
import { createHttpApp, serveHttp } from "../../src/faces/http/index.ts";
import { createKernel, defineCapability, defineOperator } from "../../src/index.ts";
import { quantile, rounded } from "./measure.ts";

const connections = Number(process.env["CONNECTIONS"] ?? 200);
const chars = Number(process.env["KILOCHARS"] ?? 3_900) * 1_000;
const talk = defineOperator({
  name: "Big.Talk",
  effect: "none",
  input: z.object({}),
  run: () => ({ text: "x".repeat(chars) }),
});
const capability = defineCapability({
  intentType: "Big.Talk",
  version: "1.0",
  input: z.object({}),
  operators: [talk],
  plan: {
    reasoning: "talks",
    steps: Array.from({ length: 10 }, (_, i) => ({ step_id: `s${i}`, name: "talk", operator: "Big.Talk" })),
  },
});
const principal = { type: "user", id: "ann", role: "user" };
const tokens = ["ann", "bo"].map((id) => ({ token: id, tenant_id: "acme", principal: { ...principal, id } }));
const kernel = await createKernel({ capabilities: [capability] });
const server = await serveHttp(createHttpApp(kernel, { tokens }), { port: 0 });
const request = { tenant_id: "acme", principal, intent_hint: { intent_type: "Big.Talk", inputs: {} } };
const { workflow_id } = await kernel.submit(request as never);
await kernel.settled(workflow_id);

const rssMb = (): number => rounded(process.memoryUsage().rss / 1_000_000);
const path = `/v1/kernel/workflows/${workflow_id}`;
const ask = (token: string, at: string) => fetch(server.url + at, { headers: { authorization: `Bearer ${token}` } });

/** How long another reader's small lists take until `isOver`; the median and the longest, in ms. */
async function timeLists(isOver: () => boolean): Promise<readonly [number, number]> {
  const times: number[] = [];
  do {
    const at = performance.now();
    await (await ask("bo", "/v1/kernel/workflows?limit=1")).text();
    times.push(performance.now() - at);
    await new Promise((resolve) => setTimeout(resolve, 5));
  } while (!isOver());
  return [rounded(quantile(times, 0.5)), rounded(Math.max(...times))];
}

const { hostname, port } = new URL(server.url);
const before = rssMb();
let isRead = false;
const at = performance.now();
const whole = ask("ann", path).then(async (answer) => {
  let bytes = 0;
  for await (const piece of answer.body ?? []) bytes += piece.length;
  isRead = true;
  return { status: answer.status, bytes, ms: rounded(performance.now() - at) };
});
const beside_read = await timeLists(() => isRead);
console.log(
  JSON.stringify({ what: "one answer", ...(await whole), beside_ms: beside_read, rss_mb: [before, rssMb()] }),
);
const sockets = Array.from({ length: connections }, () => {
  const socket = connect(Number(port), hostname)
    .on("error", () => undefined)
    .pause();
  socket.write(`GET ${path} HTTP/1.1\r\nhost: bench.test\r\nauthorization: Bearer ann\r\n\r\n`);
  return socket;
});
const until = performance.now() + 15_000;
const beside_unread = await timeLists(() => performance.now() > until);
console.log(JSON.stringify({ what: "unread", connections, beside_ms: beside_unread, rss_mb: [before, rssMb()] }));
for (const socket of sockets) socket.destroy();
await server.close();
await kernel.stop();
