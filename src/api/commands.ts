/**
 * The commands: operations that change something on behalf of a caller. Each request names its tenant and principal.
 */
import { z } from "zod";
import { InputRequest, InputResponse } from "../contract/added-input.ts";
import { commandScopes } from "../contract/auth-context.ts";
import { RollbackRequest, RollbackResponse } from "../contract/compensation.ts";
import { ForkRequest, ForkResponse } from "../contract/fork.ts";
import { DelegationRequest, GateRequest, GateResponse, WithdrawalRequest } from "../contract/gate.ts";
import { GateNoteRequest } from "../contract/gate-conversation.ts";
import { GateDecisions, GateDecisionsResponse } from "../contract/gate-decisions.ts";
import { GrantRequest, GrantResponse, RevokeGrantRequest, RevokeGrantResponse } from "../contract/grant-orders.ts";
import { HaltRequest, HaltResponse, LiftRequest, LiftResponse } from "../contract/halt-orders.ts";
import { SubmitOptions, SubmitRequest, SubmitResponse } from "../contract/intent.ts";
import { PauseRequest, PauseResponse, ResumeRequest, ResumeResponse } from "../contract/pause.ts";
import { QueueLimitsRequest, QueueLimitsResponse } from "../contract/queue-limits.ts";
import { EmitRequest, EmitResponse } from "../contract/received-event.ts";
import { CancelRequest, CancelResponse, RetryRequest, RetryResponse } from "../contract/retry.ts";
import { EndStandInRequest, EndStandInResponse, StandInRequest, StandInResponse } from "../contract/stand-in-orders.ts";
import { TokenUrlRequest, TokenUrlResponse } from "../contract/wait-token.ts";
import type { Kernel } from "../kernel/kernel-interface.ts";
import { type Command, type KernelCommand, promised, type Table, type WorkflowCommand } from "./operation.ts";
import { scheduleCommands } from "./schedules.ts";

/** The gateway copies a request as plain JSON and reads it with its schema, so the check of arguments skips it. */
const request = z.unknown();
const digest = "5d8c8b2c0f6a1f0e9f3a7f6f1d0a4d6f0c1f3c7d9b2e4a6085c7e9f1b3d5a7c9";

export const submit: Command = {
  ...promised({ request, options: SubmitOptions.optional() }),
  id: "submitIntent",
  word: "submit",
  summary: "Accepts a request at once; its workflow goes on by itself",
  scope: commandScopes.submit,
  request: SubmitRequest,
  answer: SubmitResponse,
  example: {
    intent_hint: { intent_type: "Repo.ReleaseNotes.Draft", inputs: { repo: "." } },
    scope: { scope_type: "repository", scope_id: "countersign" },
  },
  isKeyed: true,
};

