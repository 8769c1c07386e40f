/**
 * One way to add a route: what it is, as the document of the API tells it, beside what it does.
 *
 * Owns: the list of routes that an app has. The document, the authorization matrix and the fuzzer read it.
 * R1  A route that is not in the list does not exist; one that is answers what its `answers` name, or a problem.
 */
import type { z } from "zod";
import type { Call, Edge } from "./edge.ts";

/** An answer that a route may give. Without a schema it has no body that a document could tell. */
export interface RouteAnswer {
  readonly description: string;
  readonly schema?: z.ZodType;
  /** `application/json` where nothing is said. */
  readonly mediaType?: string;
}

export interface Route {
  readonly method: "get" | "post" | "delete";
  /** As hono spells it: `:id` is a parameter. */
  readonly path: string;
  /** The operationId: one verb and its noun, in camelCase. */
  readonly operation: string;
  readonly summary: string;
  /** The scope that a caller needs; null: none beyond being known; "open": nobody is asked who they are. */
  readonly needs: string | null | "open";
  /** Parameters after the question mark, all of them texts as they arrive. */
  readonly query?: z.ZodObject;
  /** Whether an `Idempotency-Key` is heeded. */
  readonly idempotent?: boolean;
  readonly body?: z.ZodType;
  /** Answers of this route alone; problems that any route may answer with are told once. */
  readonly answers: Readonly<Record<number, RouteAnswer>>;
}

export function addRoute(edge: Edge, route: Route, answer: (call: Call) => Response | Promise<Response>): void {
  edge.routes.push(route);
  edge.app.on(route.method.toUpperCase(), route.path, answer);
}
