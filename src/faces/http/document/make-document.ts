/**
 * Makes the document of the API (OpenAPI 3.1) from the list of routes and the schemas that they name.
 *
 * Owns: the parts that all operations share: security, headers, problems, the order.
 * Never: states a fact about a route that the route does not declare.
 * 1.  Every route is an operation, and nothing else is.
 * 2.  The same routes give the same bytes.
 */
import type { JsonObject } from "../../../contract/json.ts";
import type { Route } from "../add-route.ts";
import { type ComponentSchemas, makeComponentSchemas, type SchemaOptions } from "./component-schemas.ts";
import { describeAnswer, describeForm, describeParameters, toTemplate } from "./describe-parts.ts";
import { makeProblemAnswers, problemRef, problemStatuses } from "./problem-answers.ts";

export interface ApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string } & JsonObject;
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonObject>> } & JsonObject;
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters: readonly JsonObject[];
  readonly requestBody?: JsonObject;
  readonly responses: Readonly<Record<string, JsonObject>>;
  readonly security: readonly JsonObject[];
}

const about = `Requests become workflows: judged, run, and accounted for by one ledger. Errors are problem details
(RFC 9457) with a code and the next step. Clients should accept unknown fields: any release may add them.`;

export interface DocumentOptions extends SchemaOptions {
  /** The cookie that carries a session, if there are sessions. */
  readonly sessionCookie?: string;
  /** The address that clients know the API by; by default that of the document. */
  readonly origin?: string;
}

export function makeDocument(routes: readonly Route[], options: DocumentOptions = {}): ApiDocument {
  const securitySchemes = describeSchemes(options);
  const schemas = makeComponentSchemas(routes, options);
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of routes) {
    const path = toTemplate(route.path);
    paths[path] = { ...paths[path], [route.method]: describeRoute(route, schemas, Object.keys(securitySchemes)) };
  }
  return {
    openapi: "3.1.1",
    info: { title: "Countersign", version: "1.0", description: about, license: { name: "MIT", identifier: "MIT" } },
    servers: [{ url: options.origin ?? "/" }],
    tags: [...new Set(routes.map(tagOf))].map((name) => ({ name, description: tags[name] })),
    paths,
    components: {
      schemas: schemas.components,
      responses: makeProblemAnswers(schemas),
      headers,
      securitySchemes,
    },
  };
}

const describeSchemes = ({ sessionCookie }: DocumentOptions): JsonObject => ({
  bearer: { type: "http", scheme: "bearer", description: "A JWT, or a static token of this server." },
  ...(sessionCookie !== undefined && {
    session: { type: "apiKey", in: "cookie", name: sessionCookie, description: cookie },
  }),
});

const cookie = `A browser's session, which /login sets. Over https the name begins with \`__Host-\`; an unusual port is
its suffix. Changing requests also send X-CSRF-Token.`;

const headers = {
  RequestId: {
    schema: { type: "string" },
    description: "The request's id: the caller's own where it is a plain word.",
  },
  RetryAfter: { schema: { type: "integer", minimum: 0 }, description: "Seconds; only where another attempt may help." },
  IdempotentReplayed: { schema: { const: "true" }, description: "This is the kept answer to the first request." },
  Location: { schema: { type: "string" }, description: "Where the new workflow is read." },
} as const;

const tags = {
  Streams: "Server-sent events, which go on where their reader left off.",
  Beside: "What is no workflow's: health, this document, sessions, JSON-RPC.",
  Reads: "What is, as the ledger has it.",
  Commands: "What callers say: submit, decide, retry, cancel.",
} as const;

function tagOf({ method, path, answers }: Route): keyof typeof tags {
  if (answers[200]?.mediaType === "text/event-stream") return "Streams";
  if (!path.startsWith("/v1/kernel/")) return "Beside";
  return method === "get" ? "Reads" : "Commands";
}

function describeRoute(route: Route, schemas: ComponentSchemas, ways: readonly string[]): Operation {
  const { operation, summary, description, needs, alsoNeeds, body, bodyOptional = false, form } = route;
  const own = Object.entries(route.answers).map(([status, answer]) => [
    status,
    describeAnswer(answer, { route, schemas }),
  ]);
  const problems = problemStatuses(route).map((status) => [status, problemRef(status)]);
  return {
    operationId: operation,
    tags: [tagOf(route)],
    summary,
    ...(description !== undefined && { description }),
    parameters: describeParameters(route, ways.includes("session")),
    ...(form !== undefined && { requestBody: describeForm(form) }),
    ...(body !== undefined && {
      requestBody: { required: !bodyOptional, content: { "application/json": { schema: schemas.refTo(body) } } },
    }),
    responses: Object.fromEntries([...own, ...problems]),
    security:
      needs === "open"
        ? []
        : ways.map((name) => ({
            [name]: needs === null ? [] : [needs, ...(alsoNeeds === undefined ? [] : [alsoNeeds])],
          })),
  };
}
