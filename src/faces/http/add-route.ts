/**
 * One way to add a route: what it is, as the document of the API tells it, beside what it does.
 *
 * Owns: the list of routes that an app has. The document, the authorization matrix and the fuzzer read it.
 * 1.  A route that is not in the list does not exist; one that is answers what its `answers` name, or a problem. A mount is
 *     no route: another protocol, which tells of itself.
 * 2.  What stands after the question mark holds the route's `query`, before the route runs: no other name, and none twice that
 *     is no list.
 * 3.  An address that takes no body refuses one: what it says would be passed over.
 * 4.  Reads of one caller take turns with those of others, and what clients leave unread is bounded.
 * 5.  Another method at an address that is there is 405 and told which are allowed; OPTIONS asks just that.
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

/** An answer that a route may give. Without a schema it has no body that a document could tell. */
export interface RouteAnswer {
  readonly description: string;
  /** Of `text/event-stream`: what the data of one message holds. */
  readonly schema?: z.ZodType;
  /** Of `text/event-stream`: the name of its messages. */
  readonly event?: string;
  /** `application/json` where nothing is said. */
  readonly mediaType?: string;
  /** Whether `Location` names the workflow. */
  readonly located?: boolean;
}

/** A route as the document of the API tells it. */
export interface Route<Q extends z.ZodObject = z.ZodObject> {
  readonly method: "get" | "post" | "delete";
  /** As hono spells it: `:id` is a parameter. */
  readonly path: string;
  /** The operationId: one verb and its noun, in camelCase. */
  readonly operation: string;
  readonly summary: string;
  /** The scope that a caller needs; null: none beyond being known; "open": nobody is asked who they are. */
  readonly needs: string | null | "open";
  /** A further scope, where one is not enough. */
  readonly alsoNeeds?: string;
  /** What else a reader of the document should know. */
  readonly description?: string;
  /** Parameters of the path, where they are no workflow's id. */
  readonly params?: z.ZodObject;
  /** Parameters after the question mark, as texts arrive; its schemas read them. */
  readonly query?: Q;
  /** Whether query or body names a workflow, which may not be there. */
  readonly names?: boolean;
  /** Whether an `Idempotency-Key` is heeded. */
  readonly idempotent?: boolean;
  /** Whether `Prefer: wait` says how long the answer may take. */
  readonly waits?: boolean;
  /** Whether `Last-Event-ID` says where to go on. */
  readonly resumable?: boolean;
  readonly body?: z.ZodType;
  /** The fields of a body that is a form. */
  readonly form?: z.ZodObject;
  /** Whether the body may be left out; then it is `{}`. */
  readonly bodyOptional?: boolean;
  /** Answers of this route alone; problems that any route may answer with are told once. */
  readonly answers: Readonly<Record<number, RouteAnswer>>;
}

/** What the catalogue says of the operation that a route offers. */
export const offer = ({ id, summary, description, scope }: Offered) => ({
  operation: id,
  summary,
  needs: scope,
  ...(description !== undefined && { description }),
});

const routeRef = moduleRef(0, "http", "add_route");

const noQuery = z.object({});
const noBody = z.strictObject({});

/** `answer` is given the query as the route's schema reads it. */
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
    // Nobody reads the body of an answer to HEAD.
    return call.req.raw.method === "HEAD" ? answered : await edge.unread.hold(caller, answered);
  });
}

/** What is read in one go; a stream has a place of its own. */
const isRead = ({ method, answers }: Pick<Route, "method" | "answers">): boolean =>
  method === "get" && Object.values(answers).every(({ mediaType }) => mediaType !== "text/event-stream");

const isGone = (call: Call): boolean => call.req.raw.signal.aborted;
const nobodyReads = (): Response => new Response(null, { status: 499 });

/** An empty object says nothing, as no body does. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
async function requireNoBody(call: Call, { options }: Edge): Promise<void> {
  const body = await readJsonBody(call.req.raw, options.limits);
  readRequest(noBody, body, { what: "request: this address takes no body", source: routeRef });
}

/** To be called when every route is there: what they do not answer, other methods get. */
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
