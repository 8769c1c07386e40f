/**
 * One sample of every exported schema, in the spelling of the seeds, and what makes it wrong: fields with a value of
 * another type. `wrong` replaces the sample's fields, or the whole sample where that is no object.
 */
import { z } from "zod";
import { evidenceSamples } from "./evidence-samples.ts";
import { faceSamples } from "./face-samples.ts";
import { gateSamples } from "./gate-samples.ts";
import { orderSamples } from "./order-samples.ts";
import { reportSamples } from "./report-samples.ts";
import { routeSamples } from "./route-samples.ts";
import { scheduleSamples } from "./schedule-samples.ts";
import { tokenSamples } from "./token-samples.ts";

const kept_until = "2026-01-01T00:00:00.000Z";
const emitted = { event_id: "e1", status: "kept", resumed: [], started: [], kept_until, duplicate: false };

export interface Sample {
  readonly sample: unknown;
  readonly wrong: unknown;
}

const ulid = "01KDVDNA0047C4FEZDQK8YZG0N";
const [wf, int, pln, act, out, evt, cor] = ["wf", "int", "pln", "act", "out", "evt", "cor"].map((p) => `${p}_${ulid}`);
const at = "2026-01-01T00:00:00.000Z";
const principal = { type: "user", id: 42, role: "admin" };
const scope = { scope_type: "project", scope_id: "p-7" };
const claim = { tenant_id: "acme", principal };
const identity = { tenant_id: "acme", workflow_id: wf, intent_id: int };

const ref = { tier: 4, module: "ooda_loop", function: "act" };
const error = {
  code: "T4_TOOL_TIMEOUT",
  category: "external",
  severity: "transient",
  message: "no answer within 60000 ms",
  source: { tier: 4, module: "tool_execution", function: "call" },
  retry_eligible: true,
  detail: { timeout_ms: 60_000 },
  cause: null,
};
const signal = {
  id: `sig_${ulid}`,
  kind: "data",
  body: { data: [1, 2], schema: "list[int]", count: 2 },
  origin: ref,
  trace_id: cor,
  tags: { tier: "4", module: "ooda_loop", urgency: "high", confidence: "0.9" },
  created_at: at,
  parent_id: null,
};
const metrics = { duration_ms: 25, token_count: 120, cache_hit: false, module_ref: ref };
const result = { status: "partial", signals: [signal], error, metrics };
const problem = {
  type: "https://countersign.dev/problems/T4_TOOL_TIMEOUT",
  title: "external",
  status: 502,
  detail: "no answer",
  retry_after: 5,
  extensions: { code: error.code, severity: "transient", retry_eligible: true, chain: [omit(error, "cause")] },
};
const http = { success: true, status: "ok", data: [signal], metrics };

