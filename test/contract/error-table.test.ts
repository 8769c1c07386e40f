/**
 * The catalogue as callers meet it: what each code means for another try, for its severity, over HTTP and over
 * JSON-RPC.
 */
import { describe, expect, it } from "vitest";
import { errorCodes } from "../../src/contract/error-codes.ts";
import { type ErrorCodeRow, httpStatusByCategory, rpcCodeByCategory } from "../../src/contract/error-row.ts";

type Rows = Readonly<Record<string, ErrorCodeRow>>;
const rows: Rows = errorCodes;

/** Codes whose member is not that of their category, by the member. */
function exceptions(of: (row: ErrorCodeRow) => unknown, usual: Readonly<Record<ErrorCodeRow["category"], unknown>>) {
  const found: Record<string, string[]> = {};
  for (const [code, row] of Object.entries(rows))
    if (of(row) !== usual[row.category]) found[String(of(row))] = [...(found[String(of(row))] ?? []), code].sort();
  return found;
}

/** The codes that say that something is not there. */
const unknown = [
  "T0_A2A_METHOD_UNKNOWN",
  "T0_A2A_PUSH_UNKNOWN",
  "T0_GUARD_SERVER_UNKNOWN",
  "T0_HTTP_NAME_UNKNOWN",
  "T0_HTTP_ROUTE_UNKNOWN",
  "T0_MCP_RESOURCE_UNKNOWN",
  "T0_MCP_SESSION_UNKNOWN",
  "T0_MCP_TOOL_UNKNOWN",
  "T4_SEQUENCE_NOT_FOUND",
  "T4_WAIT_TOKEN_UNKNOWN",
  "T4_WORKFLOW_NOT_FOUND",
  "T5_GATE_NOT_FOUND",
  "T5_GRANT_NOT_FOUND",
  "T5_HALT_NOT_FOUND",
  "T5_REVIEWER_UNKNOWN",
  "T5_REVIEW_NOT_FOUND",
  "T5_STAND_IN_NOT_FOUND",
  "T7_SCHEDULE_NOT_FOUND",
];

