/**
 * Requests drawn from the document of the API: sound ones, and ones that are wrong in every part that a request has.
 * Owns: what each part may be. Never: sends one.
 */
import fc from "fast-check";
import type { ApiDocument, Operation } from "../../src/faces/http/document/make-document.ts";
import { type Drawing, drawAnyText, drawChanged, drawSchema, type Schema } from "./schema-arbitrary.ts";

export interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** As it goes over the wire; null for none. */
  readonly body: string | Uint8Array | null;
}

export interface Known {
  readonly document: ApiDocument;
  readonly intent: string;
  readonly tokens: readonly string[];
}

/**
 * Stand, in a path or a body, for the workflow that was accepted last: which that is shows as requests are sent; and
 * for those that are there from the beginning, of the callers' own tenant and of another.
 */
export const newest = "wf_NEWEST";
export const standing: readonly string[] = ["wf_FIRST", "wf_SECOND", "wf_FOREIGN"];

const oddSegments = [
  "..",
  ".",
  "%2e%2e",
  "%2E%2E%2F",
  "a%2Fb",
  "%00",
  "%",
  "%ZZ",
  "%ff",
  "__proto__",
  "constructor",
  "wf_",
  "wf_01",
  "wf_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  "WF_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  "%F0%9F%98%80",
  "'%20OR%201=1--",
  "*",
  ":id",
  "{workflow_id}",
  " ",
  ";x=1",
  "a".repeat(3_000),
] as const;

const oddPaths = [
  "/",
  "//",
  "//v1/kernel/submit",
  "/v1/kernel/submit/",
  "/V1/KERNEL/SUBMIT",
  "/v1/kernel/../../rpc",
  "/v1/kernel/%2e%2e/gates",
  "/v1/kernel/%67ates",
  "/v1/kernel/workflows/",
  "/v1/kernel/workflows//outcomes",
  "/v1/kernel/gates%00",
  "/v1/kernel/gates?limit=1?limit=2#x",
  "/.env",
  "/openapi.json/..",
  "/%c0%ae%c0%ae/",
  "/v1/kernel/gates\\..\\x",
] as const;

const pick = <T>(...parts: readonly (readonly [weight: number, arbitrary: fc.Arbitrary<T>])[]) =>
  fc.oneof(...parts.map(([weight, arbitrary]) => ({ weight, arbitrary })));

/** Commands change something, hence most requests are those; what is open to everybody has little to say. */
const weightOf = (method: string, { security }: Operation): number =>
  security.length === 0 ? 1 : method === "post" ? 8 : 2;

export function drawRequests(known: Known): fc.Arbitrary<FuzzRequest> {
  const operations = Object.entries(known.document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]) =>
        [weightOf(method, operation), drawOperation({ path, method, operation }, known)] as const,
    ),
  );
  return pick([20, pick(...operations)], [1, drawStray(known)]);
}

interface Placed {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly schema: Schema;
}

