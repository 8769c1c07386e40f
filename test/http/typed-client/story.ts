/**
 * The README's story, told by a client whose types come from the document of the API: `api.ts`, as `countersign/api`
 * has them. It is compiled and run by typed-client.test.ts in a folder of its own, where those types are.
 */
import createClient from "openapi-fetch";
import type { components, paths } from "./api.ts";

type Schemas = components["schemas"];

/** What the story came to. */
export interface Told {
  readonly refused: readonly (string | undefined)[];
  readonly digest: string;
  readonly answered: string;
  readonly state: Schemas["WorkflowState"]["state"];
  readonly outcome: string | undefined;
  readonly events: readonly Schemas["EventType"][];
  readonly streamed: readonly Schemas["EventType"][];
  readonly feed: readonly Schemas["FeedItem"]["type"][];
  readonly rpc: readonly unknown[];
  readonly csrf: string | null;
}

interface Setting {
  readonly fetch: (request: Request) => Promise<Response>;
  /** A registered intent that waits for a person. */
  readonly intent: string;
  /** Waits until all is at rest. */
  readonly settle: () => Promise<unknown>;
}

const makeClient = ({ fetch }: Setting) =>
  createClient<paths>({ baseUrl: "http://edge.test", fetch, headers: { authorization: "Bearer own" } });
type Api = ReturnType<typeof makeClient>;

export async function tell(setting: Setting): Promise<Told> {
  const api = makeClient(setting);
  const workflowId = await submit(api, setting);
  const decided = await approve(api, workflowId);
  await setting.settle();
  const [known, followed] = [await read(api, workflowId), await follow(api, workflowId)];
  const rpc = await call(api, workflowId);
  return { ...decided, ...known, ...followed, rpc, ...(await beRefused(api, workflowId)) };
}

async function submit(api: Api, { intent, settle }: Setting): Promise<string> {
  const { data, error } = await api.POST("/v1/kernel/submit", {
    params: { header: { "Idempotency-Key": "story-1" } },
    body: { intent_hint: { intent_type: intent, inputs: { any: ["free", { json: 1 }] } } },
  });
  if (error !== undefined) throw new Error(error.detail);
  await settle();
  return data.workflow_id;
}

async function approve(api: Api, workflow_id: string): Promise<Pick<Told, "digest" | "answered">> {
  const { data: open } = await api.GET("/v1/kernel/gates", { params: { query: { workflow_id, limit: 10 } } });
  const gate = open?.gates[0];
  if (gate === undefined) throw new Error("nobody is asked");
  const { gate_id, payload_digest } = gate;
  const { data } = await api.POST("/v1/kernel/workflows/{workflow_id}/gate", {
    params: { path: { workflow_id } },
    body: { gate_id, decision: "approve", payload: { payload_digest, comment: "as agreed" } },
  });
  return { digest: payload_digest, answered: data?.status ?? "" };
}

async function read(api: Api, workflow_id: string): Promise<Pick<Told, "state" | "outcome" | "events">> {
  const path = { workflow_id };
  const { data: workflow } = await api.GET("/v1/kernel/workflows/{workflow_id}", { params: { path } });
  const { data: explained } = await api.GET("/v1/kernel/workflows/{workflow_id}/explain", { params: { path } });
  if (workflow === undefined || explained === undefined) throw new Error("it is not there");
  const inputs: { readonly [key: string]: unknown } = workflow.intent.inputs;
  if (inputs["any"] === undefined) throw new Error("the inputs are lost");
  const { data: outcomes } = await api.GET("/v1/kernel/workflows/{workflow_id}/outcomes", { params: { path } });
  const { data: page } = await api.GET("/v1/kernel/workflows/{workflow_id}/events", {
    params: { path, query: { after: 0 } },
  });
  const events = page?.events.map(({ event_type }) => event_type) ?? [];
  return { state: workflow.state, outcome: outcomes?.outcomes[0]?.outcome_type, events };
}

async function follow(api: Api, workflow_id: string): Promise<Pick<Told, "streamed" | "feed">> {
  const { data: text = "" } = await api.GET("/v1/kernel/stream/{workflow_id}/events", {
    params: { path: { workflow_id }, query: { after: 0 } },
    parseAs: "text",
  });
  const { data: feed } = await api.GET("/v1/kernel/stream/feed", {
    params: { query: { only: "gates" } },
    parseAs: "stream",
  });
  const reader = feed?.getReader();
  const first = await readUntil(reader, "bookmark");
  await reader?.cancel();
  return {
    streamed: messagesOf<Schemas["LedgerEvent"]>(text).map(({ event_type }) => event_type),
    feed: messagesOf<Schemas["FeedItem"]>(first).map(({ type }) => type),
  };
}

async function call(api: Api, workflow_id: string): Promise<readonly unknown[]> {
  const { data } = await api.POST("/rpc", {
    body: [
      { jsonrpc: "2.0", id: 1, method: "kernel/outcomes", params: { workflow_id } },
      { jsonrpc: "2.0", id: "two", method: "kernel/sing" },
    ],
  });
  return Array.isArray(data) ? data.map((answer) => ("error" in answer ? answer.error.code : answer.id)) : [];
}

async function beRefused(api: Api, workflow_id: string): Promise<Pick<Told, "refused" | "csrf">> {
  // A word that is none is found by the compiler, and by the server, which says where it stands.
  const wrong = await api.POST("/v1/kernel/workflows/{workflow_id}/retry", {
    params: { path: { workflow_id } },
    // @ts-expect-error there is no such mode
    body: { mode: "again" },
  });
  const login = await api.POST("/login", {
    body: { code: "no code" },
    bodySerializer: (body) => new URLSearchParams(body),
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
  const { data: session } = await api.GET("/v1/session");
  const csrf = session?.csrf_token ?? null;
  const { response } = await api.DELETE("/v1/session", { params: { header: { "X-CSRF-Token": csrf ?? "" } } });
  // @ts-expect-error there is no such address
  const nowhere = (await api.GET("/v1/kernel/nowhere", {})) as { readonly error?: Schemas["ProblemDetails"] };
  const refused = [wrong.error?.errors?.[0]?.pointer, login.error?.extensions.code, String(response.status)];
  return { refused: [...refused, nowhere.error?.extensions.code], csrf };
}

const messagesOf = <T>(text: string): readonly T[] =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data) as T);

type Reader = { read(): Promise<{ done: boolean; value?: Uint8Array | undefined }> };

async function readUntil(reader: Reader | undefined, word: string): Promise<string> {
  let text = "";
  while (reader !== undefined && !text.includes(word)) {
    const { done, value } = await reader.read();
    if (done) break;
    text += new TextDecoder().decode(value);
  }
  return text;
}
