/**
 * What reached operators, judged from outside: nothing that may not be repeated takes effect twice without a person's
 * word in between, and nothing is called before its gate lets it.
 */
import { digest } from "../../src/contract/digest.ts";
import { payloadOf } from "../../src/contract/event.ts";
import type { IntentReceived } from "../../src/contract/events/plan-events.ts";
import { isHarmless } from "../../src/contract/operator.ts";
import { judgeBlame } from "./judge-blame.ts";
import type { Called, Durable, OutsideWorld } from "./outside-world.ts";
import { mayRepeat, type Story } from "./story.ts";
import { baseOf, findStep, ownerOf } from "./story-plan.ts";
import { isUndoing } from "./story-undo.ts";

export function judgeCalls(story: Story, world: OutsideWorld): readonly string[] {
  const sent = world.calls.filter(({ sent, operator }) => sent && !mayRepeat(operator));
  return [
    ...judgeGates(story, world),
    ...judgeInputs(story, world),
    ...judgeLetThrough(story, world),
    ...judgeEffects(sent, world),
    ...judgeKeys(story, world),
    ...judgeBlame(story, world.durable),
  ];
}

/** Returns whether the call is a computation that nobody was asked about: it may begin before its row is committed. */
export const needsNoCommit = ({ durability }: Story, { operator, asks }: Called): boolean =>
  durability === "effects" && isHarmless(operator.effect) && !asks;

function judgeGates(story: Story, { calls, records, releases }: OutsideWorld): readonly string[] {
  const lets: ReadonlySet<string | null> = new Set(["approved", "expired"]);
  const committed = calls.filter((call) => !needsNoCommit(story, call));
  // A call that is made again goes on under what its first attempt was judged by, whatever another release asks.
  const isFirst = ({ attempt, recovered }: Called): boolean => attempt === 1 && !recovered;
  const early = committed.filter((call) => call.asks && !lets.has(call.gate) && (isFirst(call) || !story.deploy));
  const changed = story.deploy?.release.policyVersion ?? null;
  const isNew = (policy: string | null = null): boolean => changed !== null && policy === changed;
  const outdated = committed.filter(
    (call) =>
      isFirst(call) && call.policy !== null && isNew(call.policy) !== isNew(releases.get(call.process)?.policyVersion),
  );
  // Where rules were changed under their names, which is told not to be done, no decision is bound to them.
  const isForgotten = story.deploy !== null && changed === null;
  const denied = isForgotten ? [] : committed.filter((call) => isFirst(call) && call.operator.ruling === "DENY");
  const other = committed.filter((call) => call.shown !== null && digest(call.input as never) !== call.shown);
  return [
    ...early.map(
      ({ workflow_id, step_id, gate }) =>
        `gate: ${step_id} of ${workflow_id} was called while its gate was ${gate} (${records.get(workflow_id)?.state})`,
    ),
    ...outdated.map(
      ({ step_id, workflow_id, policy }) => `policy: ${step_id} of ${workflow_id} was asked about under ${policy}`,
    ),
    ...denied.map(
      ({ step_id, workflow_id, process }) => `denied: ${step_id} of ${workflow_id} was called by ${process}`,
    ),
    ...other.map(({ workflow_id, step_id }) => `shown: ${step_id} of ${workflow_id} was called otherwise than shown`),
  ];
}

/**
 * One key is one input in its workflow; in all of them, where no rule is another by now, it has taken effect with one.
 */
function judgeInputs(story: Story, { calls }: OutsideWorld): readonly string[] {
  const committed = calls.filter((call) => !needsNoCommit(story, call));
  const sent = story.deploy === null ? committed.filter((call) => call.sent) : [];
  const alike = [
    ...Map.groupBy(committed, ({ workflow_id, key }) => `${workflow_id} ${key}`).values(),
    ...Map.groupBy(sent, ({ key }) => key).values(),
  ];
  return alike.flatMap(([first, ...others]) =>
    others
      .filter(({ input }) => digest(input as never) !== digest(first?.input as never))
      .map(({ workflow_id, step_id }) => `input: ${step_id} of ${workflow_id} was called otherwise under its key`),
  );
}

