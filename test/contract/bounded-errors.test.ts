// Errors are bounded: long texts are cut before they are nested, chains of causes end, and depth overflows no stack.
import { describe, expect, it } from "vitest";
import { fail, metricsOf } from "../../src/contract/result.ts";
import { eventText } from "../../src/contract/turn.ts";
import {
  canonicalJson,
  createError,
  errorToJsonrpcError,
  errorToProblemDetails,
  escalate,
  fromExecutorError,
  KernelError,
  KernelErrorException,
  Result,
  toEnvelope,
  toExecutorError,
  wrapError,
} from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { createWorld, job, step, work } from "../recovery/shared-file.ts";

const source = { tier: 4, module: "operator", function: "invoke" } as never;
const plain = {
  code: "T4_OPERATOR_BUG",
  category: "processing",
  severity: "fatal",
  source,
  retry_eligible: false,
  detail: {},
} as const;

function deepError(levels: number): KernelError {
  let error: KernelError = { ...plain, message: "the root", cause: null };
  for (let i = 1; i < levels; i += 1) error = { ...plain, message: `level ${i}`, cause: error };
  return error;
}

function chainOf(error: KernelError): KernelError[] {
  const chain: KernelError[] = [];
  for (let at: KernelError | null = error; at !== null; at = at.cause) chain.push(at);
  return chain;
}

/** A value, or an error with a code or of a schema: never a RangeError. */
function answered(act: () => unknown): unknown {
  try {
    return act();
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(KernelErrorException);
    return null;
  }
}

describe("a chain of 100,000 causes", () => {
  const deep = deepError(100_000);

  it("[ERR-16] is kept as its outermost errors and its root", () => {
    for (const error of [wrapError("T5_POLICY_FAILED", deep, source), escalate(deep)]) {
      const chain = chainOf(error);
      expect(chain.length).toBeLessThanOrEqual(33);
      expect(chain.at(-1)?.message).toBe("the root");
      expect(chain[1]?.message).toBe("level 99999");
      expect(KernelError.parse(JSON.parse(JSON.stringify(error)))).toEqual(error);
    }
  });

  it("[ERR-16] is refused by the schemas, and read by every translation, without overflow", () => {
    expect(KernelError.safeParse(deep).success).toBe(false);
    const result = fail(deep, metricsOf(source));
    expect(Result.safeParse(result).success).toBe(false);
    expect(JSON.stringify(toEnvelope(result))).toContain("level 99999");
    expect(JSON.stringify(errorToProblemDetails(deep))).toContain("the root");
    expect(JSON.stringify(errorToJsonrpcError(deep))).toContain("level 99999");
    answered(() => toExecutorError(deep));
    answered(() => canonicalJson(deep));
    answered(() => eventText({ id: "evt_1", type: "STEP_FAILED", step: null, payload: { error: deep } as never }));
    answered(() => fromExecutorError({ ...toExecutorError(deep), details: { deep } as never }));
  });

  it("[ERR-16] a chain that leads back to itself ends", () => {
    const loop = { ...plain, message: "loop", cause: null as unknown };
    loop.cause = loop;
    expect(chainOf(wrapError("T5_POLICY_FAILED", loop as never, source)).length).toBeLessThanOrEqual(33);
    expect(KernelError.safeParse(loop).success).toBe(false);
  });

  it("[ERR-16] thrown by an operator, fails its workflow with a code, and the ledger bounds the error", async () => {
    const thrower = work(createWorld(), "Test.Throw", {
      run: () => {
        throw new KernelErrorException(deep);
      },
    });
    await using t = await createTestKernel({ capabilities: [job([step("s1", "Test.Throw")], [thrower])] });
    const state = await t.run("Test.Job");
    expect(state.state).toBe("failed");
    expect(chainOf(state.error as KernelError).length).toBeLessThanOrEqual(40);
  });
});

describe("an error's text", () => {
  const long = "x".repeat(1_000_000);

  it("[ERR-16] is cut, and cut again before it is nested: a wrap is no longer than what it wraps", () => {
    const inner = createError("T4_OPERATOR_BUG", "processing", "fatal", long, source);
    expect(inner.message.length).toBe(4_000);
    let error = inner;
    for (let hops = 0; hops < 3; hops += 1) error = escalate(error);
    for (const hop of chainOf(error).slice(0, -1)) expect(hop.message.length).toBeLessThan(700);
  });

  it("[ERR-16] of whatever an operator throws is bounded in the ledger, with all hops of its escalation", async () => {
    const thrower = work(createWorld(), "Test.Throw", {
      effect: "read",
      run: () => {
        throw new Error(long);
      },
    });
    await using t = await createTestKernel({ capabilities: [job([step("s1", "Test.Throw")], [thrower])] });
    const { workflow_id } = await t.run("Test.Job");
    let chars = 0;
    for await (const row of t.kernel.export(workflow_id)) chars += row.body?.length ?? 0;
    expect(chars).toBeLessThan(400_000);
  });
});
