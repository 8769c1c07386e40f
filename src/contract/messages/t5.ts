/** The messages that T5, ego, answers. */
import type { InputResponse } from "../added-input.ts";
import type { Signing } from "../approval-claims.ts";
import type { AuthContext, Caller } from "../auth-context.ts";
import type { BoundReservation, Charge } from "../budget.ts";
import type { ParentLink } from "../child.ts";
import type { RollbackResponse } from "../compensation.ts";
import type { ContextBundle } from "../context-bundle.ts";
import type { KernelError } from "../error.ts";
import type { FederatedSyncReport, SyncRequest } from "../federation.ts";
import type { Gate, GateResponse, ParsedDelegationRequest, ParsedGateRequest, WithdrawalRequest } from "../gate.ts";
import type { ParsedGateNote } from "../gate-conversation.ts";
import type { GateSignature, PrincipalRef } from "../gate-vote.ts";
import type { GrantUse } from "../grant-use.ts";
import type { Intake } from "../intake.ts";
import type { Intent, Principal, Scope } from "../intent.ts";
import type { Json } from "../json.ts";
import type { OperatorMetadata } from "../operator.ts";
import type { PauseResponse, ResumeResponse } from "../pause.ts";
import type { PlanStep } from "../plan.ts";
import type { PolicyDecision, PolicyQuestion, PolicySubject, SubjectApproval } from "../policy.ts";
import type { CancelResponse, RetryResponse } from "../retry.ts";
import type { CapabilityUsage, ResourceRequest, TokenBudget } from "../token.ts";
import { messagesOf } from "./message.ts";
import type { JudgedChanges } from "./t2.ts";

const { data, relay, relayCommand } = messagesOf(5);

export interface AuthorizeQuestion {
  readonly principal: Principal;
  readonly tenant_id: string | number;
  readonly intent_hint: string | null;
  readonly scope: Scope | null;
  /** The scope that the operation needs. */
  readonly needs: string;
}

/** A caller's request about a workflow. */
export interface WorkflowRequest<Request = object> {
  readonly workflow_id: string;
  readonly request: Request & { readonly tenant_id: string | number; readonly principal: Principal };
}

/** A token as its executor asks for it, with the amounts that its workflow has used so far. */
export interface WorkQuestion {
  readonly token_id: number;
  /** The registered name that the work counts for. */
  readonly name: string;
  readonly cost: number;
  readonly budget: TokenBudget;
  readonly resources: ResourceRequest;
  readonly used: { readonly capability: CapabilityUsage; readonly resources: ResourceRequest };
}

/** The owner of a charge. */
export interface ChargedTo {
  readonly tenant_id: string | number;
  readonly principal: string | number;
  readonly workflow: string;
  /** The workflows above it, whose budgets count the charge as well. */
  readonly above: readonly string[];
  readonly operator: string;
  /** Epoch ms. */
  readonly at: number;
}

/** The token of a call that is about to be made. */
export interface CallQuestion extends WorkQuestion {
  /** Names the amounts that are set aside. */
  readonly hold: string;
  readonly who: ChargedTo;
  readonly amounts: Charge;
}

export interface AdmissionAnswer {
  /** Whether no ceiling concerns the work. */
  readonly unlimited: boolean;
  /** The amounts that were set aside. */
  readonly reservation: BoundReservation | null;
}

export interface PlanningBudgetQuestion {
  readonly spent: number;
  readonly work: WorkQuestion;
}

export interface StepQuestion {
  readonly step: PlanStep;
  readonly metadata: OperatorMetadata;
  readonly payload: Json;
  /** The redactions of the standing decision on the step: the payload may be the result of that one. */
  readonly redacted: readonly string[];
  readonly auth: AuthContext;
  readonly intent: Intent;
  readonly bundle: ContextBundle | null;
  readonly parent: ParentLink | null;
  /** The approvals that stand on the payload. */
  readonly approvals: readonly SubjectApproval[];
  readonly spent: number;
  readonly work: WorkQuestion;
  /** ISO instant. */
  readonly now: string;
}

/** Policy, authority and budget of a step in one answer. */
export interface StepAnswer extends AdmissionAnswer {
  readonly decision: PolicyDecision;
  /**
   * Whether the call would be admitted now. A call that would not be is admitted or refused when it is about to begin.
   */
  readonly fits: boolean;
}

/** A call that a gate shows, and its principal: the subject of rules of stage action. */
export interface ShownCall {
  readonly subject: PolicySubject;
  /** The requesting principal, with their rights. */
  readonly auth: AuthContext;
  readonly intent: Intent;
  readonly context: ContextBundle | null;
  /** ISO instant. */
  readonly now: string;
  readonly spent: number;
  /** The redactions of the standing decision on the step: the payload is the result of that one. */
  readonly redacted: readonly string[];
}

interface AtGate {
  readonly gate: Gate;
  readonly principal: Principal;
  readonly auth: AuthContext;
  readonly intent: Intent;
  readonly context: ContextBundle | null;
  /** ISO instant. */
  readonly now: string;
  readonly spent: number;
}

export interface DecisionQuestion extends AtGate, Signing {
  readonly principal: Principal;
  readonly signature: string | null;
  /** The decision comes with a new version of the payload. */
  readonly edits: boolean;
  /** The call that an approval lets begin; null if policy has judged it at this instant, or if none would begin. */
  readonly call: ShownCall | null;
}

