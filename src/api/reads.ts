/**
 * The reads: operations that change nothing. Faces offer each view of one workflow at an address of its own.
 */
import { z } from "zod";
import { AssistantDelta } from "../contract/assistant-delta.ts";
import { AuditEntry } from "../contract/audit.ts";
import { Caller, commandScopes } from "../contract/auth-context.ts";
import { BudgetStanding } from "../contract/budget.ts";
import { DoctorFinding, DoctorReport } from "../contract/doctor-report.ts";
import { LedgerEvent } from "../contract/event.ts";
import { Explanation } from "../contract/explanation.ts";
import { FeedItem } from "../contract/feed.ts";
import { Gate } from "../contract/gate.ts";
import { hostFunction } from "../contract/host-object.ts";
import { TenantId } from "../contract/ids.ts";
import { JsonValue } from "../contract/json.ts";
import type { KeysOf } from "../contract/known-keys.ts";
import { OutcomesResponse } from "../contract/outcome.ts";
import { KernelProgress } from "../contract/progress.ts";
import { differenceCodes } from "../contract/replay.ts";
import { RequestTrace } from "../contract/trace.ts";
import { WhatIfFinding, WhatIfReport } from "../contract/whatif-report.ts";
import { WorkflowState } from "../contract/workflow-state.ts";
import type { AtSequence, Channels, FeedOptions, Follow, Kernel, KernelTokens } from "../kernel/kernel-interface.ts";
import { type Offered, type Operation, promised, type Search, streamed, type Table, type View } from "./operation.ts";

/** The scope of every read that a face offers. */
export const readScope = commandScopes.read;

const caller = Caller.optional();
const named = { workflowId: z.string() };
const ofWorkflow = { ...named, caller };
/** A filter or a question that the method reads with a schema of its own. */
const asked = z.unknown();
const at = z
  .strictObject({ at: z.int().min(1, "must be a sequence, from 1").optional() } satisfies KeysOf<AtSequence>)
  .optional();
const following = {
  signal: z.custom<AbortSignal>((value) => value instanceof AbortSignal, "must be an AbortSignal").optional(),
  live: z.boolean().optional(),
  onCaughtUp: hostFunction.optional(),
  after: z.int().nonnegative().optional(),
};
const follow = z.strictObject(following satisfies KeysOf<Follow>).optional();
const feedOptions = z
  .strictObject({
    ...following,
    only: z.literal("gates").optional(),
    events: z.boolean().optional(),
    intent_type: z.string().optional(),
  } satisfies KeysOf<FeedOptions>)
  .optional();
const followed = streamed({ ...named, options: follow, caller });

const Audit = z.object({ workflow_id: z.string(), entries: z.array(AuditEntry) });

const Verified = z.object({
  ok: z.boolean(),
  checked: z.int().describe("Rows whose hash was computed again."),
  broken: z.array(z.object({ stream: z.string(), sequence: z.int(), reason: z.string() })),
});

/** The views of one workflow. */
export const views = {
  workflow: {
    ...promised({ ...ofWorkflow, options: at }),
    id: "readWorkflow",
    word: "workflow",
    summary: "A workflow as it stands: state, plan, steps, gates, outcomes, progress",
    scope: readScope,
    answer: WorkflowState,
    takesAt: true,
    read: (kernel, id, { caller, at }) => kernel.workflow(id, caller, at === undefined ? {} : { at }),
  },
  outcomes: {
    ...promised(ofWorkflow),
    id: "readOutcomes",
    word: "outcomes",
    summary: "Its drafts and finals, by version",
    scope: readScope,
    answer: OutcomesResponse,
    read: (kernel, id, { caller }) => kernel.outcomes(id, caller),
  },
  trace: {
    ...promised(ofWorkflow),
    id: "readTrace",
    word: "trace",
    summary: "What its run did, step by step and attempt by attempt",
    scope: readScope,
    answer: RequestTrace,
    read: (kernel, id, { caller }) => kernel.trace(id, caller),
  },
  explain: {
    ...promised({ ...ofWorkflow, options: at }),
    id: "explainWorkflow",
    word: "explain",
    summary: "Why it is as it is: from intent to effect, with each decision on the way",
    scope: readScope,
    answer: Explanation,
    takesAt: true,
    read: (kernel, id, { caller, at }) => kernel.explain(id, caller, at === undefined ? {} : { at }),
  },
  audit: {
    ...promised(ofWorkflow),
    id: "readAudit",
    word: "audit",
    summary: "How each decision of policy and of people came out",
    scope: readScope,
    answer: Audit,
    read: async (kernel, id, { caller }) => ({ workflow_id: id, entries: await kernel.audit(id, caller) }),
  },
  verify: {
    ...promised({
      workflowId: z.string().optional(),
      check: z.strictObject({ keys: hostFunction.optional() }).optional(),
      caller,
    }),
    id: "verifyWorkflow",
    word: "verify",
    summary: "Whether its hash chain and its signed approvals are sound; a damaged one is an answer here",
    scope: readScope,
    answer: Verified,
    read: async (kernel, id, { caller }) => {
      const { broken, ...verified } = await kernel.verify(id, {}, caller);
      return { ...verified, broken: broken.map(({ stream, sequence, reason }) => ({ stream, sequence, reason })) };
    },
  },
} satisfies Table<Kernel, View>;

