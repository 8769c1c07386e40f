/**
 * The document of the API as one page of HTML: no script, nothing loaded from anywhere.
 *
 * 1.  All that it shows is from the document, and escaped.
 * 2.  Each operation and each schema has an anchor.
 */
import { html } from "hono/html";
import type { JsonObject } from "../../../contract/json.ts";
import { type Html, plainPage } from "../plain-page.ts";
import type { ApiDocument, Operation } from "./make-document.ts";
import { renderSchema } from "./render-schema.ts";

interface Placed {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}

export function renderPage(document: ApiDocument): string {
  const { info, paths, tags, components } = document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Placed => ({ path, method: method.toUpperCase(), operation })),
  );
  const groups = tags.map(({ name }) => ({
    name,
    operations: operations.filter(({ operation }) => operation.tags.includes(name)),
  }));
  return plainPage(
    `${info.title} API`,
    html`<h1>${info.title} API ${info.version}</h1><p>${info.description}</p>
<p>As a machine reads it: <a href="openapi.json">openapi.json</a></p>
<nav class="index">${groups.map((group) => html`<h2>${group.name}</h2><ul>${group.operations.map(renderEntry)}</ul>`)}
<p><a href="#schemas">Schemas</a></p></nav>
${operations.map(renderOperation)}
<section><h2 id="schemas">Schemas</h2>${Object.entries(components.schemas).map(renderNamed)}</section>`,
  );
}

const renderEntry = ({ path, method, operation: { operationId } }: Placed): Html =>
  html`<li><a href="#${operationId}"><code>${method} ${path}</code></a></li>`;

const renderNamed = ([name, schema]: readonly [string, JsonObject]): Html =>
  html`<h3 id="schema-${name}">${name}</h3><pre>${renderSchema(schema)}</pre>`;

function renderOperation({ path, method, operation }: Placed): Html {
  const { operationId, summary, description, parameters, requestBody, responses } = operation;
  return html`<section id="${operationId}"><h3><a href="#${operationId}"><code>${method} ${path}</code></a></h3>
<p>${summary}.</p>${description === undefined ? "" : html`<p>${description}</p>`}
<p><i>${whoMay(operation)}</i></p>
${parameters.length === 0 ? "" : renderParameters(parameters)}
${requestBody === undefined ? "" : html`<h4>Body</h4>${renderContent(requestBody)}`}
<h4>Answers</h4><table>${Object.entries(responses).map(renderAnswer)}</table></section>`;
}

function whoMay({ security }: Operation): string {
  const scopes = security.flatMap((way) => Object.values(way).flat());
  if (security.length === 0) return "For everybody.";
  return scopes.length === 0
    ? "For callers that are known."
    : `For callers with the scope ${[...new Set(scopes)].join(", ")}.`;
}

const renderParameters = (parameters: readonly JsonObject[]): Html =>
  html`<h4>Parameters</h4><table>${parameters.map(
    ({ name, in: place, required, description, schema }) =>
      html`<tr><td><code>${name}</code>${required === true ? "" : "?"}</td><td>${place}</td>
<td><code>${renderSchema(schema)}</code>${description === undefined ? "" : html`<br>${description}`}</td></tr>`,
  )}</table>`;

function renderContent({ content }: JsonObject): readonly Html[] {
  const kinds = Object.entries((content ?? {}) as Readonly<Record<string, JsonObject>>);
  return kinds.map(
    ([type, reported]) => html`<code>${type}</code><pre>${renderSchema(readContent(reported["schema"]))}</pre>`,
  );
}

/** Returns the schema of a text's content, if it has one. */
const readContent = (schema: unknown): unknown => (schema as JsonObject | undefined)?.["contentSchema"] ?? schema;

const renderAnswer = ([status, answer]: readonly [string, JsonObject]): Html => {
  const { $ref, description } = answer;
  const reported =
    typeof $ref === "string"
      ? html`A <a href="#schema-ProblemDetails">problem</a>.`
      : html`${description}${renderContent(answer)}`;
  return html`<tr><td>${status}</td><td>${reported}</td></tr>`;
};