const gateSpec = { reason: "look first", roles: ["admin"], expiry: { after_ms: 1000, action: "deny" } };
const stepDraft = { step_id: "s1", name: "Collect", operator: "Git.Log", params: { since: "v1" }, depends_on: [] };
const planStep = {
  ...stepDraft,
  kind: "call",
  operator_version: "1.0",
  outcome: "Draft.Notes",
  applies: null,
  outputs: ["data"],
  policy_tags: ["read"],
  risk_level: "low",
  gate: gateSpec,
  idempotency: { strategy: "inputs", target: null },
  weight: 1,
  estimated_cost: 2,
  priority: 0,
  draft_version: 1,
};
const plan = {
  plan_id: pln,
  intent_id: int,
  workflow_id: wf,
  round: 0,
  parent_plan_id: null,
  reasoning: "the template",
  direct_response: null,
  steps: [planStep],
  gates: ["gate-s1"],
};
const intent = {
  intent_id: int,
  type: "Repo.ReleaseNotes.Draft",
  version: "1.0",
  actor: principal,
  scope,
  inputs: { repo: "." },
  constraints: {},
  context_refs: { entity: 5 },
  text: "draft the notes",
  source: "chat",
};
const auth = {
  tenant_id: "acme",
  principal_id: 42,
  principal_type: "user",
  role: "admin",
  scopes: ["intent:submit"],
  data_policy: { allow_pii: true, allow_external_send: false },
};
const memory = { key: "k", type: "fact", value: { a: 1 }, source: "user", confidence: 0.9 };
const usage = {
  tokens: { in: 10, out: 5, total: 15 },
  cost: { total: 0.02 },
  trace: { trace_id: "tr-1", trace_type: "provider" },
};
const action = {
  ...identity,
  action_id: act,
  plan_id: pln,
  step_id: "s1",
  operator_name: "Git.Log",
  operator_version: "1.0",
  idempotency_key: "key",
  status: "succeeded",
  payload_hash: "abc",
  input_payload: { since: "v1" },
  result_payload: ["c1"],
  error: null,
  trace: usage.trace,
  timing: { started_at: at, finished_at: at },
  tokens: usage.tokens,
  cost: usage.cost,
};
const outcome = {
  ...identity,
  outcome_id: out,
  outcome_type: "Draft.Notes",
  schema_version: "1.0",
  status: "draft",
  content: { markdown: "# 1.0" },
  confidence: 0.8,
  created_at: at,
  version: 1,
  draft_version: 1,
  step_id: "s1",
};
const attempt = {
  attempt: 1,
  outcome: "failed",
  started_at: at,
  finished_at: at,
  duration_ms: 10,
  cached: false,
  error,
};
const stepTrace = {
  step_id: "s1",
  skill_name: "Git.Log",
  input_params: {},
  status: "COMPLETED",
  output_data: "[]",
  attempts: [attempt],
  policy_events: [],
  approval_events: [],
};
const operator = {
  name: "Git.Log",
  version: "1.0",
  description: "commits since a tag",
  effect: "read",
  idempotent: true,
  honours_abort: true,
  timeout_sec: 30,
  retry: "STANDARD",
  capabilities: ["reasoning"],
  policy_tags: [],
  risk_level: "low",
  estimated_cost: 1,
  resources: { cpu_time: 1, memory_bytes: 1, network_bytes: 0, tokens: 0 },
  limits: { max_invocations: 100, max_tokens: null },
  outputs: ["data"],
  kind: "skill",
  extensions: {},
};
const document = {
  tenant_id: "acme",
  document_id: "d1",
  workflow_id: null,
  title: "Contract",
  media_type: "application/pdf",
  processed_content: { hash: "h", bytes: 10, summary: "short" },
  missing_fields: ["date"],
};
const request = { jsonrpc: "2.0", id: "req_1", method: "tools/call", params: { name: "get", arguments: {} } };
const rpcError = { code: -32600, message: "bad request", data: { path: "params" } };

const progress = {
  tenant_id: "acme",
  workflow_id: wf,
  correlation_id: cor,
  percent: 67,
  stage: "running",
  current_step: { step_id: "s1", name: "Collect" },
};
const event = {
  event_id: evt,
  event_type: "STEP_STARTED",
  timestamp: at,
  ...identity,
  thread_id: 9,
  plan_id: pln,
  step_id: "s1",
  actor: { type: "system", id: "kernel" },
  correlation_id: cor,
  sequence: 3,
  payload: { run: 1 },
};

function omit(whole: object, key: string): object {
  return Object.fromEntries(Object.entries(whole).filter(([name]) => name !== key));
}

const fields = (sample: object, wrong: object): Sample => ({ sample, wrong: { ...sample, ...wrong } });
const word = (sample: string): Sample => ({ sample, wrong: 5 });

