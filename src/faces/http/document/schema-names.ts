/**
 * The names of schemas in the document of the API: a record has the name that the public face exports it under.
 *
 * 1.  A schema without a name here is described where it is used, or by the name of the operation that it belongs to.
 * 2.  A request and an answer are different schemas: a default may be absent from one and is present in the other.
 */
import { z } from "zod";
import { ProblemCause } from "../../../contract/http.ts";
import { RpcAnswer, RpcCall } from "../../../contract/rpc.ts";
import * as publicFace from "../../../index.ts";
import { commandBodies, SubmitBody, SubmitRequestBody } from "../command-bodies.ts";

type Names = Readonly<Record<string, z.ZodType>>;

export const inputNames: Names = {
  Submission: SubmitBody,
  SubmitRequest: SubmitRequestBody,
  JobRequest: publicFace.JobRequest,
  GateRequest: commandBodies.decideGate,
  GateDecisions: commandBodies.decideGates,
  WithdrawalRequest: commandBodies.withdrawVote,
  DelegationRequest: commandBodies.delegateGate,
  GateNoteRequest: commandBodies.noteGate,
  RetryRequest: commandBodies.retry,
  CancelRequest: commandBodies.cancel,
  ForkRequest: commandBodies.fork,
  RollbackRequest: commandBodies.rollback,
  PauseRequest: commandBodies.pause,
  ResumeRequest: commandBodies.resume,
  InputRequest: commandBodies.addInput,
  TokenUrlRequest: commandBodies.tokenUrl,
  ScheduleRequest: commandBodies.setSchedule,
  SchedulePause: commandBodies.pauseSchedule,
  ScheduleBackfill: commandBodies.backfillSchedule,
  HaltRequest: commandBodies.halt,
  LiftRequest: commandBodies.lift,
  GrantRequest: commandBodies.grant,
  RevokeGrantRequest: commandBodies.revokeGrant,
  StandInRequest: commandBodies.standIn,
  EndStandInRequest: commandBodies.endStandIn,
  RpcCall,
};

const isRecord = (entry: readonly [string, unknown]): entry is readonly [string, z.ZodType] =>
  entry[1] instanceof z.ZodType && !Object.hasOwn(inputNames, entry[0]);

export const outputNames: Names = {
  ...Object.fromEntries(Object.entries(publicFace).filter(isRecord)),
  ProblemCause,
  RpcAnswer,
};
