/**
 * createHttpApp: the HTTP API of a kernel as one `fetch` function, for any server that speaks the web's Request and
 * Response.
 *
 * Owns: the order of each request's steps: id, safe headers, authentication, its route, its error.
 * 1.  All routes but those marked `open` are for known callers.
 * 2.  A stream ends with the credential that it was opened with.
 * 3.  Every error is answered with problem details.
 */

import { Hono } from "hono";
import { cors } from "hono/cors";
import { secureHeaders } from "hono/secure-headers";
import { kernelError } from "../../contract/error-codes.ts";
import { requireKernel } from "../../contract/host-object.ts";
import { generateId } from "../../contract/ids.ts";
import { instantText } from "../../contract/instant.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Kernel } from "../../index.ts";
import { endingStream } from "../../protocol/ending-stream.ts";
import { addOtherMethods, type Route } from "./add-route.ts";
import { type Admission, createAdmission } from "./admit-caller.ts";
import { answerProblem, errorOf } from "./answer.ts";
import type { Authenticated } from "./authenticate.ts";
import type { App, Call, Edge, Env } from "./edge.ts";
import {
  HttpCaller,
  type HttpOptions,
  type ResolvedHttpOptions,
  refuseOptions,
  resolveHttpOptions,
} from "./http-options.ts";
import { refuseRate } from "./limit-rate.ts";
import { addObservation } from "./observe-requests.ts";
import { createOneAtATime } from "./one-at-a-time.ts";
import { createReadTurns } from "./read-turns.ts";
import { addBudgets } from "./routes/budgets.ts";
import { addCommands } from "./routes/commands.ts";
import { addConsole } from "./routes/console.ts";
import { addDecisions } from "./routes/decisions.ts";
import { addDoctor } from "./routes/doctor.ts";
import { addDocument } from "./routes/document.ts";
import { addGrants } from "./routes/grants.ts";
import { addGuide } from "./routes/guide.ts";
import { addHalts } from "./routes/halts.ts";
import { addHealth } from "./routes/health.ts";
import { addJobs } from "./routes/jobs.ts";
import { addMetrics } from "./routes/metrics.ts";
import { addProof } from "./routes/proof.ts";
import { addQueues } from "./routes/queues.ts";
import { addReads } from "./routes/reads.ts";
import { addRegistry } from "./routes/registry.ts";
import { addRpc } from "./routes/rpc.ts";
import { addSchedules } from "./routes/schedules.ts";
import { addLogin, addSession, type Door, doorOf, loginPath } from "./routes/session.ts";
import { addStandIns } from "./routes/stand-ins.ts";
import { addStreams } from "./routes/streams.ts";
import { addWaits } from "./routes/waits.ts";
import { addWhatIf } from "./routes/what-if.ts";
import { createStreamPlaces } from "./stream-places.ts";
import { createUnreadAnswers } from "./unread-answers.ts";
import { createUnreadBytes, type UnreadBytes } from "./unread-bytes.ts";

/** The API of a kernel, to be served by any server that speaks the web's Request and Response. */
export interface HttpApp {
  /** Answers a request of the web's kind. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Every route of the app; the document of the API is made from them. */
  readonly routes: readonly Route[];
  /**
   * Returns the path of a link that signs a browser in as this caller, once and for a short time; show it to nobody
   * else.
   * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH if the app has no sessions, or the caller is invalid.
   */
  readonly loginPath: (caller: HttpCaller) => Promise<string>;
  /**
   * Makes a token of the option `tokens` invalid from now on, and ends streams that were opened with it. False if there
   * is no such token.
   */
  readonly revokeToken: (token: string) => boolean;
  /**
   * Signs a principal out everywhere, including links that were made for them; returns how many sessions and links
   * ended.
   */
  readonly endSessions: (caller: HttpCaller) => Promise<number>;
  /** From now on `/ready` reports failure, so that requests are sent elsewhere; arriving ones are still answered. */
  readonly drain: () => void;
}

const appRef = moduleRef(0, "http", "route");

/**
 * Creates the API over a kernel. It holds no workflow state of its own; the host stops the kernel.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for bad options, and if nobody may call.
 */
