/**
 * Operators: metadata, retry policies and the context
 * an operator runs in. A skill, a tool and a model call are all operators.
 *
 * 1.  Metadata is normalised once at registration and frozen; nobody changes it afterwards.
 */
import { z } from "zod";
import type { Usage } from "./action.ts";
import type { AuthContext } from "./auth-context.ts";
import type { Basis } from "./basis.ts";
import type { ContextBundle } from "./context-bundle.ts";
import type { Json, JsonObject } from "./json.ts";
import type { RouteDecision, RouteQuestion } from "./model-route.ts";
import { Money } from "./money.ts";
import { RiskLevel } from "./risk-level.ts";
import { CapabilityLimits, type CapabilityUsage, ResourceRequest } from "./token.ts";
import type { ToolClient } from "./tool.ts";

/** The effects that a call may have outside, weakest first. */
export const effects = ["none", "read", "write_draft", "final_write", "external_send", "credential_use"] as const;
export const Effect = z.enum(effects);
export type Effect = z.infer<typeof Effect>;

/** Returns whether a call of this effect changes nothing outside, so that it may be repeated. */
export const isHarmless = (effect: Effect): boolean => effect === "none" || effect === "read";

/** Maximum attempts by policy name. */
export const retryPolicies = { NONE: 1, STANDARD: 3, AGGRESSIVE: 5 } as const;
export const RetryPolicyName = z.string().min(1);

/**
 * An operator's name: words of letters, digits, `_` and `-`, joined by dots; the first begins with a letter, such as
 * `Area.Verb` or `Files.read_text_file`.
 */
export const operatorNamePattern: RegExp = /^[A-Za-z][\w-]*(\.[\w-]+)*$/;
export const OperatorName = z
  .string()
  .max(256)
  .regex(operatorNamePattern, "it must be words joined by dots, such as Area.Verb");

/** The declaration of an operator. */
export const OperatorMetadata = z.strictObject({
  /** Words joined by dots, such as `Mail.Send`; plans and policies name it. */
  name: OperatorName,
  /** "1.0" by default. A workflow keeps the version that its plan was made with. */
  version: z.string().min(1).default("1.0"),
  /** A description of the operator for people, models and clients. */
  description: z.string().default(""),
  /** The effect that a call may have outside; `none` by default. Policy and recovery rest on it. */
  effect: Effect.default("none"),
  /** Calling twice with one key is the same as calling once, by the operator's own doing. */
  idempotent: z.boolean().default(false),
  /** The operator ends its work when its AbortSignal fires. */
  honours_abort: z.boolean().default(false),
  /** Seconds that a call may take; 60 where this is 0. */
  timeout_sec: z
    .number()
    .nonnegative()
    .max(86_400 * 30)
    .default(0),
  /** The retry policy by name: how many attempts there are in all. */
  retry: RetryPolicyName.default("STANDARD"),
  /** The capabilities of the operator; `reasoning` and `deep_research` are given the kernel's `retrieval`. */
  capabilities: z.array(z.string()).default([]),
  /** Tags that policy rules match; `human_approval` requires a person whatever policy decides. */
  policy_tags: z.array(z.string()).default([]),
  /** The risk that gates show and rules match; `low` by default. */
  risk_level: RiskLevel.default("low"),
  /** The amount that a call is charged of a request's `maxCost`, and sets aside of budgets in money. */
  estimated_cost: Money.default(0),
  /** The amounts that a call sets aside of budgets in tokens, and asks of the governor. */
  resources: ResourceRequest.prefault({}),
  /** The ceilings of its calls in one workflow. */
  limits: CapabilityLimits.prefault({}),
  /** The kinds of the results, as steps show them; `data` by default. */
  outputs: z.array(z.string()).default(["data"]),
  /** The kind of the operator: a `skill`, a `tool` of a server, or an `llm`, whose calls are traced as model calls. */
  kind: z.enum(["skill", "tool", "llm"]).default("skill"),
  /** Data of the host's own; the kernel does not read them. */
  extensions: z.record(z.string(), z.unknown()).default({}),
});
export type OperatorMetadata = z.infer<typeof OperatorMetadata>;
/** Seed 002's name of the same record. */
export const SkillMetadata = OperatorMetadata;
export type SkillMetadata = OperatorMetadata;

/** Retrieval offered to operators that declare `deep_research` or `reasoning`. */
export interface RetrievalProvider {
  /** Finds up to `limit` texts for a query, the best first. */
  readonly retrieve: (
    query: string,
    limit: number,
  ) => Promise<readonly { readonly ref: string; readonly text: string; readonly score: number }[]>;
}

/** A scoped stand-in for a user's credential, passed only by explicit grant. */
export interface DelegatedCredential {
  readonly handle: string;
  readonly scopes: readonly string[];
}

