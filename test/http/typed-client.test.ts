/**
 * The document of the API as others use it: a linter finds no fault, and the types of `countersign/api` make a client
 * that compiles and works.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { describe, expect, it } from "vitest";
import { intent, publishing } from "../gates/story.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { type EdgeUnderTest, openEdge } from "./edge-fixture.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

const openWhole = () =>
  openEdge({ capabilities: [publishing().capability] }, { sessions: {}, metrics: async () => "" });

const documentOf = async (edge: EdgeUnderTest): Promise<string> =>
  (await edge.fetch("/openapi.json", { as: null })).text();

/** A folder in which the client's program and its types stand, and packages are found. */
function layOut(folder: string): void {
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  copyFileSync(join(root, "test/http/typed-client/story.ts"), join(folder, "story.ts"));
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  execFileSync(process.execPath, [join(root, "test/http/declare-api.ts"), join(folder, "api.ts")], {
    stdio: "pipe",
  });
  const compilerOptions = {
    target: "es2024",
    lib: ["es2024", "dom", "dom.iterable"],
    module: "nodenext",
    strict: true,
    noUncheckedIndexedAccess: true,
    rewriteRelativeImportExtensions: true,
    types: [],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["story.ts"] }));
}

describe("the document, to others", () => {
  it("[API-08] has no error to a linter that others wrote, and names nothing that it does not tell", async () => {
    await using edge = await openWhole();
    const config = await createConfig({ extends: ["recommended"] });
    const absoluteRef = join(root, "openapi.json");
    const problems = await lintFromString({ source: await documentOf(edge), absoluteRef, config });
    // A login answers 303, as a form should.
    expect(problems.filter(({ ruleId }) => ruleId !== "operation-2xx-response").map(({ message }) => message)).toEqual(
      [],
    );
  });

  it("[API-08] makes a typed client that compiles, and tells the README's story over the API", async () => {
    await using edge = await openWhole();
    using folder = makeTempFolder();
    layOut(folder.path);
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const { stdout, status } = spawnSync(process.execPath, [tsc, "-p", folder.path], { encoding: "utf8" });
    expect([stdout, status]).toEqual(["", 0]);
    const story = (await import(/* @vite-ignore */ pathToFileURL(join(folder.path, "story.js")).href)) as {
      readonly tell: (setting: object) => Promise<Readonly<Record<string, readonly unknown[]>>>;
    };
    const told = await story.tell({ fetch: edge.app.fetch, intent, settle: edge.t.clock.settle });
    const { events, streamed, feed, digest, ...rest } = told;
    expect(rest).toEqual({
      refused: ["#/mode", "T5_AUTHN_FAILED", "204", "T0_HTTP_ROUTE_UNKNOWN"],
      answered: "resumed",
      state: "completed",
      outcome: expect.any(String),
      rpc: [1, -32601],
      csrf: null,
    });
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(events?.at(-1)).toBe("WORKFLOW_COMPLETED");
    expect(streamed).toEqual(events);
    expect(feed?.at(-1)).toBe("bookmark");
  });

  it("[API-08] tells objects of any JSON as open, the cookie, the CSRF header and the login's form", async () => {
    await using edge = await openWhole();
    const document = JSON.parse(await documentOf(edge)) as Readonly<Record<string, never>>;
    expect(closedObjects(document)).toEqual([]);
    const at = (path: string): unknown =>
      path.split(">").reduce((value: unknown, key) => (value as never)?.[key], document);
    expect(at("components>securitySchemes>session")).toMatchObject({ in: "cookie", name: "countersign_session" });
    expect(at("paths>/login>post>requestBody>content>application/x-www-form-urlencoded>schema")).toMatchObject({
      required: ["code"],
    });
    const csrf = (path: string) =>
      (at(path) as readonly { name: string }[]).some(({ name }) => name === "X-CSRF-Token");
    expect(csrf("paths>/v1/kernel/submit>post>parameters")).toBe(true);
    expect(csrf("paths>/v1/session>delete>parameters")).toBe(true);
    expect(csrf("paths>/v1/kernel/gates>get>parameters")).toBe(false);
    expect(at("components>schemas>EventType>enum")).toContain("WORKFLOW_COMPLETED");
    const message = "responses>200>content>text/event-stream>schema>contentSchema>properties";
    expect(at(`paths>/v1/kernel/stream/feed>get>${message}`)).toMatchObject({
      event: { const: "kernel.feed" },
      data: { $ref: "#/components/schemas/FeedItem" },
    });
  });
});

/** Objects of which nothing is told: makers of clients read them as empty. */
function closedObjects(piece: unknown, path = "#"): readonly string[] {
  if (typeof piece !== "object" || piece === null) return [];
  const { type, properties, additionalProperties } = piece as Readonly<Record<string, unknown>>;
  const isClosed = type === "object" && properties === undefined && additionalProperties === undefined;
  const below = Object.entries(piece).flatMap(([key, inner]) => closedObjects(inner, `${path}/${key}`));
  return isClosed ? [path, ...below] : below;
}