export type DelegationQuestion = AtGate & Pick<ParsedDelegationRequest, "to" | "expires_at">;

/** A seat at a gate: whether the vote is advice, and whose seat it takes if that is not the voter's own. */
export interface Seat {
  readonly advisory: boolean;
  readonly on_behalf_of: PrincipalRef | null;
  /** The role for whose part of the quorum the vote counts; absent at a gate without parts. */
  readonly part?: string;
  /** The number of the stage that the gate was in; absent at a gate without stages, and of advice. */
  readonly stage?: number;
  /** The order by which the voter stands in for the owner of the seat; absent if none was needed. */
  readonly stand_in?: string;
}

/** Whether a grant approves the call of a gate ahead. */
export interface GrantQuestion {
  readonly gate: Gate;
  /** The package of the work, as type@version. */
  readonly capability: string;
  /** The ISO instant of the question. */
  readonly now: string;
}

/** The grant that does, with its limits and what was used of it; null if none does. */
export interface GrantFound {
  readonly grant: {
    readonly grant_id: string;
    readonly by: Principal;
    readonly auth: AuthContext;
    readonly given_at: string;
    readonly within: GrantUse["within"];
    readonly charged: Charge;
  } | null;
}

/** The judgement of a decision: policy on the decision and on the call, seat and signature. */
export interface JudgedDecision {
  readonly policy: PolicyDecision;
  /** Null where the question names no call, and for advice. */
  readonly call: PolicyDecision | null;
  readonly seat: Seat;
  readonly signature: GateSignature | null;
}

const lifecycle = (fn: string, next: 4 | 7) => ({ module: "lifecycle", function: fn, next }) as const;
const judging = { module: "ego", function: "judge_gate" } as const;

export const t5 = {
  authorize: data<AuthorizeQuestion, AuthContext>("Authorize", "AuthContext", {
    module: "identity",
    function: "authorize",
  }),
  judgeChanges: data<SyncRequest & { readonly caller: Caller | null }, JudgedChanges, FederatedSyncReport>(
    "MemorySync",
    "JudgedChanges",
    {
      module: "identity",
      function: "judge_changes",
      next: 2,
    },
  ),
  activate: relayCommand<{ readonly intake?: Pick<Intake, "auth" | "intent"> }>("activate", {
    module: "ego",
    function: "admit",
    next: 4,
  }),
  decideGate: relay<WorkflowRequest<ParsedGateRequest>, GateResponse>("GateRequest", lifecycle("decide", 4)),
  withdrawVote: relay<WorkflowRequest<WithdrawalRequest>, GateResponse>("WithdrawalRequest", lifecycle("withdraw", 4)),
  delegateGate: relay<WorkflowRequest<ParsedDelegationRequest>, GateResponse>(
    "DelegationRequest",
    lifecycle("delegate", 4),
  ),
  noteGate: relay<WorkflowRequest<ParsedGateNote>, GateResponse>("GateNoteRequest", lifecycle("note", 4)),
  retry: relay<WorkflowRequest, RetryResponse>("RetryRequest", lifecycle("retry", 7)),
  cancel: relay<WorkflowRequest, CancelResponse>("CancelRequest", lifecycle("cancel", 7)),
  rollback: relay<WorkflowRequest, RollbackResponse>("RollbackRequest", lifecycle("rollback", 4)),
  pause: relay<WorkflowRequest, PauseResponse>("PauseRequest", lifecycle("pause", 4)),
  resume: relay<WorkflowRequest, ResumeResponse>("ResumeRequest", lifecycle("resume", 4)),
  addInput: relay<WorkflowRequest, InputResponse>("InputRequest", lifecycle("add_input", 4)),
  checkPlanningBudget: data<PlanningBudgetQuestion, { readonly left: number | null }>("BudgetCheck", "BudgetLeft", {
    module: "budget",
    function: "check_budget",
  }),
  admitStep: data<StepQuestion, StepAnswer>("StepQuestion", "StepAnswer", { module: "policy", function: "evaluate" }),
  admitCall: data<CallQuestion, AdmissionAnswer>("CallQuestion", "CallAdmission", {
    module: "admission",
    function: "admit",
  }),
  releaseHold: relay<{ readonly hold: string }>("HoldRelease", { module: "admission", function: "release" }),
  evaluatePolicy: data<PolicyQuestion, PolicyDecision>("PolicyQuestion", "PolicyDecision", {
    module: "policy",
    function: "evaluate",
  }),
  judgeCall: data<ShownCall, PolicyDecision>("ShownCall", "PolicyDecision", { module: "policy", function: "evaluate" }),
  judgeDecision: data<DecisionQuestion, JudgedDecision>("GateJudgement", "GateJudged", judging),
  judgeDelegation: data<DelegationQuestion, Pick<JudgedDecision, "policy">>(
    "DelegationJudgement",
    "GateJudged",
    judging,
  ),
  findGrant: data<GrantQuestion, GrantFound>("GrantQuestion", "GrantFound", {
    module: "ego",
    function: "find_grant",
  }),
  escalate: relay<KernelError>("KernelError", { module: "ego", function: "escalate", next: 6 }),
};
