/** Hover texts of the published declarations: what an editor tells of each key that people write. */
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { readDeclarations, readHovers } from "../guide/read-hovers.ts";
import type { Packed } from "./pack-package.ts";

const { app } = inject("packed" as never) as Packed;

/**
 * What people write, by the entry that takes it: plans and gates, requests, options. `Kernel` stands for its methods.
 */
const written: readonly (readonly [entry: string, names: readonly string[]])[] = [
  [
    "src/index.d.ts",
    [
      "createKernel",
      "defineOperator",
      "defineTool",
      "defineCapability",
      "definePolicy",
      "definePolicySet",
      "operatorError",
      "ExecutionPlan",
      "GateSpec",
      "Kernel",
    ],
  ],
  ["src/ledger/sqlite/index.d.ts", ["sqliteLedger"]],
  ["src/ledger/postgres/index.d.ts", ["postgresLedger"]],
  ["src/hosts/restate/index.d.ts", ["restateHost"]],
  ["src/packages/policies/cedar/index.d.ts", ["cedar", "cedarSchema", "openBundle", "signBundle"]],
  ["src/packages/policies/opa/index.d.ts", ["opa", "openBundle", "signBundle"]],
  ["src/packages/operators/llm/index.d.ts", ["llmOperator", "defineAgent"]],
  ["src/faces/http/index.d.ts", ["createHttpApp", "serveHttp"]],
  ["src/faces/mcp/index.d.ts", ["createMcpHandler", "createMcpServer", "mcpOperators"]],
  ["src/observers/telemetry/index.d.ts", ["createObserver"]],
  ["src/observers/inspect/index.d.ts", ["inspectKernel", "serveInspector"]],
  ["src/observers/notifiers/index.d.ts", ["mailNotifier", "slackNotifier", "webhookNotifier"]],
  ["src/testing/index.d.ts", ["createTestKernel", "createVirtualClock"]],
];

const declarations = readDeclarations(
  join(app, "node_modules/countersign/dist"),
  written.map(([entry]) => entry),
);

/** A Signal is made by functions, not written. */
const isMade = (path: string): boolean => path.startsWith("ask.");

describe("the published declarations", () => {
  it.each(written)("of %s have a text for each key that is written", (entry, names) => {
    const hovers = readHovers(declarations, entry, names).filter(({ path }) => !isMade(path));
    expect(hovers.filter(({ text }) => text === "").map(({ path, file }) => `${path} (${file})`)).toEqual([]);
  });

  it("have the texts of what is inferred from schemas, in all its depth", () => {
    const hovers = readHovers(declarations, "src/index.d.ts", ["ExecutionPlan", "createKernel", "Kernel"]);
    const told = new Map(hovers.map(({ path, text }) => [path, text]));
    expect(told.get("ExecutionPlan.continues")).toContain("asked for the next plan");
    expect(told.get("ExecutionPlan.steps.gate.separation")).toContain("barred from deciding");
    expect(told.get("ExecutionPlan.steps.gate.expiry.after_ms")).toContain("Milliseconds");
    expect(told.get("createKernel.budgets.governor.tokens")).not.toBe("");
    expect(told.get("submit.idempotency_key")).toContain("one workflow");
    expect(told.get("decideGate.payload.payload_digest")).not.toBe("");
    expect(hovers.length).toBeGreaterThan(300);
  });
});