function drawOperation({ path, method, operation }: Placed, known: Known): fc.Arbitrary<FuzzRequest> {
  const parameters = operation.parameters as unknown as readonly Parameter[];
  const body = operation.requestBody as { readonly content: Readonly<Record<string, { schema: Schema }>> } | undefined;
  const schema = body?.content["application/json"]?.schema;
  const usual = method.toUpperCase();
  return fc
    .record({
      method: pick(
        [24, fc.constant(usual)],
        [1, fc.constantFrom("GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "POST", "FOO")],
      ),
      path: drawPath(path, known),
      query: drawQuery(parameters, known),
      headers: drawHeaders(parameters, known),
      body: schema === undefined ? pick([9, fc.constant(null)], [1, rawBody]) : drawBody(schema, known),
    })
    .map((drawn) => ({ ...fitBody(drawn), path: `${drawn.path}${drawn.query}` }));
}

/** A web request holds no body for GET and HEAD. */
const fitBody = <T extends FuzzRequest>(drawn: T): T =>
  drawn.method === "GET" || drawn.method === "HEAD" ? { ...drawn, body: null } : drawn;

const drawStray = (known: Known): fc.Arbitrary<FuzzRequest> =>
  fc
    .record({
      method: fc.constantFrom("GET", "POST", "HEAD", "OPTIONS"),
      path: pick<string>([3, fc.constantFrom(...oddPaths)], [1, fc.webPath()]),
      headers: drawHeaders([], known),
      body: pick<FuzzRequest["body"]>([1, fc.constant(null)], [1, rawBody]),
    })
    .map(fitBody);

function drawPath(path: string, { intent }: Known): fc.Arbitrary<string> {
  const values: Readonly<Record<string, readonly string[]>> = {
    "{workflow_id}": [newest, newest, ...standing],
    "{intent_type}": [intent],
    "{name}": ["workflow", "gate", "step"],
  };
  const segments = path.split("/").map((segment) => {
    if (!segment.startsWith("{")) return fc.constant(segment);
    const sound = values[segment] ?? ["anything"];
    return pick<string>(
      [8, fc.constantFrom(...sound)],
      [1, fc.constantFrom(...oddSegments)],
      [1, fc.string().map(encodeText)],
    );
  });
  return fc.tuple(...segments).map((parts) => parts.join("/"));
}

const encodeText = (text: string): string => encodeURIComponent(text.toWellFormed());

function drawQuery(parameters: readonly Parameter[], known: Known): fc.Arbitrary<string> {
  const words = wordsOf(known);
  const sound = parameters
    .filter((parameter) => parameter.in === "query")
    .map(({ name, schema }) => {
      const value = words[name] ?? drawSchema(schema, { components: {}, words });
      return value.map((drawn) => [name, String(drawn)] as const);
    });
  // A name that its address does not take is refused before anything else is read: few have one.
  const odd = fc.tuple(fc.constantFrom("limit", "after", "state", "thread_id", "version", "q", ""), fc.string());
  const pairs =
    sound.length === 0
      ? pick<(readonly [string, string])[]>([14, fc.constant([])], [1, fc.array(odd, { maxLength: 1 })])
      : fc.array(pick([20, fc.oneof(...sound)], [1, odd]), { maxLength: 2 });
  return pairs.map((drawn) => {
    const text = drawn.map(([name, value]) => `${encodeText(name)}=${encodeText(value)}`).join("&");
    return text === "" ? "" : `?${text}`;
  });
}

const headerText = fc.string({ minLength: 1, maxLength: 30 }).map((text) => text.replace(/[^\x21-\x7e]/g, "x"));

function drawHeaders(
  parameters: readonly Parameter[],
  { tokens }: Known,
): fc.Arbitrary<Readonly<Record<string, string>>> {
  const named = (name: string) => parameters.some((parameter) => parameter.name === name);
  const rarely = <T>(arbitrary: fc.Arbitrary<T>, often = 1) =>
    pick<T | undefined>([often, arbitrary], [8, fc.constant(undefined)]);
  const authorization = pick<string | undefined>(
    [24, fc.constant(`Bearer ${tokens[0]}`)],
    [4, fc.constantFrom(...tokens).map((token) => `Bearer ${token}`)],
    [
      1,
      fc.constantFrom(
        undefined,
        "Bearer",
        "Bearer ",
        "Basic b3duOg==",
        "bearer own",
        "Bearer own own",
        "Bearer e30.e30.",
      ),
    ],
    [1, headerText],
  );
  const key = pick<string>(
    [8, fc.nat(40).map((n) => `key-${n}`)],
    [1, headerText],
    [1, fc.constantFrom("", "k".repeat(300), "two words")],
  );
  const type = fc.constantFrom(
    "application/json; charset=utf-8",
    "text/plain",
    "application/json; charset=latin1",
    "multipart/form-data",
    "",
    "application/JSON",
  );
  return fc
    .record({
      authorization,
      "content-type": pick<string>([12, fc.constant("application/json")], [1, type]),
      "idempotency-key": named("Idempotency-Key") ? rarely(key, 8) : rarely(key),
      "last-event-id": named("Last-Event-ID")
        ? rarely(pick<string>([3, fc.nat(30).map(String)], [1, headerText]), 4)
        : rarely(headerText),
      "x-request-id": rarely(headerText),
      "content-length": rarely(fc.constantFrom("0", "-1", "99999999999", "x")),
      origin: rarely(fc.constantFrom("https://elsewhere.test", "null")),
      "if-none-match": rarely(headerText),
      "transfer-encoding": rarely(fc.constantFrom("chunked", "chunked, identity")),
      "x-http-method-override": rarely(fc.constantFrom("DELETE")),
    })
    .map(
      (headers) =>
        Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)) as Record<
          string,
          string
        >,
    );
}