/** The argument of an operator's `run`. It holds no store, no ledger and no raw credential. */
export interface OperatorCall<I = unknown> {
  /** The params of the step, checked by the operator's schema. */
  readonly input: I;
  /** The same for every attempt at the same work, also after restarts: pass it to the system that is called. */
  readonly idempotencyKey: string;
  /**
   * The number of the attempt, from 1. A call that is repeated after a crash keeps the number of the interrupted one.
   */
  readonly attempt: number;
  /** Whether `attempt` is above 1; it does not tell whether a crash interrupted an earlier call. */
  readonly isRetry: boolean;
  /** Fires when the call's time is over, or its workflow is cancelled. */
  readonly signal: AbortSignal;
  /** The principal, workflow and step of the call. */
  readonly context: OperatorContext;
  /** Sub-progress in percent of this step; labelled not final. */
  readonly report: (percent: number) => void;
  /** A piece of output for people to read while the step runs. */
  readonly stream: (chunk: string) => void;
  /** Reports the usage of the call; several reports of one call add up. */
  readonly usage: (usage: Usage) => void;
  /** Records an event of the operator's own. @throws KernelErrorException for no JSON, too much, and after the call. */
  readonly emit: (label: string, detail?: Readonly<Record<string, unknown>>) => void;
  /** Records how far the work is: once that is committed, the next attempt finds it in `restored`. */
  readonly checkpoint: (state: unknown) => void;
  /** The last checkpoint of an earlier attempt of this step; null if there is none. */
  readonly restored: Json;
  /** Returns the usage of this operator's calls in this workflow, this one included. */
  readonly capabilityUsage: () => CapabilityUsage;
  /**
   * Returns the one-time address of a wait of this workflow, to be sent to whoever answers it. It is a secret: a result
   * that holds it writes it to the ledger. @throws KernelErrorException T4_WAIT_TOKEN_NONE if the step has none.
   */
  readonly waitUrl: (stepId: string) => string;
  /**
   * Asks which model endpoint to call; the decision is in the ledger when this resolves. Report the usage of the call
   * as `usage({ tokens, cost, model: endpoint.name })`. Rejects with the KernelErrorException of a refusal.
   */
  readonly route: (request?: RouteQuestion) => Promise<RouteDecision>;
}

/** The principal, workflow and step of a call. */
export interface OperatorContext {
  readonly workflow_id: string;
  readonly step_id: string;
  readonly tenant_id: string | number;
  /** The same for all that follows from one request. */
  readonly correlation_id: string;
  /** The requesting principal, with their rights. */
  readonly auth: AuthContext;
  /** The context of the request; null if it was not asked for. */
  readonly bundle: ContextBundle | null;
  /** The feedback of the person who had the work repeated. */
  readonly feedback?: string;
  /** The kernel's `retrieval`, for operators that name a capability for it. */
  readonly retrieval?: RetrievalProvider;
  /** A stand-in for a user's credential, if one was granted. */
  readonly credential?: DelegatedCredential;
  /** The approved outcome that the call applies, and the targets that the person named. */
  readonly target?: {
    readonly outcome_id: string;
    readonly version: number;
    readonly apply_targets: readonly string[];
  };
  /** The basis of the preview that a person approved (empty if it named none); absent if nobody was asked. */
  readonly basis?: Basis;
}

/**
 * The preview of a call at a gate. `diff` compares it with the present state; `basis` names that state, with its
 * digest. The call is made only on that basis: if it has changed, the gate asks again.
 */
export interface GatePreview {
  /** The preview of the call, in words. */
  readonly preview: string;
  /** The difference that it would make, as text. */
  readonly diff?: string | null;
  /** The basis of the preview, with its digest. */
  readonly basis?: Basis;
}

/** A question to an operator about a call that is not made yet. */
export interface OperatorQuestion<I = unknown> {
  /** The input of the call. */
  readonly input: I;
  /** The principal, workflow and step of the call. */
  readonly context: OperatorContext;
  /** Fires when the time for an answer is over. */
  readonly signal: AbortSignal;
}

/** The amounts that a call may use, as an operator estimates them of its input. */
export const CallEstimate = z.strictObject({
  /** The tokens; `resources.tokens` of the operator if it is absent. */
  tokens: z.int().nonnegative().max(1_000_000_000_000).optional(),
  /** The money; the estimated cost of the step if it is absent. */
  money: Money.optional(),
});
export type CallEstimate = z.infer<typeof CallEstimate>;

/** The roles that are asked about a call of an operator whose end is unknown. */
export const OperatorDoubt = z.strictObject({
  /** The roles that may state how a call in doubt ended. */
  roles: z.array(z.string().min(1).max(64)).min(1).max(100).readonly(),
});
export type OperatorDoubt = z.infer<typeof OperatorDoubt>;

/**
 * A registered operator: frozen metadata and the callable. `I` is the input of a call, `O` its output as later steps
 * see it, `N` its name; they are `unknown` and `string` if nothing more is known.
 */
export interface Operator<I = unknown, O = unknown, N extends string = string> {
  /** The declaration that the kernel reads. */
  readonly metadata: OperatorMetadata & { readonly name: N };
  /** The schema of the input of a call. */
  readonly input: z.ZodType<unknown, I>;
  /** The schema of the output of a call. */
  readonly output: z.ZodType<O>;
  /** Does the work. */
  readonly run: (call: OperatorCall<never>) => unknown;
  /** Set for an operator that is a tool behind a client: the call then goes through the bridge of T0. */
  readonly tool: {
    /** The tool's name at its server. */
    readonly name: string;
    /** Calls the tool. */
    readonly client: ToolClient;
    /** JSON Schema of the tool's input, as its server states it. */
    readonly inputSchema: JsonObject | null;
  } | null;
  /** Makes the preview that a person sees at the gate of a call. */
  readonly preview: ((question: OperatorQuestion<never>) => unknown) | null;
  /** Checks whether the call could be made, without making it: throws if it could not. */
  readonly check?: ((question: OperatorQuestion<never>) => unknown) | null;
  /** Estimates what a call with this input uses at most. */
  readonly estimate?: ((input: never) => unknown) | null;
  /** Presents a call with this input to people: a title, a summary and facts. */
  readonly present?: ((input: never) => unknown) | null;
  /** The roles that state how a call ended whose end is unknown; by default those that were asked before the call. */
  readonly doubt?: OperatorDoubt;
}
