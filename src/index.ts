/**
 * Countersign: the public face. Named exports by topic; everything a host needs and nothing that it does not.
 */
// The kernel

export { defaultRoles, type Role, roleAuthenticator } from "./adapters/role-authenticator.ts";
export { seededRandom } from "./adapters/seeded-random.ts";
// Records
export { ActionRecord, type OperatorResult, Usage } from "./contract/action.ts";
export { AuthContext, Caller } from "./contract/auth-context.ts";
export { Budgets, createBudgetAccount } from "./contract/budget.ts";
export { type CapabilityDefinition, CapabilityPackage } from "./contract/capability.ts";
export { ContextBundle, DocumentRecord, MemoryRecord } from "./contract/context-bundle.ts";
export { canonicalJson, digest } from "./contract/digest.ts";
export {
  createError,
  ErrorCategory,
  ExecutorError,
  escalate,
  externalError,
  fromExecutorError,
  inputError,
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
export { EventType, eventTypes, LedgerEvent } from "./contract/event.ts";
export { Gate, GateRequest, GateResponse, GateSpec, UiAction } from "./contract/gate.ts";
export { HttpSuccess, JobRequest, JobResponse, ProblemDetails } from "./contract/http.ts";
// Ids and digests
export { fromUuid, generateId, toUuid } from "./contract/ids.ts";
export { Intent, Principal, Scope, SubmitRequest, SubmitResponse } from "./contract/intent.ts";
export { ModuleRef, moduleRef } from "./contract/module-ref.ts";
export {
  type Operator,
  type OperatorCall,
  type OperatorContext,
  OperatorMetadata,
  SkillMetadata,
} from "./contract/operator.ts";
export { Outcome, OutcomesResponse } from "./contract/outcome.ts";
export { ExecutionPlan, Plan, PlanStep } from "./contract/plan.ts";
export { PolicyDecision, type PolicyQuestion, type PolicyRule, PolicyStage } from "./contract/policy.ts";
export { KernelProgress } from "./contract/progress.ts";
export type { Replay, ReplayDifference } from "./contract/replay.ts";
export {
  fail,
  Metrics,
  metricsOf,
  ok,
  partial,
  Result,
  ResultStatus,
  skip,
  validateResult,
} from "./contract/result.ts";
export { CancelRequest, CancelResponse, RetryRequest, RetryResponse } from "./contract/retry.ts";
export {
  RpcErrorObject,
  RpcErrorResponse,
  RpcMessage,
  RpcNotification,
  RpcRequest,
  RpcSuccess,
} from "./contract/rpc.ts";
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
export { StepResult, StepStatus, tracePreview } from "./contract/step.ts";
export { ToolCallRequest, type ToolClient, ToolResult } from "./contract/tool.ts";
export { AttemptTrace, RequestTrace, StepTrace } from "./contract/trace.ts";
export { type ChainBreak, openTurn, type TurnRow, verifyChain } from "./contract/turn.ts";
export type { StepView, WorkflowState } from "./contract/workflow.ts";
// Defining packages
export { defineCapability, definePolicy } from "./define/define-capability.ts";
export { defineOperator, defineTool, OperatorError, operatorError } from "./define/define-operator.ts";
export { createKernel } from "./kernel.ts";
export type { Follow, GateFilter, Kernel, Verification, WorkflowFilter } from "./kernel-face.ts";
export type { KernelOptions } from "./kernel-options.ts";
export { replayRows } from "./kernel-replay.ts";
export type { Authenticator } from "./ports/authenticator.ts";
// Ports
export type { Clock } from "./ports/clock.ts";
export type { LedgerStore } from "./ports/ledger-store.ts";
export type { Middleware, SkillExecutionContext } from "./ports/middleware.ts";
export type { Classifier, Scorers, Security } from "./ports/perception.ts";
export type { Planner } from "./ports/planner.ts";
export type { Logger, Telemetry } from "./ports/telemetry.ts";
export {
  createErrorResponse,
  createNotification,
  createRequest,
  createSuccessResponse,
  ErrorResponseException,
  fromEnvelope,
  matchResponseToRequest,
  toEnvelope,
  validateMessageEnvelope,
} from "./protocol/envelope.ts";
export { errorToJsonrpcError } from "./protocol/error-to-jsonrpc-error.ts";
export { errorToProblemDetails } from "./protocol/error-to-problem-details.ts";
export { httpRequestToSignal } from "./protocol/http-request-to-signal.ts";
export { resultToHttpResponse } from "./protocol/result-to-http-response.ts";
export { signalToNotification } from "./protocol/signal-to-notification.ts";
// Bridges and the envelope
export { signalToToolCall } from "./protocol/signal-to-tool-call.ts";
export { toolResultToSignal } from "./protocol/tool-result-to-signal.ts";
export { defaultLimits, type Limits } from "./runtime/kit.ts";
// Pure pieces, usable alone
export { type DAGResult, DagExecutor, parked } from "./tiers/t4-execution/dag-executor.ts";
export { resolveTemplates } from "./tiers/t4-execution/resolve-templates.ts";
export { evaluatePolicies } from "./tiers/t5-ego/policy/evaluate-policies.ts";
export type { Explanation } from "./tiers/t6-metacognition/explain.ts";
export type { AssistantDelta } from "./tiers/t6-metacognition/project-progress.ts";
