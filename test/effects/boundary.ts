/**
 * The operator boundary alone: as much of a workflow as one call of step `s1` needs, and the ends that it tells.
 * Owns: stand-ins. Never: asserts anything.
 */
import { openSecurity } from "../../src/adapters/open-security.ts";
import type { Operator } from "../../src/contract/operator.ts";
import { createTimers } from "../../src/engine/actors/timers.ts";
import { defaultLimits } from "../../src/index.ts";
import { createVirtualClock, trialContext } from "../../src/testing/index.ts";
import type { CallEnd } from "../../src/tiers/t4-execution/decide/run/input.ts";
import type { Intention } from "../../src/tiers/t4-execution/decide/run/intention.ts";
import { type Calling, callOperator } from "../../src/tiers/t4-execution/perform/call-operator.ts";

type CallIntention = Extract<Intention, { readonly do: "call" }>;

export const wanted: CallIntention = {
  do: "call",
  step_id: "s1",
  action_id: "act_1",
  attempt: 1,
  run: 1,
  key: "key 1",
  payload: { text: "a" },
  timeout_ms: 1000,
  isFirst: true,
};

/** A workflow whose one step is about to call this operator. `actions` is what its record holds of actions. */
export function calling(operator: Operator, signal = new AbortController().signal, actions: object = new Map()) {
  const clock = createVirtualClock();
  const ends: CallEnd[] = [];
  const { name, version } = operator.metadata;
  const plan = { step_id: "s1", operator: name, operator_version: version, applies: null, policy_tags: [] };
  const steps = new Map([["s1", { step: plan, checkpoint: null, token_id: null, state: "running" }]]);
  const record = { ...trialContext, feedback: null, steps, actions, gates: new Map(), routes: [] };
  const run = {
    log: { record, lost: null, identity: { workflow_id: "wf_1" } },
    settings: { registry: { findOperator: () => operator, retrievalFor: () => undefined } },
    mark: () => undefined,
  };
  const at = {
    run,
    runtime: { clock, limits: defaultLimits, logger: { debug: () => undefined } },
    services: { security: openSecurity, checkAllOutput: false, holdsStreams: false, timers: createTimers(clock) },
    signal,
    tell: (_call: unknown, end: CallEnd) => void ends.push(end),
    note: () => Promise.resolve(),
  } as unknown as Calling;
  return { at, clock, ends };
}

/** Calls the operator once, and gives the ends that were told. */
export async function callOnce(operator: Operator, more: Partial<CallIntention> = {}, signal?: AbortSignal) {
  const { at, clock, ends } = calling(operator, signal);
  await callOperator(at, { ...wanted, ...more });
  return { ends, timers: clock.pending() };
}
