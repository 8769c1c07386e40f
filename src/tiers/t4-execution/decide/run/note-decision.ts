/**
 * The recording of a policy decision, with all that a later reader needs to put the same question again.
 *
 * 1.  The instant of the question is that of its turn; if the answer is recorded in a later turn, the event names the
 *     instant.
 * 2.  A payload that no other event holds is kept with the decision: the outline of a denied plan; a person's edit,
 *     masked as policy demands, unless policy denied it; and the value that a schema made of params, if policy denied
 *     or transformed it, since the plan holds only the params.
 * 3.  No decision is recorded for a workflow that has ended meanwhile, because nothing follows from it.
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

export interface PolicyAsk {
  readonly stage: PolicyStage;
  readonly subject: string;
  readonly step_id: string | null;
  readonly payload: Json;
  /** The digest of the payload, if it is known already. */
  readonly hash?: string;
  /** The instant of the question, as an ISO text. */
  readonly now: string;
  /**
   * Whether the payload is kept because no other event holds it. `filled`: it is kept unless the call receives it
   * unchanged. `edit`: a person wrote it.
   */
  readonly keep?: boolean | "filled" | "edit" | undefined;
  /** The person whose decision was judged, at stage gate. */
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

/**
 * Puts a question to policy, with one instant for all passes of its scope. The first pass that reads the answer appends
 * the decision.
 */
export function askPolicy<Q, Answer>(
  run: Run,
  asked: Omit<PolicyAsk, "now"> & { readonly key: string },
  { message, fn, data, read }: Judging<Q, Answer>,
): { readonly answer: Answer; readonly isNew: boolean; readonly now: string } {
  const { key } = asked;
  const now = run.scopes.keep(`${key}:now`, () => instantText(run.now));
  const received = run.scopes.ask(key, toTier(message, { fn, data: data(now) }));
  if (received.answer.error !== null) return raise(received.answer.error);
  const answer = received.answer.data;
  if (received.isNew) noteDecision(run, read(answer), { ...asked, now });
  return { answer, isNew: received.isNew, now };
}

/** Appends the decision of policy, unless the workflow has ended meanwhile. */
export function noteDecision(run: Run, decision: PolicyDecision, asked: PolicyAsk): void {
  if (!isTerminal(run.log.record.state)) run.log.note(decisionDraft(run, decision, asked));
}

/** Asks policy about a plan or an outcome and returns its decision. */
export function judgeSubject(
  run: Run,
  subject: PolicySubject,
  asked: Pick<PolicyAsk, "stage" | "subject" | "step_id" | "keep" | "hash"> & { readonly key: string },
): PolicyDecision {
  const { auth, intent, bundle, parent, spent } = run.log.record;
  const { stage } = asked;
  const judged = withParent(subject, parent);
  const data = (now: string) => ({ stage, subject: judged, auth, intent, context: bundle, now, spent });
  const read = (decision: PolicyDecision): PolicyDecision => decision;
  const { payload } = subject;
  return askPolicy(run, { ...asked, payload }, { message: t5.evaluatePolicy, fn: stage, data, read }).answer;
}

export function decisionDraft(run: Run, decision: PolicyDecision, asked: PolicyAsk): EventDraft {
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

/**
 * Requires a decision that does not deny. @throws KernelErrorException T5_POLICY_DENIED, or the code of the decision,
 * with the rules that denied.
 */
export function requireAllowed(decided: PolicyDecision, denied: Denied): void {
  const { decision, code = "T5_POLICY_DENIED", reason, policies } = decided;
  if (decision !== "DENY") return;
  const { otherwise, source, of } = denied;
  raise(kernelError(code, reason || otherwise, source, { detail: { policies, ...of } }));
}

interface Denied {
  /** The message if the rule gives no reason. */
  readonly otherwise: string;
  readonly source: ModuleRef;
  readonly of?: JsonObject;
}

const isKept = (decision: PolicyDecision, { keep = false, stage }: PolicyAsk): boolean =>
  keep === "filled" ? isFilledKept(decision) : keep !== false && mayKeep(decision, stage);

/**
 * Returns whether a payload that a schema made is kept. An allowed payload is in the start of the call or at its gate;
 * a payload that policy masks is kept nowhere.
 */
const isFilledKept = ({ decision, transform, redactions }: PolicyDecision): boolean =>
  (decision === "DENY" || transform !== null) && redactions.length === 0;

/**
 * Returns whether a decision keeps its payload. An allowed plan has its own event, so only the outline of a denied plan
 * is kept, which holds no values. An edit is not kept if policy denied it or replaced it because of its contents.
 */
const mayKeep = ({ decision, transform, redactions }: PolicyDecision, stage: PolicyStage): boolean =>
  stage === "plan" ? decision === "DENY" : decision !== "DENY" && (transform === null || redactions.length === 0);
