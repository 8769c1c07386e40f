/** Samples of what the faces tell: states, pages, explanations, the feed, what is registered, and older spellings. */
interface Sample {
  readonly sample: unknown;
  readonly wrong: unknown;
}

/** Samples that these are made of. */
interface Parts {
  readonly ids: Readonly<Record<"wf" | "int" | "cor" | "act" | "out" | "evt" | "pln", string>>;
  readonly intent: object;
  readonly plan: object;
  readonly outcome: object;
  readonly gate: unknown;
  readonly progress: unknown;
  readonly event: unknown;
  readonly error: object;
}

const at = "2026-01-01T00:00:00.000Z";
const actor = { type: "user", id: 42, role: "admin" };
const fields = (sample: object, wrong: object): Sample => ({ sample, wrong: { ...sample, ...wrong } });

const operator = {
  name: "Git.Log",
  version: "1.0",
  description: "reads a history",
  kind: "skill",
  effect: "read",
  idempotent: true,
  risk_level: "low",
  estimated_cost: 1,
  policy_tags: [],
  input: { type: "object" },
  output: {},
};
const capability = {
  intent_type: "Repo.ReleaseNotes.Draft",
  version: "1.0",
  description: "release notes",
  keywords: ["release notes"],
  input: { type: "object" },
  operators: [operator],
  missing_operators: ["Git.Push"],
  outcomes: { notes: { type: "object" } },
  limits: { max_invocations: 3, max_tokens: null },
};
const step = {
  step_id: "s1",
  name: "Collect",
  kind: "call",
  operator: "Git.Log",
  state: "succeeded",
  phase: null,
  waits_for: null,
  child: null,
  attempts: 1,
  run: 1,
  depends_on: [],
  output_text: "3 commits",
  error: null,
  skip_reason: null,
  held_by: [],
};
const feedGate = {
  change: "opened",
  gate_id: "gate-s3",
  step_id: "s3",
  kind: "approval",
  status: "open",
  title: "Publish",
  operator: "File.Write",
  risk_level: "high",
  roles: null,
  opened_at: at,
  due_at: null,
  votes: 0,
};
const listedItem = {
  ...{ step_id: "pay:0", of: "pay", key: "i1", state: "succeeded", phase: null, child: null, run: 1 },
  ...{ output: { paid: 5 }, error: null, skip_reason: null },
};

const bookmark = { type: "bookmark", position: 7 };
const file = { file_id: "f-1", file_type: "text/plain", path: null };
const payload = { data: [1, 2], schema: "list[int]" };
const toolOutput = { text: "done", data: payload, files: [file] };

function summaryOf({ ids: { wf, cor, int } }: Parts) {
  return {
    workflow_id: wf,
    tenant_id: "acme",
    thread_id: null,
    correlation_id: cor,
    intent_id: int,
    intent_type: "Repo.ReleaseNotes.Draft",
    state: "waiting_for_user",
    paused: true,
    queued: false,
    compensated: null,
    held_by: [],
    progress: { percent: 40 },
    title: "Draft the release notes",
    principal: { type: "user", id: "ann" },
    created_at: at,
    updated_at: at,
    due_at: null,
    open_gates: 1,
  };
}

function causesOf({ ids: { evt, pln, act, out } }: Parts) {
  const rule = {
    event_id: evt,
    decision: "ALLOW",
    policies: [],
    reason: "no rule matched",
    policy_version: "default-1",
  };
  const approval = {
    event_id: evt,
    decision: "approve",
    principal: actor,
    carried_by: [],
    at,
    payload_digest: "ab12",
    outcome_id: out,
    outcome_version: 1,
    edited: false,
    comment: null,
    same_as_executed: true,
  };
  const effect = {
    action_id: act,
    key: "k",
    operator: "File.Write",
    payload_hash: "ab12",
    started_event_id: evt,
    ended_event_id: null,
    outcome: { outcome_id: out, version: 1 },
  };
  return {
    step_id: "s3",
    intent: { event_id: evt, actor, type: "Repo.ReleaseNotes.Draft" },
    plan: { event_id: evt, plan_id: pln, cause: "submit", reasoning: "as always" },
    rule,
    budget: { spent_before: 0, estimated_cost: 1, reserved: null, settled: null },
    approval,
    attempts: [{ event_id: evt, attempt: 1, outcome: "succeeded", error_code: null }],
    effect,
    refusal: null,
  };
}

