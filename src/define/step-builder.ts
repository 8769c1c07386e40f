/**
 * Steps of a plan with their types: the `step` that a plan function receives (define-capability.ts).
 *
 * Owns: the compiler's knowledge of a step, and the plain step that is made of it. Never: checks at run time; the
 * planner's compiler checks every plan, however it was made.
 * 1.  `step` returns the plain step that was described: its `output` is no data and is stored nowhere.
 * 2.  A step depends on those that its params and its condition refer to, in addition to those that `depends_on` and
 *     `applies` name.
 * 3.  An optional member of an operator's input is left out if its reference finds nothing.
 */
import { z } from "zod";
import type { OperatorList, OutcomeSchemas } from "../contract/capability.ts";
import type { Condition } from "../contract/condition.ts";
import type { GateSpec } from "../contract/gate-spec.ts";
import type { JsonObject } from "../contract/json.ts";
import type { Operator } from "../contract/operator.ts";
import type { PlanStepDraft, UndoDraft } from "../contract/plan.ts";
import type { MarkedText, Ref, Reference } from "../contract/reference.ts";
import type { OnReject } from "../contract/step-kinds.ts";
import { isOptionalByStandard } from "../contract/to-zod.ts";
import { finishStep, finishUndo } from "./finish-step.ts";
import { type CallTemplate, finishTemplate } from "./growing-steps.ts";
import type { AnyStep, OutputRef, SettledStep } from "./quiet-steps.ts";

/** A value, or a reference to one; in objects and lists for each member. */
export type Param<T> = Reference<T> | Filled<T>;
type Filled<T> = T extends string
  ? T | (string extends T ? MarkedText : never)
  : T extends object
    ? { readonly [K in keyof T]: Param<T[K]> }
    : T;

/** The params of an operator; any object if its type is not known. */
export type ParamsOf<I> = unknown extends I ? JsonObject : { readonly [K in keyof I]: Param<I[K]> };

/** A step that was built: `output` is what later ones refer to. */
export interface Step<
  O = unknown,
  R extends string | undefined = string | undefined,
  W extends Condition | undefined = undefined,
  J extends OnReject | undefined = undefined,
> extends PlanStepDraft {
  /** The name of the outcome that it drafts. */
  readonly outcome: R;
  /**
   * The reference to its result: `found.output.card` in the params of a later step is a reference. That of a step with
   * a condition, or with `on_reject: "continue"`, may give nothing; `ref(…, { or })` states what stands in for it.
   */
  readonly output: OutputRef<O, W, J>;
}

/** A step that may be applied: one that drafts an outcome. */
export interface StepWithOutcome extends AnyStep {
  readonly outcome: string;
}

/** The names of the operators that a package lists. */
export type OperatorNames<Ops extends OperatorList> = NameOf<Ops[number]>;
type NameOf<P> = P extends string ? P : P extends Operator<unknown, unknown, infer N> ? N : never;

/** Input and output of the operator of this name; `unknown` if it is listed by its name alone. */
type Called<P, N extends string> =
  P extends Operator<infer I, infer O, infer M>
    ? N extends M
      ? readonly [I, O]
      : never
    : N extends P
      ? readonly [unknown, unknown]
      : never;
/** The params of the operator of this name. */
export type InputOf<Ops extends OperatorList, N extends string> = Called<Ops[number], N>[0];
/** The result of the operator of this name. */
export type OutputOf<Ops extends OperatorList, N extends string> = Called<Ops[number], N>[1];

/** The outcomes that an output may be; an impossible one is named by the reason, which the compiler shows. */
type OutcomeFor<Outs extends OutcomeSchemas, N extends string, O> = string extends keyof Outs
  ? string
  : { [T in keyof Outs & string]: Fits<O, z.input<Outs[T]>> extends true ? T : NotTheOutputOf<N, T> }[keyof Outs &
      string];
type Fits<O, Wanted> = unknown extends O ? true : [O] extends [Wanted] ? true : false;
declare const why: unique symbol;
type NotTheOutputOf<N extends string, T extends string> = string & { readonly [why]: readonly [N, T] };

type Plain = Omit<
  PlanStepDraft,
  "kind" | "operator" | "params" | "depends_on" | "outcome" | "applies" | "gate" | "when" | "on_reject" | "undo"
>;

/**
 * The call that undoes what a step has done, as its author writes it. `N` is the name of its operator, `P` its params,
 * `O` the output of the step.
 */
export interface Undo<N extends string, P, O> extends Omit<UndoDraft, "operator" | "params" | "gate"> {
  /** One of the package's, by name. */
  readonly operator: N;
  /** Makes the params of the call; `made` refers to the output of the step that is undone. */
  readonly params: (made: Ref<O>) => P;
  /** Asks people before the call. */
  readonly gate?: z.input<typeof GateSpec>;
}

/** A step as its author writes it: as plain ones are written, with steps in place of their ids. */
export interface StepDraft<
  N extends string,
  P,
  R,
  W = Condition | undefined,
  J = OnReject | undefined,
  U = Undo<string, JsonObject, unknown>,
