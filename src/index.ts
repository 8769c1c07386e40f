/**
 * Countersign: the public face. Named exports by topic; everything a host needs and nothing that it does not.
 * @module */
export { type ApprovalSigning, signApproval } from "./adapters/jws-signer.ts";
export { guardLogger } from "./adapters/quiet-telemetry.ts";
export { defaultRoles, type Role, roleAuthenticator } from "./adapters/role-authenticator.ts";
export { seededRandom } from "./adapters/seeded-random.ts";
export { type SignatureCheck, verifySignatures } from "./adapters/verify-signatures.ts";
export { wallClock } from "./adapters/wall-clock.ts";
export { ActionRecord, type OperatorResult, Usage } from "./contract/action.ts";
export { type AddedInput, InputRequest, InputResponse } from "./contract/added-input.ts";
export type {
  Admission,
  AdmissionRefusal,
  AdmissionRequest,
  AdmissionState,
  StartedDetail,
} from "./contract/admission.ts";
export { AnswerForm, type FormField } from "./contract/answer-form.ts";
export { type Signing, signingInput } from "./contract/approval-claims.ts";
export { AssistantDelta } from "./contract/assistant-delta.ts";
export { AuditEntry, AuditOutcome } from "./contract/audit.ts";
export { AuthContext, Caller } from "./contract/auth-context.ts";
export { Budgets, createBudgetAccount } from "./contract/budget.ts";
export { BudgetFilter, BudgetPage, ListedBudget } from "./contract/budget-page.ts";
export {
  type CapabilityDefinition,
  CapabilityPackage,
  type ChangedCall,
  type OperatorList,
  type OutcomeSchemas,
  type PlanningSituation,
  type PlanQuestion,
  type PlanTemplate,
} from "./contract/capability.ts";
export { CapabilityView, OperatorView } from "./contract/capability-view.ts";
export { type ChainBreak, type IndexBreak, verifyChain } from "./contract/chain.ts";
export { type Compensated, type Ending, RollbackRequest, RollbackResponse } from "./contract/compensation.ts";
export { Condition } from "./contract/condition.ts";
export { ContextBundle, DocumentRecord, MemoryRecord } from "./contract/context-bundle.ts";
export { Decision, DecisionAct, DecisionFilter, DecisionPage } from "./contract/decision.ts";
export { canonicalJson, digest } from "./contract/digest.ts";
export { DoctorFinding, DoctorQuestion, DoctorReport, EffectDone, Obstacle, Remedy } from "./contract/doctor-report.ts";
export {
  createError,
  ErrorCategory,
  ExecutorError,
  escalate,
  externalError,
  fromExecutorError,
  inputError,
  isKernelError,
  isRetryable,
  KernelError,
  KernelErrorException,
  policyError,
  processingError,
  resourceError,
  Severity,
  toExecutorError,
  wrapError,
} from "./contract/error.ts";
export { type ErrorCode, errorCodes } from "./contract/error-codes.ts";
export type { ErrorCodeRow } from "./contract/error-row.ts";
export { EventType, LedgerEvent } from "./contract/event.ts";
export { eventTypes } from "./contract/events.ts";
export { EvidenceLine } from "./contract/evidence.ts";
export { CausalChain, Explanation } from "./contract/explanation.ts";
export {
  FederatedChange,
  FederatedSyncReport,
  type FederationOptions,
  type FederationPolicy,
} from "./contract/federation.ts";
export { FeedBookmark, FeedGate, FeedItem, FeedWorkflow } from "./contract/feed.ts";
export { ForkOrigin, ForkRequest, ForkResponse } from "./contract/fork.ts";
export {
  DelegationRequest,
  Gate,
  GateEditable,
  GateRequest,
  GateResponse,
  UiAction,
  WithdrawalRequest,
} from "./contract/gate.ts";
export { GateComment, GateConversation, GateNoteRequest } from "./contract/gate-conversation.ts";
export {
  DecisionResult,
  GateDecisions,
  GateDecisionsResponse,
  maxDecisionsAtOnce,
  NamedDecision,
} from "./contract/gate-decisions.ts";
export { GateDoubt } from "./contract/gate-doubt.ts";
export { GateNotice, NoticeKind, noticeKinds, WaitNotice } from "./contract/gate-notice.ts";
export { GateSpec } from "./contract/gate-spec.ts";
export {
  GateDelegation,
  GateSeat,
  GateSignature,
  GateTally,
  GateVote,
  PrincipalRef,
  PublicJwk,
} from "./contract/gate-vote.ts";
export * from "./contract/grant-orders.ts";
export { Halt, HaltFilter, HaltStanding } from "./contract/halt.ts";
export { HaltRequest, HaltResponse, LiftRequest, LiftResponse } from "./contract/halt-orders.ts";
export { HttpSuccess, JobPending, JobRequest, JobResponse, ProblemDetails } from "./contract/http.ts";
// Ids and digests
export { fromUuid, generateId, toUuid } from "./contract/ids.ts";
export { Intent, Principal, Scope, type SubmitOptions, SubmitRequest, SubmitResponse } from "./contract/intent.ts";
export { CutGate, ListedGate } from "./contract/listed-gate.ts";
export { ItemFilter, ItemPage, ListedItem } from "./contract/listed-item.ts";
export {
  ModelEndpoint,
  ModelPrice,
  type ModelRouting,
  type RouteAnswer,
  RouteDecision,
  RouteReason,
  RouteRequest,
} from "./contract/model-route.ts";
export { ModuleRef, moduleRef } from "./contract/module-ref.ts";
export { NoticeTaken } from "./contract/notice-taken.ts";
export {
  type CallEstimate,
  type DelegatedCredential,
  type GatePreview,
  type Operator,
  type OperatorCall,
  type OperatorContext,
  OperatorMetadata,
  type OperatorQuestion,
  type RetrievalProvider,
  SkillMetadata,
} from "./contract/operator.ts";
export { Outcome, OutcomesResponse } from "./contract/outcome.ts";
export { EventPage, GatePage, WorkflowPage } from "./contract/page.ts";
export { PauseRequest, PauseResponse, ResumeRequest, ResumeResponse } from "./contract/pause.ts";
export {
  type AnyStepDraft,
  type ChildTemplateDraft,
  ExecutionPlan,
  Plan,
  PlanStep,
  type PlanStepDraft,
  type StepTemplateDraft,
  type Tolerate,
  type UndoDraft,
} from "./contract/plan.ts";
export {
  type NamedAnswer,
  PolicyDecision,
  PolicyMoment,
  type PolicyQuestion,
  type PolicyRule,
  PolicyStage,
  type PolicySubject,
  type RuleAnswer,
  type RuleReply,
  type RuleSet,
  type SubjectApproval,
} from "./contract/policy.ts";
export { PolicySet } from "./contract/policy-set.ts";
export { type FactFormat, PresentedFact } from "./contract/present.ts";
export { KernelProgress } from "./contract/progress.ts";
export { QueuePolicy, QueueRate, QueueRequest, QueueStanding, QueueTicket } from "./contract/queue.ts";
export type { StoredQueueLimits } from "./contract/queue-limits.ts";
export { QueueLimits, QueueLimitsRequest, QueueLimitsResponse, QueueLimitsSet } from "./contract/queue-limits.ts";
export { ListedQueue, QueueFilter, QueuePage } from "./contract/queue-page.ts";
export { EmitRequest, EmitResponse, type ReceivedEvent } from "./contract/received-event.ts";
export { type MarkedText, type Ref, type Reference, type ReferenceDefault, ref, text } from "./contract/reference.ts";
export type { Replay, ReplayDifference } from "./contract/replay.ts";
export * from "./contract/result.ts";
export { CancelRequest, CancelResponse, RetryRequest, RetryResponse } from "./contract/retry.ts";
export {
  RpcErrorObject,
  RpcErrorResponse,
  RpcMessage,
  RpcNotification,
  RpcRequest,
  RpcSuccess,
} from "./contract/rpc.ts";
export { ScheduleEntry, ScheduleHistory, ScheduleRequest, ScheduleView } from "./contract/schedule.ts";
// Signals, results, errors
export {
  createCommandSignal,
  createDataSignal,
  createErrorSignal,
  createFileSignal,
  createSignal,
  createStreamSignal,
  createTextSignal,
  isSignal,
  Signal,
  SignalKind,
  streamChunk,
  validateSignal,
} from "./contract/signal.ts";
export * from "./contract/stand-in-orders.ts";
export type * from "./contract/standard-schema.ts";
export { StepResult, StepStatus, tracePreview } from "./contract/step.ts";
export { type AskStepDraft, OnReject } from "./contract/step-kinds.ts";
export {
  CapabilityEntry,
  CapabilityHandle,
  CapabilityLimits,
  CapabilityUsage,
  contextHash,
  GovernorLimits,
  GovernorUsage,
  KernelToken,
  ResourceRequest,
  TokenBudget,
  TokenDraft,
  TokenEvent,
  TokenEventKind,
  TokenKind,
  tokenEventKinds,
  tokenEventToJson,
  withCapability,
} from "./contract/token.ts";
export { type SnapshotBreak, TokenCapture, TokenSnapshot, verifySnapshots } from "./contract/token-snapshot.ts";
export { type ToolCallContext, ToolCallRequest, type ToolClient, ToolResult } from "./contract/tool.ts";
export { AttemptTrace, RequestTrace, StepTrace } from "./contract/trace.ts";
export { openTurn, openTurns, type TurnRow } from "./contract/turn.ts";
export { TokenUrlRequest, TokenUrlResponse, WaitAnswer, WaitAnswered } from "./contract/wait-token.ts";
export { WhatIfFinding, WhatIfReport } from "./contract/whatif-report.ts";
export { StepView, WorkflowState } from "./contract/workflow-state.ts";
export { type Listed, WorkflowSummary } from "./contract/workflow-summary.ts";
export { createKernel } from "./create-kernel.ts";
export type { AskBuilder, AskDraft, AskStep } from "./define/ask-step.ts";
export { allOf, anyOf, not, type Tests, when } from "./define/conditions.ts";
export type { CapabilityOptions, PlanMaker } from "./define/define-capability.ts";
export { defineCapability, definePolicy, type PlanBuilders } from "./define/define-capability.ts";
export {
  defineOperator,
  defineTool,
  OperatorError,
  type OperatorErrorOptions,
  type OperatorOptions,
  operatorError,
  type ToolOptions,
} from "./define/define-operator.ts";
export { definePolicySet } from "./define/define-policy-set.ts";
export { describeCapability } from "./define/describe-capability.ts";
export type * from "./define/growing-steps.ts";
export type { CapabilityPresent, FactOptions, PresentOptions } from "./define/present.ts";
export type * from "./define/quiet-steps.ts";
export { settled } from "./define/quiet-steps.ts";
export type { ChildDraft, ChildOutcome, ChildOutput, RunBuilder, RunDraft } from "./define/run-step.ts";
export type {
  CallBuilder,
  CallDraft,
  InputOf,
  OperatorNames,
  OutputOf,
  Param,
  ParamsOf,
  Step,
  StepBuilder,
  StepDraft,
  StepWithOutcome,
  Undo,
} from "./define/step-builder.ts";
export type { BusItem } from "./engine/actors/bus.ts";
export { defaultLimits, type Limits } from "./engine/actors/runtime.ts";
export type * from "./kernel/capability-client.ts";
export { defineHost, type HostOptions } from "./kernel/define-host.ts";
export type {
  AtSequence,
  Channels,
  FeedOptions,
  FeedUpdate,
  Follow,
  GateFilter,
  Kernel,
  Numbered,
  Verification,
  WorkflowFilter,
} from "./kernel/kernel-interface.ts";
export type { KernelTokens } from "./kernel/kernel-tokens.ts";
export { backupLedger, type MovedLedger, moveLedger } from "./kernel/move-ledger.ts";
export type { KernelLedger, KernelOptions } from "./kernel/options.ts";
export type { Policies, WhatIf } from "./kernel/policies.ts";
export { type StateAfter, statesOfRun } from "./kernel/states-of-run.ts";
export type { TenantCalls } from "./kernel/tenant-calls.ts";
export { type ExportOptions, verifyEvidence } from "./kernel/verify-export.ts";
// Ports
export type { ArtifactStore } from "./ports/artifact-store.ts";
export type { Authenticator } from "./ports/authenticator.ts";
export type { Clock } from "./ports/clock.ts";
export type * from "./ports/decision-index.ts";
export type { Delivery, DeliveryCounts, DeliveryStore } from "./ports/delivery-store.ts";
export type { GatePageFilter, GatePlace, GateSelection, GateWork } from "./ports/gate-page.ts";
export type { GrantChanges, GrantIndex } from "./ports/grant-index.ts";
export type { Host, HostWork, Rested } from "./ports/host.ts";
export type {
  Append,
  AppendReceipt,
  HeadFilter,
  HeadPage,
  HeadSearch,
  HeadSelection,
  HeadsFound,
  Lease,
  LedgerLag,
  LedgerStore,
  ListedHead,
  MemoryQuery,
  PositionedRow,
  StoredIndexes,
  StoredMemory,
  WorkflowHead,
} from "./ports/ledger-store.ts";
export type { Middleware, SkillExecutionContext } from "./ports/middleware.ts";
export type { NoticeCall, Notifier } from "./ports/notifier.ts";
export type { Classifier, Scorers, Security, Verdict } from "./ports/perception.ts";
export type { Planner, PlannerAnswer } from "./ports/planner.ts";
export type { PushRecord, PushStore } from "./ports/push-store.ts";
export type { LineCount, LinePage, QueueEntry, QueueIndex, QueueMember, QueuePlace } from "./ports/queue-index.ts";
export type { Random } from "./ports/random.ts";
export type { SamePerson } from "./ports/same-person.ts";
export type { SessionRecord, SessionStore } from "./ports/session-store.ts";
export type { ApproverKeys, SignatureVerifier } from "./ports/signature-verifier.ts";
export type { StandInChanges, StandInIndex, StandInPageQuery } from "./ports/stand-in-index.ts";
export type { Commit, Logger, Telemetry } from "./ports/telemetry.ts";
export type * from "./ports/wait-store.ts";
export {
  createErrorResponse,
  createNotification,
  createRequest,
  createSuccessResponse,
  ErrorResponseException,
  fromEnvelope,
  matchResponseToRequest,
  toEnvelope,
  tryValidateMessageEnvelope,
  validateMessageEnvelope,
} from "./protocol/envelope.ts";
export { errorToJsonrpcError } from "./protocol/error-to-jsonrpc-error.ts";
export { errorToProblemDetails } from "./protocol/error-to-problem-details.ts";
export { httpRequestToSignal } from "./protocol/http-request-to-signal.ts";
export { resultToHttpResponse } from "./protocol/result-to-http-response.ts";
export { signalToNotification } from "./protocol/signal-to-notification.ts";
// Bridges and the envelope
export { signalToToolCall, trySignalToToolCall } from "./protocol/signal-to-tool-call.ts";
export { toolResultToSignal } from "./protocol/tool-result-to-signal.ts";
export { replayRows } from "./replay/replay.ts";
// Pure pieces, usable alone
export { type DAGResult, DagExecutor, parked } from "./standalone/dag-executor.ts";
export {
  createFederatedMemory,
  type FederatedMemory,
  type FederatedMemoryOptions,
} from "./standalone/federated-memory.ts";
export {
  DataPayload,
  dataPayloadToBody,
  FileReference,
  fileReferenceToBody,
  jsonrpcRequestToSignal,
  NodeOutput,
  nodeOutputToResult,
  signalToJsonrpcRequest,
  ToolOutput,
  toLogView,
  toolOutputToSignals,
} from "./standalone/legacy.ts";
export {
  createReviewPipeline,
  type ReviewPipeline,
  type ReviewPipelineOptions,
} from "./standalone/review-pipeline.ts";
// The token kernel
export type { TokenContext } from "./standalone/token-kernel/context.ts";
export type { Processed } from "./standalone/token-kernel/core.ts";
export { createTokenKernel, type TokenKernel } from "./standalone/token-kernel/create-token-kernel.ts";
export {
  type Answered,
  type ExecutionStatus,
  type TokenExecutor,
  TokenKernelLimits,
  type TokenKernelOptions,
} from "./standalone/token-kernel/options.ts";
export {
  parseTokenEvents,
  replayTokens,
  type TokenReplay,
  type TokenReplayDifference,
  type TokenReplayOptions,
} from "./standalone/token-kernel/replay-tokens.ts";
export type { RunSummary } from "./standalone/token-kernel/stream.ts";
export { resolveTemplates } from "./tiers/t4-execution/decide/payload/resolve-templates.ts";
export { admitToken } from "./tiers/t5-ego/admission/admit-token.ts";
export { evaluatePolicies } from "./tiers/t5-ego/policy/evaluate-policies.ts";
export { type CapabilitySpend, foldTokenSpend, type TokenSpend } from "./tiers/t6-metacognition/fold-token-spend.ts";
export type * from "./tiers/t6-metacognition/verify-evidence.ts";
export { createModelRouter, type ModelRouter } from "./tiers/t7-orchestration/route-model.ts";
