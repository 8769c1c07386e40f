/**
 * Policies written in Rego and compiled to WebAssembly, as a set of rules: one rule that replies with the decisions of
 * the policies that match.
 *
 * Owns: what the answer of an entry point means. Never: compiles Rego; says what a question holds
 * (`describe-question.ts`).
 * 1.  The entry point is a set of decisions, each with the name of its policy. They count as answers of rules of these
 *     names; among equals the first by name gives the reason, since a set has no order. No decision is no answer.
 * 2.  An error denies: an entry point that is undefined or no set of decisions, an unknown member, a conflict, an
 *     evaluation that exceeds its time or its memory.
 * 3.  The version follows from the module, the data, the entry point and the stages.
 */
import { z } from "zod";
import { digest, sha256 } from "../../../contract/digest.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { limitsOf } from "../../../contract/host-object.ts";
import { raise } from "../../../contract/kernel-error.ts";
import { readStrictly } from "../../../contract/known-keys.ts";
import { type NamedAnswer, type PolicyQuestion, PolicyStage, type RuleSet } from "../../../contract/policy.ts";
import { describeQuestion } from "../describe-question.ts";
import { opaLanguage } from "./opa-problem.ts";
import { type Evaluate, openModule } from "./open-module.ts";
import { type OpaParts, readBundle } from "./read-bundle.ts";

/** Bytes of a module or a bundle. */
export const Bytes = z.custom<Uint8Array>(
  (value) => value instanceof Uint8Array,
  "must be bytes, such as readFileSync returns",
);

/** Limits of an evaluation, by name. */
export interface OpaLimits {
  /** The time of the processor that one question may take, in ms; 100 by default. */
  readonly evaluationMs: number;
  /** The memory that an instance of the module may have; 16 MiB by default. */
  readonly memoryBytes: number;
}

const Options = z.strictObject({
  /** The name of the rule that denies where the policies fail; `opa` by default. */
  name: z.string().min(1).max(64).default("opa"),
  /** The module that `opa build -t wasm` compiles; in its place a `bundle` may be given. */
  wasm: Bytes.optional(),
  /** The data of the module, which its policies read as `data`; those of a bundle are in it. */
  data: z.record(z.string(), z.json()).optional(),
  /** The bundle that `opa build -t wasm` writes, `bundle.tar.gz`: module and data. */
  bundle: Bytes.optional(),
  /** The entry point with the decisions; `countersign/decisions` by default. */
  entrypoint: z.string().min(1).max(200).default("countersign/decisions"),
  /** The stages at which the policies are asked; `action` alone by default. */
  stages: z.array(PolicyStage).min(1).readonly().default(["action"]),
  /** Limits of time and memory. */
  limits: limitsOf<OpaLimits>({ evaluationMs: 100, memoryBytes: 16 * 2 ** 20 }),
});
/** The options of `opa`. */
export interface OpaOptions extends Readonly<z.input<typeof Options>> {}

/**
 * Makes rules of compiled Rego policies, to be given to `createKernel({ policies })` and to `whatIf`.
 * @throws KernelErrorException T5_POLICY_INVALID for a module or a bundle that cannot be used, and for policies that
 * read a clock, randomness or the network; T0_VALIDATION_SCHEMA_MISMATCH for unknown options.
 */
export function opa(options: OpaOptions): RuleSet {
  const read = readStrictly(Options, options, { what: "opa", source: opaLanguage.source });
  const { name, stages, entrypoint, limits } = read;
  const { wasm, data } = partsOf(read);
  const evaluate = openModule(wasm, { entrypoint, data, ...limits });
  const module = sha256(wasm);
  const version = digest({ module, data, entrypoint, stages: [...stages], name }).slice(0, 12);
  const rule = { name, stages, evaluate: (question: PolicyQuestion) => decisionsOf(evaluate, entrypoint, question) };
  return Object.freeze({ version: `${name}-${version}`, rules: Object.freeze([Object.freeze(rule)]) });
}

function partsOf({ wasm, data, bundle, entrypoint }: z.output<typeof Options>): OpaParts {
  if (bundle !== undefined && wasm === undefined && data === undefined) return readBundle(bundle, entrypoint);
  if (wasm !== undefined && bundle === undefined) return { wasm, data: data ?? {} };
  const message = "opa: give wasm, and its data, or a bundle, which holds both";
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, opaLanguage.source));
}

/** The limit on the decisions of one answer. */
const maxDecisions = 256;

/** Returns the decisions on a question in the order of their names. @throws Error for any other answer. */
function decisionsOf(evaluate: Evaluate, entrypoint: string, question: PolicyQuestion): readonly NamedAnswer[] {
  const answer = evaluate(describeQuestion(question));
  if (!Array.isArray(answer)) throw new Error(`${entrypoint} is no set of decisions`);
  if (answer.length > maxDecisions) throw new Error(`${entrypoint} has more than ${maxDecisions} decisions`);
  return answer.toSorted((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1)) as readonly NamedAnswer[];
}

/** Returns the text by which decisions are ordered: policy, then reason. The kernel refuses one that has no name. */
const placeOf = (one: Partial<NamedAnswer> | null): string => `${one?.policy}\n${one?.reason}`;
