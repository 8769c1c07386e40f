/**
 * Puts the questions of a turn: to tiers as Signals over the bus, to the host's code within a time limit. An immediate
 * answer belongs to the same turn.
 *
 * Never: decides, appends. A question has no effect outside.
 */
import { z } from "zod";
import { Basis } from "../../../contract/basis.ts";
import { type KernelError, raise } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { type Json, toJson, usualDepth } from "../../../contract/json.ts";
import { follow, isPromise } from "../../../contract/maybe-promise.ts";
import { CallEstimate, type Operator, type OperatorMetadata } from "../../../contract/operator.ts";
import { type Presented, readPresented } from "../../../contract/present.ts";
import type { Result } from "../../../contract/result.ts";
import { readStably, readWith } from "../../../contract/schema-reading.ts";
import type { Runtime } from "../../../engine/actors/runtime.ts";
import { messageOf } from "../../../engine/actors/within.ts";
import { isKnownSpent } from "../decide/call/answer-key.ts";
import { readThrown } from "../decide/call/read-thrown.ts";
import { findKnownOperator } from "../decide/payload/prepare-step.ts";
import { type Answered, answered, failed } from "../decide/run/input.ts";
import type { HostQuestion, HostQuestions, Question, TierQuestion, TypedQuestion } from "../decide/run/intention.ts";
import { operatorContext } from "../decide/run/operator-context.ts";
import { oodaRef, stepOf } from "../decide/run/run.ts";
import { replaceOthers } from "./replace-others.ts";
import { screenOutput } from "./screen-output.ts";
import { type Asking, callHost } from "./services.ts";
import { takeInFlightPlace } from "./take-in-flight-place.ts";

/** Puts a question and returns its answer with the declared shape. */
export const ask = <Answer>(
  { question }: TypedQuestion<Answer>,
  at: Asking,
): Answered<Answer> | Promise<Answered<Answer>> =>
  putQuestion(question, at) as Answered<Answer> | Promise<Answered<Answer>>;

export function putQuestion(question: Question, at: Asking): Answered | Promise<Answered> {
  switch (question.ask) {
    case "data":
    case "text":
    case "error":
      return askTier(question, at);
    default:
      return collect(() => askHost(question, at));
  }
}

/** Runs host code and returns its result, or the error that it threw, as an answer. */
function collect(work: () => unknown): Answered | Promise<Answered> {
  const threw = (thrown: unknown): Answered => failed(readThrown(thrown));
  try {
    const answer = work();
    return isPromise(answer) ? answer.then(answered, threw) : answered(answer);
  } catch (thrown) {
    return threw(thrown);
  }
}

// --- tiers ---

function askTier(question: TierQuestion, at: Asking): Answered | Promise<Answered> {
  const answer = at.runtime.askNow(question.to, signalOf(question, at));
  return follow(answer, (result) => readResult(result, question.ask === "data", at.runtime));
}

function signalOf(question: TierQuestion, { runtime: { signals }, run, parentId }: Asking) {
  const { correlation_id } = run.log.identity;
  const ref = oodaRef(question.fn);
  const from = { parentId };
  if (question.ask === "data")
    return signals.createDataSignal(question.data, question.schema, ref, correlation_id, null, from);
  if (question.ask === "text") return signals.createTextSignal(question.text, ref, correlation_id, question.tags, from);
  return signals.createErrorSignal(question.error, ref, correlation_id, from);
}

/**
 * Reads a tier's result as an answer. A question with data needs data; for any other the Signal's body is the answer,
 * and an error is a warning beside it.
 */
function readResult({ status, error, signals }: Result, wantsData: boolean, { logger }: Runtime): Answered {
  const [signal] = signals;
  if (!wantsData) return { error, data: signal?.body ?? null, tags: signal?.tags ?? {} };
  if (status === "error") return failed(error ?? noData());
  if (status === "partial" && error !== null) logger.warn({ error }, "partial answer");
  if (signal?.kind !== "data") return failed(noData());
  return { error: null, data: signal.body["data"], tags: signal.tags };
}

const noData = (): KernelError =>
  kernelError("T0_VALIDATION_SCHEMA_MISMATCH", "the answer carries no data", oodaRef("consume"));

// --- hosts ---

type HostAnswers = {
  readonly [Name in keyof HostQuestions]: (
    of: HostQuestions[Name]["of"],
    at: Asking,
  ) => HostQuestions[Name]["answer"] | Promise<HostQuestions[Name]["answer"]>;
};

/** Drops the answer of host code whose failure alone matters, so that no row keeps it. */
const drop = (given: unknown): null | Promise<null> => follow(given, () => null);

