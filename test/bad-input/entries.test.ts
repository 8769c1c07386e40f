/**
 * What the entries of the package make of a host's options, a kernel or a store: whatever is passed in their place is
 * taken, or refused with a code. Pure helpers over records are not among them: their types are their contract.
 */
import { describe, expect, it } from "vitest";
import { KernelErrorException } from "../../src/contract/error.ts";
import { createEventReceiver } from "../../src/faces/events/index.ts";
import { createHttpApp, serveHttp } from "../../src/faces/http/index.ts";
import { createMcpHandler, createMcpServer, mcpOperators, serveMcpStdio } from "../../src/faces/mcp/index.ts";
import { createA2aHandler } from "../../src/faces/protocols/a2a/index.ts";
import { createAgUiHandler } from "../../src/faces/protocols/agui/index.ts";
import { restateHost } from "../../src/hosts/restate/index.ts";
import * as root from "../../src/index.ts";
import { postgresLedger, postgresRoles } from "../../src/ledger/postgres/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { inspectKernel, serveInspector } from "../../src/observers/inspect/index.ts";
import { mailNotifier, slackNotifier, webhookNotifier } from "../../src/observers/notifiers/index.ts";
import { createLogger, createObserver } from "../../src/observers/telemetry/index.ts";
import { defineAgent, llmOperator, replayModel } from "../../src/packages/operators/llm/index.ts";
import { cedar, cedarSchema, openBundle, signBundle } from "../../src/packages/policies/cedar/index.ts";
import * as rego from "../../src/packages/policies/opa/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { expectCoded, expectRefused, openKernel } from "./fixture.ts";
import { hostileValues } from "./hostile.ts";

type Made = (...given: readonly unknown[]) => unknown;

const made = {
  ...{
    createKernel: root.createKernel,
    createTokenKernel: root.createTokenKernel,
    roleAuthenticator: root.roleAuthenticator,
  },
  ...{ createModelRouter: root.createModelRouter, createFederatedMemory: root.createFederatedMemory },
  ...{ createReviewPipeline: root.createReviewPipeline, createBudgetAccount: root.createBudgetAccount },
  ...{ defineOperator: root.defineOperator, defineTool: root.defineTool, defineCapability: root.defineCapability },
  ...{ definePolicySet: root.definePolicySet, moveLedger: root.moveLedger, backupLedger: root.backupLedger },
  ...{ replayTokens: root.replayTokens, parseTokenEvents: root.parseTokenEvents, replayRows: root.replayRows },
  ...{
    sqliteLedger,
    postgresLedger,
    postgresRoles,
    restateHost,
    createHttpApp,
    serveHttp,
    createMcpHandler,
    createMcpServer,
    createA2aHandler,
    createAgUiHandler,
    createEventReceiver,
  },
  ...{
    cedar,
    cedarSchema,
    openBundle: (options: never) => openBundle("", options),
    signBundle: (options: never) => signBundle({ policies: "x" }, options),
    opa: rego.opa,
    openRego: (options: never) => rego.openBundle("", options),
    signRego: (options: never) => rego.signBundle({ wasm: new Uint8Array() }, options),
    signRegoBundle: (bundle: never) => rego.signBundle(bundle, { key: "x" }),
    mcpOperators,
    serveMcpStdio,
    mailNotifier,
    slackNotifier,
    webhookNotifier,
    defineAgent,
    llmOperator,
    replayModel,
  },
  ...{ inspectKernel, serveInspector, createLogger, createObserver, createTestKernel },
} as unknown as Readonly<Record<string, Made>>;

/** The code, or the name of what was thrown in its place; null where it was taken. */
async function refusalOf(call: () => unknown): Promise<string | null> {
  try {
    const answer = (await call()) as { readonly stop?: Made; readonly close?: Made } | null | undefined;
    await (answer?.stop ?? answer?.close)?.call(answer);
    return null;
  } catch (thrown) {
    if (!(thrown instanceof KernelErrorException)) return `bare: ${thrown}`;
    expectCoded(thrown.error);
    return thrown.error.code;
  }
}

describe("what is passed in place of options, a kernel or a store", () => {
  it.each(Object.entries(made))("to %s is taken or refused with a code", async (_name, make) => {
    const refusals = [];
    for (const [name, value] of hostileValues) refusals.push([name, await refusalOf(() => make(value()))]);
    expect(refusals.filter(([, code]) => code?.startsWith("bare") === true)).toEqual([]);
  });

  const besideAKernel = {
    createHttpApp,
    createA2aHandler,
    createAgUiHandler,
    createEventReceiver,
    createMcpHandler,
    createMcpServer,
    serveMcpStdio,
    inspectKernel,
  };
  it.each(Object.entries(besideAKernel))("to %s beside a kernel is taken or refused with a code", async (_n, make) => {
    await using t = await openKernel();
    const { listeners } = t.kernel.vitals();
    const refusals = [];
    for (const [name, value] of hostileValues)
      refusals.push([name, await refusalOf(() => (make as Made)(t.kernel, value()))]);
    expect(refusals.filter(([, code]) => code?.startsWith("bare") === true)).toEqual([]);
    expect(t.kernel.vitals().listeners).toBe(listeners);
  });
});

describe("a part of a kernel", () => {
  const parts: readonly (readonly [string, object])[] = [
    ["middleware that is null", { middleware: [null] }],
    ["a hook that is no function", { middleware: [{ name: "x", before: 3 }] }],
    ["a host that gives none", { host: () => undefined }],
    ["a set of rules without them", { policies: [{ version: "1", rules: null }] }],
    ["a set of rules without a version", { policies: [{ rules: [] }] }],
    ["a package that is null", { capabilities: [null] }],
    ["a nesting deeper than canonical JSON has", { limits: { maxDepth: 1001 } }],
    ["an operator that cannot run", { operators: [{ metadata: { name: "A.B" } }] }],
  ];
  it.each(parts)("%s is refused when the kernel is made", async (_name, options) => {
    await expectRefused(openKernel(options), "T0_VALIDATION_SCHEMA_MISMATCH");
  });
});

describe("a move of a ledger", () => {
  it.each([Number.NaN, Number.POSITIVE_INFINITY, "2026", undefined])(
    "is refused at %s, which is no time",
    async (now) => {
      const [from, to] = [sqliteLedger(), sqliteLedger()];
      await expectRefused(root.moveLedger(from, to, { now } as never), "T0_VALIDATION_SCHEMA_MISMATCH");
    },
  );
});

describe("rows that anybody may have written", () => {
  it("break the chain where one is no row", () => {
    expect(root.verifyChain([null as never])).toMatchObject({ reason: "format" });
  });
});
