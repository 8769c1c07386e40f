import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createError,
  ErrorCategory,
  ExecutorError,
  ExecutorErrorCategory,
  escalate,
  externalError,
  fromExecutorError,
  inputError,
  isKernelError,
  isRetryable,
  KernelError,
  KernelErrorException,
  policyError,
  processingError,
  raise,
  resourceError,
  Severity,
  toExecutorError,
  wrapError,
} from "../../src/contract/error.ts";
import { type ErrorCode, errorCodes, kernelError } from "../../src/contract/error-codes.ts";
import { moduleRef } from "../../src/contract/module-ref.ts";
import { runs } from "../properties/property-runs.ts";
import { jsonObject, kernelCode, kernelErrors, ref, throughJson, thrown } from "./samples.ts";

const without = (value: object, key: string) => Object.fromEntries(Object.entries(value).filter(([at]) => at !== key));
const timeout = createError("T1_CLASSIFY_TIMEOUT", "external", "transient", "embedding is late", ref, true);
const codesOf = (error: KernelError | null): readonly string[] =>
  error === null ? [] : [error.code, ...codesOf(error.cause)];

describe("KernelError", () => {
  it("[ERR-01] there are exactly five categories", () => {
    expect(ErrorCategory.options).toEqual(["input", "processing", "external", "resource", "policy"]);
    expect(ErrorCategory.safeParse("network").success).toBe(false);
  });

  it("[ERR-02] there are exactly three severities", () => {
    expect(Severity.options).toEqual(["transient", "degraded", "fatal"]);
    expect(Severity.safeParse("warning").success).toBe(false);
  });

  it("[ERR-03] detail and cause have defaults, all else is required, causes nest to any depth", () => {
    const bare = without(without(timeout, "detail"), "cause");
    expect(KernelError.parse(bare)).toMatchObject({ detail: {}, cause: null });
    for (const key of Object.keys(bare)) expect(KernelError.safeParse(without(bare, key)).success).toBe(false);
    let deep: KernelError = timeout;
    for (let level = 0; level < 200; level++) deep = wrapError("T4_A_B", deep, ref, "m");
    expect(KernelError.parse(throughJson(deep))).toEqual(deep);
    expect(KernelError.safeParse({ ...bare, cause: { code: "T1_A_B" } }).success).toBe(false);
  });

  it("[ERR-03] an error is frozen, detail and cause included, made or parsed", () => {
    const made = createError("T1_A_B", "input", "transient", "m", { ...ref }, false, { a: { b: [1] } }, timeout);
    for (const error of [made, KernelError.parse(throughJson(made))]) {
      const { b } = error.detail["a"] as { b: number[] };
      const attacks = [
        () => Object.assign(error, { code: "T2_A_B" }),
        () => Object.assign(error.source, { tier: 1 }),
        () => b.push(2),
        () => Object.assign(error.cause as object, { code: "x" }),
      ];
      for (const attack of attacks) expect(attack).toThrow(TypeError);
    }
  });

  it("[ERR-04] codes follow T<tier>_<MODULE>_<REASON>", () => {
    const parses = (code: string) => KernelError.safeParse({ ...timeout, code }).success;
    for (const good of ["T3_DAG_COMPILE_UNRESOLVED_DEPS", "T0_A_B", "T7_A1_B2"]) expect(parses(good)).toBe(true);
    for (const bad of ["t1_x_y", "T8_A_B", "T1_ONLY", "FOO_BAR", "T1__A", "T1_A_", "T1_A_b", "T1_A_B\n", ""]) {
      expect([bad, parses(bad)]).toEqual([bad, false]);
    }
  });

  it("[SIG-23] any error survives JSON", () => {
    fc.assert(
      fc.property(kernelErrors, (error) => {
        expect(KernelError.parse(throughJson(error))).toStrictEqual(error);
      }),
    );
    const proto = JSON.stringify({ ...timeout, detail: JSON.parse('{"__proto__":{"a":1}}') });
    expect(JSON.stringify(KernelError.parse(JSON.parse(proto)))).toBe(proto);
  });
});

