/** Nothing unknown passes: a key, a name or a limit that nobody knows is refused, and what was meant is named. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nearestOf } from "../../src/contract/known-keys.ts";
import { createHttpApp, serveHttp } from "../../src/faces/http/index.ts";
import { createMcpHandler, createMcpServer, mcpOperators, serveMcpStdio } from "../../src/faces/mcp/index.ts";
import {
  createFederatedMemory,
  createKernel,
  createModelRouter,
  createReviewPipeline,
  createTokenKernel,
  definePolicy,
  definePolicySet,
  defineTool,
  replayTokens,
  roleAuthenticator,
} from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createLogger, createObserver } from "../../src/observers/telemetry/index.ts";
import { createGitLog } from "../../src/packages/operators/git-log/git-log.ts";
import { llmOperator } from "../../src/packages/operators/llm/index.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { capability, operator, plan, refusalOf } from "./parts.ts";

const kernel = Object.fromEntries(["submit", "workflow", "events", "authorize"].map((m) => [m, () => null])) as never;
const rule = { name: "r", stages: ["action"], evaluate: () => null };
const data = { name: "r", stages: ["action"], decision: "DENY", reason: "no" };
const executor = () => undefined;
const endpoint = { name: "m", deployment: "local", latency_weight: 1, cost_weight: 1, capabilities: [] };
const caller = { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } };
const tokens = [{ token: "t", ...caller }];

/** What is written, and where; the path, and the key that was meant. */
const unknown: readonly (readonly [string, () => unknown, string, string])[] = [
  ["a template's step", () => capability({ plan: plan({ gates: {} }) }), "plan.steps.0.gates", "gate"],
  [
    "a template's gate",
    () => capability({ plan: plan({ gate: { aprovers: [] } }) }),
    "plan.steps.0.gate.aprovers",
    "approvers",
  ],
  [
    "a gate's quorum",
    () => capability({ plan: plan({ gate: { quorum: { approvals: 1, rejection: 1 } } }) }),
    "plan.steps.0.gate.quorum.rejection",
    "rejections",
  ],
  [
    "a gate's expiry",
    () => capability({ plan: plan({ gate: { expiry: { afterMs: 1 } } }) }),
    "plan.steps.0.gate.expiry.afterMs",
    "after_ms",
  ],
  [
    "a gate's approver",
    () => capability({ plan: plan({ gate: { approvers: [{ id: 1, typ: "user" }] } }) }),
    "plan.steps.0.gate.approvers.0.typ",
    "type",
  ],
  [
    "a template",
    () => capability({ plan: plan({}, { directResponse: "x" }) }),
    "plan.directResponse",
    "direct_response",
  ],
  ["a package", () => capability({ policy_tags: {} }), "policy_tags", "policyTags"],
  [
    "a package's limits",
    () => capability({ limits: { max_invocation: 1 } }),
    "limits.max_invocation",
    "max_invocations",
  ],
  [
    "a package's buttons",
    () => capability({ uiActions: { s1: [{ action: "a", lable: "b", label: "b" }] } }),
    "uiActions.s1.0.lable",
    "label",
  ],
  ["an operator", () => operator({ timeoutSecs: 5 }), "timeoutSecs", "timeoutSec"],
  ["an operator's resources", () => operator({ resources: { token: 5 } }), "resources.token", "tokens"],
  ["an operator's limits", () => operator({ limits: { maxTokens: 5 } }), "limits.maxTokens", "max_tokens"],
  [
    "a tool",
    () => defineTool({ name: "A.B", tool: "b", client: { request: async () => 1 }, inputSchemas: {} } as never),
    "inputSchemas",
    "inputSchema",
  ],
  ["a policy", () => definePolicy({ ...rule, stage: "action" } as never), "stage", "stages"],
  [
    "a policy set",
    () => definePolicySet({ version: "1", rules: [{ ...data, redaction: ["a"] }] }),
    "redaction",
    "redactions",
  ],
  [
    "a set's condition",
    () => definePolicySet({ version: "1", rules: [{ ...data, when: { operator: ["A"] } }] }),
    "when.operator",
    "operators",
  ],
  ["a kernel", () => createKernel({ policys: [] } as never), "policys", "policies"],
  [
    "a kernel's set of rules",
    () => createKernel({ policies: [{ version: "1", rules: [], rule: 1 }] } as never),
    "rule",
    "rules",
  ],
  ["a kernel's limits", () => createKernel({ limits: { maxStep: 1 } } as never), "limits.maxStep", "maxSteps"],
  ["a kernel's budgets", () => createKernel({ budgets: { maxCosts: 1 } } as never), "maxCosts", "maxCost"],
  [
    "a budget",
    () => createKernel({ budgets: { limits: [{ scope: "tenant", token: 1 }] } } as never),
    "limits.0.token",
    "tokens",
  ],
  [
    "a kernel's thresholds",
    () => createKernel({ thresholds: { grounded: 1 } } as never),
    "thresholds.grounded",
    "grounding",
  ],
  [
    "a kernel's roles",
    () => createKernel({ roles: { user: { scopes: [], data_polcy: {} } } } as never),
    "user.data_polcy",
    "data_policy",
  ],
  [
    "a role's data policy",
    () => roleAuthenticator({ user: { scopes: [], data_policy: { allowPii: false } } } as never),
    "user.data_policy.allowPii",
    "allow_pii",
  ],
  [
    "a kernel's security",
    () => createKernel({ security: { validateParam: () => ({ ok: true }) } } as never),
    "validateParam",
    "validateParams",
  ],
  ["a kernel's models", () => createKernel({ models: { endpoints: [], sead: 1 } } as never), "sead", "seed"],
  [
    "a kernel's federation",
    () => createKernel({ federation: { replica: "a", replicas: {}, polici: 1 } } as never),
    "polici",
    "policy",
  ],
  ["a token kernel", () => createTokenKernel({ seed: 1, executor, limit: {} } as never), "limit", "limits"],
  [
    "a token kernel's limits",
    () => createTokenKernel({ seed: 1, executor, limits: { maxQueued: 1 } } as never),
    "maxQueued",
    "max_queued",
  ],
  [
    "a token",
    () => createTokenKernel({ seed: 1, executor }).submitToken({ context_hash: "c", dependancies: [1] } as never),
    "dependancies",
    "dependencies",
  ],
  [
    "a replay of tokens",
    () => replayTokens("", { seed: 1, executor, capability: [] } as never),
    "capability",
    "capabilities",
  ],
  ["federated memory", () => createFederatedMemory({ replica: "a", replica_s: {} } as never), "replica_s", "replicas"],
  [
    "federated memory's limits",
    () => createFederatedMemory({ replica: "a", limits: { maxSyncChange: 1 } } as never),
    "limits.maxSyncChange",
    "maxSyncChanges",
  ],
  [
    "a model router",
    () => createModelRouter({ endpoints: [endpoint], prefered: "cost" } as never),
    "prefered",
    "prefer",
  ],
  [
    "a model endpoint",
    () => createModelRouter({ endpoints: [{ ...endpoint, budgets: {} }] } as never),
    "endpoints.0.budgets",
    "budget",
  ],
  [
    "a review pipeline",
    () => createReviewPipeline({ reviewers: ["a"], treshold: 1 } as never),
    "treshold",
    "threshold",
  ],
  [
    "an interaction",
    () => createReviewPipeline({ reviewers: ["a"] }).submit({ interaction_id: "i", blocked: "p" } as never),
    "blocked",
    "blocked_by",
  ],
  ["an HTTP app", () => createHttpApp(kernel, { tokens, session: {} } as never), "session", "sessions"],
  [
    "an HTTP app's token",
    () => createHttpApp(kernel, { tokens: [{ ...tokens[0], scope: [] }] } as never),
    "tokens.0.scope",
    "scopes",
  ],
  [
    "an HTTP app's JWT",
    () => createHttpApp(kernel, { jwt: { issuer: "i", audiance: "a" } } as never),
    "jwt.audiance",
    "audience",
  ],
  [
    "an HTTP app's limits",
    () => createHttpApp(kernel, { tokens, limits: { maxBodyByte: 1 } } as never),
    "limits.maxBodyByte",
    "maxBodyBytes",
  ],
  ["an HTTP address", () => serveHttp({ fetch: async () => new Response() }, { ports: 1 } as never), "ports", "port"],
  ["an MCP server", () => createMcpServer(kernel, { caller, limit: {} } as never), "limit", "limits"],
  ["an MCP handler", () => createMcpHandler(kernel, { allowedHost: [] } as never), "allowedHost", ""],
  [
    "MCP over stdio",
    () => serveMcpStdio(kernel, { caller, limits: { maxSession: 1 } } as never),
    "limits.maxSession",
    "maxSessions",
  ],
  ["tools of an MCP server", () => mcpOperators({ transports: () => 1 } as never), "transports", "transport"],
  ["an observer", () => createObserver({ tenantLabels: true } as never), "tenantLabels", "tenantLabel"],
  ["a logger", () => createLogger({ levels: "info" } as never), "levels", "level"],
  ["a ledger", () => sqliteLedger({ synchronus: "normal" } as never), "synchronus", "synchronous"],
  ["a model's operator", () => llmOperator({ name: "A.B", modell: {} } as never), "modell", "model"],
  ["Git.Log", () => createGitLog({ maxOutputByte: 1 } as never), "maxOutputByte", "maxOutputBytes"],
];

