/** A recorded model behind Claude's API on this machine: it asks for a refund, and then repeats what it reads of it. */
import { createServer, type Server } from "node:http";
import { json } from "node:stream/consumers";

interface Block {
  readonly type: string;
  readonly content?: unknown;
}
interface Body {
  readonly tools?: readonly unknown[];
  readonly messages?: readonly { readonly content: string | readonly Block[] }[];
}

let uses = 0;
const input = { order: "A7", cents: 9000 };

/** Returns the block that the model answers with. */
function answer({ tools = [], messages = [] }: Body) {
  const last = messages.flatMap(({ content }) => (typeof content === "string" ? [] : content)).at(-1);
  const results = messages.flatMap(({ content }) =>
    typeof content === "string" ? [] : content.filter(({ type }) => type === "tool_result"),
  );
  if (tools.length === 0 || last === undefined) return { type: "text", text: "A refund" };
  const [result] = results;
  if (result !== undefined) return { type: "text", text: JSON.stringify(result.content) };
  uses += 1;
  return { type: "tool_use", id: `toolu_${uses}`, name: "mcp__shop__refund", input };
}

/** Starts the API on a free port. */
export async function serveModel(): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer(async (request, response) => {
    if (!request.url?.startsWith("/v1/messages")) return void response.writeHead(404).end("{}");
    if (request.url.includes("count_tokens")) return void response.end('{"input_tokens":1}');
    const block = answer((await json(request)) as Body);
    const isUse = block.type === "tool_use";
    const stop_reason = isUse ? "tool_use" : "end_turn";
    const usage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
    const message = { id: "msg_1", type: "message", role: "assistant", model: "recorded", stop_sequence: null, usage };
    const send = (type: string, data: object): void =>
      void response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
    response.writeHead(200, { "content-type": "text/event-stream" });
    send("message_start", { message: { ...message, content: [], stop_reason: null } });
    send("content_block_start", { index: 0, content_block: { ...block, ...(isUse ? { input: {} } : { text: "" }) } });
    const delta = isUse
      ? { type: "input_json_delta", partial_json: JSON.stringify(input) }
      : { type: "text_delta", text: block.text };
    send("content_block_delta", { index: 0, delta });
    send("content_block_stop", { index: 0 });
    send("message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } });
    send("message_stop", {});
    response.end();
  });
  await new Promise<void>((listens) => server.listen(0, "127.0.0.1", listens));
  const address = server.address();
  return { server, url: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}` };
}