describe("createError", () => {
  it("[ERR-07] fields map one to one, and retry is false when left out", () => {
    const error = createError("T4_A_B", "resource", "degraded", "m", ref, true, { a: 1 }, timeout);
    const fields = { code: "T4_A_B", category: "resource", severity: "degraded", message: "m", source: ref };
    expect(error).toEqual({ ...fields, retry_eligible: true, detail: { a: 1 }, cause: timeout });
    expect(createError("T4_A_B", "resource", "degraded", "m", ref).retry_eligible).toBe(false);
    // @ts-expect-error the category must be stated
    const omit = () => createError("T4_A_B", "degraded", "m", ref);
    expect(omit).toBeTypeOf("function");
  });

  it("[ERR-08] a code that breaks the convention is refused as an input failure", () => {
    const carrier = thrown(() => createError("oops", "external", "fatal", "m", ref));
    expect(carrier).toBeInstanceOf(KernelErrorException);
    expect((carrier as KernelErrorException).error).toMatchObject({ category: "input", detail: { code: "oops" } });
  });

  it("[ERR-09] the chain of causes is walked outermost first and ends in null", () => {
    const outer = wrapError("T7_E_F", wrapError("T4_C_D", timeout, ref), ref);
    expect(codesOf(outer)).toEqual(["T7_E_F", "T4_C_D", "T1_CLASSIFY_TIMEOUT"]);
    expect(outer.cause?.cause?.cause).toBeNull();
  });

  it("(C-18) the carrier shows code and message and holds the very error", () => {
    const carrier = thrown(() => raise(timeout)) as KernelErrorException;
    expect(carrier.error).toBe(timeout);
    expect(carrier.message).toBe("T1_CLASSIFY_TIMEOUT: embedding is late");
    expect(isKernelError(carrier)).toBe(false);
    expect(isKernelError(timeout)).toBe(true);
  });
});

describe("convenience factories", () => {
  it("[ERR-10] inputError is input and transient, with a code of its source's tier", () => {
    const error = inputError("bad", ref, { a: 1 });
    expect(error).toMatchObject({ category: "input", severity: "transient", retry_eligible: false, detail: { a: 1 } });
    expect(error.code).toBe("T4_OODA_LOOP_INVALID_INPUT");
    expect(inputError("bad", moduleRef(2, "?!", "f")).code).toBe("T2_MODULE_INVALID_INPUT");
    expect(inputError("bad", ref, null, { code: "T0_A_B" }).code).toBe("T0_A_B");
    fc.assert(
      fc.property(fc.nat(7), fc.string({ minLength: 1 }), (tier, name) => {
        expect(inputError("m", { tier, module: name, function: "f" }).code).toMatch(new RegExp(`^T${tier}_`));
      }),
    );
  });

  it("[ERR-11] processingError keeps its cause", () => {
    expect(processingError("m", ref, null, timeout)).toMatchObject({
      category: "processing",
      cause: timeout,
      detail: {},
    });
  });

  it("[ERR-12] externalError takes the retry decision from its argument", () => {
    expect(externalError("m", ref, true)).toMatchObject({
      category: "external",
      severity: "transient",
      retry_eligible: true,
    });
    expect(externalError("m", ref, false)).toMatchObject({ severity: "degraded", retry_eligible: false });
  });

  it("[ERR-13] resourceError is resource; policyError is policy, fatal and never retried", () => {
    expect(resourceError("m", ref, { left: 0 })).toMatchObject({ category: "resource", detail: { left: 0 } });
    expect(policyError("m", ref)).toMatchObject({ category: "policy", severity: "fatal", retry_eligible: false });
  });
});