const explanationOf = (parts: Parts) => ({
  workflow_id: parts.ids.wf,
  state: "completed",
  summary: ["user 42 asked for release notes"],
  why: ["user 42 asked for release notes"],
  steps: [
    {
      step_id: "s3",
      name: "Publish",
      operator: "File.Write",
      state: "succeeded",
      allowed_by: "default-1",
      approved_by: "user 42",
      attempts: 1,
      effect: "final_write",
      because: ["it was approved"],
    },
  ],
  chain: [causesOf(parts)],
});

const feedOf = ({ ids: { wf, cor, int } }: Parts) => ({
  type: "workflow",
  position: 6,
  tenant_id: "acme",
  workflow_id: wf,
  thread_id: null,
  correlation_id: cor,
  intent_id: int,
  intent_type: "Repo.ReleaseNotes.Draft",
  principal_id: 42,
  state: "waiting_for_user",
  paused: false,
  created_at: at,
  updated_at: at,
  progress: { percent: 67, steps: 3, running: 1, succeeded: 2, failed: 0 },
  gates: [feedGate],
});

const stateOf = ({ ids: { wf, cor }, intent, plan, outcome, gate, progress }: Parts) => ({
  workflow_id: wf,
  tenant_id: "acme",
  thread_id: "t-1",
  correlation_id: cor,
  intent,
  plan,
  state: "waiting_for_user",
  status: "waiting",
  steps: [step],
  gates: [gate],
  outcomes: [outcome],
  progress,
  response: { status: "waiting", text: "" },
  warnings: [],
  error: null,
  compensated: null,
  rolled_back: null,
  forked_from: null,
  forks: [],
  regenerated_from: null,
  parent: null,
  sequence: 12,
  spent: 2,
  start_at: null,
  paused: null,
  queue: { name: "notes", key: "", concurrency: 1, priority: 0, place: "taken", queued_at: null },
  held_by: [],
  accepted_at: at,
  updated_at: at,
  finished_at: null,
});

export function faceSamples(parts: Parts): Readonly<Record<string, Sample>> {
  const { ids, gate, event, error } = parts;
  const state = stateOf(parts);
  return {
    AssistantDelta: fields({ type: "delta", sequence: 3, step_id: "s2", text: "Dear" }, { text: 1 }),
    CapabilityView: fields(capability, { keywords: "release notes" }),
    OperatorView: fields(operator, { idempotent: "yes" }),
    CausalChain: fields(causesOf(parts), { attempts: 1 }),
    Explanation: fields(explanationOf(parts), { why: "because" }),
    FeedBookmark: fields(bookmark, { position: "7" }),
    FeedGate: fields(feedGate, { votes: "0" }),
    FeedItem: fields(bookmark, { type: "page" }),
    FeedWorkflow: fields(feedOf(parts), { gates: feedGate }),
    EventPage: fields({ workflow_id: ids.wf, events: [event], next: 13 }, { next: "13" }),
    GatePage: fields(
      { gates: [{ ...(gate as object), truncated: false, checked: true }], next: null, total: 1 },
      { gates: gate },
    ),
    ItemFilter: fields({ of: "pay", after: "pay:3", limit: 20 }, { limit: "20" }),
    ItemPage: fields({ workflow_id: ids.wf, items: [listedItem], next: "pay:0" }, { items: listedItem }),
    ListedItem: fields(listedItem, { run: "1" }),
    WorkflowPage: fields({ workflows: [summaryOf(parts)], next: ids.wf, total: 7 }, { next: 5 }),
    WorkflowSummary: fields(summaryOf(parts), { open_gates: "1" }),
    JobPending: fields(
      {
        workflow_id: ids.wf,
        intent_id: ids.int,
        plan_id: ids.pln,
        correlation_id: ids.cor,
        stream: { events: "/e", progress: "/p", assistant: "/a" },
        status: "waiting_for_user",
      },
      { status: "accepted" },
    ),
    Condition: fields({ value: "{{s1.output.score}}", above: 70 }, { above: "70" }),
    StepView: fields(step, { attempts: "1" }),
    WorkflowState: fields(state, { sequence: "12" }),
    DataPayload: fields(payload, { schema: 1 }),
    FileReference: fields(file, { path: 1 }),
    ToolOutput: fields(toolOutput, { files: file }),
    NodeOutput: fields(
      { node: "draft", status: "error", output: toolOutput, error, duration_ms: 5, token_count: 9 },
      { status: "done" },
    ),
  };
}
