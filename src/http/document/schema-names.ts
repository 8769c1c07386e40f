/**
 * The names under which the document of the API tells the schemas of the contract.
 *
 * N1  A schema that has no name here is told where it is used, or by the name of the operation that it belongs to.
 * N2  What is taken and what is given are different schemas: a default may be left out by one and stands in the other.
 */
import type { z } from "zod";
import { CausalChain, Explanation } from "../../contract/explanation.ts";
import { ProblemCause } from "../../contract/http.ts";
import { RpcAnswer, RpcCall } from "../../contract/rpc.ts";
import {
  AssistantDelta,
  AttemptTrace,
  CancelResponse,
  CapabilityView,
  EventPage,
  Gate,
  GateDelegation,
  GatePage,
  GateResponse,
  GateSignature,
  GateSpec,
  GateTally,
  GateVote,
  Intent,
  JobPending,
  JobRequest,
  JobResponse,
  KernelError,
  KernelProgress,
  LedgerEvent,
  ModuleRef,
  OperatorView,
  Outcome,
  OutcomesResponse,
  Plan,
  PlanStep,
  Principal,
  ProblemDetails,
  RequestTrace,
  RetryResponse,
  Signal,
  StepTrace,
  StepView,
  SubmitResponse,
  WorkflowPage,
  WorkflowState,
} from "../../index.ts";
import {
  SaidCancel,
  SaidDelegation,
  SaidGate,
  SaidRetry,
  SaidSubmit,
  SaidSubmitRequest,
  SaidWithdrawal,
} from "../said-body.ts";

type Names = Readonly<Record<string, z.ZodType>>;

export const inputNames: Names = {
  Submission: SaidSubmit,
  SubmitRequest: SaidSubmitRequest,
  JobRequest,
  GateRequest: SaidGate,
  WithdrawalRequest: SaidWithdrawal,
  DelegationRequest: SaidDelegation,
  RetryRequest: SaidRetry,
  CancelRequest: SaidCancel,
  RpcCall,
};

export const outputNames: Names = {
  AssistantDelta,
  AttemptTrace,
  CancelResponse,
  CapabilityView,
  CausalChain,
  EventPage,
  Explanation,
  Gate,
  GateDelegation,
  GatePage,
  GateResponse,
  GateSignature,
  GateSpec,
  GateTally,
  GateVote,
  Intent,
  JobPending,
  JobResponse,
  KernelError,
  KernelProgress,
  LedgerEvent,
  ModuleRef,
  OperatorView,
  Outcome,
  OutcomesResponse,
  Plan,
  PlanStep,
  Principal,
  ProblemCause,
  ProblemDetails,
  RequestTrace,
  RetryResponse,
  RpcAnswer,
  Signal,
  StepTrace,
  StepView,
  SubmitResponse,
  WorkflowPage,
  WorkflowState,
};
