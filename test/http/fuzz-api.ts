/**
 * `npm run fuzz -- --requests 20000 --seed 1`: requests drawn from the document of the API, against a real app and kernel.
 *
 * L1  No answer is a 5xx, and nothing reaches the log as an error: whatever comes, it is the caller's to mend.
 * L2  Each answer is one that the document names, and its body holds the schema told there and nothing more.
 * L3  Each problem has a code and a next step.
 * L4  The kernel is unaffected: afterwards a workflow completes, chains are sound, and no reader is left behind.
 * The same seed sends the same requests. A failure is told as a line for curl. Exit code 1 when a law is broken.
 */
import { parseArgs } from "node:util";
import fc from "fast-check";
import { makeDocument } from "../../src/http/document/make-document.ts";
import { createHttpApp, type HttpApp } from "../../src/http/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { intent, publishing } from "../gates/story.ts";
import { answerJudge } from "./answer-judge.ts";
import { tokens } from "./edge-fixture.ts";
import { drawRequests, type FuzzRequest, newest } from "./fuzz-requests.ts";

export interface FuzzReport {
  readonly requests: number;
  readonly byStatus: Readonly<Record<string, number>>;
  /** By operation id: how many requests reached it. */
  readonly byOperation: Readonly<Record<string, number>>;
  readonly failures: readonly string[];
}

const perKernel = 1_000;
const maxBodyBytes = 64_000;

export async function fuzzApi({
  requests,
  seed,
}: {
  readonly requests: number;
  readonly seed: number;
}): Promise<FuzzReport> {
  const counts = { status: new Map<string, number>(), operation: new Map<string, number>() };
  const failures: string[] = [];
  for (let done = 0; done < requests; done += perKernel) {
    const numRuns = Math.min(perKernel, requests - done);
    failures.push(...(await fuzzKernel({ numRuns, seed: seed * 1_000_003 + done }, counts)));
  }
  const { status, operation } = counts;
  return { requests, byStatus: sorted(status), byOperation: sorted(operation), failures };
}

interface Counts {
  readonly status: Map<string, number>;
  readonly operation: Map<string, number>;
}

const sorted = (counts: ReadonlyMap<string, number>) =>
  Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
const count = (counts: Map<string, number>, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);

async function fuzzKernel(
  parameters: { readonly numRuns: number; readonly seed: number },
  counts: Counts,
): Promise<string[]> {
  await using t = await createTestKernel({ capabilities: [publishing().capability], fallbackIntent: intent });
  const app = createHttpApp(t.kernel, { tokens, clock: t.clock, limits: { maxBodyBytes }, logger: failOn(t) });
  const workflows = [await t.submit(intent), await t.submit(intent), await t.submit(intent, {}, foreign)];
  for (const id of workflows) await t.rest(id);
  const known = { document: makeDocument(app.routes), workflows, intent, tokens: tokens.map(({ token }) => token) };
  const failures: string[] = [];
  const { listeners } = t.kernel.vitals();
  let last = workflows[0] as string;
  for (const drawn of fc.sample(drawRequests(known), parameters)) {
    const request = aimAt(last, drawn);
    const { wrong, accepted } = await judgeOne(app, request, counts);
    last = accepted ?? last;
    failures.push(...[...wrong, ...takeErrors(t)].map((law) => `${law}\n  ${toCurl(request)}`));
  }
  return [...failures, ...(await judgeKernel(t, listeners))];
}

const foreign = { tenant_id: 2, principal: { type: "user", id: "foreign", role: "user" } };

/** What the app tells as an error, kept beside what the kernel tells. */
const errors = new WeakMap<TestKernel, string[]>();
function failOn(t: TestKernel) {
  const kept: string[] = [];
  errors.set(t, kept);
  const keep = (detail: object, message?: string) =>
    void kept.push(`logged: ${message} ${String((detail as { thrown?: Error }).thrown?.stack)}`);
  return { debug() {}, info() {}, warn() {}, error: keep };
}
const takeErrors = (t: TestKernel): readonly string[] => errors.get(t)?.splice(0) ?? [];

function aimAt(last: string, { path, body, ...rest }: FuzzRequest): FuzzRequest {
  const aimed = typeof body === "string" ? body.replaceAll(newest, last) : body;
  return { ...rest, path: path.replaceAll(newest, last), body: aimed };
}

