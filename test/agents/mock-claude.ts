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

/** Starts the API: the model asks for these uses first, one list an answer, and then says that it is done. */
export async function serveClaude(answers: readonly (readonly Use[])[]) {
  const prompts: string[] = [];
  let asked = 0;
  const answer = (response: ServerResponse, { stream, tools = [], messages = [] }: Body): void => {
    // Requests without tools are Claude Code's own, such as one for a title.
    const uses = (tools.length === 0 ? undefined : answers[asked]) ?? [];
    if (tools.length > 0) {
      asked += 1;
      prompts.push(JSON.stringify(messages));
    }
    if (stream === true) writeStream(response, uses);
    else writeMessage(response, uses);
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
const blocksOf = (uses: readonly Use[]) =>
  uses.length === 0
    ? [{ type: "text", text: "It is done." }]
    : uses.map(([id, name, input]) => ({ type: "tool_use", id, name, input }));
const stopOf = (uses: readonly Use[]) => (uses.length === 0 ? "end_turn" : "tool_use");

function writeMessage(response: ServerResponse, uses: readonly Use[]): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ ...message, content: blocksOf(uses), stop_reason: stopOf(uses) }));
}

function writeStream(response: ServerResponse, uses: readonly Use[]): void {
  const send = (type: string, data: object): void =>
    void response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  response.writeHead(200, { "content-type": "text/event-stream" });
  send("message_start", { message: { ...message, content: [], stop_reason: null } });
  for (const [index, block] of blocksOf(uses).entries()) {
    const isText = "text" in block;
    send("content_block_start", { index, content_block: { ...block, ...(isText ? { text: "" } : { input: {} }) } });
    const delta = isText
      ? { type: "text_delta", text: block.text }
      : { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
    send("content_block_delta", { index, delta });
    send("content_block_stop", { index });
  }
  const delta = { stop_reason: stopOf(uses), stop_sequence: null };
  send("message_delta", { delta, usage: { output_tokens: 1 } });
  send("message_stop", {});
  response.end();
}
