/** Describes the parts of one operation for the document: its parameters and its own answers. */
import { z } from "zod";
import { WorkflowId } from "../../../contract/ids.ts";
import type { JsonObject } from "../../../contract/json.ts";
import type { Route, RouteAnswer } from "../add-route.ts";
import type { ComponentSchemas } from "./component-schemas.ts";

/** Returns a parameter's name: `:id` is a workflow's everywhere. */
const nameOf = (parameter: string): string => (parameter === "id" ? "workflow_id" : parameter);

/** Returns a route's path in OpenAPI's notation. */
export const toTemplate = (path: string): string => path.replace(/:(\w+)/g, (_, name: string) => `{${nameOf(name)}}`);

const headerParameters = {
  idempotent: {
    name: "Idempotency-Key",
    in: "header",
    description: "The same request again under the same key gets the answer that the first one got.",
    schema: { type: "string", pattern: "^[\\x21-\\x7e]{1,255}$" },
  },
  waits: {
    name: "Prefer",
    in: "header",
    description: "`wait=SECONDS` (RFC 7240): how long the answer may take; the server's own limit counts as well.",
    schema: { type: "string", pattern: "^wait=\\d{1,6}$" },
  },
  resumable: {
    name: "Last-Event-ID",
    in: "header",
    description: "The sequence of the last event that the reader has; it counts for more than `after`.",
    schema: { type: "string", pattern: "^\\d{0,15}$" },
  },
} as const;

/** The CSRF header of changing requests with a session's cookie, if there are sessions. */
const csrf = {
  name: "X-CSRF-Token",
  in: "header",
  description:
    "The `csrf_token` of `/v1/session`: asked of a request that carries a session's cookie, and of no other.",
  schema: { type: "string" },
} as const;

export function describeParameters(route: Route, hasSessions: boolean): readonly JsonObject[] {
  const { method, needs, path, params, query, idempotent, waits, resumable } = route;
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => {
    const schema = params?.shape[name] ?? (name === "id" ? WorkflowId : z.string());
    return { name: nameOf(name), in: "path", required: true, ...describeValue(schema as z.ZodType) };
  });
  const inQuery = Object.entries(query?.shape ?? {}).map(([name, schema]) => ({
    name,
    in: "query",
    required: !(schema as z.ZodType).safeParse(undefined).success,
    ...describeValue(schema as z.ZodType),
  }));
  return [
    ...inPath,
    ...inQuery,
    ...(idempotent ? [headerParameters.idempotent] : []),
    ...(waits ? [headerParameters.waits] : []),
    ...(resumable ? [headerParameters.resumable] : []),
    ...(hasSessions && method !== "get" && needs !== "open" ? [csrf] : []),
  ];
}

/** Describes a form in place: it has few fields, and one use. */
export const describeForm = (form: z.ZodObject): JsonObject => ({
  required: true,
  content: { "application/x-www-form-urlencoded": describeValue(form) },
});

function describeValue(schema: z.ZodType): JsonObject {
  const { $schema: _, description, ...reported } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return { ...(description !== undefined && { description }), schema: reported };
}

export function describeAnswer(
  answer: RouteAnswer,
  { route, schemas }: { readonly route: Route; readonly schemas: ComponentSchemas },
): JsonObject {
  const { description, schema, located, event, mediaType = schema === undefined ? null : "application/json" } = answer;
  const body = describeBody(mediaType ?? "", schema === undefined ? {} : schemas.refTo(schema), event);
  const content = mediaType === null ? {} : { content: { [mediaType]: body } };
  return { description, headers: describeHeaders(route, located), ...content };
}

/**
 * Describes a body. OpenAPI 3.1 cannot describe a stream of events: its text is a string, whose content is described
 * per message.
 */
function describeBody(mediaType: string, schema: JsonObject, event = ""): JsonObject {
  if (mediaType !== "text/event-stream") return { schema };
  const id = { type: "string", description: "Where `Last-Event-ID` goes on; absent where nobody can." };
  const properties = { id, event: { const: event }, data: schema };
  const message = { type: "object", description: "One message.", properties, required: ["event", "data"] };
  return { schema: { type: "string", contentMediaType: mediaType, contentSchema: message } };
}

function describeHeaders({ idempotent }: Route, located = false): JsonObject {
  const ref = (name: string) => ({ $ref: `#/components/headers/${name}` });
  return {
    "X-Request-Id": ref("RequestId"),
    ...(located && { Location: ref("Location") }),
    ...(idempotent && { "Idempotent-Replayed": ref("IdempotentReplayed") }),
  };
}