/** Values of fields that lead somewhere: what is registered, what is waiting, who calls. */
function wordsOf({ intent }: Known): Drawing["words"] {
  const principal = pick<object>(
    [6, fc.constantFrom({ type: "user", id: 1, role: "user" }, { id: 1 }, {})],
    [1, fc.constantFrom({ type: "user", id: 2, role: "admin" }, { role: "admin" })],
  );
  const params = fc.record(
    {
      workflow_id: fc.constantFrom(newest, ...standing),
      gate_id: fc.constant("gate-publish"),
      decision: fc.constantFrom("approve", "reject"),
      mode: fc.constantFrom("replay", "regenerate", "resume_failed_steps"),
      intent_hint: fc.constant({ intent_type: intent, inputs: {} }),
      payload: fc.jsonValue({ maxDepth: 1 }),
      query: fc.string(),
      limit: fc.integer({ min: -1, max: 600 }),
      after: fc.oneof(fc.nat(40), fc.string()),
    },
    { requiredKeys: [] },
  );
  return {
    intent_type: fc.constant(intent),
    workflow_id: fc.constantFrom(newest, ...standing),
    gate_id: fc.constantFrom("gate-publish", "gate-draft"),
    tenant_id: fc.constantFrom<unknown>(1, 1, 1, 1, 1, 1, 1, 2),
    principal,
    step_ids: fc.subarray(["draft", "publish"]),
    edit: fc.constantFrom({ text: "edited" }, { text: "" }, { board: "x" }),
    payload_digest: fc.constantFrom("", "0".repeat(64)),
    to: fc.constantFrom({ type: "user", id: "admin" }, { id: 1 }),
    method: fc.constantFrom(
      ...[
        "submit",
        "gate",
        "withdraw",
        "delegate",
        "retry",
        "cancel",
        "outcomes",
        "workflow",
        "workflows",
        "gates",
      ].map((name) => `kernel/${name}`),
      ...["events", "trace", "explain", "nothing"].map((name) => `kernel/${name}`),
      "constructor",
    ),
    params,
  };
}

function drawBody(schema: Schema, known: Known): fc.Arbitrary<FuzzRequest["body"]> {
  const drawing = { components: known.document.components.schemas, words: wordsOf(known) };
  const sound = drawSchema(schema, drawing);
  const json = (value: unknown): string => JSON.stringify(value) ?? "";
  return pick<FuzzRequest["body"]>(
    [9, sound.map(json)],
    [5, drawChanged(sound).map(json)],
    [1, sound.map((value) => twistText(json(value)))],
    [1, rawBody],
    [1, fc.constant(null)],
  );
}

/** The same, but with keys that come twice, or cut off in the middle. */
function twistText(text: string): string {
  if (text.startsWith("{") && text.length % 2 === 0)
    return `${text.slice(0, -1)}${text.length > 2 ? "," : ""}"tenant_id":1,"tenant_id":2}`;
  return text.slice(0, Math.ceil(text.length / 2));
}

const rawBody: fc.Arbitrary<string | Uint8Array> = fc.oneof(
  fc.constantFrom(
    "",
    "null",
    "[]",
    "{",
    '{"a":1,"a":2}',
    '{"__proto__":{"admin":true}}',
    '{"constructor":{"prototype":{}}}',
    '"\\ud800"',
    "1e400",
    "-0",
    "9007199254740993",
    "\ufeff{}",
    "NaN",
    "{'a':1}",
    "[".repeat(2_000) + "]".repeat(2_000),
    `{"a":"${"z".repeat(70_000)}"}`,
  ),
  drawAnyText(10),
  fc.uint8Array({ maxLength: 40 }),
);