/** The streams of one workflow. */
export const channels = {
  events: {
    ...followed,
    id: "streamEvents",
    word: "events",
    summary: "A workflow's ledger events as they come",
    scope: readScope,
    answer: LedgerEvent,
  },
  progress: {
    ...followed,
    id: "streamProgress",
    word: "progress",
    summary: "How far a workflow is, each time that it changes",
    scope: readScope,
    answer: KernelProgress,
  },
  assistant: {
    ...followed,
    id: "streamAssistant",
    word: "assistant",
    summary: "What a person reads while the workflow runs: pieces of text, drafts, questions, the end",
    scope: readScope,
    answer: AssistantDelta,
  },
} satisfies Readonly<Record<keyof Channels, Operation<"stream"> & Offered>>;

const Replayed = z.object({
  workflow_id: z.string(),
  identical: z.boolean(),
  events: z.int().describe("Events that came out again, byte for byte."),
  head: z.string().nullable(),
  difference: z
    .object({
      code: z.enum(differenceCodes),
      sequence: z.int(),
      event_id: z.string().nullable(),
      event_type: z.string(),
      step_id: z.string().nullable(),
      path: z.string().nullable(),
      expected: JsonValue,
      actual: JsonValue,
      reason: z.string(),
    })
    .nullable(),
});

/** What examines the workflows of a tenant. */
export const searches = {
  whatIf: {
    ...streamed({ asked, caller }),
    id: "askWhatIf",
    word: "whatif",
    summary: "Past decisions that other rules would have taken otherwise; nothing is run and nothing is written",
    scope: readScope,
    answer: WhatIfFinding,
    report: WhatIfReport,
  },
  doctor: {
    ...streamed({ asked, caller }),
    id: "askDoctor",
    word: "doctor",
    summary: "Workflows that have not ended and cannot run with what is registered, each with the ways out",
    scope: readScope,
    answer: DoctorFinding,
    report: DoctorReport,
  },
} satisfies Table<Kernel, Search>;

/** All other reads of a kernel. */
export const reads = {
  gate: {
    ...promised({ ...named, gateId: z.string(), caller }),
    id: "readGate",
    word: "gates",
    summary: "A gate, whole, open or decided",
    scope: readScope,
    answer: Gate,
  },
  actions: promised(ofWorkflow),
  replay: {
    ...promised(ofWorkflow),
    id: "replayWorkflow",
    word: "replay",
    summary: "Whether a fresh kernel comes to the same bytes; nothing is run and nothing is written",
    scope: readScope,
    answer: Replayed,
  },
  channel: streamed({
    name: z.enum(["events", "progress", "assistant"] satisfies (keyof Channels)[]),
    ...named,
    options: follow,
    caller,
  }),
  feed: {
    ...streamed({ options: feedOptions, caller }),
    id: "streamFeed",
    word: "feed",
    summary: "What changes in the workflows and gates of the tenant: a snapshot first, then live",
    scope: readScope,
    answer: FeedItem,
  },
  evidence: {
    ...streamed({ ...ofWorkflow, options: z.strictObject({ reports: z.array(z.unknown()).optional() }).optional() }),
    id: "exportEvidence",
    word: "evidence",
    summary: "Its rows, audit entries and evaluation reports, which others can verify",
    scope: readScope,
    answer: z.string(),
  },
  export: streamed(ofWorkflow),
} satisfies Table<Kernel>;

/** The reads of `kernel.tokens`. */
export const tokens = {
  events: promised(ofWorkflow),
  toJsonl: promised(ofWorkflow),
  capabilities: promised({ workflowId: z.string().optional(), caller }),
  governor: promised(ofWorkflow),
  charges: promised({ tenantId: TenantId, caller }),
  budgets: {
    ...promised({ tenantId: TenantId, caller }),
    id: "listBudgets",
    word: "budgets",
    summary: "The ceilings over workflows, and how near to them their counters are",
    scope: readScope,
    answer: z.object({ budgets: z.array(BudgetStanding) }),
  },
} satisfies Table<KernelTokens>;
