/**
 * `npm run fuzz -- --requests 20000 --seed 1`: requests drawn from the document of the API, against a real app and
 * kernel.
 *
 * L1  No answer is a 5xx, and nothing reaches the log as an error: whatever comes, it is the caller's to mend.
 * L2  Each answer is one that the document names, and its body holds the schema told there and nothing more.
 * L3  Each problem has a code and a next step.
 * L4  The kernel is unaffected: afterwards a workflow completes, chains are sound, and no reader is left behind.
 * L5  Memory is bounded: what a kernel held goes with it, so that a million requests need what a thousand do. The same
 *     seed sends the same requests. A failure is told as a line for curl. Exit code 1 when a law is broken.
 */
import { createHistogram, type RecordableHistogram } from "node:perf_hooks";
import { parseArgs } from "node:util";
import fc from "fast-check";
import { makeDocument } from "../../src/faces/http/document/make-document.ts";
import { createHttpApp, type HttpApp } from "../../src/faces/http/index.ts";
import type { Logger } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { intent, publishing } from "../gates/story.ts";
import { answerJudge } from "./answer-judge.ts";
import { tokens } from "./edge-fixture.ts";
import { drawRequests, type FuzzRequest, newest, standing } from "./fuzz-requests.ts";

export interface FuzzReport {
  readonly requests: number;
  readonly seed: number;
  readonly byStatus: Readonly<Record<string, number>>;
  /** By operation id: how many requests reached it. */
  readonly byOperation: Readonly<Record<string, number>>;
  readonly failures: readonly string[];
}

/** What differs from run to run: times in ms, memory in MB. */
export interface FuzzFigures {
  readonly seconds: number;
  readonly requestsPerSecond: number;
  /** From the request to the end of its answer, or of what a stream has to say at once. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** Resident: before the first kernel, the most after any kernel, after the last. */
  readonly rssStart: number;
  readonly rssMost: number;
  readonly rssEnd: number;
}

/** A kernel lives so long: then its ledger is judged as a whole, and what it holds is let go. */
const perKernel = 1_000;
const maxBodyBytes = 64_000;

interface Fuzzing {
  readonly requests: number;
  readonly seed: number;
  /** Told after each kernel. */
  readonly onProgress?: (done: number) => void;
}

export async function fuzzApi({
  requests,
  seed,
  onProgress,
}: Fuzzing): Promise<FuzzReport & { readonly figures: FuzzFigures }> {
  const counts: Counts = { status: new Map(), operation: new Map(), took: createHistogram() };
  const failures: string[] = [];
  const [began, rssStart] = [performance.now(), readRss()];
  const draw = await drawingOnce();
  let rssMost = rssStart;
  for (let done = 0; done < requests; done += perKernel) {
    const numRuns = Math.min(perKernel, requests - done);
    failures.push(...(await fuzzKernel(fc.sample(draw, { numRuns, seed: seed * 1_000_003 + done }), counts)));
    rssMost = Math.max(rssMost, readRss());
    onProgress?.(done + numRuns);
  }
  const { status, operation, took } = counts;
  const seconds = (performance.now() - began) / 1_000;
  const ms = (micros: number): number => micros / 1_000;
  const figures = {
    seconds: Math.round(seconds),
    requestsPerSecond: Math.round(requests / seconds),
    p50: ms(took.percentile(50)),
    p99: ms(took.percentile(99)),
    max: ms(took.max),
    rssStart,
    rssMost,
    rssEnd: readRss(),
  };
  return { requests, seed, byStatus: sorted(status), byOperation: sorted(operation), failures, figures };
}

const readRss = (): number => Math.round(process.memoryUsage.rss() / 1_000_000);

interface Counts {
  readonly status: Map<string, number>;
  readonly operation: Map<string, number>;
  readonly took: RecordableHistogram;
}

const sorted = (counts: ReadonlyMap<string, number>) =>
  Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
const count = (counts: Map<string, number>, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);

const openApp = (t: TestKernel, logger: Logger): HttpApp =>
  createHttpApp(t.kernel, { tokens, clock: t.clock, limits: { maxBodyBytes }, logger });
const openKernel = () => createTestKernel({ capabilities: [publishing().capability], fallbackIntent: intent });

/** What requests may be: made once, for it costs as much as a thousand of them. */
async function drawingOnce(): Promise<fc.Arbitrary<FuzzRequest>> {
  await using t = await openKernel();
  const { routes } = openApp(t, failOn(t));
  return drawRequests({ document: makeDocument(routes), intent, tokens: tokens.map(({ token }) => token) });
}

async function fuzzKernel(requests: readonly FuzzRequest[], counts: Counts): Promise<string[]> {
  await using t = await openKernel();
  const app = openApp(t, failOn(t));
  const workflows = [await t.submit(intent), await t.submit(intent), await t.submit(intent, {}, foreign)];
  for (const id of workflows) await t.rest(id);
  const failures: string[] = [];
  const { listeners } = t.kernel.vitals();
  let last = workflows[0] as string;
  for (const drawn of requests) {
    const request = aimAt(
      [[newest, last], ...standing.map((name, i) => [name, workflows[i] as string] as const)],
      drawn,
    );
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

/** The request with what its placeholders stand for. */
function aimAt(names: readonly (readonly [string, string])[], { path, body, ...rest }: FuzzRequest): FuzzRequest {
  const aim = (text: string): string => names.reduce((aimed, [name, id]) => aimed.replaceAll(name, id), text);
  return { ...rest, path: aim(path), body: typeof body === "string" ? aim(body) : body };
}

interface Judged {
  readonly wrong: readonly string[];
  /** The workflow that the request began. */
  readonly accepted: string | null;
}

async function judgeOne(app: HttpApp, drawn: FuzzRequest, counts: Counts): Promise<Judged> {
  const request = toRequest(drawn);
  const began = performance.now();
  const response = await app.fetch(request);
  const text = await readSome(response);
  counts.took.record(Math.max(1, Math.round((performance.now() - began) * 1_000)));
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
  const given = (bytes: string | Uint8Array): string =>
    typeof bytes === "string" ? quote(bytes) : `@- # base64 ${Buffer.from(bytes).toString("base64")}`;
  const data = body === null ? [] : [`--data-binary ${given(body)}`];
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
  const asked = { requests: Number(values.requests), seed: Number(values.seed) };
  const began = performance.now();
  const onProgress = (done: number): void => {
    if (done % 50_000 !== 0) return;
    const seconds = Math.round((performance.now() - began) / 1_000);
    console.error(`${done} requests in ${seconds} s, ${readRss()} MB`);
  };
  const report = await fuzzApi({ ...asked, onProgress });
  for (const failure of report.failures.slice(0, 40)) console.log(failure);
  console.log(JSON.stringify({ ...report, failures: report.failures.length }, null, 2));
  process.exitCode = report.failures.length === 0 ? 0 : 1;
}