describe("wrapError and escalate", () => {
  it("[ERR-14] a wrapper keeps the inner error as cause and takes over category and severity", () => {
    const outer = wrapError("T4_TOOL_EXECUTION_FAILED", timeout, moduleRef(4, "tool", "call"));
    expect(outer).toMatchObject({ category: "external", severity: "transient", retry_eligible: true, cause: timeout });
    expect(outer.message).toContain("tool.call");
    expect(outer.message).toContain("embedding is late");
    expect(wrapError("T4_A_B", timeout, ref, "mine").message).toBe("mine");
  });

  it("[ERR-15] an unrecoverable wrapper is fatal and not retryable, its cause is as it was", () => {
    const outer = wrapError("T4_A_B", timeout, ref, null, { unrecoverable: true });
    expect(outer).toMatchObject({ severity: "fatal", retry_eligible: false });
    expect(outer.cause).toMatchObject({ severity: "transient", retry_eligible: true });
  });

  it("(C-46) escalation adds one tier a time, names the receiver, and ends at T7", () => {
    const root = createError("T4_OPERATOR_BUG", "processing", "fatal", "m", ref);
    const top = escalate(escalate(escalate(root)));
    const chain = ["T7_ESCALATION_UNHANDLED", "T6_ESCALATION_UNHANDLED", "T5_ESCALATION_UNHANDLED", "T4_OPERATOR_BUG"];
    expect(codesOf(top)).toEqual(chain);
    expect(top.source.tier).toBe(7);
    expect(top.severity).toBe("fatal");
    expect(escalate(top)).toBe(top);
    for (let tier = 0; tier < 7; tier++) {
      const code = escalate(inputError("m", moduleRef(tier, "m", "f"))).code;
      expect(code).toBe(`T${tier + 1}_ESCALATION_UNHANDLED`);
      expect(errorCodes).toHaveProperty(code);
    }
  });
});

