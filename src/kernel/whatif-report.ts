/** What if, as a host asks it and is told it: another policy set, the findings, the counts. */
import type { PolicyDecision, PolicyStage } from "../contract/policy.ts";
import type { Policies } from "./policies.ts";

/** Another policy set, and which past decisions it is asked about. */
export interface WhatIf {
  /** In place of the kernel's own. */
  readonly policies: Policies;
  /** False: without the default stance behind them. */
  readonly defaultPolicies?: boolean;
  /** Decisions from this ISO instant on. */
  readonly since?: string;
  /** Decisions before this ISO instant. */
  readonly until?: string;
  /** Decisions of workflows of this intent type alone. */
  readonly intent_type?: string;
  /** Decisions of this workflow alone. */
  readonly workflow_id?: string;
  /** True: tells also where the decision stays and other rules are named. */
  readonly names?: boolean;
}

/** A past decision that would be another one, or that cannot be asked again (`would_be` is null). */
export interface WhatIfFinding {
  readonly kind: "differs" | "unknown";
  readonly workflow_id: string;
  readonly sequence: number;
  readonly event_id: string;
  readonly timestamp: string;
  readonly stage: PolicyStage;
  readonly step_id: string | null;
  readonly subject: string;
  readonly was: PolicyDecision;
  readonly would_be: PolicyDecision | null;
  /** What is different, and why; or why it cannot be told. */
  readonly reason: string;
}

/** What a what-if counted. */
export interface WhatIfReport {
  readonly policy_version: string;
  readonly workflows: number;
  readonly decisions: number;
  readonly differing: number;
  readonly unknown: number;
  /** How often each change of decision was found, such as `ALLOW → DENY`. */
  readonly changes: Readonly<Record<string, number>>;
}
