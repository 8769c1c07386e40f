/** Headers that a cache and a browser act upon. */
import { describe, expect, it } from "vitest";
import { isMatched } from "../../src/faces/http/match-etag.ts";
import { openEdge } from "./edge-fixture.ts";
import { head, openRawServer } from "./raw-socket.ts";

const hsts = "strict-transport-security";

describe("If-None-Match", () => {
  const cases: readonly (readonly [string, (tag: string) => string, number])[] = [
    ["the tag", (tag) => tag, 304],
    ["the tag, weak", (tag) => `W/${tag}`, 304],
    ["a list with the tag", (tag) => `"other", W/"more,of-it," ,, ${tag}`, 304],
    ["anything that is there", () => " * ", 304],
    ["another tag", () => '"other"', 200],
    ["a list without it", () => '"other","more"', 200],
    ["the tag without quotes", (tag) => tag.slice(1, -1), 200],
    ["the tag inside another", (tag) => `"x,${tag.slice(1, -1)},y"`, 200],
    ["what is no list", (tag) => `${tag} x`, 200],
    ["nothing", () => "", 200],
  ];
  it.each(cases)("[API-08] names %s: answered as RFC 9110 has it", async (_what, make, status) => {
    await using edge = await openEdge();
    for (const path of ["/openapi.json", "/docs", "/guide"]) {
      const tag = (await edge.fetch(path, { as: null })).headers.get("etag") as string;
      for (const method of ["GET", "HEAD"]) {
        const told = await edge.fetch(path, { as: null, method, headers: { "if-none-match": make(tag) } });
        expect([told.status, told.headers.get("etag")]).toEqual([status, tag]);
      }
    }
  });

  it("[API-08] a tag may hold a comma and a star", () => {
    expect(isMatched('"a,b", "*"', '"a,b"')).toBe(true);
    expect(isMatched('"*"', '"a"')).toBe(false);
    expect(isMatched("*, *", '"a"')).toBe(false);
    expect(isMatched(undefined, '"a"')).toBe(false);
  });
});

describe("Strict-Transport-Security", () => {
  it("[API-08] is said over https and where the host says that browsers come by https, and nowhere else", async () => {
    await using plain = await openEdge();
    await using behind = await openEdge({}, { origin: "https://api.example" });
    const at = async (edge: typeof plain, url: string, headers = {}) =>
      (await edge.app.fetch(new Request(url, { headers }))).headers.has(hsts);
    expect(await at(plain, "http://edge.test/health")).toBe(false);
    // What a request says of a proxy anybody can say.
    expect(await at(plain, "http://edge.test/health", { "x-forwarded-proto": "https", forwarded: "proto=https" })).toBe(
      false,
    );
    expect(await at(plain, "https://edge.test/health")).toBe(true);
    expect(await at(behind, "http://10.0.0.1/health")).toBe(true);
    expect(await at(behind, "http://10.0.0.1/v1/nothing")).toBe(true);
  });

  it("[API-08] is not said because a request's target claims to be https", async () => {
    await using server = await openRawServer();
    const said = await server.say(head(`GET https://${server.host}/health HTTP/1.1`, [`host: ${server.host}`]));
    expect(said).toMatch(/^HTTP\/1\.1 400 /);
    expect(said.toLowerCase()).not.toContain(hsts);
  });
});
