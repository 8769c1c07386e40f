/**
 * The question whether a token may run, and its answer. The details are those of the token events.
 *
 * Owns: the shapes. Never: the decision (T5's admission).
 * 1.  An admission carries the accounts as they are afterwards; a refusal carries none, for they are as they were.
 */
import type {
  CapabilityEntry,
  CapabilityHandle,
  GovernorUsage,
  KernelToken,
  ResourceRequest,
  TokenBudget,
} from "./token.ts";

/** The accounts that all tokens share. */
export interface AdmissionState {
  readonly capabilities: ReadonlyMap<CapabilityHandle, CapabilityEntry>;
  readonly governor: GovernorUsage;
}

/** The members of a token that decide whether it may run. */
export type AdmissionRequest = Pick<KernelToken, "capability" | "cost" | "budget" | "resources">;

/** The detail of `started`; the five fields of a capability are there for a bound token only. */
export interface StartedDetail {
  readonly resources: { readonly requested: ResourceRequest; readonly usage: GovernorUsage };
  readonly capability_handle?: CapabilityHandle;
  readonly capability_name?: string;
  readonly invocations?: number;
  readonly tokens_total?: number;
  readonly tokens_consumed?: number;
}

/** The token event of a refusal: its kind and its detail. */
export type AdmissionRefusal =
  | {
      readonly admitted: false;
      readonly kind: "capability_violation";
      readonly detail: {
        readonly error: "not_found" | "invocation_budget_exceeded" | "token_budget_exceeded";
        readonly capability_handle: CapabilityHandle;
        readonly capability_name?: string;
        readonly attempted?: number;
        readonly remaining?: number;
      };
    }
  | {
      readonly admitted: false;
      readonly kind: "resource_violation";
      readonly detail: {
        readonly error: "resource_budget_exceeded";
        readonly resource: keyof GovernorUsage;
        readonly attempted: number;
        readonly remaining: number;
      };
    }
  | {
      readonly admitted: false;
      readonly kind: "budget_violation";
      readonly detail: { readonly error: "budget_exceeded"; readonly attempted: number; readonly remaining: number };
    };

/** The answer to whether a token may run: the accounts after it, or the reason for the refusal. */
export type Admission =
  | {
      readonly admitted: true;
      readonly state: AdmissionState;
      /** The token's own budget, with this run's cost in it. */
      readonly budget: TokenBudget;
      readonly detail: StartedDetail;
    }
  | AdmissionRefusal;
