/** The problems that a route may answer with, by its parameters: described once, for all routes. */
import { ProblemDetails } from "../../../index.ts";
import type { Route } from "../add-route.ts";
import type { ComponentSchemas } from "./component-schemas.ts";

const descriptions: Readonly<Record<string, string>> = {
  "400": "What came cannot be read, or does not hold its schema; `errors` says what is wrong where.",
  "401": "The caller is not known here.",
  "403": "The caller may not do this, or the body names somebody else than the caller.",
  "404": "It is not there, or it is another tenant's.",
  "409": "What is there now does not allow it, or the first request with this Idempotency-Key is under way.",
  "413": "The body is larger than it may be.",
  "415": "The body is not application/json in UTF-8, or it is encoded; `Accept-Encoding` says how it may be.",
  "422": "This Idempotency-Key came with another body before.",
  "429": "Too much at once; `Retry-After` says when to come again, where that may help.",
  "5XX": "The server, its store or what it calls failed; `retry_eligible` says whether it may be asked again.",
};

/** Statuses of the problems that this route may answer with beside its own answers. */
export function problemStatuses({ method, path, needs, idempotent, waits, names, answers }: Route): readonly string[] {
  // An open address that only reads refuses nobody; an open one that changes something may.
  const isPlain = needs === "open" && method === "get";
  // An address that takes no body reads one in order to refuse it.
  const mayHaveBody = method !== "get";
  const statuses = [
    "400",
    ...(isPlain ? [] : ["401", "403", "429", "5XX"]),
    // The workflow that a job needs may not exist either.
    ...(path.includes(":") || waits || names ? ["404"] : []),
    ...(mayHaveBody ? ["413", "415"] : []),
    ...(idempotent ? ["409", "422"] : []),
  ];
  return statuses.filter((status) => !(status in answers)).sort();
}

export const problemRef = (status: string) => ({ $ref: `#/components/responses/Problem${status}` });

export function makeProblemAnswers({ refTo }: ComponentSchemas): Readonly<Record<string, object>> {
  const content = { "application/problem+json": { schema: refTo(ProblemDetails) } };
  return Object.fromEntries(
    Object.entries(descriptions).map(([status, description]) => [
      `Problem${status}`,
      { description, headers: headersOf(status), content },
    ]),
  );
}

function headersOf(status: string): Readonly<Record<string, object>> {
  const retry = { "Retry-After": { $ref: "#/components/headers/RetryAfter" } };
  return {
    "X-Request-Id": { $ref: "#/components/headers/RequestId" },
    ...(["409", "429", "5XX"].includes(status) && retry),
    ...(status === "401" && {
      "WWW-Authenticate": { schema: { type: "string" }, description: "Bearer tokens are taken." },
    }),
  };
}
