/** Bodies that two readers would read differently, and types that are not what they say. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJson } from "../../src/protocol/read-body-text.ts";
import { intent, publishing } from "../gates/story.ts";
import { runs } from "../properties/property-runs.ts";
import { codeOf, openEdge, pathOf, submitPath } from "./edge-fixture.ts";

const publish = () => ({ capabilities: [publishing().capability] });
const hint = `"intent_hint":{"intent_type":"${intent}","inputs":{}}`;

/** Whether the text is taken as it stands. */
function isTaken(text: string): boolean {
  try {
    parseJson(text, 64);
    return true;
  } catch {
    return false;
  }
}

describe("an object that names a member twice", () => {
  it.each([
    `{${hint},"thread_id":1,"thread_id":2}`,
    `{${hint},"thread_id":1,"thread_id":1}`,
    `{${hint},"tenant_id":2,"tenant_id":1}`,
    `{${hint},"principal":{"role":"admin"},"principal":{}}`,
    `{${hint},"thread_id":1,"\\u0074hread_id":2}`,
    `{${hint},"constraints":{"a":[{"b":1,"c":{},"b":2}]}}`,
    `{${hint},"constraints":{"":1,"":2}}`,
    `{${hint},"constraints":{"a\\"":1,"a\\"":2}}`,
    `{${hint},"constraints":{"a":{"x":1,"y":2},"a":{"z":3}}}`,
  ])("[API-01] is refused, and nothing happens: %s", async (body) => {
    await using edge = await openEdge(publish());
    const told = await edge.ask(submitPath, { body });
    expect([told.status, codeOf(told)]).toEqual([400, "T0_VALIDATION_SCHEMA_MISMATCH"]);
    expect(await edge.t.kernel.workflows()).toEqual([]);
  });

  it("is refused where somebody decides, signs or asks by JSON-RPC", async () => {
    await using edge = await openEdge(publish());
    const { workflow_id: id } = await edge.t.run(intent);
    const before = await edge.t.types(id);
    const decision = '{"gate_id":"gate-publish","decision":"reject","decision":"approve"}';
    expect((await edge.ask(pathOf(id, "/gate"), { body: decision })).status).toBe(400);
    const methods = '"method":"kernel/cancel","method":"kernel/gate"';
    const rpc = `{"jsonrpc":"2.0","id":"1",${methods},"params":{"workflow_id":"${id}"}}`;
    expect((await edge.ask("/rpc", { body: rpc })).body).toMatchObject({ error: { code: -32700 } });
    expect(await edge.t.types(id)).toEqual(before);
  });

  it("is told from one that names each once, whatever its names and texts are", () => {
    const values = fc
      .object({ values: [fc.string(), fc.boolean(), fc.integer(), fc.constant(null)], maxDepth: 4 })
      .filter((value) => !JSON.stringify(value).includes('"__proto__"'));
    fc.assert(
      fc.property(values, (value) => {
        expect(isTaken(JSON.stringify(value))).toBe(true);
      }),
      { numRuns: runs(300) },
    );
    const names = fc.string({ unit: "grapheme" }).filter((name) => name !== "__proto__");
    fc.assert(
      fc.property(names, values, values, values, (name, first, second, around) => {
        const key = JSON.stringify(name);
        const twice = `{${key}:${JSON.stringify(first)}, ${key} :${JSON.stringify(second)}}`;
        expect(isTaken(twice)).toBe(false);
        expect(isTaken(`[${JSON.stringify(around)},{"a":${twice}}]`)).toBe(false);
      }),
      { numRuns: runs(300) },
    );
  });
});

describe("a type of body", () => {
  it.each([
    "text/json",
    "application/json; charset=utf-16",
    "application/json, text/plain",
    "application/jsonp",
    "application/problem+json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain;application/json",
    "application/json; charset=utf-8; charset=latin1",
  ])("[API-01] that is not JSON in UTF-8 (%s) is refused with 415", async (type) => {
    await using edge = await openEdge(publish());
    const told = await edge.ask(submitPath, { body: `{${hint}}`, headers: { "content-type": type } });
    expect([told.status, codeOf(told)]).toEqual([415, "T0_HTTP_MEDIA_TYPE"]);
    expect(await edge.t.kernel.workflows()).toEqual([]);
  });

  it.each([
    "application/json",
    "Application/JSON",
    'application/json; charset="UTF-8"',
    "application/json;charset=utf-8",
  ])("that is (%s) is taken", async (type) => {
    await using edge = await openEdge(publish());
    const told = await edge.ask(submitPath, { body: `{${hint}}`, headers: { "content-type": type } });
    expect(told.status).toBe(202);
  });

  it.each([
    ["a lone byte", [0x22, 0x80, 0x22]],
    ["an overlong slash", [0x22, 0xc0, 0xaf, 0x22]],
    ["a surrogate in bytes", [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ["a cut character", [0x22, 0xe2, 0x82, 0x22]],
    ["UTF-16", [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]],
  ])("whose bytes are not UTF-8 (%s) is refused", async (_what, bytes) => {
    await using edge = await openEdge(publish());
    const told = await edge.ask(submitPath, { body: new Uint8Array(bytes) });
    expect([told.status, codeOf(told)]).toEqual([400, "T0_VALIDATION_SCHEMA_MISMATCH"]);
  });
});