describe("executor view", () => {
  const categories = ExecutorErrorCategory.options;
  const retries = {
    transient: true,
    timeout: true,
    validation: false,
    authorization: false,
    policy_denied: false,
    operator_bug: false,
  };
  const sample = {
    code: "RATE_LIMITED",
    message: "Provider rate limit",
    retryable: true,
    retry_after_ms: 2000,
    category: "transient",
    details: { provider: "openai" },
  } as const;
  const executorErrors = fc.record({
    code: fc.oneof(fc.string(), kernelCode, fc.constantFrom(...Object.keys(errorCodes))),
    message: fc.string(),
    retryable: fc.boolean(),
    retry_after_ms: fc.option(fc.nat()),
    category: fc.constantFrom(...categories),
    details: fc.oneof(
      jsonObject,
      jsonObject.map((more) => ({ ...more, executor: { code: "X", category: "timeout", retry_after_ms: 1 } })),
    ),
  });

  it("[ERR-20] the seed's sample parses, and round-trips through JSON and through KernelError", () => {
    expect(ExecutorError.parse(throughJson(sample))).toEqual(sample);
    expect(toExecutorError(KernelError.parse(throughJson(fromExecutorError(sample))))).toEqual(sample);
    expect(fromExecutorError(sample)).toMatchObject({
      code: "T4_OPERATOR_RATE_LIMITED",
      category: "external",
      severity: "transient",
    });
    expect(ExecutorError.safeParse(without(sample, "category")).success).toBe(false);
    expect(ExecutorError.parse(without(sample, "retry_after_ms")).retry_after_ms).toBeNull();
  });

  it("[ERR-21] the category decides on retries, the flag only for dependency", () => {
    for (const retryable of [true, false]) {
      const decide = (category: ExecutorErrorCategory) => isRetryable({ ...sample, category, retryable });
      for (const [category, expected] of Object.entries(retries)) {
        expect([category, decide(category as ExecutorErrorCategory)]).toEqual([category, expected]);
      }
      expect(decide("dependency")).toBe(retryable);
    }
    expect([isRetryable(timeout), isRetryable(inputError("m", ref))]).toEqual([true, false]);
  });

  it("[ERR-22] each category becomes the KernelError of the table", () => {
    const rows = {
      validation: ["input", "transient", false],
      authorization: ["policy", "fatal", false],
      policy_denied: ["policy", "fatal", false],
      transient: ["external", "transient", true],
      operator_bug: ["processing", "fatal", false],
      timeout: ["external", "transient", true],
    } as const;
    for (const [category, row] of Object.entries(rows)) {
      const error = fromExecutorError({ ...sample, category: category as ExecutorErrorCategory });
      expect([category, error.category, error.severity, error.retry_eligible]).toEqual([category, ...row]);
    }
  });

  it("[ERR-22] executor to kernel and back keeps code, message, hint, details, category and the retry decision", () => {
    fc.assert(
      fc.property(executorErrors, (error) => {
        const kernel = fromExecutorError(error);
        expect(kernel.retry_eligible).toBe(isRetryable(error));
        expect(toExecutorError(kernel)).toEqual({ ...error, retryable: isRetryable(error) });
        expect(fromExecutorError(toExecutorError(kernel))).toEqual(kernel);
      }),
      { numRuns: runs(500) },
    );
  });

  it("[ERR-22] each pair of category and severity has a view with code, message, detail and retry decision", () => {
    for (const category of ErrorCategory.options) {
      for (const severity of Severity.options) {
        for (const retry of [true, false]) {
          for (const code of ["T4_TOOL_TIMEOUT", "T4_OPERATOR_BUG", "T5_AUTHZ_FORBIDDEN", "T2_SOME_THING"]) {
            const error = createError(code, category, severity, "m", ref, retry, { operator: "Git.Log" });
            const view = toExecutorError(error);
            const back = fromExecutorError(view);
            expect(ExecutorError.safeParse(view).success).toBe(true);
            expect([isRetryable(view), view.retryable, back.retry_eligible]).toEqual([retry, retry, retry]);
            expect([view.code, back.code, back.message, view.details]).toEqual([code, code, "m", error.detail]);
          }
        }
      }
    }
  });

  it("[ERR-22] the view's retry decision is the error's, also when detail.executor contradicts it", () => {
    const executor = fc.record({
      code: fc.string(),
      category: fc.constantFrom(...categories),
      retry_after_ms: fc.constant(null),
    });
    fc.assert(
      fc.property(kernelErrors, fc.option(executor), (error, trace) => {
        const detail = trace === null ? error.detail : { ...error.detail, executor: trace };
        expect(isRetryable(toExecutorError(KernelError.parse({ ...error, detail })))).toBe(error.retry_eligible);
      }),
    );
  });

  it("[ERR-22] a catalogue error comes back with its own category and severity", () => {
    for (const code of Object.keys(errorCodes) as ErrorCode[]) {
      const error = kernelError(code, "m", ref);
      expect(fromExecutorError(toExecutorError(error))).toMatchObject(without(error, "source"));
    }
  });

  it("(C-01) the table of views holds", () => {
    const view = (code: ErrorCode, detail = {}) => toExecutorError(kernelError(code, "m", ref, { detail })).category;
    expect(view("T5_AUTHZ_FORBIDDEN")).toBe("authorization");
    expect(view("T5_POLICY_DENIED")).toBe("policy_denied");
    expect(view("T5_BUDGET_EXHAUSTED")).toBe("policy_denied");
    expect(view("T4_TOOL_EXECUTION_FAILED")).toBe("transient");
    expect(view("T4_TOOL_TIMEOUT")).toBe("timeout");
    expect(view("T4_DEPENDENCY_FAILED")).toBe("dependency");
    expect(view("T4_OPERATOR_BUG", { operator: "Git.Log" })).toBe("operator_bug");
    expect(view("T2_DECOMPOSE_CYCLE_DETECTED")).toBe("validation");
    expect(view("T0_VALIDATION_SCHEMA_MISMATCH")).toBe("validation");
  });
});