export const samples: Readonly<Record<string, Sample>> = {
  ...reportSamples,
  ...routeSamples,
  ...gateSamples,
  ...scheduleSamples,
  ...tokenSamples,
  ...orderSamples,
  ActionRecord: fields(action, { status: 1 }),
  AttemptTrace: fields(attempt, { attempt: "1" }),
  AuthContext: fields(auth, { scopes: "intent:submit" }),
  Budgets: fields(
    {
      maxCost: 10,
      perToken: 500,
      governor: { cpu_time: null, memory_bytes: null, network_bytes: null, tokens: 20 },
      capabilities: { "Git.Log": { max_invocations: 2, max_tokens: null } },
      limits: [{ scope: "tenant", window: "day", tokens: 1000 }],
    },
    { maxCost: "10" },
  ),
  Caller: fields(claim, { principal: 42 }),
  CancelRequest: fields({ ...claim, reason: "enough" }, { reason: 5 }),
  EmitRequest: fields({ ...claim, name: "signed", key: "c1", payload: null, broadcast: false }, { broadcast: 5 }),
  EmitResponse: fields(emitted, { status: "lost" }),
  CancelResponse: fields({ workflow_id: wf, status: "cancelled", correlation_id: cor }, { workflow_id: 7 }),
  CapabilityPackage: fields(
    {
      intentType: "Repo.ReleaseNotes.Draft",
      version: "1.0",
      description: "notes",
      keywords: ["release notes"],
      input: z.object({}),
      operators: ["Git.Log"],
      outcomes: { "Draft.Notes": z.object({}) },
      plan: { reasoning: "fixed", steps: [stepDraft] },
      policyTags: { s1: ["read"] },
      uiActions: { s1: [{ action: "apply", label: "Publish" }] },
      weights: { s1: 2 },
      limits: { max_invocations: 3, max_tokens: null },
    },
    { input: "not a schema" },
  ),
  ContextBundle: fields(
    {
      profile: { tenant_id: "acme", principal_id: 42, role: "admin", fields: { name: "Ada" } },
      thread_id: "t-1",
      memory: [memory],
      semantic: [{ key: "k", type: "fact", value: 1, score: 0.5 }],
      scope: { ...scope, facts: {} },
      entities: [{ ref: "customer", id: 5, summary_outcome_id: null }],
      documents: [{ document_id: "d1", title: "C", hash: "h", bytes: 1, summary: "", missing_fields: [] }],
      thread_summary: "what was said",
      recent_events: [{ event_type: "WORKFLOW_COMPLETED", workflow_id: wf, timestamp: at }],
      context_hash: "hash",
    },
    { recent_events: {} },
  ),
  DocumentRecord: fields(document, { missing_fields: "date" }),
  ErrorCategory: word("policy"),
  EventType: word("GATE_OPENED"),
  ExecutionPlan: fields({ steps: [stepDraft], reasoning: "because", direct_response: null }, { reasoning: 5 }),
  ExecutorError: fields(
    { code: "BUSY", message: "busy", retryable: true, retry_after_ms: 500, category: "transient", details: {} },
    { retryable: "yes" },
  ),
  GateSpec: fields(gateSpec, { roles: "admin" }),
  HttpSuccess: fields(http, { success: "true" }),
  Intent: fields(intent, { inputs: [] }),
  JobRequest: fields({ query: "draft", job_type: "notes", depth: 2, max_steps: 5 }, { depth: "2" }),
  JobResponse: fields({ ...http, job: { trace_id: cor, job_type: "notes", depth: 2 } }, { job: cor }),
  KernelError: fields(error, { retry_eligible: "true" }),
  KernelProgress: fields(progress, { percent: "67" }),
  LedgerEvent: fields(event, { sequence: "3" }),
  ...evidenceSamples,
  ...faceSamples({
    ids: { wf, int, cor, act, out, evt, pln } as Parameters<typeof faceSamples>[0]["ids"],
    ...{ intent, plan, outcome, progress, event, error },
    gate: gateSamples["Gate"]?.sample,
  }),
  MemoryRecord: fields({ tenant_id: "acme", thread_id: null, workflow_id: wf, ...memory }, { confidence: "0.9" }),
  Metrics: fields(metrics, { token_count: "120" }),
  ModelPrice: fields({ in: 0.1, out: 0.4 }, { out: "0.4" }),
  ModuleRef: fields(ref, { tier: "4" }),
  OnReject: word("continue"),
  OperatorMetadata: fields(operator, { idempotent: "true" }),
  Outcome: fields(outcome, { confidence: "0.8" }),
  OutcomesResponse: fields({ workflow_id: wf, outcomes: [outcome] }, { outcomes: outcome }),
  Plan: fields(plan, { steps: planStep }),
  PlanStep: fields(planStep, { depends_on: "s0" }),
  PolicyDecision: fields(
    {
      decision: "DENY",
      reason: "no",
      transform: null,
      redactions: ["/a"],
      policies: ["rule"],
      policy_version: "default-1",
    },
    { redactions: "/a" },
  ),
  PolicySet: fields(
    {
      version: "2026-11",
      rules: [
        {
          name: "large",
          stages: ["action"],
          when: { effects: ["external_send"], amounts: [{ path: "order.total", above: 5000 }] },
          decision: "REQUIRE_HUMAN_APPROVAL",
          reason: "a person looks first",
        },
      ],
    },
    { rules: "large" },
  ),
  PolicyMoment: word("call"),
  PolicyStage: word("action"),
  Principal: fields(principal, { role: 5 }),
  PrincipalRef: fields({ type: "user", id: 7 }, { type: 5 }),
  ProblemDetails: fields(problem, { status: "502" }),
  RequestTrace: fields(
    { request_id: wf, plan, steps: [stepTrace], llm_calls: [], status: "completed", duration: 12 },
    { steps: stepTrace },
  ),
  Result: fields(result, { signals: signal }),
  ResultStatus: word("skip"),
  RetryRequest: fields({ ...claim, mode: "regenerate", step_ids: ["s1"] }, { step_ids: "s1" }),
  RetryResponse: fields({ workflow_id: wf, status: "restarted", correlation_id: cor }, { status: 1 }),
  RpcErrorObject: fields(rpcError, { code: "-32600" }),
  RpcErrorResponse: fields({ jsonrpc: "2.0", id: null, error: rpcError }, { id: 5 }),
  RpcMessage: fields(request, { method: 5 }),
  RpcNotification: fields(omit(request, "id"), { params: "get" }),
  RpcRequest: fields(request, { id: 5 }),
  RpcSuccess: fields({ jsonrpc: "2.0", id: "req_1", result: { content: [] } }, { result: "ok" }),
  Scope: fields(scope, { scope_type: 5 }),
  Severity: word("fatal"),
  Signal: fields(signal, { tags: { urgency: 5 } }),
  SignalKind: word("stream"),
  SkillMetadata: fields(operator, { timeout_sec: "30" }),
  StepResult: fields({ data: { n: 1 }, output_text: "one", status: "COMPLETED" }, { output_text: 1 }),
  StepStatus: word("BLOCKED"),
  StepTrace: fields(stepTrace, { attempts: attempt }),
  SubmitRequest: fields(
    {
      source: "chat",
      ...claim,
      thread_id: 12,
      scope,
      input: { mode: "message", text: "draft the notes", attachments: { document_ids: ["d1"] } },
      intent_hint: { intent_type: "Repo.ReleaseNotes.Draft", inputs: { repo: "." } },
      constraints: { deadline: at },
      context_refs: { customer: 5 },
    },
    { input: "draft the notes" },
  ),
  SubmitResponse: fields(
    {
      workflow_id: wf,
      intent_id: int,
      plan_id: pln,
      correlation_id: cor,
      stream: { events: "/e", progress: "/p", assistant: "/a" },
      status: "accepted",
    },
    { stream: "/e" },
  ),
  ToolCallRequest: fields({ name: "get", arguments: { city: "Linz" } }, { arguments: "Linz" }),
  ToolResult: fields({ content: [{ type: "text", text: "sunny" }], isError: false }, { content: "sunny" }),
  UiAction: fields({ action: "apply", label: "Publish", payload: { a: 1 } }, { label: 5 }),
  Usage: fields({ ...usage, model: "small" }, { tokens: 15 }),
};
