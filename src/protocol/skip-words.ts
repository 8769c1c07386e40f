/** Says why a step was skipped, in a clause: `its condition does not hold`. */
import type { SkipReason } from "../contract/workflow-state.ts";

export const skipWords: Readonly<Record<SkipReason, string>> = {
  max_steps: "the plan has more steps than it may have",
  dependency_failed: "a step that it depends on did not succeed",
  dependency_blocked: "a step that it depends on was refused",
  budget: "the budget was spent",
  replanned: "a new plan has taken its place",
  cancelled: "the workflow was cancelled",
  rejected: "a person rejected what the workflow depends on, or nobody decided in time",
  condition: "its condition does not hold",
  too_many_failed: "more items of its list had failed than may fail",
  plan_failed: "another step ended the workflow, as the plan chose",
  expired: "the event that it waited for did not arrive in time",
  declined: "it was rejected at its gate, or not decided in time, and the plan goes on without it",
};
