/**
 * createHttpApp: the HTTP API of a kernel as one `fetch` function, for any server that speaks the web's Request and
 * Response.
 *
 * Owns: the order of what every request passes: id, safe headers, authentication, its route, its error.
 * H1  Everything but /health and /ready is for callers that are known.
 * H2  Whatever goes wrong is answered with problem details.
 */
import { Hono } from "hono";
import { cors } from "hono/cors";
import { secureHeaders } from "hono/secure-headers";
import { kernelError } from "../contract/error-codes.ts";
import { generateId } from "../contract/ids.ts";
import { raise } from "../contract/kernel-error.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { Kernel } from "../index.ts";
import { answerProblem, errorOf } from "./answer.ts";
import { createAuthentication } from "./authenticate.ts";
import type { App, Edge, Env } from "./edge.ts";
import { type HttpOptions, type ResolvedHttpOptions, resolveHttpOptions } from "./http-options.ts";
import { addCommands } from "./routes/commands.ts";
import { addHealth } from "./routes/health.ts";
import { addReads } from "./routes/reads.ts";
import { addRpc } from "./routes/rpc.ts";
import { addStreams } from "./routes/streams.ts";

export interface HttpApp {
  readonly fetch: (request: Request) => Promise<Response>;
}

const appRef = moduleRef(0, "http", "route");

/**
 * The API over a kernel. It holds no workflow state of its own; the kernel is the host's to stop.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for bad options, and where nobody may call.
 */
export function createHttpApp(kernel: Kernel, options: HttpOptions): HttpApp {
  const edge: Edge = { app: new Hono<Env>(), kernel, options: resolveHttpOptions(options), routes: [] };
  const { app } = edge;
  addErrors(app, edge.options);
  addHeaders(app, edge.options);
  addHealth(edge);
  addAuthentication(app, edge.options);
  addCommands(edge);
  addReads(edge);
  addStreams(edge);
  addRpc(edge);
  addMounts(edge);
  return { fetch: async (request) => app.fetch(request) };
}

function addMounts({ app, options }: Edge): void {
  for (const [path, answer] of Object.entries(options.mounts ?? {}))
    app.all(path, (call) => answer(call.req.raw, call.get("caller"), call.get("trace")));
}

function addErrors(app: App, { logger }: ResolvedHttpOptions): void {
  app.onError((thrown, call) => answerProblem(errorOf(thrown, logger), call.get("trace")));
  app.notFound((call) => {
    const message = `there is no ${call.req.method} ${call.req.path}`;
    return answerProblem(kernelError("T0_HTTP_ROUTE_UNKNOWN", message, appRef), call.get("trace"));
  });
}

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
  });
  app.use(secureHeaders());
  const { origins = [] } = options.cors ?? {};
  if (origins.length > 0) app.use(cors({ origin: [...origins], exposeHeaders: ["location", "x-request-id"] }));
}

function addAuthentication(app: App, options: ResolvedHttpOptions): void {
  const authenticate = createAuthentication(options);
  app.use(async (call, next) => {
    const caller = await authenticate(call.req.raw);
    if (caller === null) raise(kernelError("T5_AUTHN_FAILED", "the caller is not known here", appRef));
    call.set("caller", caller);
    await next();
  });
}