describe("the rows of a category are alike, but for those that are named here", () => {
  it("[ERR-05] a category has its HTTP status and its JSON-RPC code", () => {
    expect(httpStatusByCategory).toEqual({ input: 400, processing: 500, external: 502, resource: 429, policy: 403 });
    const rpc = { input: -32602, processing: -32603, external: -32003, resource: -32603, policy: -32600 };
    expect(rpcCodeByCategory).toEqual(rpc);
  });

  it("[ERR-05] the same may do later where something external failed, and never where input or policy refused", () => {
    const usual = { input: false, processing: false, external: true, resource: false, policy: false };
    expect(exceptions(({ retryable }) => retryable, usual)).toEqual({
      true: [
        "T0_A2A_PUSH_LIMIT",
        "T0_AGENT_WAITING",
        "T0_GUARD_WAITING",
        "T0_HTTP_CALLER_BUSY",
        "T0_HTTP_CALLER_READ_LIMIT",
        "T0_HTTP_CALLER_STREAM_LIMIT",
        "T0_HTTP_CALLER_UNREAD_LIMIT",
        "T0_HTTP_KEY_IN_FLIGHT",
        "T0_HTTP_RATE_LIMIT",
        "T0_HTTP_STREAM_LIMIT",
        "T0_HTTP_TENANT_STREAM_LIMIT",
        "T0_HTTP_UNREAD_LIMIT",
        "T0_LEDGER_CONFLICT",
        "T0_LEDGER_LOCKED",
        "T0_MCP_CALLER_SESSION_LIMIT",
        "T0_MCP_SESSION_LIMIT",
        "T4_DISPATCHER_REFUSED",
        "T4_TOKEN_LIMIT_REACHED",
        "T4_WORKFLOW_LEASED",
        "T5_IN_FLIGHT_LIMIT",
        "T7_QUEUE_FULL",
        "T7_SPAWN_ABANDONED",
        "T7_SPAWN_INSUFFICIENT_RESOURCES",
        "T7_SPAWN_SHARE_EXCEEDED",
      ],
      false: [
        "T0_HTTP_ADDRESS_UNAVAILABLE",
        "T4_ACTION_IN_DOUBT",
        "T4_DEPENDENCY_FAILED",
        "T4_ITEMS_FAILED",
        "T4_REPEAT_EXHAUSTED",
      ],
    });
  });

  it("[ERR-05] input and what is external are transient, the rest is fatal", () => {
    const usual = {
      input: "transient",
      processing: "fatal",
      external: "transient",
      resource: "fatal",
      policy: "fatal",
    };
    expect(exceptions(({ severity }) => severity, usual)).toEqual({
      degraded: [
        "T0_CACHE_PRESSURE_EVICTION",
        "T0_TIER_CRASHED",
        "T1_CLASSIFY_LOW_CONFIDENCE",
        "T3_PLAN_TRUNCATED",
        "T4_ACTION_IN_DOUBT",
        "T4_DEPENDENCY_FAILED",
        "T4_ITEMS_FAILED",
        "T4_REPEAT_EXHAUSTED",
        "T6_HALLUCINATION_DETECTED",
        "T6_LOOP_DETECTED",
        "T6_OVERCONFIDENCE_DETECTED",
      ],
      transient: [
        "T0_A2A_PUSH_LIMIT",
        "T0_AGENT_WAITING",
        "T0_GUARD_WAITING",
        "T0_HTTP_CALLER_BUSY",
        "T0_HTTP_CALLER_READ_LIMIT",
        "T0_HTTP_CALLER_STREAM_LIMIT",
        "T0_HTTP_CALLER_UNREAD_LIMIT",
        "T0_HTTP_KEY_IN_FLIGHT",
        "T0_HTTP_RATE_LIMIT",
        "T0_HTTP_STREAM_LIMIT",
        "T0_HTTP_TENANT_STREAM_LIMIT",
        "T0_HTTP_UNREAD_LIMIT",
        "T0_LEDGER_CONFLICT",
        "T0_LEDGER_LOCKED",
        "T0_MCP_CALLER_SESSION_LIMIT",
        "T0_MCP_SESSION_LIMIT",
        "T4_TOKEN_LIMIT_REACHED",
        "T4_WORKFLOW_LEASED",
        "T5_IN_FLIGHT_LIMIT",
        "T7_QUEUE_FULL",
        "T7_SPAWN_ABANDONED",
        "T7_SPAWN_INSUFFICIENT_RESOURCES",
        "T7_SPAWN_SHARE_EXCEEDED",
      ],
      fatal: ["T0_LEDGER_FORMAT", "T0_LEDGER_NEWER_SCHEMA", "T0_LEDGER_NOT_A_DATABASE"],
    });
  });

  it("[ERR-05] these have an HTTP status of their own", () => {
    expect(exceptions(({ http }) => http, httpStatusByCategory)).toEqual({
      "401": ["T0_WEBHOOK_REFUSED", "T5_AUTHN_FAILED"],
      "404": unknown,
      "405": ["T0_HTTP_METHOD_NOT_ALLOWED"],
      "408": ["T0_HTTP_REQUEST_TIMEOUT"],
      "409": [
        "T0_A2A_NOT_CANCELABLE",
        "T0_A2A_TASK_ENDED",
        "T0_AGENT_TAKEN",
        "T0_GUARD_HANDED_OVER",
        "T0_HTTP_KEY_IN_FLIGHT",
        "T0_LEDGER_CONFLICT",
        "T0_QUESTION_OVER",
        "T4_CALL_UNDONE",
        "T4_FORK_INVALID",
        "T4_INPUT_NOT_TAKEN",
        "T4_TOKEN_STATE_CONFLICT",
        "T4_WAIT_TOKEN_USED",
        "T4_WORKFLOW_CONFLICT",
        "T4_WORKFLOW_LEASED",
        "T4_WORKFLOW_STRANDED",
        "T5_GATE_AMBIGUOUS",
        "T5_GATE_CONFLICT",
        "T5_GATE_NOT_RUNNABLE",
        "T5_GRANT_REFUSED",
        "T5_REVIEW_CONFLICT",
        "T5_STAND_IN_REFUSED",
        "T7_SCHEDULE_BACKFILL",
        "T7_SCHEDULE_OVERLAP",
      ],
      "410": ["T0_AGUI_RESUME_EXPIRED", "T4_WAIT_TOKEN_OVER"],
      "413": ["T0_VALIDATION_PAYLOAD_TOO_LARGE"],
      "415": ["T0_HTTP_CONTENT_ENCODING", "T0_HTTP_MEDIA_TYPE"],
      "422": ["T4_EVENT_ID_REUSED", "T4_EVENT_INVALID", "T4_IDEMPOTENCY_PAYLOAD_MISMATCH", "T5_EDIT_WITHOUT_EFFECT"],
      "431": ["T0_HTTP_HEADERS_TOO_LARGE"],
      "503": [
        "T0_HTTP_ADDRESS_UNAVAILABLE",
        "T0_HTTP_CONSOLE_MISSING",
        "T0_HTTP_GUIDE_MISSING",
        "T0_HTTP_MESSAGE_TOO_LARGE",
        "T0_HTTP_STREAM_LIMIT",
        "T0_HTTP_UNREAD_LIMIT",
        "T0_KERNEL_STOPPED",
        "T0_LEDGER_CLOCK",
        "T0_LEDGER_FORBIDDEN",
        "T0_LEDGER_LOCKED",
        "T0_LEDGER_POOLED",
        "T0_LEDGER_READ_ONLY",
        "T0_LEDGER_REPLACED",
        "T0_LEDGER_UNAVAILABLE",
        "T0_MCP_SESSION_LIMIT",
        "T0_PACKAGE_MISSING",
        "T0_RUNTIME_UNSUPPORTED",
        "T4_DISPATCHER_UNAVAILABLE",
        "T7_ROUTE_NO_ENDPOINT",
        "T7_SPAWN_ABANDONED",
      ],
      "507": ["T0_LEDGER_DISK_FULL"],
    });
  });

  it("[ERR-05] these have a JSON-RPC code of their own", () => {
    expect(exceptions(({ rpc }) => rpc, rpcCodeByCategory)).toEqual({
      "-32001": ["T0_A2A_PUSH_UNKNOWN"],
      "-32002": ["T0_A2A_NOT_CANCELABLE"],
      "-32003": ["T0_A2A_PUSH_OFF"],
      "-32004": ["T0_A2A_FILTER_REFUSED", "T0_A2A_TASK_ENDED"],
      "-32005": ["T0_A2A_OUTPUT_MODES", "T0_A2A_PART_REFUSED"],
      "-32009": ["T0_A2A_VERSION"],
      "-32601": ["T0_A2A_METHOD_UNKNOWN"],
      "-32700": ["T0_RPC_PARSE_FAILED"],
      "-32600": ["T0_RPC_REQUEST_INVALID"],
    });
  });

  it("[ERR-05] a row cannot be changed, nor one be added", () => {
    expect(Object.isFrozen(errorCodes)).toBe(true);
    expect(Object.values(rows).filter((row) => !Object.isFrozen(row))).toEqual([]);
  });
});
