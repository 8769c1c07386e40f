/**
 * Writing down what policy said, with all that a later reader needs to put the very same question again.
 *
 * 1.  The question's instant is its turn's; where the answer is noted in a later turn it is written beside it.
 * 2.  A payload that no other event holds is kept with the decision: the outline of a plan that was denied, a person's
 *     edit, masked as policy wants it, unless policy denied it, and what a schema made of params, where policy denied or
 *     transformed it: the plan holds the params alone.
 * 3.  Of a workflow that has ended meanwhile nothing is noted: nothing follows from the answer any more.
 */
import { digest } from "../../../../contract/digest.ts";
import { raise } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { draft, type EventDraft, type EventPayloads } from "../../../../contract/event.ts";
import { instantText } from "../../../../contract/instant.ts";
import type { Json, JsonObject } from "../../../../contract/json.ts";
import type { Message } from "../../../../contract/messages/message.ts";
import { t5 } from "../../../../contract/messages/t5.ts";
import type { ModuleRef } from "../../../../contract/module-ref.ts";
import type { PolicyDecision, PolicyMoment, PolicyStage, PolicySubject } from "../../../../contract/policy.ts";
import { withParent } from "../../../../contract/policy-subject.ts";
import { redact } from "../../../../contract/redact.ts";
import { isTerminal } from "../../../../contract/workflow.ts";
import { toTier } from "./intention.ts";
import type { Run } from "./run.ts";

export interface Asked {
  readonly stage: PolicyStage;
  readonly subject: string;
  readonly step_id: string | null;
  readonly payload: Json;
  /** The payload's digest, where it is known already. */
  readonly hash?: string;
  /** ISO instant the question named. */
  readonly now: string;
  /** The payload stands nowhere else in the ledger; `filled`: unless it is called with as it is; `edit`: a person wrote it. */
  readonly keep?: boolean | "filled" | "edit" | undefined;
  /** At stage gate: whose decision was judged. */
  readonly by?: EventPayloads["POLICY_DECIDED"]["by"];
  /** The moment at which a call that was judged before is judged again. */
  readonly moment?: PolicyMoment;
}

interface Judging<Q, Answer> {
  readonly message: Message<Q, Answer>;
  readonly fn: string;
  /** Returns the question to T5 at this ISO instant. */
  readonly data: (now: string) => Q;
  /** Returns the decision of policy in T5's answer. */
  readonly read: (answer: Answer) => PolicyDecision;
}

/** Puts a question to policy, of one instant for all passes of its scope; the first that hears the answer notes what policy said. */
export function askPolicy<Q, Answer>(
  run: Run,
  asked: Omit<Asked, "now"> & { readonly key: string },
  { message, fn, data, read }: Judging<Q, Answer>,
): { readonly answer: Answer; readonly isNew: boolean; readonly now: string } {
  const { key } = asked;
  const now = run.scopes.keep(`${key}:now`, () => instantText(run.now));
  const heard = run.scopes.hear(key, toTier(message, { fn, data: data(now) }));
  if (heard.answer.error !== null) return raise(heard.answer.error);
  const answer = heard.answer.data;
  if (heard.isNew) noteDecision(run, read(answer), { ...asked, now });
  return { answer, isNew: heard.isNew, now };
}

/** Writes down what policy said, unless the workflow has ended meanwhile. */
export function noteDecision(run: Run, decision: PolicyDecision, asked: Asked): void {
  if (!isTerminal(run.log.record.state)) run.log.note(decisionDraft(run, decision, asked));
}

/** What policy says of a plan or an outcome. */
export function judgeSubject(
  run: Run,
  subject: PolicySubject,
  asked: Pick<Asked, "stage" | "subject" | "step_id" | "keep" | "hash"> & { readonly key: string },
): PolicyDecision {
  const { auth, intent, bundle, parent } = run.log.record;
  const { stage } = asked;
  const judged = withParent(subject, parent);
  const data = (now: string) => ({ stage, subject: judged, auth, intent, context: bundle, now });
  const read = (decision: PolicyDecision): PolicyDecision => decision;
  const { payload } = subject;
  return askPolicy(run, { ...asked, payload }, { message: t5.evaluatePolicy, fn: stage, data, read }).answer;
}

export function decisionDraft(run: Run, decision: PolicyDecision, asked: Asked): EventDraft {
  const { stage, subject, payload, hash = digest(payload), by, step_id, moment } = asked;
  const noted = instantText(run.now);
  const decided: Decided = { ...decision, stage, subject, payload_hash: hash };
  if (by !== undefined) decided.by = by;
  if (moment !== undefined) decided.moment = moment;
  if (isKept(decision, asked)) {
    const kept = (): Json => redact(payload, stage === "plan" ? [] : decision.redactions);
    decided.payload = asked.keep === "edit" ? run.scopes.derive(`edit:kept:${stage}:${hash}`, kept) : kept();
  }
  if (asked.now !== noted) decided.asked_at = asked.now;
  return draft("POLICY_DECIDED", decided, step_id);
}

type Decided = { -readonly [K in keyof EventPayloads["POLICY_DECIDED"]]: EventPayloads["POLICY_DECIDED"][K] };

/** @throws KernelErrorException T5_POLICY_DENIED, or the code of the decision, with the rules that said so. */
export function requireAllowed(decided: PolicyDecision, denied: Denied): void {
  const { decision, code = "T5_POLICY_DENIED", reason, policies } = decided;
  if (decision !== "DENY") return;
  const { otherwise, source, of } = denied;
  raise(kernelError(code, reason || otherwise, source, { detail: { policies, ...of } }));
}

interface Denied {
  /** What is said where the rule gives no reason. */
  readonly otherwise: string;
  readonly source: ModuleRef;
  readonly of?: JsonObject;
}

const isKept = (decision: PolicyDecision, { keep = false, stage }: Asked): boolean =>
  keep === "filled" ? isFilledKept(decision) : keep !== false && mayKeep(decision, stage);

/** What is called with stands in the start of the call, or at its gate; what policy masks stands nowhere. */
const isFilledKept = ({ decision, transform, redactions }: PolicyDecision): boolean =>
  (decision === "DENY" || transform !== null) && redactions.length === 0;

/**
 * A plan that was not denied stands in its own event, and its outline holds no value that anybody gave; an edit may be
 * denied, or replaced, for what it holds.
 */
const mayKeep = ({ decision, transform, redactions }: PolicyDecision, stage: PolicyStage): boolean =>
  stage === "plan" ? decision === "DENY" : decision !== "DENY" && (transform === null || redactions.length === 0);