/** What is called is what policy has last made of it; of what it masked no ledger has the whole. */
function judgeLetThrough(story: Story, { calls, durable }: OutsideWorld): readonly string[] {
  const decided = durable.filter(
    ({ event }) => event.event_type === "POLICY_DECIDED" && event.payload["stage"] === "action",
  );
  const byStep = Map.groupBy(decided, ({ event }) => `${event.workflow_id} ${event.step_id}`);
  const isOtherwise = ({ workflow_id, step_id, at, input }: Called): boolean => {
    const last = byStep.get(`${workflow_id} ${step_id}`)?.findLast((one) => one.at <= at);
    if (last === undefined) return false;
    const { transform, redactions, payload_hash } = payloadOf(last.event, "POLICY_DECIDED");
    const allowed = transform === null ? payload_hash : digest(transform);
    return redactions.length === 0 && digest(input as never) !== allowed;
  };
  return calls
    .filter((call) => call.shown === null && !needsNoCommit(story, call) && isOtherwise(call))
    .map(
      ({ workflow_id, step_id }) =>
        `decided: ${step_id} of ${workflow_id} was called otherwise than policy let it through`,
    );
}

const describeCall = ({ step_id, workflow_id, process, at }: Called): string =>
  `${step_id} of ${workflow_id} by ${process} at row ${at}`;

function judgeEffects(sent: readonly Called[], world: OutsideWorld): readonly string[] {
  const rootOf = rootsOf(world.durable);
  // What undoes a call is work of its own: a call that a person had made anew is undone beside the one before it.
  const workOf = (stepId: string): string => (isUndoing(stepId) ? stepId : baseOf(stepId));
  const byStep = Map.groupBy(sent, ({ workflow_id, step_id }) => `${rootOf(workflow_id)} ${workOf(step_id)}`);
  const byKey = Map.groupBy(sent, ({ key }) => key);
  const failures: string[] = [];
  for (const calls of [...byStep.values(), ...byKey.values()])
    for (const [i, call] of calls.entries()) {
      const before = calls[i - 1];
      if (before === undefined || isOwnWork(world.durable, { before, call })) continue;
      if (hasWord(world.durable, rootOf, { before, call })) continue;
      const keys = call.key === before.key ? "one key" : "two keys";
      failures.push(`twice: ${describeCall(call)}, and ${describeCall(before)}, ${keys}`);
    }
  return failures;
}

/**
 * What the kernel plans anew by itself is called under the key that the same call had before: an operator that says it
 * may be repeated does it once. What applies an outcome has a key for each version.
 */
function judgeKeys(story: Story, { calls, durable }: OutsideWorld): readonly string[] {
  const repeated = calls.filter(
    ({ sent, operator: { effect }, operator, step_id }) =>
      sent && mayRepeat(operator) && !mayRepeat({ effect }) && findStep(story, step_id)?.applies === null,
  );
  const alike = Map.groupBy(
    repeated,
    ({ workflow_id, step_id, input }) => `${workflow_id} ${baseOf(step_id)} ${digest(input as never)}`,
  );
  const isOther = (before: Called, call: Called): boolean =>
    before.key !== call.key && isReplanned(durable, call) && !hasWord(durable, String, { before, call });
  return [...alike.values()].flatMap((same) =>
    same.flatMap((call, i) => {
      const before = same[i - 1];
      return before !== undefined && isOther(before, call)
        ? [`key: ${call.step_id} of ${call.workflow_id} was called under another key than ${before.step_id}`]
        : [];
    }),
  );
}

type RootOf = (workflowId: string | null) => string;

