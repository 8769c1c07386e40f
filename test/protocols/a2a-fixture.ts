/**
 * The A2A face over a test kernel, spoken to by the official client.
 * Owns: clients over HTTP without a socket, a package with a gate and one with a question, short ways to read tasks.
 * Never: asserts anything.
 */

import type { Message, Part, SendMessageRequest, Task } from "@a2a-js/sdk";
import { TaskState } from "@a2a-js/sdk";
import { type Client, ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from "@a2a-js/sdk/client";
import { createHttpApp, type HttpApp } from "../../src/faces/http/index.ts";
import { type A2aHandler, type A2aHandlerOptions, createA2aHandler } from "../../src/faces/protocols/a2a/index.ts";
import type { Kernel } from "../../src/index.ts";
import { createTestKernel, type TestKernel, type TestKernelOptions } from "../../src/testing/index.ts";
import { tokens } from "../http/edge-fixture.ts";

export const origin = "http://127.0.0.1:1";

export interface A2aUnderTest extends AsyncDisposable {
  readonly t: TestKernel;
  readonly a2a: A2aHandler;
  readonly app: HttpApp;
  readonly fetchAs: (as: string) => typeof fetch;
  readonly connect: (as?: string) => Promise<Client>;
}

/** An app with A2A at /a2a, and clients of it. */
export function openA2aApp(kernel: Kernel, options: A2aHandlerOptions = {}) {
  const a2a = createA2aHandler(kernel, { answersGates: true, ...options });
  const agent = { token: "agent", tenant_id: 1, principal: { type: "agent", id: "bot", role: "user" } };
  const app = createHttpApp(kernel, {
    tokens: [...tokens, agent],
    mounts: { "/a2a": a2a.handle },
    callbacks: { "/.well-known/agent-card.json": a2a.card },
  });
  const fetchAs = (as: string): typeof fetch =>
    (async (input: string | URL | Request, init: RequestInit = {}) => {
      const headers = new Headers(init.headers);
      if (as !== "") headers.set("authorization", `Bearer ${as}`);
      return app.fetch(new Request(new URL(String(input), origin), { ...init, headers }));
    }) as typeof fetch;
  const connect = (as = "own"): Promise<Client> => {
    const fetchImpl = fetchAs(as);
    const transports = [new JsonRpcTransportFactory({ fetchImpl })];
    const cardResolver = new DefaultAgentCardResolver({ fetchImpl: fetchAs("") });
    return new ClientFactory({ transports, cardResolver }).createFromUrl(origin);
  };
  return { a2a, app, fetchAs, connect };
}

export async function openA2a(
  kernelOptions: TestKernelOptions = {},
  options: A2aHandlerOptions = {},
): Promise<A2aUnderTest> {
  const t = await createTestKernel(kernelOptions);
  const face = openA2aApp(t.kernel, { clock: t.clock, ...options });
  return {
    t,
    ...face,
    async [Symbol.asyncDispose]() {
      await face.a2a.close();
      await t[Symbol.asyncDispose]();
    },
  };
}

let sent = 0;
export const text = (value: string): Part => ({
  content: { $case: "text", value },
  metadata: undefined,
  filename: "",
  mediaType: "",
});
export const data = (value: object): Part => ({
  content: { $case: "data", value },
  metadata: undefined,
  filename: "",
  mediaType: "application/json",
});

export interface Sending {
  readonly messageId?: string;
  readonly taskId?: string;
  readonly contextId?: string;
  readonly skill?: string;
  readonly parts?: readonly Part[];
  readonly configuration?: Partial<NonNullable<SendMessageRequest["configuration"]>>;
}

/** A request to send a message of these parts. */
export function messageOf(given: Sending = {}): SendMessageRequest {
  sent += 1;
  const { messageId = `m-${sent}`, taskId = "", contextId = "", skill, parts = [] } = given;
  const message: Message = {
    messageId,
    contextId,
    taskId,
    role: 1,
    parts: [...parts],
    metadata: skill === undefined ? undefined : { "countersign/skill": skill },
    extensions: [],
    referenceTaskIds: [],
  };
  const usual = { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: false };
  return { tenant: "", message, metadata: undefined, configuration: { ...usual, ...given.configuration } };
}

export const send = async (client: Client, given: Sending = {}): Promise<Task> =>
  (await client.sendMessage(messageOf(given))) as Task;

export const nameOfState = ({ status }: Pick<Task, "status">): string =>
  (TaskState[status?.state ?? 0] ?? "").replace("TASK_STATE_", "").toLowerCase();

/** What a task asks: the data parts of its status message. */
export interface Asked {
  readonly question: string;
  readonly gate: { readonly gate_id: string; readonly payload_digest: string; readonly payload: unknown };
  readonly answer_schema?: object;
  readonly reason?: string;
}
export const asked = ({ status }: Task): readonly Asked[] =>
  (status?.message?.parts ?? []).flatMap(({ content }) => (content?.$case === "data" ? [content.value as Asked] : []));

/** One request as it is written, past the client: its status, and its answer. */
export async function rpc(
  { fetchAs }: Pick<A2aUnderTest, "fetchAs">,
  method: string,
  params: object,
  { as = "own", version = "1.0" }: { readonly as?: string; readonly version?: string } = {},
) {
  const headers = { "content-type": "application/json", ...(version !== "" && { "a2a-version": version }) };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const response = await fetchAs(as)("/a2a", { method: "POST", headers, body });
  return { status: response.status, body: (await response.json()) as RpcBody };
}
export interface RpcBody {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data: readonly { readonly reason: string; readonly domain: string; readonly metadata?: object }[];
  };
}

/** Our code of an error. */
export const codeOf = ({ error }: RpcBody): string | undefined =>
  error?.data.find(({ domain }) => domain === "countersign")?.reason;
