/**
 * The README's story, told by a client whose types come from the document of the API: `api.ts`, made by openapi-typescript.
 * It is compiled and run by typed-client.test.ts in a folder of its own, where those types are.
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

/** `fetch` reaches the API; `intent` is a registered one that waits for a person; `settle` waits until all is at rest. */
export async function tell(
  fetch: (request: Request) => Promise<Response>,
  { intent, settle }: { readonly intent: string; readonly settle: () => Promise<unknown> },
): Promise<Told> {
  const api = createClient<paths>({ baseUrl: "http://edge.test", fetch, headers: { authorization: "Bearer own" } });

  const submitted = await api.POST("/v1/kernel/submit", {
    params: { header: { "Idempotency-Key": "story-1" } },
    body: { intent_hint: { intent_type: intent, inputs: { any: ["free", { json: 1 }] } } },
  });
  if (submitted.error !== undefined) throw new Error(submitted.error.detail);
  const { workflow_id } = submitted.data;
  const path = { workflow_id };
  await settle();

  const { data: open } = await api.GET("/v1/kernel/gates", { params: { query: { workflow_id, limit: 10 } } });
  const gate = open?.gates[0];
  if (gate === undefined) throw new Error("nobody is asked");
  const { gate_id, payload_digest } = gate;
  const decided = await api.POST("/v1/kernel/workflows/{workflow_id}/gate", {
    params: { path },
    body: { gate_id, decision: "approve", payload: { payload_digest, comment: "as agreed" } },
  });
  await settle();

  const { data: workflow } = await api.GET("/v1/kernel/workflows/{workflow_id}", { params: { path } });
  const { data: outcomes } = await api.GET("/v1/kernel/workflows/{workflow_id}/outcomes", { params: { path } });
  const { data: page } = await api.GET("/v1/kernel/workflows/{workflow_id}/events", {
    params: { path, query: { after: 0 } },
  });
  const explained = await api.GET("/v1/kernel/workflows/{workflow_id}/explain", { params: { path } });
  if (workflow === undefined || explained.data === undefined) throw new Error("it is not there");
  const inputs: { readonly [key: string]: unknown } = workflow.intent.inputs;
  if (inputs["any"] === undefined) throw new Error("the inputs are lost");

  const stream = await api.GET("/v1/kernel/stream/{workflow_id}/events", {
    params: { path, query: { after: 0 } },
    parseAs: "text",
  });
  const streamed = messagesOf<Schemas["LedgerEvent"]>(stream.data ?? "").map(({ event_type }) => event_type);

  const feed = await api.GET("/v1/kernel/stream/feed", { params: { query: { only: "gates" } }, parseAs: "stream" });
  const reader = feed.data?.getReader();
  const first = await readUntil(reader, "bookmark");
  await reader?.cancel();

  const called = await api.POST("/rpc", {
    body: [
      { jsonrpc: "2.0", id: 1, method: "kernel/outcomes", params: { workflow_id } },
      { jsonrpc: "2.0", id: "two", method: "kernel/sing" },
    ],
  });
  const answers = Array.isArray(called.data) ? called.data : [];

  const session = await api.GET("/v1/session");
  const signedOut = await api.DELETE("/v1/session", {
    params: { header: { "X-CSRF-Token": session.data?.csrf_token ?? "" } },
  });
  const login = await api.POST("/login", {
    body: { code: "no code" },
    bodySerializer: (body) => new URLSearchParams(body),
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
  // A field of the wrong type is found by the compiler, and by the server, which says where it is.
  const wrong = await api.POST("/v1/kernel/workflows/{workflow_id}/retry", {
    params: { path },
    // @ts-expect-error there is no such mode
    body: { mode: "again" },
  });
  // @ts-expect-error there is no such address
  const nowhere = await api.GET("/v1/kernel/nowhere", {});

  return {
    refused: [
      wrong.error?.errors?.[0]?.pointer,
      login.error?.extensions.code,
      signedOut.response.status.toString(),
      (nowhere as { readonly error?: Schemas["ProblemDetails"] }).error?.extensions.code,
    ],
    digest: payload_digest,
    answered: decided.data?.status ?? "",
    state: workflow.state,
    outcome: outcomes?.outcomes[0]?.outcome_type,
    events: page?.events.map(({ event_type }) => event_type) ?? [],
    streamed,
    feed: messagesOf<Schemas["FeedItem"]>(first).map(({ type }) => type),
    rpc: answers.map((answer) => ("error" in answer ? answer.error.code : answer.id)),
    csrf: session.data?.csrf_token ?? null,
  };
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
