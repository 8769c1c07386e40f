/**
 * A server that speaks the wire of OpenAI's chat completions, for the provider's own package: it says what it is given
 * to say.
 * Owns: the shape of that wire. Never: asserts anything; knows the kernel.
 */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface ChatServer extends AsyncDisposable {
  readonly url: string;
  /** Bodies of requests, in their order. */
  readonly asked: readonly ChatRequest[];
}

export interface ChatRequest {
  readonly stream?: boolean;
  readonly messages: readonly { readonly role: string }[];
  readonly tools?: readonly object[];
}

/** Gives one answer. */
export type Say = (answer: ServerResponse, asked: ChatRequest) => void;

interface Turn {
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly { readonly name: string; readonly arguments: string }[];
}

const usage = { prompt_tokens: 412, completion_tokens: 58, total_tokens: 470 };
const envelope = { id: "chatcmpl-1", created: 1_760_000_000, model: "shop-1" };

/** A turn as it is streamed, in small pieces, or whole where that is asked for. */
export const says =
  ({ reasoning = "", text: said = "", calls = [] }: Turn): Say =>
  (answer, { stream = false }) => {
    const finish_reason = calls.length > 0 ? "tool_calls" : "stop";
    const tool_calls = calls.map((call, index) => ({
      index,
      id: `call_${index + 1}`,
      type: "function",
      function: call,
    }));
    if (!stream) return tell(answer, 200, wholeTurn(said, tool_calls, finish_reason));
    const deltas = [
      { role: "assistant", content: "" },
      ...piecesOf(reasoning).map((reasoning_content) => ({ reasoning_content })),
      ...piecesOf(said).map((content) => ({ content })),
      ...tool_calls.flatMap(callDeltas),
    ];
    const choices = [
      ...deltas.map((delta) => ({ index: 0, delta, finish_reason: null })),
      { index: 0, delta: {}, finish_reason },
    ];
    const chunks = [...choices.map((choice) => ({ choices: [choice] })), { choices: [], usage }];
    for (const chunk of chunks) describeChunk(answer, { ...envelope, object: "chat.completion.chunk", ...chunk });
    answer.end("data: [DONE]\n\n");
  };

type WireCall = { readonly index: number; readonly function: { readonly name: string; readonly arguments: string } };

const wholeTurn = (content: string, tool_calls: readonly WireCall[], finish_reason: string) => ({
  ...envelope,
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content, tool_calls }, finish_reason }],
  usage,
});

const piecesOf = (said: string): readonly string[] => said.match(/.{1,7}/gs) ?? [];

/** The name comes first, then the arguments piece by piece. */
const callDeltas = ({ function: { name, arguments: written }, ...call }: WireCall) => [
  { tool_calls: [{ ...call, function: { name, arguments: "" } }] },
  ...piecesOf(written).map((piece) => ({ tool_calls: [{ index: call.index, function: { arguments: piece } }] })),
];

export function tell(answer: ServerResponse, status: number, body: object | string, headers = {}): void {
  answer.writeHead(status, { "content-type": "application/json", ...headers });
  answer.end(typeof body === "string" ? body : JSON.stringify(body));
}

export function describeChunk(answer: ServerResponse, chunk: object | string): void {
  if (!answer.headersSent) answer.writeHead(200, { "content-type": "text/event-stream" });
  answer.write(`data: ${typeof chunk === "string" ? chunk : JSON.stringify(chunk)}\n\n`);
}

/** A refusal as OpenAI words it. */
export const refuses =
  (status: number, message: string, headers = {}): Say =>
  (answer) =>
    tell(answer, status, { error: { message, type: "error", param: null, code: null } }, headers);

/** The last of its answers is repeated. */
export async function serveChat(...answers: readonly Say[]): Promise<ChatServer> {
  const asked: ChatRequest[] = [];
  const server = createServer(async (request, answer) => {
    const body = JSON.parse(await text(request)) as ChatRequest;
    asked.push(body);
    answers[Math.min(asked.length, answers.length) - 1]?.(answer, body);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