interface Judged {
  readonly wrong: readonly string[];
  /** The workflow that the request began. */
  readonly accepted: string | null;
}

async function judgeOne(app: HttpApp, drawn: FuzzRequest, counts: Counts): Promise<Judged> {
  const request = toRequest(drawn);
  const response = await app.fetch(toRequest(drawn));
  const text = await readSome(response);
  const { status, headers } = response;
  const { pathname: path } = new URL(request.url);
  const judge = answerJudge(app.routes);
  const heard = { method: request.method, path, status, headers, text };
  count(counts.status, String(status));
  count(counts.operation, judge.operationOf(request.method, path) ?? "(none)");
  const wrong = [
    ...(status >= 500 ? [`status ${status}: ${text.slice(0, 300)}`] : []),
    ...judge.judge(heard).map((wrong) => `${status} is not as told: ${wrong}\n  ${text.slice(0, 300)}`),
    ...judgeProblem(headers, text, request.method),
    ...(headers.has("x-request-id") ? [] : ["no x-request-id"]),
  ];
  return { wrong, accepted: status === 202 ? (headers.get("location")?.split("/").at(-1) ?? null) : null };
}

function judgeProblem(headers: Headers, text: string, method: string): readonly string[] {
  if (headers.get("content-type") !== "application/problem+json" || method === "HEAD") return [];
  const { extensions } = JSON.parse(text) as { extensions?: { code?: string; next?: string } };
  return (extensions?.code ?? "") !== "" && (extensions?.next ?? "") !== ""
    ? []
    : ["a problem without code or next step"];
}

/** All of an answer; of a stream, what is there before it waits. */
async function readSome(response: Response): Promise<string> {
  if (response.headers.get("content-type") !== "text/event-stream" || response.body === null) return response.text();
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let part = await orIdle(reader.read()); part !== null && !part.done; part = await orIdle(reader.read()))
    text += decoder.decode(part.value, { stream: true });
  await reader.cancel();
  return text;
}

/** Null where nothing comes while the event loop turns a few times. */
async function orIdle<T>(promise: Promise<T>): Promise<T | null> {
  return Promise.race([promise, turnAround()]);
}

async function turnAround(): Promise<null> {
  for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  return null;
}

function toRequest({ method, path, headers, body }: FuzzRequest): Request {
  return new Request(`http://edge.test${path}`, { method, headers, ...(body !== null && { body: body as string }) });
}

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

function toCurl({ method, path, headers, body }: FuzzRequest): string {
  const told = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
  const data =
    body === null
      ? []
      : [
          `--data-binary ${typeof body === "string" ? quote(body) : `@- # base64 ${Buffer.from(body).toString("base64")}`}`,
        ];
  return ["curl -i --path-as-is", `-X ${method}`, ...told, quote(`http://127.0.0.1:8787${path}`), ...data].join(" ");
}

async function judgeKernel(t: TestKernel, listeners: number): Promise<readonly string[]> {
  await turnAround();
  const left = t.kernel.vitals().listeners - listeners;
  // Requests may have filled the kernel with work that waits for people: it is for the operator to end that.
  for (const { workflow_id, state } of await t.kernel.workflows({ limit: 10_000 }))
    if (state === "waiting_for_user")
      await t.kernel.cancel(workflow_id, { tenant_id: 1, principal: foreign.principal }).catch(() => null);
  const { workflow_id, state } = await t.run(intent);
  const opened = state === "waiting_for_user";
  if (opened) await t.approve(workflow_id, "gate-publish");
  const after = await t.rest(workflow_id);
  const { ok, broken } = await t.kernel.verify();
  return [
    ...(left === 0 ? [] : [`${left} readers are left behind`]),
    ...(opened && after.state === "completed"
      ? []
      : [`afterwards a workflow is ${after.state}: ${JSON.stringify(after.error)}`]),
    ...(ok ? [] : [`chains are broken: ${JSON.stringify(broken)}`]),
  ];
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { requests: { type: "string", default: "20000" }, seed: { type: "string", default: "1" } },
  });
  const report = await fuzzApi({ requests: Number(values.requests), seed: Number(values.seed) });
  for (const failure of report.failures.slice(0, 40)) console.log(failure);
  console.log(JSON.stringify({ ...report, failures: report.failures.length }, null, 2));
  process.exitCode = report.failures.length === 0 ? 0 : 1;
}