function rootsOf(durable: readonly Durable[]): RootOf {
  const parents = new Map<string | null, string | null>();
  for (const { event } of durable)
    if (event.event_type === "INTENT_RECEIVED")
      parents.set(event.workflow_id, payloadOf(event, "INTENT_RECEIVED").regenerated_from);
  const rootOf: RootOf = (id) => {
    const parent = parents.get(id) ?? null;
    return parent === null ? String(id) : rootOf(parent);
  };
  return rootOf;
}

interface Pair {
  readonly before: Called;
  readonly call: Called;
}

/**
 * Whoever begins a workflow by a retry, or restarts one, asks for its work under its own keys, whatever another retry
 * has asked for. What the kernel plans anew in it is of the work that all do who began with the same versions, but for
 * what was given other inputs, what applies an outcome of its own, which a person was shown and approved, and what was
 * called and ended here before the other's call: that had not met it.
 */
function isOwnWork(durable: readonly Durable[], { before, call }: Pair): boolean {
  if (before.key === call.key || before.workflow_id === call.workflow_id) return false;
  const [own, other] = [begunAs(durable, call), begunAs(durable, before)];
  if (own.regenerated_from === null) return isRestarted(durable, call);
  if (own.draft_version !== other.draft_version || !isReplanned(durable, call)) return true;
  if (isAskedAnew(own, call) || isAskedAnew(other, before)) return true;
  if (!hadMet(durable, { before, call })) return true;
  if (digest(call.input as never) !== digest(before.input as never)) return true;
  const outcome = approvedBefore(durable, call);
  return outcome !== null && outcome !== approvedBefore(durable, before);
}

/** Whether the person who began the workflow asked for the step to be made anew, which is a call of its own. */
function isAskedAnew({ regenerate = [], kept_drafts = {} }: IntentReceived, { step_id }: Called): boolean {
  const base = ownerOf(baseOf(step_id));
  return regenerate.includes(base) && !Object.hasOwn(kept_drafts, base);
}

/**
 * Whether the other's call had begun as the step ended here that this one stands for; what made no call keeps its key,
 * and meets any.
 */
function hadMet(durable: readonly Durable[], { before, call }: Pair): boolean {
  const isBegun = ({ at, event }: Durable): boolean =>
    at <= before.at && isOf(event, before) && event.event_type === "ACTION_STARTED";
  const hasEnded = ({ at, event: { event_type: type, workflow_id, step_id } }: Durable): boolean =>
    at <= call.at &&
    workflow_id === call.workflow_id &&
    baseOf(step_id ?? "") === baseOf(call.step_id) &&
    (type === "STEP_FAILED" || type === "STEP_SKIPPED");
  const ended = durable.findLastIndex(hasEnded);
  const hasCalled = durable.some(
    ({ at, event: { event_type: type, workflow_id, step_id } }) =>
      at <= call.at &&
      type === "ACTION_STARTED" &&
      workflow_id === call.workflow_id &&
      step_id !== call.step_id &&
      baseOf(step_id ?? "") === baseOf(call.step_id),
  );
  return ended < 0 || !hasCalled || durable.findLastIndex(isBegun) < ended;
}

/** The outcome that the call applies as a person's last word at its gate has it; null without one. */
function approvedBefore(durable: readonly Durable[], { workflow_id, step_id, at }: Called): string | null {
  const word = durable.findLast(
    ({ at: row, event }) =>
      event.event_type === "USER_APPROVED" &&
      row <= at &&
      event.workflow_id === workflow_id &&
      event.step_id === step_id,
  );
  return word === undefined ? null : payloadOf(word.event, "USER_APPROVED").outcome_id;
}

/**
 * Whether it goes on because somebody restarted it: before or behind the retry that began the other, that asks for
 * both.
 */
const isRestarted = (durable: readonly Durable[], { workflow_id, at }: Called): boolean =>
  durable.findLast(
    ({ at: row, event }) => row <= at && event.workflow_id === workflow_id && turns.has(event.event_type),
  )?.event.event_type === "WORKFLOW_RESTARTED";