export function createHttpApp(kernel: Kernel, options: HttpOptions): HttpApp {
  requireKernel(kernel, { what: "createHttpApp", source: moduleRef(0, "http", "createHttpApp") });
  const resolved = resolveHttpOptions(options);
  const places = createStreamPlaces(resolved.limits);
  const admission = createAdmission(resolved);
  const { spend } = admission;
  const draining = new AbortController();
  const edge: Edge = {
    app: new Hono<Env>(),
    kernel,
    options: resolved,
    routes: [],
    spend,
    places,
    drain: draining.signal,
    heavy: createOneAtATime(),
    reads: createReadTurns(resolved.limits),
    unread: createUnreadAnswers(resolved.limits, resolved.clock),
    unreadMessages: unreadMessagesOf(resolved),
  };
  const { app } = edge;
  addObservation(app, edge.options);
  const door = doorOf(edge, admission);
  addErrors(app, edge.options);
  addHeaders(app, edge.options);
  addHealth(edge);
  addDocument(edge);
  if (edge.options.guide) addGuide(edge);
  if (edge.options.console) addConsole(edge);
  if (door !== null) addLogin(edge, door);
  addCallbacks(edge, admission);
  addWaits(edge, admission);
  addAdmission(app, admission);
  addSession(edge, door);
  addCommands(edge);
  addJobs(edge);
  addReads(edge);
  addProof(edge);
  addBudgets(edge);
  addQueues(edge);
  addSchedules(edge);
  addHalts(edge);
  addDecisions(edge);
  addGrants(edge);
  addStandIns(edge);
  addRegistry(edge);
  addStreams(edge);
  addWhatIf(edge);
  addDoctor(edge);
  addRpc(edge);
  addMetrics(edge);
  addMounts(edge);
  addOtherMethods(edge);
  return {
    fetch: async (request) => app.fetch(request),
    routes: edge.routes,
    revokeToken: admission.revoke,
    loginPath: async (caller) => loginPath(requireDoor(door), readCaller(caller)),
    drain: () => draining.abort(),
    endSessions: async (caller) => requireDoor(door).sessions.endAll(readCaller(caller)),
  };
}

const unreadMessagesOf = ({ limits }: ResolvedHttpOptions): UnreadBytes =>
  createUnreadBytes(
    ["maxUnreadStreamBytes", limits.maxUnreadStreamBytes],
    ["maxUnreadStreamBytesPerCaller", limits.maxUnreadStreamBytesPerCaller],
  );

const requireDoor = (door: Door | null): Door => door ?? refuseOptions("this app was made without the option sessions");

function readCaller(given: HttpCaller): HttpCaller {
  const caller = HttpCaller.safeParse(given);
  return caller.success ? caller.data : refuseOptions("a session is for a caller: tenant_id and principal");
}

/** Adds callbacks. While too many calls of unknown callers have failed, no further one is checked. */
function addCallbacks({ app, options }: Edge, { failures }: Admission): void {
  for (const [path, answer] of Object.entries(options.callbacks))
    app.all(path, async (call) => {
      if (failures.isSpent()) refuseRate("maxFailedCallsPerSecond");
      const answered = await answer(call.req.raw);
      if (answered.status === 401) failures.take();
      return answered;
    });
}

function addMounts({ app, options, routes }: Edge): void {
  const { mounts, callbacks } = options;
  for (const path of [...Object.keys(mounts), ...Object.keys(callbacks)])
    if (routes.some((route) => route.path === path) || (path in mounts && path in callbacks))
      refuseOptions(`${path} is taken; mount elsewhere`);
  for (const [path, answer] of Object.entries(mounts)) {
    app.all(path, (call) => answer(call.req.raw, call.get("caller"), call.get("trace")));
  }
}

function addErrors(app: App, { logger }: ResolvedHttpOptions): void {
  app.onError((thrown, call) => answerProblem(errorOf(thrown, logger), call.get("trace")));
  app.notFound((call) => {
    const message = `there is no ${call.req.method} ${call.req.path}`;
    return answerProblem(kernelError("T0_HTTP_ROUTE_UNKNOWN", message, appRef), call.get("trace"));
  });
}

/** The headers that a page of another origin may read, if pages may call. */
const exposed = ["location", "x-request-id", "retry-after", "idempotent-replayed"] as const;
/** Sent over https only: over http browsers ignore it, and behind a proxy only `origin` shows what browsers use. */
const hsts = "max-age=15552000; includeSubDomains";
/** A caller's own id is kept if it is a plain word. */
const requestId = /^[\w.:-]{1,128}$/;

function addHeaders(app: App, options: ResolvedHttpOptions): void {
  app.use(async (call, next) => {
    const given = call.req.header("x-request-id") ?? "";
    const trace = requestId.test(given) ? given : generateId("request");
    call.set("trace", trace);
    await next();
    call.header("x-request-id", trace);
    if (!call.res.headers.has("cache-control")) call.header("cache-control", "no-store");
    const { headers } = call.res;
    const isPage = headers.get("content-type")?.startsWith("text/html") ?? false;
    if ((options.origin ?? call.req.url).startsWith("https:")) call.header("strict-transport-security", hsts);
    if (!isPage) call.header("content-security-policy", "default-src 'none'; frame-ancestors 'none'");
  });
  app.use(secureHeaders({ strictTransportSecurity: false }));
  const { origins = [] } = options.cors ?? {};
  if (origins.length > 0) app.use(cors({ origin: [...origins], exposeHeaders: [...exposed] }));
}

/** Ends a long body, of a route or of a mount, with its credential. */
function endWithCredential(call: Call, { watch }: Authenticated): void {
  const { body, headers } = call.res;
  if (body === null || !headers.get("content-type")?.startsWith("text/event-stream")) return;
  call.res = new Response(endingStream(body, { until: watch }), call.res);
}

function addAdmission(app: App, { admit }: Admission): void {
  app.use(async (call, next) => {
    const known = await admit(call.req.raw);
    call.set("known", known);
    call.set("caller", known.caller);
    await next();
    if (known.expiresAt !== null) call.header("session-expires", instantText(known.expiresAt));
    endWithCredential(call, known);
  });
}
