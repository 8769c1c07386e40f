/**
 * The HTTP API over a test kernel, asked without a socket.
 * Owns: callers with tokens, short ways to ask. Whatever is asked, the answer must hold to the document of the API.
 */
import { createHttpApp, type HttpApp, type HttpOptions, type StaticToken } from "../../src/faces/http/index.ts";
import type { ProblemDetails } from "../../src/index.ts";
import { createTestKernel, type TestKernel, type TestKernelOptions } from "../../src/testing/index.ts";
import { answerJudge, type Heard } from "./answer-judge.ts";

const person = (token: string, tenant_id: number, role: string): StaticToken => ({
  token,
  tenant_id,
  principal: { type: "user", id: token, role },
});

/** `own` is user 1 of tenant 1, who submits in these tests. */
export const tokens: readonly StaticToken[] = [
  { token: "own", tenant_id: 1, principal: { type: "user", id: 1, role: "user" } },
  person("admin", 1, "admin"),
  person("support", 1, "support"),
  person("stranger", 1, "nobody"),
  { ...person("reader", 1, "user"), scopes: ["outcome:read"] },
  person("foreign", 2, "user"),
];

export interface Told<T = Readonly<Record<string, unknown>>> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

export interface Asked {
  readonly as?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** A value is sent as JSON, a text or bytes as they are. */
  readonly body?: unknown;
  readonly method?: string;
}

export interface EdgeUnderTest extends AsyncDisposable {
  readonly t: TestKernel;
  readonly app: HttpApp;
  readonly fetch: (path: string, asked?: Asked) => Promise<Response>;
  readonly ask: <T = Readonly<Record<string, unknown>>>(path: string, asked?: Asked) => Promise<Told<T>>;
  readonly post: <T = Readonly<Record<string, unknown>>>(path: string, body: unknown, as?: string) => Promise<Told<T>>;
}

export async function openEdge(
  kernelOptions: TestKernelOptions = {},
  options: Partial<HttpOptions> = {},
): Promise<EdgeUnderTest> {
  const t = await createTestKernel(kernelOptions);
  const app = createHttpApp(t.kernel, { tokens, clock: t.clock, ...options });
  const fetchPath = (path: string, asked: Asked = {}) => app.fetch(requestOf(path, asked));
  const ask = async <T>(path: string, asked: Asked = {}): Promise<Told<T>> => {
    const response = await fetchPath(path, asked);
    const text = await response.text();
    requireTold(app, {
      method: requestOf(path, asked).method,
      path,
      status: response.status,
      headers: response.headers,
      text,
    });
    return { status: response.status, headers: response.headers, body: (text === "" ? {} : JSON.parse(text)) as T };
  };
  return {
    t,
    app,
    fetch: fetchPath,
    ask,
    post: (path, body, as = "own") => ask(path, { body, as }),
    [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
  };
}

export function requireTold({ routes }: HttpApp, heard: Heard): void {
  const wrong = answerJudge(routes).judge(heard);
  if (wrong.length > 0)
    throw new Error(`${heard.method} ${heard.path} ${heard.status} is not as told: ${wrong.join("; ")}\n${heard.text}`);
}

export function requestOf(path: string, { as = "own", headers = {}, body, method }: Asked): Request {
  const raw = body === undefined || typeof body === "string" || body instanceof Uint8Array;
  return new Request(`http://edge.test${path}`, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: {
      ...(as !== null && { authorization: `Bearer ${as}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: (raw ? body : JSON.stringify(body)) as string }),
  });
}

export const submitPath = "/v1/kernel/submit";
export const pathOf = (workflowId: string, rest = ""): string => `/v1/kernel/workflows/${workflowId}${rest}`;
export const codeOf = ({ body }: Told): unknown => (body as unknown as ProblemDetails).extensions?.code;

/** Records without what differs from run to run: ids become their prefix. */
export const withoutIds = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replace(/\b([a-z]+)_[0-9A-HJKMNP-TV-Z]{26}\b/g, "$1_"));
