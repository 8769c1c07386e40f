/** The document of the API: a validator takes it, it tells every route and no other, and answers hold to it. */
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { toTemplate } from "../../src/faces/http/document/describe-parts.ts";
import { makeDocument } from "../../src/faces/http/document/make-document.ts";
import { readSource, sourcesIn } from "../tidy/source-files.ts";
import { answerJudge } from "./answer-judge.ts";
import { openEdge } from "./edge-fixture.ts";

interface Shown {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
}

async function shown() {
  await using edge = await openEdge();
  return { routes: edge.app.routes, document: (await edge.ask<Shown>("/openapi.json", { as: null })).body };
}

describe("the document", () => {
  it("is OpenAPI 3.1 to a validator that others wrote", async () => {
    const { document } = await shown();
    const validator = new Validator();
    const verdict = await validator.validate(structuredClone(document) as never);
    expect(verdict).toMatchObject({ valid: true });
    expect(validator.version).toBe("3.1");
    expect(() => validator.resolveRefs()).not.toThrow();
  });

  it("tells every route of the app and no other, each under a name of its own", async () => {
    const { routes, document } = await shown();
    const told = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
    );
    const there = routes.map(({ method, path, operation }) => `${method} ${toTemplate(path)} ${operation}`);
    expect(told.sort()).toEqual(there.sort());
    expect(new Set(routes.map(({ operation }) => operation)).size).toBe(routes.length);
  });

  it("no route is added but through addRoute, so that none is missing from the list", () => {
    const beside = sourcesIn("src/faces/http")
      .filter(({ path }) => path !== "src/faces/http/add-route.ts")
      .filter(({ text }) => /\bapp\s*\.(get|post|put|patch|delete|on|route)\(/.test(text));
    expect(beside.map(({ path }) => path)).toEqual([]);
  });

  it("states each schema once: every reference resolves, and every schema is referred to", async () => {
    const { document } = await shown();
    const text = JSON.stringify(document);
    const refs = new Set([...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name));
    const { schemas } = (document as unknown as { components: { schemas: object } }).components;
    expect([...refs].sort()).toEqual(Object.keys(schemas).sort());
    expect(text).not.toContain('"readOnly"');
  });

  it("names the messages of each stream as the guide does", async () => {
    const { routes } = await shown();
    const streams = routes.flatMap(({ method, path, answers }) => {
      const { event } = (answers as { readonly 200?: { readonly event?: string } })[200] ?? {};
      return method !== "get" || event === undefined ? [] : [`| \`${toTemplate(path)}\` | \`${event}\` |`];
    });
    expect(streams.length).toBeGreaterThan(3);
    const guide = readSource("src/guide/http.md").text;
    const rows = guide.match(/^\| `\/v1\/kernel\/stream\/[^|]*\| `kernel[^|]*\|/gm) ?? [];
    expect(rows.toSorted()).toEqual(streams.map((row) => row.replace("{id}", "{workflow_id}")).toSorted());
  });

  it("says who may call: the scope of each route, and nothing for those that are open", async () => {
    const { routes } = await shown();
    const { paths } = makeDocument(routes, { sessionCookie: "session" });
    for (const { method, path, needs, alsoNeeds } of routes) {
      const { security } = paths[toTemplate(path)]?.[method] ?? { security: null };
      const scopes = needs === null ? [] : [needs, ...(alsoNeeds === undefined ? [] : [alsoNeeds])];
      expect([path, security]).toEqual([path, needs === "open" ? [] : [{ bearer: scopes }, { session: scopes }]]);
    }
  });

  it("is the same for every app with the same options, open to anybody, and not sent again unchanged", async () => {
    await using one = await openEdge();
    await using other = await openEdge();
    for (const path of ["/openapi.json", "/docs"]) {
      const [first, second] = [await one.fetch(path, { as: null }), await other.fetch(path, { as: null })];
      const etag = first.headers.get("etag") as string;
      expect([first.status, second.headers.get("etag"), await second.text()]).toEqual([200, etag, await first.text()]);
      const again = await one.ask(path, { as: null, headers: { "if-none-match": etag } });
      expect([again.status, again.body]).toEqual([304, {}]);
    }
  });
});

describe("the page", () => {
  it("shows every operation and every schema under an anchor, and runs and loads nothing", async () => {
    await using edge = await openEdge();
    const answer = await edge.fetch("/docs", { as: null });
    const page = await answer.text();
    const anchors = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
    for (const { operation } of edge.app.routes) expect(anchors).toContain(operation);
    const links = [...page.matchAll(/ href="([^"]+)"/g)].map(([, to = ""]) => to);
    expect(links.filter((to) => !(to.startsWith("#") && anchors.has(to.slice(1))))).toEqual(["openapi.json"]);
    expect(page).not.toMatch(/<script|<link|<img|<iframe|\bsrc=|\bstyle=|@import|url\(|https?:/i);
    expect(answer.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-[^']+';/);
  });
});

describe("the judge of answers", () => {
  it("finds a wrong body, a field too many, another type and another status", async () => {
    await using edge = await openEdge();
    const { judge } = answerJudge(edge.app.routes);
    const heard = {
      method: "GET",
      path: "/health",
      status: 200,
      headers: new Headers({ "content-type": "application/json" }),
    };
    expect(judge({ ...heard, text: '{"status":"ok"}' })).toEqual([]);
    for (const text of ['{"status":"poorly"}', '{"status":"ok","more":1}', "[]"])
      expect(judge({ ...heard, text })).not.toEqual([]);
    expect(judge({ ...heard, text: '{"status":"ok"}', status: 201 })).not.toEqual([]);
    expect(judge({ ...heard, text: "ok", headers: new Headers({ "content-type": "text/plain" }) })).not.toEqual([]);
  });
});
