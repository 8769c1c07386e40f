/**
 * Adds a route: its description for the API's document, together with its handler.
 *
 * Owns: the list of routes that an app has. The document, the authorization matrix and the fuzzer read it.
 * 1.  A route that is not in the list does not exist; one in the list answers with what its `answers` name, or with a
 *     problem. A mount is no route: it is another protocol, which describes itself.
 * 2.  The query string satisfies the route's `query` before the route runs: unknown names are refused, and repeated
 *     ones unless they are lists.
 * 3.  An address that takes no body refuses one, because it would be ignored.
 * 4.  Reads of one caller take turns with those of others, and the amount of unread answers is bounded.
 * 5.  Another method at an existing address gets 405 with the allowed ones; OPTIONS returns just these.
 */
import { z } from "zod";
import type { Offered } from "../../api/operation.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { readRequest } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { answerProblem } from "./answer.ts";
import type { Call, Edge } from "./edge.ts";
import { readJsonBody } from "./read-body.ts";
import { readQuery } from "./read-query.ts";

/** An answer that a route may give. Without a schema it has no body that the document could describe. */
export interface RouteAnswer {
  readonly description: string;
  /** The schema of the data of one message, for `text/event-stream`. */
  readonly schema?: z.ZodType;
  /** The name of the messages, for `text/event-stream`. */
  readonly event?: string;
  /** The media type; `application/json` by default. */
  readonly mediaType?: string;
  /** Whether `Location` names the workflow. */
  readonly located?: boolean;
}

/** A route as the document of the API describes it. */
export interface Route<Q extends z.ZodObject = z.ZodObject> {
  readonly method: "get" | "post" | "delete";
  /** The path in hono's notation: `:id` is a parameter. */
  readonly path: string;
  /** The operationId: one verb and its noun, in camelCase. */
  readonly operation: string;
  readonly summary: string;
  /** The scope that a caller needs; null: none, but the caller must be known; "open": no credential is needed. */
  readonly needs: string | null | "open";
  /** A further scope, where one is not enough. */
  readonly alsoNeeds?: string;
  /** A further description for readers of the document. */
  readonly description?: string;
  /** Parameters of the path, where they are no workflow's id. */
  readonly params?: z.ZodObject;
  /** Parameters after the question mark, as texts arrive; its schemas read them. */
  readonly query?: Q;
  /** Whether query or body names a workflow, or something else, which may not exist. */
  readonly names?: boolean;
  /** Whether the route uses an `Idempotency-Key`. */
  readonly idempotent?: boolean;
  /** Whether `Prefer: wait` limits the time of the answer. */
  readonly waits?: boolean;
  /** Whether `Last-Event-ID` selects the place to continue. */
  readonly resumable?: boolean;
  readonly body?: z.ZodType;
  /** The fields of a body that is a form. */
  readonly form?: z.ZodObject;
  /** Whether the body may be left out; then it is `{}`. */
  readonly bodyOptional?: boolean;
  /** The answers of this route alone; problems that any route may answer with are described once. */
  readonly answers: Readonly<Record<number, RouteAnswer>>;
}

/** Returns the catalogue's description of the operation that a route offers. */
export const offer = ({ id, summary, description, scope }: Offered) => ({
  operation: id,
  summary,
  needs: scope,
  ...(description !== undefined && { description }),
});

const routeRef = moduleRef(0, "http", "add_route");

const noQuery = z.object({});
const noBody = z.strictObject({});

/** Adds a route. `answer` receives the query as the route's schema reads it. */
export function addRoute<Q extends z.ZodObject>(
  edge: Edge,
  route: Route<Q>,
  answer: (call: Call, query: z.output<Q>) => Response | Promise<Response>,
): void {
  const query = route.query ?? (noQuery as unknown as Q);
  edge.routes.push(route);
  const takesNoBody = route.method !== "get" && route.body === undefined && route.form === undefined;
  edge.app.on(route.method.toUpperCase(), route.path, async (call) => {
    const asked = readQuery(call.req.url, query);
    if (takesNoBody) await requireNoBody(call, edge);
    if (route.needs === "open") return answer(call, asked);
    const caller = call.get("caller");
    const answered = isRead(route)
      ? await edge.reads.run(caller, (hasWaited) => (hasWaited && isGone(call) ? nobodyReads() : answer(call, asked)))
      : await answer(call, asked);
    // The body of an answer to HEAD is never read.
    return call.req.raw.method === "HEAD" ? answered : await edge.unread.hold(caller, answered);
  });
}

/** Returns whether an answer is read as a whole; a stream has a place of its own. */
const isRead = ({ method, answers }: Pick<Route, "method" | "answers">): boolean =>
  method === "get" && Object.values(answers).every(({ mediaType }) => mediaType !== "text/event-stream");

const isGone = (call: Call): boolean => call.req.raw.signal.aborted;
const nobodyReads = (): Response => new Response(null, { status: 499 });

/** Refuses a body; an empty object counts as none. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
async function requireNoBody(call: Call, { options }: Edge): Promise<void> {
  const body = await readJsonBody(call.req.raw, options.limits);
  readRequest(noBody, body, { what: "request: this address takes no body", source: routeRef });
}

/** Adds the answers to other methods; call it when every route has been added. */
export function addOtherMethods({ app, routes }: Edge): void {
  for (const path of new Set(routes.map((route) => route.path))) {
    const allow = allowedAt(path, routes).join(", ");
    app.all(path, (call) =>
      call.req.method === "OPTIONS"
        ? new Response(null, { status: 204, headers: { allow } })
        : refuseMethod(call, allow),
    );
  }
}

function allowedAt(path: string, routes: readonly Route[]): readonly string[] {
  const methods = routes.filter((route) => route.path === path).map((route) => route.method.toUpperCase());
  return [...methods, ...(methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"];
}

function refuseMethod(call: Call, allow: string): Response {
  const message = `${call.req.method} is not for ${call.req.path}; it takes ${allow}`;
  const error = kernelError("T0_HTTP_METHOD_NOT_ALLOWED", message, routeRef, { detail: { allow } });
  const answer = answerProblem(error, call.get("trace"));
  answer.headers.set("allow", allow);
  return answer;
}