> extends Plain {
  /** One of the package's, by name. */
  readonly operator: N;
  /** The params of the call; results of earlier steps stand there as references. */
  readonly params: P;
  /** The steps that come before this one, beside those that it refers to; `settled(step)` for any end of one. */
  readonly depends_on?: readonly (AnyStep | SettledStep)[];
  /**
   * The condition under which the step is taken. If it does not hold, the step is skipped, and those after it go on.
   */
  readonly when?: W;
  /** The name of the outcome that it drafts. */
  readonly outcome?: R;
  /** The step whose outcome this one makes final. */
  readonly applies?: StepWithOutcome;
  /** Asks people before the call. */
  readonly gate?: z.input<typeof GateSpec>;
  /**
   * The consequence of a rejection at any gate of the step: `end` (the default) cancels the workflow, `continue` skips
   * the step and lets the plan go on with the comment as its output, `replan` asks for another plan.
   */
  readonly on_reject?: J;
  /** The call that undoes what the step has done, if the workflow fails or is cancelled afterwards. */
  readonly undo?: U;
}

/** Builds steps of a package that lists these operators and outcomes. */
export type StepBuilder<Ops extends OperatorList, Outs extends OutcomeSchemas = OutcomeSchemas> = <
  const N extends OperatorNames<Ops>,
  const R extends OutcomeFor<Outs, N, OutputOf<Ops, N>> | undefined = undefined,
  W extends Condition | undefined = undefined,
  const J extends OnReject | undefined = undefined,
  const U extends OperatorNames<Ops> = OperatorNames<Ops>,
>(
  draft: StepDraft<N, ParamsOf<InputOf<Ops, N>>, R, W, J, Undo<U, ParamsOf<InputOf<Ops, U>>, OutputOf<Ops, N>>>,
) => Step<OutputOf<Ops, N>, R, W, J>;

/** A call without an id, as its author writes it, for each item of a list or each round. */
export interface CallDraft<N extends string, P, U = Undo<string, JsonObject, unknown>>
  extends Omit<
    StepDraft<N, P, undefined, Condition | undefined, OnReject | undefined, U>,
    "step_id" | "name" | "depends_on" | "outcome" | "applies" | "weight" | "priority" | "pivot"
  > {
  /** A name for people; that of the step that does it by default. */
  readonly name?: string;
}

/** Builds the call of each item or round, of a package that lists these operators. */
export type CallBuilder<Ops extends OperatorList> = <
  const N extends OperatorNames<Ops>,
  const U extends OperatorNames<Ops> = OperatorNames<Ops>,
>(
  draft: CallDraft<N, ParamsOf<InputOf<Ops, N>>, Undo<U, ParamsOf<InputOf<Ops, U>>, OutputOf<Ops, N>>>,
) => CallTemplate<OutputOf<Ops, N>>;

type AnyDraft = StepDraft<string, JsonObject, string | undefined>;

/** Makes the builders of a package. Only the compiler knows the types of outputs and outcomes. */
export const stepBuildersOf = (operators: OperatorList) => {
  const named = new Map(operators.flatMap((one) => (typeof one === "string" ? [] : [[one.metadata.name, one.input]])));
  const mayLackIn = (operator: string) => (at: string) => isOptionalIn(named.get(operator), at);
  return {
    step: (draft: AnyDraft): Step => buildStep(draft, mayLackIn),
    call: ({ undo, ...draft }: CallDraft<string, JsonObject>) =>
      finishTemplate(draft as never, {
        mayLack: mayLackIn(draft.operator),
        undoOf:
          undo === undefined
            ? null
            : (stepId, refersTo) => finishUndo(undo, stepId, { refersTo, mayLack: mayLackIn(undo.operator) }),
      }),
  };
};

/** Returns whether an input schema takes an object without the member at this JSON pointer. */
function isOptionalIn(schema: z.ZodType | undefined, at: string): boolean {
  const [, name, ...deeper] = at.split("/");
  const byStandard = schema === undefined ? null : isOptionalByStandard(schema, partsOf(at));
  if (byStandard !== null) return byStandard;
  const member =
    schema instanceof z.ZodObject ? (schema.shape[unescapePart(name)] as z.ZodType | undefined) : undefined;
  if (member === undefined) return false;
  if (deeper.length > 0) return isOptionalIn(withoutDefault(member), `/${deeper.join("/")}`);
  return member._zod.optin !== undefined;
}

/** Returns the schema inside the wrapper that makes a member optional. */
const withoutDefault = (schema: z.ZodType): z.ZodType =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable
    ? withoutDefault(schema.unwrap() as z.ZodType)
    : schema;

const partsOf = (at: string): readonly string[] => at.split("/").slice(1).map(unescapePart);

const unescapePart = (name = ""): string => name.replaceAll("~1", "/").replaceAll("~0", "~");

type MayLackIn = (operator: string) => (at: string) => boolean;

function buildStep({ applies, when, undo, ...draft }: AnyDraft, mayLackIn: MayLackIn): Step {
  const more = new Set<string>();
  const named = {
    ...(applies !== undefined && { applies: applies.step_id }),
    ...(when !== undefined && { when }),
    ...(undo !== undefined && {
      undo: finishUndo(undo, draft.step_id, { refersTo: (id) => more.add(id), mayLack: mayLackIn(undo.operator) }),
    }),
  };
  const { depends_on: given = [] } = draft;
  for (const { step_id } of given) more.delete(step_id);
  const depends_on = [...given, ...[...more].map((step_id) => ({ step_id }) as AnyStep)];
  return finishStep<Step>({ ...draft, ...named, depends_on }, mayLackIn(draft.operator));
}
