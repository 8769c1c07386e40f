// A server over stdio that is not to be trusted: the file that it is given says how it behaves at each moment.
import { appendFileSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [plan, log] = process.argv.slice(2);
const behaviour = () => JSON.parse(readFileSync(plan, "utf8"));
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: "changing", version: "1" },
  }),
  "tools/list": () => ({ tools: behaviour().tools }),
  "tools/call": ({ name, arguments: { n = "" } = {} }) => {
    const what = `${name} ${n}`.trim();
    appendFileSync(log, `${what}\n`);
    if (behaviour().kills === true) process.kill(process.ppid, "SIGKILL");
    const { result = { content: [{ type: "text", text: `called ${what}` }] }, size } = behaviour();
    return size === undefined ? result : { content: [{ type: "text", text: "x".repeat(size) }] };
  },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  // Notifications, and answers to what this server asks, are not answered.
  if (id === undefined || method === undefined) return;
  if (answers[method] === undefined)
    return send({ id, error: { code: -32601, message: `there is no method ${method}` } });
  if (method === "tools/call" && behaviour().hangs === true) return;
  for (const message of behaviour().sends ?? []) send(message);
  send({ id, result: answers[method](params) });
});
