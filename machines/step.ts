/**
 * The step lifecycle: queued → running → succeeded | failed | skipped, queued → skipped for a step never started, and
 * queued → succeeded for one whose result a fork takes over.
 * The phase of a running step is a state inside running: judging (payload, policy, approval, admission), calling,
 * finishing (outcome), settling (the consequences of a failure), or waiting for a person, a retry, or the settlement of
 * a call in doubt. A step without a call that waits is parked.
 *
 * Owns: which ledger events one run of a step accepts. Never: attempts, outputs, errors (the fold keeps those).
 * 1.  succeeded, failed and skipped are final within a run; a restarted workflow begins a new run as a new actor.
 * 2.  A call is made from `judging` or after a pause, and a gated step reaches `judging` through USER_APPROVED alone
 *     (or an expiry that allows). If basis or policy of an approval has changed, or its payload was made again since,
 *     the gate asks again before the call. A step succeeds once a call has ended, and a doubt is settled or skipped,
 *     never failed past the person.
 * 3.  The end of a call is accepted after its attempt was given up: its failure while the step backs off, its success
 *     even in doubt, while a person is asked. A success is final: no later end changes it.
 * 4.  The answer to the question of a step without a call finishes the step; an approval of a call never does.
 * 5.  While a call is under way no other is begun; only a call that a crash has interrupted is repeated.
 */
import { setup } from "xstate";

/** The events that move a step. */
export type StepEvent =
  | { readonly type: "STEP_STARTED" }
  | { readonly type: "STEP_TAKEN_OVER" }
  | { readonly type: "STEP_SUCCEEDED" }
  | { readonly type: "STEP_FAILED" }
  | { readonly type: "STEP_SKIPPED" }
  | { readonly type: "STEP_PARKED" }
  | { readonly type: "STEP_RESUMED" }
  | { readonly type: "ACTION_STARTED"; readonly recovered?: boolean }
  | { readonly type: "ACTION_SUCCEEDED" }
  | { readonly type: "ACTION_FAILED" }
  | { readonly type: "ACTION_RETRY_SCHEDULED" }
  | { readonly type: "ACTION_IN_DOUBT" }
  | { readonly type: "ACTION_SETTLED"; readonly resolution: "done" | "retry" | "failed" }
  | { readonly type: "GATE_OPENED" }
  | { readonly type: "GATE_REVISED"; readonly cause: "edit" | "regenerate" | "policy" | "basis" }
  | { readonly type: "GATE_EXPIRED"; readonly action: "deny" | "allow"; readonly answer?: object | null }
  | { readonly type: "USER_APPROVED"; readonly answer?: object | null }
  | { readonly type: "USER_REJECTED" };

/** Returns the answer to a question that an event brings; null if it brings none. */
const answerIn = (event: StepEvent): object | null => ("answer" in event ? (event.answer ?? null) : null);

const fails = { STEP_FAILED: "#step.failed" } as const;
const lost = { ACTION_IN_DOUBT: "in_doubt" } as const;

/** The lifecycle of a step. */
export const stepMachine = setup({
  types: { events: {} as StepEvent },
  guards: {
    answers: ({ event }) => answerIn(event) !== null && !(event.type === "GATE_EXPIRED" && event.action === "deny"),
    isPlain: ({ event }) => answerIn(event) === null,
    allows: ({ event }) => event.type === "GATE_EXPIRED" && event.action === "allow",
    isRepeat: ({ event }) => event.type === "ACTION_STARTED" && event.recovered === true,
    isDone: ({ event }) => event.type === "ACTION_SETTLED" && event.resolution === "done",
    isUndone: ({ event }) => event.type === "ACTION_SETTLED" && event.resolution === "retry",
    hasMoved: ({ event }) => event.type === "GATE_REVISED" && ["basis", "policy", "regenerate"].includes(event.cause),
  },
}).createMachine({
  id: "step",
  initial: "queued",
  states: {
    queued: {
      description: "Waits for the steps it depends on, and for a place.",
      on: { STEP_STARTED: "running", STEP_SKIPPED: "skipped", STEP_TAKEN_OVER: "succeeded" },
    },
    running: {
      description: "Has begun and has not ended.",
      initial: "judging",
      on: { STEP_SKIPPED: "#step.skipped" },
      states: {
        judging: {
          description: "Payload, policy, approval and budget are asked.",
          on: {
            GATE_OPENED: "awaiting_approval",
            GATE_REVISED: { guard: "hasMoved", target: "awaiting_approval" },
            ACTION_STARTED: "calling",
            STEP_PARKED: "parked",
            ...fails,
            ...lost,
          },
        },
        parked: {
          description: "Waits for a time, for the steps that it has added, an event from outside or another workflow.",
          // Named as a transition to the state itself, because XState takes an empty transition for a refusal.
          on: { STEP_PARKED: "parked", STEP_RESUMED: "finishing" },
        },
        calling: {
          description: "The operator is being called.",
          on: {
            ACTION_STARTED: { guard: "isRepeat" },
            ACTION_SUCCEEDED: "finishing",
            ACTION_FAILED: "settling",
            ...fails,
            ...lost,
          },
        },
        finishing: {
          description: "The call has ended, or the answer is there; its outcome is checked.",
          on: { STEP_SUCCEEDED: "#step.succeeded", ...fails },
        },
        settling: {
          description: "The call has failed; what follows is decided.",
          on: {
            ACTION_SUCCEEDED: "finishing",
            ACTION_FAILED: {},
            ACTION_RETRY_SCHEDULED: "backing_off",
            ...fails,
            ...lost,
          },
        },
        awaiting_approval: {
          description: "A person is asked: before the call, or for the answer to the step's question.",
          on: {
            USER_APPROVED: [{ guard: "answers", target: "finishing" }, { target: "judging" }],
            USER_REJECTED: {},
            GATE_REVISED: {},
            GATE_EXPIRED: [{ guard: "answers", target: "finishing" }, { guard: "allows", target: "judging" }, {}],
            ...fails,
          },
        },
        backing_off: {
          description: "The next attempt waits for its time.",
          on: { ACTION_STARTED: "calling", ACTION_SUCCEEDED: "finishing", ACTION_FAILED: {}, ...fails, ...lost },
        },
        in_doubt: {
          description: "Nobody knows whether the call took effect; a person is asked.",
          on: {
            GATE_OPENED: {},
            USER_APPROVED: { guard: "isPlain" },
            USER_REJECTED: {},
            ACTION_SUCCEEDED: {},
            ACTION_SETTLED: [
              { guard: "isUndone", target: "judging" },
              { guard: "isDone", target: "finishing" },
              { target: "settling" },
            ],
          },
        },
      },
    },
    succeeded: { description: "Its result is on record.", type: "final" },
    failed: { description: "Its error is on record.", type: "final" },
    skipped: { description: "It was not needed, or could not begin.", type: "final" },
  },
});
