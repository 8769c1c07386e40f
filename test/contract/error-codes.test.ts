import { describe, expect, it } from "vitest";
import { ErrorCategory, errorCodePattern, Severity } from "../../src/contract/error.ts";
import { type ErrorCode, errorCodes, isErrorCode, kernelError } from "../../src/contract/error-codes.ts";
import { ref } from "./samples.ts";

const rows = Object.entries(errorCodes);

describe("catalogue", () => {
  it("[ERR-05] holds the seed's fourteen rows with their categories and severities", () => {
    const seed = {
      T0_VALIDATION_SCHEMA_MISMATCH: "input transient",
      T0_CACHE_PRESSURE_EVICTION: "resource degraded",
      T1_CLASSIFY_LOW_CONFIDENCE: "processing degraded",
      T1_CLASSIFY_TIMEOUT: "external transient",
      T2_DECOMPOSE_CYCLE_DETECTED: "processing fatal",
      T3_DAG_COMPILE_UNRESOLVED_DEPS: "processing fatal",
      T4_TOOL_EXECUTION_FAILED: "external transient",
      T4_TOOL_TIMEOUT: "external transient",
      T5_BUDGET_EXHAUSTED: "resource fatal",
      T5_IDENTITY_VIOLATION: "policy fatal",
      T6_HALLUCINATION_DETECTED: "processing degraded",
      T6_OVERCONFIDENCE_DETECTED: "processing degraded",
      T6_LOOP_DETECTED: "processing degraded",
      T7_SPAWN_INSUFFICIENT_RESOURCES: "resource transient",
    };
    for (const [code, expected] of Object.entries(seed)) {
      const { category, severity } = errorCodes[code as ErrorCode];
      expect([code, `${category} ${severity}`]).toEqual([code, expected]);
    }
  });

  it("[ERR-04] every code obeys the convention", () => {
    for (const [code] of rows) expect(code).toMatch(errorCodePattern);
  });

  it("[ERR-05] every row is complete: legal values, a status, a JSON-RPC code and one plain sentence", () => {
    for (const [code, row] of rows) {
      expect(ErrorCategory.options).toContain(row.category);
      expect(Severity.options).toContain(row.severity);
      expect(row.http).toBeGreaterThanOrEqual(400);
      expect(row.http).toBeLessThan(600);
      // The last six are those of A2A.
      const known = [-32700, -32600, -32602, -32603, -32003, -32601, -32001, -32002, -32004, -32005, -32009];
      expect(known).toContain(row.rpc);
      expect([code, row.next]).toEqual([code, expect.stringMatching(/^[A-Z][^.]*\.$/)]);
    }
  });

  it("(C-43) input and policy rows are never retryable, and policy rows are fatal", () => {
    for (const [, row] of rows) {
      if (row.category === "input" || row.category === "policy") expect(row.retryable).toBe(false);
      if (row.category === "policy") expect(row.severity).toBe("fatal");
    }
  });

  it("(A-41) transport-level answers have their own status", () => {
    const http = (code: ErrorCode) => errorCodes[code].http;
    expect([http("T5_AUTHN_FAILED"), http("T5_AUTHZ_FORBIDDEN")]).toEqual([401, 403]);
    expect([http("T4_WORKFLOW_NOT_FOUND"), http("T5_GATE_NOT_FOUND")]).toEqual([404, 404]);
    expect([http("T4_WORKFLOW_CONFLICT"), http("T5_GATE_CONFLICT"), http("T5_GATE_AMBIGUOUS")]).toEqual([
      409, 409, 409,
    ]);
    expect([http("T4_IDEMPOTENCY_PAYLOAD_MISMATCH"), http("T0_LEDGER_CONFLICT")]).toEqual([422, 409]);
    expect([http("T5_IN_FLIGHT_LIMIT"), http("T4_WORKFLOW_LEASED")]).toEqual([429, 409]);
  });
});

describe("kernelError", () => {
  it("[ERR-05] builds from the row, and only retry and severity may differ", () => {
    const error = kernelError("T4_TOOL_TIMEOUT", "m", ref, { detail: { after: 30 } });
    expect(error).toMatchObject({
      category: "external",
      severity: "transient",
      retry_eligible: true,
      detail: { after: 30 },
    });
    const stern = kernelError("T4_TOOL_TIMEOUT", "m", ref, { retry: false, severity: "fatal", cause: error });
    expect(stern).toMatchObject({ category: "external", severity: "fatal", retry_eligible: false, cause: error });
  });

  it("[ERR-05] isErrorCode knows own rows only", () => {
    expect(isErrorCode("T4_TOOL_TIMEOUT")).toBe(true);
    for (const foreign of ["constructor", "__proto__", "T4_NO_SUCH"]) expect(isErrorCode(foreign)).toBe(false);
  });
});