/** The commands that concern no single workflow. */
export const kernelCommands = {
  decideGates: {
    ...promised({ request }),
    id: "decideGates",
    word: "decisions",
    summary: "Approves or rejects what waits at up to 500 gates; each decision has its own answer",
    description:
      "Each decision names the payload that its gate showed by payload.payload_digest. One that is refused refuses " +
      "no other: `results` has an answer or an error for each, in the order of the request.",
    scope: commandScopes.gate,
    request: GateDecisions,
    answer: GateDecisionsResponse,
    example: {
      decisions: [
        { workflow_id: "wf_01JZ0000000000000000000000", decision: "approve", payload: { payload_digest: digest } },
      ],
    },
    isIdempotent: true,
    run: (kernel, given) => kernel.decideGates(given as never),
  },
  emit: {
    ...promised({ request }),
    id: "emitEvent",
    word: "emit",
    summary: "Receives an event from outside, for the steps that wait for it",
    description:
      "One step that waits for its name and key takes it, or all of them if it says broadcast; until then it is " +
      "kept. The same event_id again is ignored and gets the same answer.",
    scope: commandScopes.emit,
    request: EmitRequest,
    answer: EmitResponse,
    example: { name: "contract.signed", key: "c-17", payload: { signed: true }, event_id: "evt-1" },
    isIdempotent: true,
    run: (kernel, given) => kernel.emit(given as never),
  },
  ...scheduleCommands,
  halt: {
    ...promised({ request }),
    id: "setHalt",
    word: "halt",
    summary: "Stops work of the tenant until the halt is lifted: all, or that of a capability, operator or principal",
    scope: commandScopes.halt,
    request: HaltRequest,
    answer: HaltResponse,
    example: { of: { operator: "Bank.Pay" }, reason: "payments go to the wrong account" },
    isIdempotent: true,
    run: (kernel, given) => kernel.halt(given as never),
  },
  limitQueue: {
    ...promised({ request }),
    id: "setQueueLimits",
    word: "limit",
    summary: "Sets the limits of a queue in place of those that its capabilities and requests state, or lifts them",
    scope: commandScopes.halt,
    request: QueueLimitsRequest,
    answer: QueueLimitsResponse,
    example: { name: "payments", limits: { concurrency: 2 }, reason: "the bank is slow today" },
    isIdempotent: true,
    run: (kernel, given) => kernel.limitQueue(given as never),
  },
  lift: {
    ...promised({ request }),
    id: "liftHalt",
    word: "lift",
    summary: "Lifts a halt: what it held goes on",
    scope: commandScopes.halt,
    request: LiftRequest,
    answer: LiftResponse,
    example: { halt_id: "hlt_01JZ0000000000000000000000", reason: "the accounts are checked" },
    isIdempotent: true,
    namesOne: true,
    run: (kernel, given) => kernel.lift(given as never),
  },
  grant: {
    ...promised({ request }),
    id: "giveGrant",
    word: "grant",
    summary: "Approves ahead what the rule of a gate asks about, for calls of the gate's operator",
    description:
      "The grant takes over the operator, the rules and the people of the gate. It covers calls of the gate's " +
      "workflow, or until an instant those of all work, at most so many or so much estimated cost.",
    scope: commandScopes.grant,
    request: GrantRequest,
    answer: GrantResponse,
    example: {
      workflow_id: "wf_01JZ0000000000000000000000",
      gate_id: "gate-pay",
      when: [{ value: "cents", at_most: 5000 }],
      uses: 10,
    },
    isIdempotent: true,
    namesOne: true,
    run: (kernel, given) => kernel.grant(given as never),
  },
  revokeGrant: {
    ...promised({ request }),
    id: "revokeGrant",
    word: "revoke-grant",
    summary: "Ends a grant: later calls ask a person again",
    scope: commandScopes.grant,
    request: RevokeGrantRequest,
    answer: RevokeGrantResponse,
    example: { grant_id: "grt_01JZ0000000000000000000000", reason: "the vendor has changed" },
    namesOne: true,
    run: (kernel, given) => kernel.revokeGrant(given as never),
  },
  standIn: {
    ...promised({ request }),
    id: "nameStandIn",
    word: "stand-in",
    summary: "Names who takes one's seats at gates while one is away, until an instant",
    description:
      "The order holds for all gates, open now or later. Each vote by it is judged as by a delegation at its gate, " +
      "and is recorded in the name of the stand-in, with the order. Its end is at most 90 days ahead.",
    scope: commandScopes.standIn,
    request: StandInRequest,
    answer: StandInResponse,
    example: { to: { type: "user", id: "bo" }, until: "2026-12-24T00:00:00Z", reason: "on leave" },
    isIdempotent: true,
    namesOne: true,
    run: (kernel, given) => kernel.standIn(given as never),
  },
  endStandIn: {
    ...promised({ request }),
    id: "endStandIn",
    word: "end-stand-in",
    summary: "Ends an order by which somebody stands in for another, before its time",
    scope: commandScopes.standIn,
    request: EndStandInRequest,
    answer: EndStandInResponse,
    example: { stand_in_id: "stn_01JZ0000000000000000000000", reason: "back again" },
    namesOne: true,
    run: (kernel, given) => kernel.endStandIn(given as never),
  },
} as const satisfies Table<Kernel, KernelCommand>;

type CommandName =
  | "decideGate"
  | "withdrawVote"
  | "delegateGate"
  | "noteGate"
  | "retry"
  | "fork"
  | "cancel"
  | "rollback"
  | "pause"
  | "resume"
  | "addInput"
  | "tokenUrl";

/** The members that a declaration adds. The schemas are of the types that the method has. */
interface Declaring<N extends CommandName> extends Omit<WorkflowCommand, "takes" | "answers" | "run"> {
  readonly request: z.ZodObject & z.ZodType<unknown, Parameters<Kernel[N]>[1]>;
  readonly answer: z.ZodType<Awaited<ReturnType<Kernel[N]>>>;
}

const command = <N extends CommandName>(method: N, declared: Declaring<N>): WorkflowCommand => ({
  ...promised({ workflowId: z.string(), request }),
  ...declared,
  run: (kernel, workflowId, given) => kernel[method](workflowId, given as never),
});

