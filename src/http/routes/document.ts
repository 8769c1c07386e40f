/**
 * The document of the API, for machines and for people.
 *
 * O1  It is open: it tells what any client must know and nothing of a tenant, a workflow or what is registered.
 * O2  It is made once, when it is first asked for: every route is in the list by then.
 */
import { hash } from "node:crypto";
import { z } from "zod";
import { JsonObject } from "../../contract/json.ts";
import { addRoute, type Route } from "../add-route.ts";
import { makeDocument } from "../document/make-document.ts";
import { pagePolicy, renderPage } from "../document/render-page.ts";
import type { Call, Edge } from "../edge.ts";
import { isMatched, unchanged } from "../match-etag.ts";
import { nameFor } from "../session-cookie.ts";

const documentRoute: Route = {
  method: "get",
  path: "/openapi.json",
  operation: "readDocument",
  summary: "This document",
  needs: "open",
  answers: {
    200: { description: "OpenAPI 3.1.", schema: z.looseObject({ openapi: z.string(), paths: JsonObject }) },
    304: unchanged,
  },
};

const pageRoute: Route = {
  method: "get",
  path: "/docs",
  operation: "readPage",
  summary: "This document as a page to read",
  needs: "open",
  answers: {
    200: { description: "HTML, without a script.", mediaType: "text/html", schema: z.string() },
    304: unchanged,
  },
};

interface Text {
  readonly body: string;
  readonly etag: string;
}

const toText = (body: string): Text => ({ body, etag: `"${hash("sha256", body, "base64url").slice(0, 22)}"` });

export function addDocument(edge: Edge): void {
  const { origin, sessions } = edge.options;
  const told = {
    ...(origin !== undefined && { origin }),
    ...(sessions !== undefined && { sessionCookie: nameFor(origin ?? "http://localhost") }),
  };
  const document = once(() => makeDocument(edge.routes, told));
  const json = once(() => toText(JSON.stringify(document())));
  const page = once(() => toText(renderPage(document())));
  addRoute(edge, documentRoute, (call) => answerText(call, json(), { "content-type": "application/json" }));
  addRoute(edge, pageRoute, (call) =>
    answerText(call, page(), { "content-type": "text/html; charset=utf-8", "content-security-policy": pagePolicy }),
  );
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function answerText(call: Call, { body, etag }: Text, headers: Readonly<Record<string, string>>): Response {
  const kept = { etag, "cache-control": "no-cache" };
  if (isMatched(call.req.header("if-none-match"), etag)) return new Response(null, { status: 304, headers: kept });
  return new Response(body, { headers: { ...headers, ...kept } });
}
