/**
 * The document of the API, for machines and for people.
 *
 * 1.  It is open: it describes the API and shows nothing of a tenant, a workflow or the registered packages.
 * 2.  It is made once, when it is first asked for: every route is in the list by then.
 */
import { z } from "zod";
import { JsonObject } from "../../../contract/json.ts";
import { addRoute, type Route } from "../add-route.ts";
import { answerText, once, tagText } from "../answer-text.ts";
import { makeDocument } from "../document/make-document.ts";
import { renderPage } from "../document/render-page.ts";
import type { Edge } from "../edge.ts";
import { unchanged } from "../match-etag.ts";
import { plainPolicy } from "../plain-page.ts";
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

export function addDocument(edge: Edge): void {
  const { origin, sessions } = edge.options;
  const reported = {
    ...(origin !== undefined && { origin }),
    ...(sessions !== undefined && { sessionCookie: nameFor(origin ?? "http://localhost") }),
  };
  const document = once(() => makeDocument(edge.routes, reported));
  const json = once(() => tagText(JSON.stringify(document())));
  const page = once(() => tagText(renderPage(document())));
  addRoute(edge, documentRoute, (call) => answerText(call, json(), { "content-type": "application/json" }));
  addRoute(edge, pageRoute, (call) =>
    answerText(call, page(), { "content-type": "text/html; charset=utf-8", "content-security-policy": plainPolicy }),
  );
}