export const workflowCommands: Readonly<Record<CommandName, WorkflowCommand>> = {
  decideGate: command("decideGate", {
    id: "decideGate",
    word: "gate",
    summary: "Approves or rejects what waits at a gate; the same decision again gets the same answer",
    description:
      "It names the gate by gate_id, or the payload that the gate shows by payload.payload_digest. A gate that was " +
      "revised needs the digest of its present payload; any other is refused with that digest.",
    scope: commandScopes.gate,
    request: GateRequest,
    answer: GateResponse,
    example: { gate_id: "gate-publish", decision: "approve", payload: { payload_digest: digest, comment: "agreed" } },
    isIdempotent: true,
    isKeyed: true,
    namesGate: true,
  }),
  withdrawVote: command("withdrawVote", {
    id: "withdrawVote",
    word: "withdraw",
    summary: "Takes the caller's vote back while the gate is open",
    scope: commandScopes.withdraw,
    request: WithdrawalRequest,
    answer: GateResponse,
    example: { gate_id: "gate-publish" },
    isIdempotent: true,
    namesGate: true,
  }),
  delegateGate: command("delegateGate", {
    id: "delegateGate",
    word: "delegate",
    summary: "Lends the caller's seat at a gate to somebody else until an instant",
    scope: commandScopes.delegate,
    request: DelegationRequest,
    answer: GateResponse,
    example: {
      gate_id: "gate-publish",
      to: { type: "user", id: "bo" },
      expires_at: "2030-01-31T12:00:00.000Z",
    },
    isIdempotent: true,
    namesGate: true,
  }),
  noteGate: command("noteGate", {
    id: "noteAtGate",
    word: "note",
    summary: "Notes something at an open gate without deciding it",
    description:
      "`comment` says or asks something, and tells those whom it mentions; `assign` names who looks after the gate " +
      "(null: nobody); `snooze` hides it from the caller's list until an instant (null: shows it again); `watch` " +
      "tells the caller of all that happens at it. None of them decides anything.",
    scope: commandScopes.note,
    request: GateNoteRequest,
    answer: GateResponse,
    example: {
      gate_id: "gate-publish",
      comment: { text: "Is this the new account of the supplier?", mentions: [{ id: "bo" }], asks: true },
    },
    isKeyed: true,
    namesGate: true,
  }),
  retry: command("retry", {
    id: "retryWorkflow",
    word: "retry",
    summary: "Runs again what failed and what never ran, or makes steps anew",
    scope: commandScopes.retry,
    request: RetryRequest,
    answer: RetryResponse,
    example: { mode: "resume_failed_steps" },
    isKeyed: true,
  }),
  fork: command("fork", {
    id: "forkWorkflow",
    word: "fork",
    summary: "Begins a workflow that takes over what another one has done, up to a step or an event",
    description:
      "`at` is the step that is done anew, with all that depends on it, or the sequence of the last event that " +
      "counts. No call before the fork is made again; those behind it have new keys. `inputs` and `outputs` replace " +
      "the recorded ones.",
    scope: commandScopes.retry,
    request: ForkRequest,
    answer: ForkResponse,
    example: { at: "publish", outputs: { draft: { text: "A better text" } }, reason: "the text was wrong" },
    isKeyed: true,
  }),
  cancel: command("cancel", {
    id: "cancelWorkflow",
    word: "cancel",
    summary: "Ends a workflow early",
    scope: commandScopes.cancel,
    request: CancelRequest,
    answer: CancelResponse,
    example: { reason: "asked for by mistake" },
    isIdempotent: true,
  }),
  rollback: command("rollback", {
    id: "rollbackWorkflow",
    word: "rollback",
    summary: "Undoes what a workflow that has ended had done; the same order again gets the same answer",
    description:
      "The steps that have succeeded and state an undo are undone in the reverse order of their ends, children " +
      "included; what was done up to a pivot stays. The workflow ends as cancelled; `compensated` says how much is " +
      "undone.",
    scope: commandScopes.cancel,
    request: RollbackRequest,
    answer: RollbackResponse,
    example: { reason: "the vendor was onboarded by mistake" },
    isIdempotent: true,
  }),
  pause: command("pause", {
    id: "pauseWorkflow",
    word: "pause",
    summary: "Stops a workflow for a while: calls under way end, and nothing new begins until it is resumed",
    scope: commandScopes.pause,
    request: PauseRequest,
    answer: PauseResponse,
    example: { reason: "the supplier is being checked" },
    isIdempotent: true,
  }),
  resume: command("resume", {
    id: "resumeWorkflow",
    word: "resume",
    summary: "Lets a paused workflow go on",
    scope: commandScopes.pause,
    request: ResumeRequest,
    answer: ResumeResponse,
    example: { reason: "the supplier is checked" },
    isIdempotent: true,
  }),
  addInput: command("addInput", {
    id: "addInput",
    word: "message",
    summary: "Adds a message to a workflow that takes them, such as an agent",
    description: "The next plan is made with it; an agent's model reads it at its next turn. It decides no gate.",
    scope: commandScopes.retry,
    request: InputRequest,
    answer: InputResponse,
    example: { text: "Look at the second order as well." },
  }),
  tokenUrl: command("tokenUrl", {
    id: "readTokenUrl",
    word: "token-url",
    summary: "The one-time address of a wait, at which a sender without credentials can answer it",
    scope: commandScopes.emit,
    request: TokenUrlRequest,
    answer: TokenUrlResponse,
    example: { step_id: "sign" },
    isIdempotent: true,
  }),
};
