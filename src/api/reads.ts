/**
 * The reads: operations that change nothing. Faces offer each view of one workflow at an address of its own.
 */
import { z } from "zod";
import { AssistantDelta } from "../contract/assistant-delta.ts";
import { AuditEntry } from "../contract/audit.ts";
import { Caller, commandScopes } from "../contract/auth-context.ts";
import { DoctorFinding, DoctorReport } from "../contract/doctor-report.ts";
import { LedgerEvent } from "../contract/event.ts";
import { Explanation } from "../contract/explanation.ts";
import { FeedItem } from "../contract/feed.ts";
import { AtSequence, FeedOptions, Follow } from "../contract/follow.ts";
import { Gate } from "../contract/gate.ts";
import { HaltStanding } from "../contract/halt.ts";
import { hostFunction } from "../contract/host-object.ts";
import { TenantId } from "../contract/ids.ts";
import { JsonValue } from "../contract/json.ts";
import { ItemPage } from "../contract/listed-item.ts";
import { OutcomesResponse } from "../contract/outcome.ts";
import { KernelProgress } from "../contract/progress.ts";
import { differenceCodes } from "../contract/replay.ts";
import { RequestTrace } from "../contract/trace.ts";
import { WhatIfFinding, WhatIfReport } from "../contract/whatif-report.ts";
import { WorkflowState } from "../contract/workflow-state.ts";
import type { Channels, Kernel } from "../kernel/kernel-interface.ts";
import type { KernelTokens } from "../kernel/kernel-tokens.ts";
import {
  type Arguments,
  type Offered,
  type Operation,
  promised,
  type Search,
  streamed,
  type Table,
  type View,
} from "./operation.ts";

/** The scope of every read that a face offers. */
export const readScope = commandScopes.read;

const caller = Caller.optional();
const named = { workflowId: z.string() };
const ofWorkflow = { ...named, caller };
/** A filter or a question that the method reads with a schema of its own. */
const asked = z.unknown();
/** Operations that faces offer to callers who may read. */
const offeredRead = (takes: Arguments) => ({ ...promised(takes), scope: readScope });
const offeredStream = (takes: Arguments) => ({ ...streamed(takes), scope: readScope });

const at = AtSequence.optional();
const follow = Follow.optional();
const followed = offeredStream({ ...named, options: follow, caller });

const Audit = z.object({ workflow_id: z.string(), entries: z.array(AuditEntry) });

const Verified = z.object({
  ok: z.boolean(),
  checked: z.int().describe("Rows whose hash was computed again."),
  broken: z.array(z.object({ stream: z.string(), sequence: z.int(), reason: z.string() })),
});

/** The views of one workflow. */
export const views = {
  workflow: {
    ...offeredRead({ ...ofWorkflow, options: at }),
    id: "readWorkflow",
    word: "workflow",
    summary: "A workflow as it stands: state, plan, steps, gates, outcomes, progress",
    answer: WorkflowState,
    takesAt: true,
    read: (kernel, id, { caller, at }) => kernel.workflow(id, caller, at === undefined ? {} : { at }),
  },
  outcomes: {
    ...offeredRead(ofWorkflow),
    id: "readOutcomes",
    word: "outcomes",
    summary: "Its drafts and finals, by version",
    answer: OutcomesResponse,
    read: (kernel, id, { caller }) => kernel.outcomes(id, caller),
  },
  trace: {
    ...offeredRead(ofWorkflow),
    id: "readTrace",
    word: "trace",
    summary: "What its run did, step by step and attempt by attempt",
    answer: RequestTrace,
    read: (kernel, id, { caller }) => kernel.trace(id, caller),
  },
  explain: {
    ...offeredRead({ ...ofWorkflow, options: at }),
    id: "explainWorkflow",
    word: "explain",
    summary: "Why it is as it is: from intent to effect, with each decision on the way",
    answer: Explanation,
    takesAt: true,
    read: (kernel, id, { caller, at }) => kernel.explain(id, caller, at === undefined ? {} : { at }),
  },
  audit: {
    ...offeredRead(ofWorkflow),
    id: "readAudit",
    word: "audit",
    summary: "How each decision of policy and of people came out",
    answer: Audit,
    read: async (kernel, id, { caller }) => ({ workflow_id: id, entries: await kernel.audit(id, caller) }),
  },
  verify: {
    ...offeredRead({
      workflowId: z.string().optional(),
      check: z.strictObject({ keys: hostFunction().optional() }).optional(),
      caller,
    }),
    id: "verifyWorkflow",
    word: "verify",
    summary: "Whether its hash chain and its signed approvals are sound; a damaged one is an answer here",
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
    answer: LedgerEvent,
  },
  progress: {
    ...followed,
    id: "streamProgress",
    word: "progress",
    summary: "How far a workflow is, each time that it changes",
    answer: KernelProgress,
  },
  assistant: {
    ...followed,
    id: "streamAssistant",
    word: "assistant",
    summary: "What a person reads while the workflow runs: pieces of text, drafts, questions, the end",
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

/** The operations that examine the workflows of a tenant. */
export const searches = {
  whatIf: {
    ...offeredStream({ asked, caller }),
    id: "askWhatIf",
    word: "whatif",
    summary: "Past decisions that other rules would have taken otherwise; nothing is run and nothing is written",
    answer: WhatIfFinding,
    report: WhatIfReport,
  },
  doctor: {
    ...offeredStream({ asked, caller }),
    id: "askDoctor",
    word: "doctor",
    summary: "Workflows that have not ended and cannot run with what is registered, each with the ways out",
    answer: DoctorFinding,
    report: DoctorReport,
  },
} satisfies Table<Kernel, Search>;

/** All other reads of a kernel. */
export const reads = {
  halts: {
    ...offeredRead({ tenantId: TenantId, caller }),
    id: "listHalts",
    word: "halts",
    summary: "The halts that hold, oldest first, and how much each holds",
    answer: z.object({ halts: z.array(HaltStanding) }),
  },
  items: {
    ...offeredRead({ ...named, filter: asked.optional(), caller }),
    id: "listItems",
    word: "items",
    summary: "The items of its lists and the rounds of its steps, in their order, each with its output or its error",
    answer: ItemPage,
  },
  gate: {
    ...offeredRead({ ...named, gateId: z.string(), caller }),
    id: "readGate",
    word: "gates",
    summary: "A gate, whole, open or decided",
    answer: Gate,
  },
  actions: promised(ofWorkflow),
  replay: {
    ...offeredRead(ofWorkflow),
    id: "replayWorkflow",
    word: "replay",
    summary: "Whether a fresh kernel comes to the same bytes; nothing is run and nothing is written",
    answer: Replayed,
  },
  channel: streamed({
    name: z.enum(["events", "progress", "assistant"] satisfies (keyof Channels)[]),
    ...named,
    options: follow,
    caller,
  }),
  feed: {
    ...offeredStream({ options: FeedOptions.optional(), caller }),
    id: "streamFeed",
    word: "feed",
    summary: "What changes in the workflows and gates of the tenant: a snapshot first, then live",
    answer: FeedItem,
  },
  evidence: {
    ...offeredStream({
      ...ofWorkflow,
      options: z.strictObject({ reports: z.array(z.unknown()).optional() }).optional(),
    }),
    id: "exportEvidence",
    word: "evidence",
    summary: "Its rows, audit entries and evaluation reports, which others can verify",
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
} satisfies Table<KernelTokens>;
