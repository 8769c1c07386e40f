/**
 * The API of Claude on the loopback address, for the real Claude Code: it answers by a script and keeps the prompts.
 * Owns: the script. Never: reaches a network.
 */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** A use of a tool that the model asks for. */
export type Use = readonly [id: string, tool: string, input: object];

interface Body {
  readonly stream?: boolean;
  readonly tools?: readonly unknown[];
  readonly messages?: readonly { readonly content: unknown }[];
}

/** Starts the API: the model asks for these uses first, one an answer, and then says that it is done. */
export async function serveClaude(uses: readonly Use[]) {
  const prompts: string[] = [];
  let asked = 0;
  const answer = (response: ServerResponse, { stream, tools = [], messages = [] }: Body): void => {
    // Requests without tools are Claude Code's own, such as one for a title.
    const use = tools.length === 0 ? undefined : uses[asked];
    if (tools.length > 0) {
      asked += 1;
      prompts.push(JSON.stringify(messages));
    }
    if (stream === true) writeStream(response, use);
    else writeMessage(response, use);
  };
  const server = createServer(async (request, response) => {
    if (request.method !== "POST" || !request.url?.startsWith("/v1/messages"))
      return void response.writeHead(404).end("{}");
    if (request.url.includes("count_tokens")) return void response.end('{"input_tokens":1}');
    answer(response, (await json(request)) as Body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    prompts,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const usage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
const message = { id: "msg_1", type: "message", role: "assistant", model: "claude-mock", stop_sequence: null, usage };
const blockOf = (use: Use | undefined) =>
  use === undefined
    ? { type: "text", text: "It is done." }
    : { type: "tool_use", id: use[0], name: use[1], input: use[2] };

function writeMessage(response: ServerResponse, use: Use | undefined): void {
  const stop_reason = use === undefined ? "end_turn" : "tool_use";
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ ...message, content: [blockOf(use)], stop_reason }));
}

function writeStream(response: ServerResponse, use: Use | undefined): void {
  const send = (type: string, data: object): void =>
    void response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  response.writeHead(200, { "content-type": "text/event-stream" });
  send("message_start", { message: { ...message, content: [], stop_reason: null } });
  const block = blockOf(use);
  const begun = use === undefined ? { ...block, text: "" } : { ...block, input: {} };
  send("content_block_start", { index: 0, content_block: begun });
  const delta =
    use === undefined
      ? { type: "text_delta", text: "It is done." }
      : { type: "input_json_delta", partial_json: JSON.stringify(use[2]) };
  send("content_block_delta", { index: 0, delta });
  send("content_block_stop", { index: 0 });
  send("message_delta", {
    delta: { stop_reason: use === undefined ? "end_turn" : "tool_use", stop_sequence: null },
    usage: { output_tokens: 1 },
  });
  send("message_stop", {});
  response.end();
}