describe("a key that nobody knows", () => {
  it.each(unknown)(
    "[CARD-19] [VAL-02] in %s is refused by its path, and the key that was meant is named",
    async (_title, work, path, meant) => {
      const { code, message } = await refusalOf(work);
      expect(code).toMatch(/^(T0_VALIDATION_SCHEMA_MISMATCH|T5_POLICY_INVALID)$/);
      expect(message).toContain(`${path}: there is no such key`);
      if (meant !== "") expect(message).toContain(`${path}: there is no such key; did you mean "${meant}"?`);
    },
  );

  it("[CARD-19] is told with every other problem, each by its path", async () => {
    await expect(
      createKernel({ limits: { maxSteps: -1, maxStpes: 1 }, recover: "no", x: 1 } as never),
    ).rejects.toMatchObject({
      error: {
        detail: {
          problems: [
            { path: "limits.maxSteps" },
            { path: "limits.maxStpes", problem: 'there is no such key; did you mean "maxSteps"?' },
            { path: "recover" },
            { path: "x", problem: "there is no such key" },
          ],
        },
      },
    });
  });

  it.each([
    ["a step's gates", plan({ gates: {} }), "s1", 'step s1: gates: there is no such key; did you mean "gate"?'],
    [
      "a gate's word",
      plan({ gate: { role: ["a"] } }),
      "s1",
      'step s1: gate.role: there is no such key; did you mean "roles"?',
    ],
    ["a harmless word of the plan", plan({}, { confidence: 1 }), undefined, "confidence: there is no such key"],
    ["a goal's word", plan({}, { goals: [{ goal_id: "g", dependson: [] }] }), undefined, "goals.0.dependson"],
    [
      "literals that only the compiler may state",
      plan({ literals: {} }),
      "s1",
      "step s1: literals: there is no such key",
    ],
  ])("[PLN-01] [GAT-05] in a planner's answer fails the plan closed: %s", async (_title, proposed, step_id, words) => {
    const ran: unknown[] = [];
    const act = operator({ run: () => void ran.push(1) });
    for (const options of [
      { capabilities: [capability({ operators: [act], plan: () => proposed })] },
      {
        capabilities: [capability({ operators: [act] })],
        planner: { plan: () => ({ plan: proposed, usage: { total_cost: 0 } }) },
      },
    ]) {
      await using t = await createTestKernel(options as never);
      const end = await t.run("Probe.Run");
      expect(end).toMatchObject({ state: "failed", error: { code: "T3_PLAN_INVALID" } });
      expect(end.error?.message).toContain(words);
      expect(end.error?.detail["step_id"]).toBe(step_id);
      expect(await t.types(end.workflow_id)).toContain("PLAN_REJECTED");
    }
    expect(ran).toEqual([]);
  });

  it("[VAL-02] gets a suggestion only where one is near, whatever is written", () => {
    const known = ["gate", "outcome", "operator_version", "maxSteps"];
    expect(
      ["gates", "Gate", "gaet", "operatorVersion", "max_steps", "outcmoe"].map((word) => nearestOf(word, known)),
    ).toEqual(["gate", "gate", "gate", "operator_version", "maxSteps", "outcome"]);
    expect(["", "x", "completely_else", "g".repeat(10_000)].map((word) => nearestOf(word, known))).toEqual([
      null,
      null,
      null,
      null,
    ]);
    fc.assert(
      fc.property(
        fc.string(),
        (word) => nearestOf(word, known) === null || known.includes(nearestOf(word, known) ?? ""),
      ),
    );
  });

  it("[PLC-01] may stand in a rule of a class of its own, which keeps what it needs", () => {
    class Rule {
      readonly name = "own";
      readonly stages = ["action"] as const;
      readonly asked = 0;
      evaluate = () => null;
    }
    expect(definePolicy(new Rule()).name).toBe("own");
  });
});

it("[PLN-01] a plan of known words runs as before", async () => {
  await using t = await createTestKernel({ capabilities: [capability()] });
  const { state } = await t.run("Probe.Run", {}, testCaller);
  expect(state).toBe("completed");
});
