/**
 * A kernel as one package's callers see it: `kernel.of(refund)`. Requests and answers have the package's types.
 *
 * Owns: the types, and the check that a workflow is of this package. Never: decides anything; each call is one of the
 * kernel's own.
 * 1.  A workflow of another intent, or of another major version of this one, is refused: its types would be wrong.
 */
import { z } from "zod";
import type { Caller } from "../contract/auth-context.ts";
import { type CapabilityDefinition, capabilityRef } from "../contract/capability.ts";
import { kernelError } from "../contract/error-codes.ts";
import type { Follow } from "../contract/follow.ts";
import type { GateRequest, GateResponse } from "../contract/gate.ts";
import { type Intent, type SubmitOptions, SubmitRequest, type SubmitResponse } from "../contract/intent.ts";
import { raise } from "../contract/kernel-error.ts";
import { readStrictly } from "../contract/known-keys.ts";
import type { ListedGate } from "../contract/listed-gate.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { Outcome } from "../contract/outcome.ts";
import type { WorkflowState } from "../contract/workflow-state.ts";
import type { InputOf, OperatorNames } from "../define/step-builder.ts";
import type { Kernel } from "./kernel-interface.ts";

type Among<Outs> = string extends keyof Outs ? never : keyof Outs & string;
type ContentOf<C extends CapabilityDefinition, T extends string> = z.input<C["outcomes"][T]>;

/** An outcome that the package defines; any outcome if it defines none. */
export type OutcomeOf<C extends CapabilityDefinition> = [Among<C["outcomes"]>] extends [never]
  ? Outcome
  : {
      [T in Among<C["outcomes"]>]: Omit<Outcome, "outcome_type" | "content"> & {
        readonly outcome_type: T;
        readonly content: ContentOf<C, T>;
      };
    }[Among<C["outcomes"]>];

/** A gate of one of the package's operators. */
export type GateOf<C extends CapabilityDefinition> = {
  [N in OperatorNames<C["operators"]>]: Omit<ListedGate, "operator" | "payload"> & {
    readonly operator: N;
    readonly payload: InputOf<C["operators"], N>;
  };
}[OperatorNames<C["operators"]>];

/** The edit that a person may make: members of a payload, or of an outcome's content. */
type EditOf<C extends CapabilityDefinition> = Partial<GateOf<C>["payload"] | OutcomeOf<C>["content"]>;

/** A workflow of this package, with its types. */
export type WorkflowOf<C extends CapabilityDefinition> = Omit<WorkflowState, "intent" | "outcomes"> & {
  readonly intent: Omit<Intent, "type" | "inputs"> & {
    readonly type: C["intentType"];
    readonly inputs: z.output<C["input"]>;
  };
  readonly outcomes: readonly OutcomeOf<C>[];
};

/** A request for this package: typed inputs in place of an intent hint. */
export type SubmitOf<C extends CapabilityDefinition> = Omit<SubmitRequest, "intent_hint"> & {
  readonly inputs: z.input<C["input"]>;
};

/** A decision at a gate of this package, with typed edits. */
export type DecisionOf<C extends CapabilityDefinition> = Omit<GateRequest, "payload"> & {
  readonly payload?: Omit<NonNullable<GateRequest["payload"]>, "edit"> & { readonly edit?: EditOf<C> };
};

/** The kernel's own methods of these names, for workflows of one package. */
export interface CapabilityClient<C extends CapabilityDefinition> {
  /** Submits under this version of the package, whichever is the newest. */
  submit(request: SubmitOf<C>, options?: SubmitOptions): Promise<SubmitResponse>;
  workflow(workflowId: string, caller?: Caller): Promise<WorkflowOf<C>>;
  settled(workflowId: string, options?: Pick<Follow, "signal">): Promise<WorkflowOf<C>>;
  execute(workflowId: string): Promise<WorkflowOf<C>>;
  /** Returns the outcomes that the package defines. */
  outcomes(workflowId: string, caller?: Caller): Promise<readonly OutcomeOf<C>[]>;
  /** Returns the workflow's open gates. */
  gates(workflowId: string, caller?: Caller): Promise<readonly GateOf<C>[]>;
  decideGate(workflowId: string, request: DecisionOf<C>): Promise<GateResponse>;
}

type UsedMethods = Pick<Kernel, "submit" | "workflow" | "settled" | "execute" | "outcomes" | "gates" | "decideGate">;

/** Refusals beside those of the kernel's methods: T0_VALIDATION_SCHEMA_MISMATCH for a workflow of another package. */
export function createCapabilityClient<C extends CapabilityDefinition>(
  kernel: UsedMethods,
  { intentType, version, outcomes }: C,
): CapabilityClient<C> {
  const requireOwn = ({ intent, workflow_id }: WorkflowState): void => {
    if (intent.type === intentType && majorOf(intent.version) === majorOf(version)) return;
    const [found, wanted] = [capabilityRef(intent.type, intent.version), capabilityRef(intentType, version)];
    const message = `${workflow_id} is of ${found}, not of ${wanted}`;
    raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, clientRef));
  };
  const own = async (asked: Promise<WorkflowState>): Promise<WorkflowOf<C>> => {
    const state = await asked;
    requireOwn(state);
    return { ...state, outcomes: state.outcomes.filter(isDefined) } as unknown as WorkflowOf<C>;
  };
  const isDefined = ({ outcome_type }: Outcome): boolean =>
    Object.keys(outcomes).length === 0 || Object.hasOwn(outcomes, outcome_type);

  return {
    async submit(asked, options) {
      const { inputs, ...request } = readStrictly(Submission, asked, { what: "request", source: clientRef });
      const intent_hint = { intent_type: capabilityRef(intentType, version), inputs: inputs as never };
      return kernel.submit({ ...request, intent_hint } as unknown as SubmitRequest, options);
    },
    workflow: (workflowId, caller) => own(kernel.workflow(workflowId, caller)),
    settled: (workflowId, options) => own(kernel.settled(workflowId, options)),
    async execute(workflowId) {
      await own(kernel.workflow(workflowId));
      return own(kernel.execute(workflowId));
    },
    async outcomes(workflowId, caller) {
      await own(kernel.workflow(workflowId, caller));
      const reported = await kernel.outcomes(workflowId, caller);
      return reported.outcomes.filter(isDefined) as unknown as readonly OutcomeOf<C>[];
    },
    async gates(workflowId, caller) {
      await own(kernel.workflow(workflowId, caller));
      return (await kernel.gates({ workflow_id: workflowId }, caller)) as unknown as readonly GateOf<C>[];
    },
    async decideGate(workflowId, request) {
      const { tenant_id, principal } = readStrictly(Decision, request, { what: "request", source: clientRef });
      await own(kernel.workflow(workflowId, { tenant_id, principal } as Caller));
      return kernel.decideGate(workflowId, request as GateRequest);
    },
  };
}

const clientRef = moduleRef(0, "gateway", "of");
const Decision = z.looseObject({ tenant_id: z.unknown(), principal: z.unknown() });
const requestKeys = Object.keys(SubmitRequest.shape).filter((key) => key !== "intent_hint");
/**
 * The client makes the intent hint; a request that brings one means another intent. The other members are checked where
 * every request is.
 */
const Submission = z.strictObject({
  ...Object.fromEntries(requestKeys.map((key) => [key, z.unknown().optional()])),
  inputs: z.unknown(),
});

const majorOf = (version: string): string => version.split(".")[0] as string;