const turns: ReadonlySet<string> = new Set([
  "WORKFLOW_RESTARTED",
  "WORKFLOW_FAILED",
  "WORKFLOW_CANCELLED",
  "WORKFLOW_COMPLETED",
]);

function begunAs(durable: readonly Durable[], { workflow_id }: Called) {
  const begun = durable.find(
    ({ event }) => event.event_type === "INTENT_RECEIVED" && event.workflow_id === workflow_id,
  ) as Durable;
  return payloadOf(begun.event, "INTENT_RECEIVED");
}

/** Whether nobody asked for the step: the kernel planned it anew by itself. */
const isReplanned = (durable: readonly Durable[], { workflow_id, step_id }: Called): boolean =>
  durable.some(({ event }) => {
    if (event.event_type !== "PLAN_CREATED" || event.workflow_id !== workflow_id) return false;
    const { cause, plan } = payloadOf(event, "PLAN_CREATED");
    return cause === "replan" && plan.steps.some((step) => step.step_id === ownerOf(step_id));
  });

/** Whether a person asked for it once more, knowing what was known. */
function hasWord(durable: readonly Durable[], rootOf: RootOf, { before, call }: Pair): boolean {
  const root = rootOf(call.workflow_id);
  const between = durable.filter(
    ({ at, event }) => at > before.at && at <= call.at && rootOf(event.workflow_id) === root,
  );
  const isAnew = before.key !== call.key && !isReplanned(durable, call);
  return between.some(({ event }, i) => isWord(event, { before, call, isAnew, known: between.slice(0, i), durable }));
}

/** A pair, whether the call is asked for as another piece of work, and what was known. */
interface Asked extends Pair {
  readonly isAnew: boolean;
  readonly known: readonly Durable[];
  readonly durable: readonly Durable[];
}

function isWord(event: Durable["event"], { before, call, isAnew, known, durable }: Asked): boolean {
  if (event.event_type === "ACTION_SETTLED")
    return baseOf(event.step_id ?? "") === baseOf(call.step_id) || isUnder(durable, event, call.key);
  if (event.event_type === "WORKFLOW_RESTARTED") return true;
  if (event.event_type === "USER_APPROVED") return isOther(event, { before, call });
  if (event.event_type === "PLAN_CREATED")
    return before.key !== call.key && payloadOf(event, "PLAN_CREATED").cause === "regenerate";
  if (event.event_type !== "INTENT_RECEIVED") return false;
  const { regenerated_from } = payloadOf(event, "INTENT_RECEIVED");
  if (regenerated_from === null) return false;
  return isAnew || (before.key === call.key ? hasFailed(known, before) : hasEnded(known, before));
}

/**
 * Whether a person approved this very call, with another payload than was sent before: somebody changed it at one of
 * the two gates.
 */
const isOther = (event: Durable["event"], { before, call }: Pair): boolean =>
  isOf(event, call) && digest(call.input as never) !== digest(before.input as never);

/** Whether a person settled a call of this key, as a step that shares it made it. */
const isUnder = (durable: readonly Durable[], { payload: { action_id } }: Durable["event"], key: string): boolean =>
  durable.some(({ event: { payload } }) => payload["action_id"] === action_id && payload["key"] === key);

/** Whoever has work done again under the same key has only that done again which is known to have failed. */
const hasFailed = (known: readonly Durable[], call: Called): boolean =>
  known.some(
    ({ event }) => isOf(event, call) && event.event_type === "ACTION_FAILED" && event.payload["pending"] === false,
  );

/** What the kernel plans anew in it, it does again where it is known what became of it before. */
const hasEnded = (known: readonly Durable[], call: Called): boolean =>
  hasFailed(known, call) || known.some(({ event }) => isOf(event, call) && event.event_type === "ACTION_SUCCEEDED");

const isOf = (event: Durable["event"], { workflow_id, step_id }: Called): boolean =>
  event.workflow_id === workflow_id && event.step_id === step_id;
