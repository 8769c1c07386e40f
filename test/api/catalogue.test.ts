/**
 * The catalogue of operations: every face offers what it declares. The type check holds it to the methods of the
 * kernel.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { operations, partOperations } from "../../src/api/catalogue.ts";
import { kernelCommands, workflowCommands } from "../../src/api/commands.ts";
import { lists } from "../../src/api/lists.ts";
import type { Offered } from "../../src/api/operation.ts";
import { channels, reads, searches, views } from "../../src/api/reads.ts";
import { createHttpApp } from "../../src/faces/http/index.ts";
import { rpcMethods } from "../../src/faces/http/rpc-methods.ts";
import { workflowTools } from "../../src/faces/mcp/tools/workflow-tools.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/test-kernel.ts";
import { tokens as callers } from "../http/edge-fixture.ts";

let t: TestKernel;
beforeAll(async () => {
  t = await createTestKernel();
});
afterAll(() => t[Symbol.asyncDispose]());

const isOffered = (operation: object): operation is Offered => "id" in operation;
const offered = [...Object.values(operations), ...Object.values(partOperations).flatMap(Object.values)].filter(
  isOffered,
);

describe("the catalogue", () => {
  it("gives each operation that faces offer an id of its own", () => {
    expect(offered.length).toBeGreaterThan(20);
    expect(new Set(offered.map(({ id }) => id)).size).toBe(offered.length);
  });
});

describe("the faces", () => {
  it("offer every operation over REST under the scope that the catalogue names", () => {
    const { routes } = createHttpApp(t.kernel, { tokens: callers, sessions: {} });
    const told = new Map(routes.map(({ operation, needs, summary }) => [operation, [needs, summary]]));
    for (const { id, scope, summary } of offered) expect([id, told.get(id)]).toEqual([id, [scope, summary]]);
  });

  it("offer commands, views and lists over JSON-RPC under the same scopes", () => {
    const operations = [
      ...Object.values(kernelCommands),
      ...Object.values(workflowCommands),
      ...Object.values(views),
      ...Object.values(lists),
    ];
    for (const { word, scope } of operations)
      expect([word, rpcMethods.get(`kernel/${word}`)?.needs]).toEqual([word, scope]);
  });

  it("offer tools that are operations: each is named by the id of one", () => {
    const ids = new Set(offered.map(({ id }) => id.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)));
    expect(workflowTools.filter(({ name }) => !ids.has(name))).toEqual([]);
  });

  it("show streams and searches by the schemas of the catalogue", () => {
    const { routes } = createHttpApp(t.kernel, { tokens: callers });
    const schemaOf = (id: string) => routes.find(({ operation }) => operation === id)?.answers[200]?.schema;
    for (const { id, answer } of [...Object.values(channels), reads.feed]) expect(schemaOf(id)).toBe(answer);
    for (const { id, answer } of Object.values(searches))
      expect((schemaOf(id) as unknown as { readonly options: readonly object[] }).options[0]).toBe(answer);
  });
});
