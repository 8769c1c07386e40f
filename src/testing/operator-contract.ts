/**
 * The contract of every operator, as tests for whatever runner is handed in.
 *
 * Owns: [OPR-02] same key and input, same observable result; frozen metadata; an output that its schema accepts.
 * Never: imports a test runner. The neighbour call-operator.ts makes the calls.
 */
import type { Operator, OperatorCall } from "../contract/operator.ts";
import { callOperator } from "./call-operator.ts";

/** The runner's functions, the operator and a valid input for it. */
export interface OperatorContract {
  /** Registers a test, as the runner's own. */
  readonly it: (title: string, body: () => Promise<void>) => unknown;
  /** The runner's own, or any function with `toEqual`. */
  readonly expect: (value: unknown) => { readonly toEqual: (expected: unknown) => void };
  /** The operator to test. */
  readonly operator: Operator;
  /** A valid input, or a function that makes one when the test runs. */
  readonly input: unknown;
  /** The number of calls with one key; at least two. */
  readonly times?: number;
  /** The answer to a call's `route`, for an operator that asks. */
  readonly route?: OperatorCall["route"];
}

/** Registers the contract's tests. */
export function operatorContract({ it, expect, operator, input, route, times = 3 }: OperatorContract): void {
  const { name } = operator.metadata;
  const makeInput = typeof input === "function" ? (input as () => unknown) : () => input;

  it(`[OPR-02] ${name}: the same key and input give the same result each time`, async () => {
    const trial = { operator, route, input: await makeInput(), idempotencyKey: `contract-${name}` };
    const first = await callOperator(trial);
    for (let call = 1; call < Math.max(2, times); call += 1) expect(await callOperator(trial)).toEqual(first);
  });

  it(`[OPR-02] ${name}: metadata is frozen at every depth`, async () => {
    expect(findThawed(operator.metadata, "metadata")).toEqual([]);
  });

  it(`[OPR-02] ${name}: its own schema accepts the output, which is plain JSON`, async () => {
    const { output } = await callOperator({
      operator,
      route,
      input: await makeInput(),
      idempotencyKey: `schema-${name}`,
    });
    expect(JSON.parse(JSON.stringify(output))).toEqual(output);
    expect(operator.output.parse(output)).toEqual(output);
  });
}

/** Paths of the objects that somebody could still change. */
function findThawed(value: unknown, path: string): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const below = Object.entries(value).flatMap(([key, member]) => findThawed(member, `${path}.${key}`));
  return Object.isFrozen(value) ? below : [path, ...below];
}