/** The functions that answer the questions to host code or to the kernel, one for each. */
const hostAnswers: HostAnswers = {
  initialize: (_of, { services }) => services.ensureInitialized(),
  check: ({ payload }, at) =>
    callHost(at, {
      fn: "prepare_step",
      what: "security.validateParams",
      call: () => at.services.security.validateParams(payload),
    }),
  parse: (of, at) => readStably(findParser(at, of).input, of.params),
  parse_result: (of, at) => readWith(findParser(at, of).output, of.result),
  check_outcome: (of, at) => checkOutcome(at, of),
  estimate: (of, at) => estimateCall(at, of),
  derive: ({ make }) => make(),
  screen: ({ result }, at) => screenOutput(at, result, ""),
  check_call: (of, at) => drop(askOperator(at, of, "check")),
  show: (of, at) => follow(askOperator(at, of, "preview"), (given) => ShownCall.parse(takeShown(at, given))),
  present: (of, at) => presentCall(at, of),
  hook: (of, at) => drop(callHook(at, of)),
  saved: (_of, at) => at.saved(),
  shared_key: ({ key }, at) => at.services.findSharedKey(sharing(at, key)),
  find_event: (of, at) => at.services.findEvent({ ...of, tenant_id: at.run.log.record.tenant_id }),
  draft: ({ workflow_id, step_id }, { services }) => services.findDraft(workflow_id, step_id),
  begin_child: (of, at) => at.services.children.begin(at, of),
  order_children: (of, at) => at.services.children.orderAll(at, of),
  note_fork: (_of, at) => drop(at.services.children.noteFork(at)),
  roll_back_child: (of, at) => drop(at.services.children.rollBack(at, of)),
  find_child: ({ step_id }, at) => at.services.children.find(at, step_id),
  child_end: ({ child }, { services }) => services.children.endOf(child),
  queue_place: (_of, { run, services }) => services.queuePlace(run.log.record),
  in_flight_place: (_of, at) => drop(takeInFlightPlace(at)),
  replace_others: (_of, at) => replaceOthers(at),
  has_no_parent: (_of, { run, services }) =>
    run.log.record.parent === null ? false : services.children.hasNoParent(run.log.record.parent),
};

const askHost = ({ ask: name, ...of }: HostQuestion, at: Asking): unknown => hostAnswers[name](of as never, at);

/** Returns an operator that deciding has found registered. */
const findParser = ({ run }: Asking, { name, version }: Pick<OperatorMetadata, "name" | "version">): Operator =>
  run.settings.registry.findOperator(name, version) as Operator;

/** Returns the reason for which a schema refuses an outcome, or the error that it throws; null if it accepts it. */
function checkOutcome(
  { run }: Asking,
  { intent, version, type, content }: HostQuestions["check_outcome"]["of"],
): string | null {
  const schema = run.settings.registry.getCapability(intent, version).outcomes[type];
  try {
    const parsed = schema?.safeParse(content);
    return parsed === undefined || parsed.success ? null : z.prettifyError(parsed.error);
  } catch (thrown) {
    return messageOf(thrown);
  }
}

/** Asks an operator what a call uses at most; null if it does not estimate that. */
function estimateCall(at: Asking, of: HostQuestions["estimate"]["of"]): CallEstimate | null {
  const { estimate } = findParser(at, of);
  if (estimate == null) return null;
  const call = (): CallEstimate => CallEstimate.parse(estimate(toJson(of.payload) as never));
  return callHost(at, { fn: "estimate", what: `the estimate of ${of.name}`, call }) as CallEstimate;
}

/** Asks an operator how it presents a call to people. @throws KernelErrorException if it gives nothing of the kind. */
function presentCall(at: Asking, of: HostQuestions["present"]["of"]): Presented {
  const { present } = findParser(at, of);
  const call = (): Presented => readPresented(present?.(toJson(of.payload) as never));
  return callHost(at, { fn: "present", what: `the presentation of ${of.name}`, call }) as Presented;
}

function sharing({ run }: Asking, key: string) {
  const { tenant_id, workflow_id, regenerated_from } = run.log.record;
  const knows = (actionId: string): boolean => isKnownSpent(run, actionId);
  return { tenant_id, key, workflow_id, regenerated_from, knows };
}

const ShownCall = z.object({
  preview: z.string(),
  diff: z.string().nullable().default(null),
  basis: Basis.default([]),
});

const takeShown = ({ runtime }: Asking, given: unknown): Json =>
  toJson(given, usualDepth, runtime.limits.maxOutputChars);

/** Asks an operator for its check or its preview. An operator error that it throws keeps its meaning. */
function askOperator(
  at: Asking,
  { step_id, payload }: { readonly step_id: string; readonly payload: Json },
  about: "check" | "preview",
): unknown {
  const { step } = stepOf(at.run, step_id);
  const operator = findKnownOperator(at.run, step);
  const question = operator?.[about];
  if (operator === null || question == null) return null;
  const context = operatorContext(at.run, step, operator);
  const call = (): unknown =>
    keepMeant(() => question({ input: toJson(payload) as never, context, signal: at.signal }));
  return callHost(at, { fn: "preview", what: `the ${about} of ${step.operator}`, call });
}

function callHook(at: Asking, { name, phase, step_id }: HostQuestions["hook"]["of"]): unknown {
  const middleware = at.run.settings.middleware.find((one) => one.name === name);
  const context = at.run.contexts.get(step_id);
  if (middleware === undefined || context === undefined) return null;
  const call = (): unknown => keepMeant(() => middleware[phase]?.(context));
  return callHost(at, { fn: "middleware", what: `middleware ${name}`, call });
}

/**
 * Keeps the errors that a host's function throws with intent, such as an operator error; any other error counts as its
 * own failure.
 */
function keepMeant(call: () => unknown): unknown {
  const rethrow = (thrown: unknown): never => {
    const error = readThrown(thrown);
    if (error.detail["unstructured"] === true) throw thrown;
    return raise(error);
  };
  try {
    const answer = call();
    return isPromise(answer) ? Promise.resolve(answer).catch(rethrow) : answer;
  } catch (thrown) {
    return rethrow(thrown);
  }
}
