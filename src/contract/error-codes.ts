/**
 * The catalogue of error codes: one row for each code, and the function that builds an error from its row.
 *
 * Owns: category, severity, retry decision, HTTP status, JSON-RPC code and the next step for a person.
 * Never: holds a code that no part of the kernel emits. The digit of a code names the tier that owns the row.
 * 1.  Rows of category input are never retryable: a corrected request is a new one.
 * 2.  Rows of category policy are fatal and never retryable.
 * 3.  HTTP status and JSON-RPC code follow from the category unless the row says otherwise.
 */

import { busy, degraded, external, input, policy, processing, resource } from "./error-row.ts";
import { faceErrorCodes } from "./face-error-codes.ts";
import { createError, type KernelError, type Severity } from "./kernel-error.ts";
import type { ModuleRef } from "./module-ref.ts";

/** Every code that Countersign emits. */
export const errorCodes = Object.freeze({
  // T0: schemas, ledger, kernel
  T0_VALIDATION_SCHEMA_MISMATCH: input("Correct the fields named in the detail and send the request again."),
  T0_HOST_INVALID: input(
    "Have the module export the options of createKernel by the name host, as in: export const host = defineHost({ " +
      "capabilities }).",
  ),
  T0_MODULE_INVALID: input("Mend what the message names in this module, then load it again."),
  T0_LIST_TOO_WIDE: input("Narrow the list by state, intent type, requester, operator or dates, then search it again."),
  T0_VALIDATION_PAYLOAD_TOO_LARGE: input("Send less data, or raise the limit named in the detail.", { http: 413 }),
  T0_CACHE_PRESSURE_EVICTION: resource("Nothing to do; give the cache more room if it happens often.", degraded),
  T0_LEDGER_UNAVAILABLE: external("Check that the ledger's store is reachable; the work resumes from the ledger.", {
    http: 503,
  }),
  T0_LEDGER_LOCKED: resource("Wait until the other process has finished, or stop it.", { ...busy, http: 503 }),
  T0_LEDGER_READ_ONLY: resource(
    "Make the ledger writable for this process: its file and folder, or the primary server.",
    {
      http: 503,
    },
  ),
  T0_LEDGER_FORBIDDEN: resource("Give the ledger's role its password, and the right to create and use its schema.", {
    http: 503,
  }),
  T0_LEDGER_POOLED: resource(
    "Connect the ledger to the server itself, or to a pooler that keeps sessions and passes their options on.",
    { http: 503 },
  ),
  T0_LEDGER_CORRUPT: processing("Stop, keep the file, restore a backup, and verify it before going on."),
  T0_LEDGER_REPLACED: resource("Stop the kernel, put the ledger file back that it had opened, and start it again.", {
    http: 503,
  }),
  T0_LEDGER_FORMAT: input(
    "Use the release that wrote it, or convert a ledger of an earlier release into a new one with npm run convert " +
      "in a clone of the repository.",
    { severity: "fatal" },
  ),
  T0_LEDGER_NEWER_SCHEMA: input("Use the version that wrote this ledger, or a newer one.", { severity: "fatal" }),
  T0_LEDGER_NOT_A_DATABASE: input("Point to a ledger file, or to a path that does not exist yet.", {
    severity: "fatal",
  }),
  T0_LEDGER_DISK_FULL: resource("Free disk space, then retry the workflow.", { http: 507 }),
  T0_LEDGER_CLOCK: resource("Set the clocks of this machine and of the ledger's server by one time service.", {
    http: 503,
  }),
  T0_LEDGER_CONFLICT: processing("Read the workflow again and decide on its present state.", {
    severity: "transient",
    retryable: true,
    http: 409,
  }),
  T0_KERNEL_INITIALIZE_FAILED: external("Mend what the host's initialize function needs, then retry the workflow."),
  T0_RUNTIME_UNSUPPORTED: resource("Run it on Node 24 or newer, or on a Bun or Deno that stands for one.", {
    http: 503,
  }),
  T0_PACKAGE_MISSING: resource("Run the command of the message where countersign is installed.", { http: 503 }),
  T0_KERNEL_STOPPED: resource("Start a kernel on this ledger; unfinished workflows are taken up again.", { http: 503 }),
  T0_TEST_NEVER_RESTS: processing("Look for a timer that sets itself again, or move the time of the test yourself."),
  T0_REPLAY_DIFFERENT: processing(
    "See the event that is named: the ledger was forged there, or this version of the kernel decides otherwise.",
  ),
  T0_TIER_CRASHED: processing("The tier was restarted; retry the workflow and report the error.", degraded),
  T0_HTTP_MEDIA_TYPE: input("Send the body as application/json.", { http: 415 }),
  T0_HTTP_CONTENT_ENCODING: input("Send the body as it is, without a Content-Encoding.", { http: 415 }),
  T0_HTTP_REQUEST_MALFORMED: input("Send one well-formed HTTP request to this host."),
  T0_HTTP_HEADERS_TOO_LARGE: input("Send fewer or shorter headers, or a shorter address.", { http: 431 }),
  T0_HTTP_REQUEST_TIMEOUT: input("Send the whole request without a pause.", { http: 408 }),
  T0_HTTP_ROUTE_UNKNOWN: input("Check the method and the path.", { http: 404 }),
  T0_HTTP_REQUEST_FAILED: processing("Tell whoever runs this server the request's id; its log has the cause."),
  T0_HTTP_NAME_UNKNOWN: input("Read the list of what is there, and use a name of it.", { http: 404 }),
  T0_HTTP_METHOD_NOT_ALLOWED: input("Use one of the methods that the header Allow names.", { http: 405 }),
  T0_HTTP_KEY_IN_FLIGHT: resource("Wait until the first request with this key is answered, then send it again.", {
    ...busy,
    http: 409,
  }),
  T0_HTTP_STREAM_LIMIT: resource("Close streams that nobody reads, or raise the limit named in the detail.", {
    ...busy,
    http: 503,
  }),
  T0_HTTP_CALLER_STREAM_LIMIT: resource(
    "Close streams of yours that you no longer read, then open this one again.",
    busy,
  ),
  T0_HTTP_TENANT_STREAM_LIMIT: resource(
    "Close streams of your tenant that nobody reads, then open this one again.",
    busy,
  ),
  T0_HTTP_CALLER_READ_LIMIT: resource(
    "Wait for the answers to your reads that are under way, then send this one again.",
    busy,
  ),
  T0_HTTP_UNREAD_LIMIT: resource(
    "Try again when others have read their answers, or raise the limit named in the detail.",
    { ...busy, http: 503 },
  ),
  T0_HTTP_CALLER_UNREAD_LIMIT: resource(
    "Read the answers that you have asked for, then send this request again.",
    busy,
  ),
  T0_HTTP_MESSAGE_TOO_LARGE: resource("Read the event at /events, then follow after it.", { http: 503 }),
  T0_HTTP_CALLER_BUSY: resource("Wait until the first of your requests has ended, then send this one again.", busy),
  T0_HTTP_CONSOLE_MISSING: resource(
    "Build the console with npm run console; in a bundle, keep the package countersign outside of the bundle.",
    { http: 503 },
  ),
  T0_HTTP_GUIDE_MISSING: resource(
    "Keep the package countersign outside of your bundle, or leave the guide out with the option guide: false.",
    { http: 503 },
  ),
  T0_HTTP_RATE_LIMIT: resource("Wait as long as Retry-After says; the limit named in the detail may be raised.", busy),
  T0_RPC_PARSE_FAILED: input("Send one JSON value in UTF-8, in which no object names a member twice.", { rpc: -32700 }),
  T0_RPC_REQUEST_INVALID: input("Send one JSON-RPC message in a body, and no batch.", { rpc: -32600 }),
  T0_MCP_TOOL_UNKNOWN: input("Call tools/list and use a name that it gives.", { http: 404 }),
  T0_MCP_RESOURCE_UNKNOWN: input("Use an address of resources/list or of its templates.", { http: 404 }),
  T0_MCP_TASK_REFUSED: input("Call the tool without a task; it answers at once."),
  T0_MCP_GATE_REFUSED: policy(
    "Let a person decide it where they are signed in, or turn gates on for people who connect.",
  ),
  T0_MCP_SESSION_UNKNOWN: input("Begin a new session with an initialize request.", { http: 404 }),
  T0_MCP_SESSION_LIMIT: resource("End sessions that nobody uses, or raise the limit named in the detail.", {
    ...busy,
    http: 503,
  }),
  T0_MCP_CALLER_SESSION_LIMIT: resource(
    "End sessions of yours that you no longer use, then begin this one again.",
    busy,
  ),
  ...faceErrorCodes,
  T0_HTTP_ADDRESS_UNAVAILABLE: external("Choose another address or port, or stop what listens there.", {
    retryable: false,
    http: 503,
  }),

  // T1: perception
  T1_CLASSIFY_LOW_CONFIDENCE: processing("Name the intent type in the request.", degraded),
  T1_CLASSIFY_TIMEOUT: external("Name the intent type, or try again when the classifier answers."),
  T1_SECURITY_INPUT_REFUSED: policy("Remove what the security check objected to from the input."),
  T1_NORMALIZE_UNKNOWN_INTENT: input("Use the intent type of a registered capability, or register one."),
  T1_NORMALIZE_INPUTS_INVALID: input("Correct the inputs named in the detail; they follow the capability's schema."),
  T1_QUEUE_INVALID: input("Correct the queue of the request; where the capability names one, give only a priority."),
  T1_NORMALIZE_INPUTS_NOT_JSON: input(
    "Correct the capability's input schema: what it gives must be JSON; convert dates and maps in the plan function.",
  ),
  T1_NORMALIZE_INPUTS_NOT_STABLE: input(
    "Let the new version's input schema leave its own result as it is, or submit the request anew under that version.",
  ),

  // T2: cognition
  T2_DECOMPOSE_CYCLE_DETECTED: processing("Break the circle in the message: of steps in depends_on, or of goals."),
  T2_CONTEXT_UNAVAILABLE: external("Check the context sources of this tenant, then retry."),

  // T3: planning
  T3_DAG_COMPILE_UNRESOLVED_DEPS: processing("Correct depends_on and applies: each names another step of the plan."),
  T3_PLAN_EMPTY: processing("Rephrase the request; the planner found nothing to do."),
  T3_PLAN_INVALID: processing("Correct the plan function, or the planner; the detail says what is wrong."),
  T3_PLAN_TOO_LONG: resource("Raise the limit maxSteps, or let the plan do its work in rounds (continues: true)."),
  T3_PLAN_TRUNCATED: resource(
    "Read which steps were left out; raise the limit maxSteps, or let the planner plan in rounds (continues: true).",
    degraded,
  ),
  T3_PLAN_UNKNOWN_OPERATOR: processing("Register the operator, or correct its name in the plan."),
  T3_PLAN_OPERATOR_NOT_ALLOWED: policy("Add the operator to the capability's allowed operators, or leave it out."),
  T3_PLANNER_FAILED: external("Check the planner, then retry the workflow."),
  T3_PLANNER_TIMEOUT: external("Give the planner more time, or retry when it is less busy."),

  // T4: execution
  T4_TOOL_EXECUTION_FAILED: external("See the cause; retry the workflow when the tool works again."),
  T4_TOOL_TIMEOUT: external("Retry when the tool answers, or give the operator a longer timeout."),
  T4_PARAMS_INVALID: input("Correct the step's parameters; they follow the operator's input schema."),
  T4_PARAMS_NOT_JSON: input(
    "Correct the operator's input schema: what it gives must be JSON; convert dates and maps in the operator.",
  ),
  T4_PARAMS_NOT_STABLE: input(
    "Correct the operator's input schema: it must leave what it gave as it is; convert values in the operator.",
  ),
  T4_PARAMS_UNRESOLVED: input("Correct the reference named in the detail, or give it a default: ref(path, { or })."),
  T4_PARAMS_REFUSED: policy("Remove what the security check objected to from the step's parameters."),
  T4_OUTPUT_INVALID: input("Correct the operator; its output does not follow its output schema."),
  T4_OUTCOME_INVALID: input("Correct the step; its outcome does not follow the outcome's schema."),
  T4_OPERATOR_UNKNOWN: processing(
    "Register this version of the operator, then retry the workflow; or migrate it to what is registered (retry, " +
      "mode migrate).",
  ),
  T4_ROUNDS_EXHAUSTED: resource("Raise the limit maxRounds, or let the planner come to an end sooner."),
  T4_WORKFLOW_STRANDED: input(
    "Register what is missing beside what is there, or migrate or end each workflow as listed; then ask again.",
    { http: 409 },
  ),
  T4_WAIT_EXPIRED: external("Have the event sent, then retry the workflow: its step waits once more."),
  T4_EVENT_INVALID: input("Send the payload in the form that the detail names; the wait goes on.", { http: 422 }),
  T4_EVENT_ID_REUSED: input("Give another event an id of its own, or send the first one again.", { http: 422 }),
  T4_WAIT_TOKEN_UNKNOWN: input("Check that the address is complete, or ask who sent it for another.", { http: 404 }),
  T4_WAIT_TOKEN_USED: input("Ask who sent the address: its wait has another answer already.", { http: 409 }),
  T4_WAIT_TOKEN_OVER: input("Ask who sent the address: its wait is over, and takes no answer.", { http: 410 }),
  T4_WAIT_TOKEN_NONE: input("Write token: true on the wait, and give createKernel the option waitTokens."),
  T4_INPUT_NOT_TAKEN: input("Submit it as a request: this workflow takes no message, or none any more.", { http: 409 }),
  T4_PLAN_FAILED: processing("Read the code in the detail and the message: the plan chose to end the workflow so."),
  T4_CHILD_FAILED: processing(
    "Read the cause, and the child in the detail; retry the workflow (resume_failed_steps) once the cause is removed.",
  ),
  T4_CHILD_CANCELLED: processing("Read who ended the child and why; retry the workflow to begin another child."),
  T4_CHILD_TOO_DEEP: resource(
    "Let the plan do the work itself, or raise the limit maxChildDepth; a capability that runs itself needs an end.",
  ),
  T4_ITEMS_TOO_MANY: input("Give the step a shorter list, or raise the limit maxItems; no item was begun."),
  T4_ITEMS_FAILED: external(
    "Read the failures in the detail and the list of items; a retry repeats only those that failed or did not begin.",
    { severity: "degraded", retryable: false },
  ),
  T4_REPEAT_EXHAUSTED: external("See what the last round gave; a retry makes as many rounds again.", {
    severity: "degraded",
    retryable: false,
  }),
  T4_OPERATOR_BUG: processing("Repair the operator; the cause is the error that it threw."),
  T4_IDEMPOTENCY_KEY_MISSING: input("Give the call an idempotency key."),
  T4_IDEMPOTENCY_PAYLOAD_MISMATCH: input("Use a new key for a new payload, or send the first payload.", { http: 422 }),
  T4_FORK_INVALID: input("Fork at a step of the newest plan, or where no step was under way.", { http: 409 }),
  T4_CALL_UNDONE: input("Submit the work anew: the call was undone, and its key answers for it.", { http: 409 }),
  T4_WORKFLOW_NOT_FOUND: input("Check the workflow id and the tenant.", { http: 404 }),
  T4_SEQUENCE_NOT_FOUND: input("Ask for a sequence from 1 up to the last one of the workflow.", { http: 404 }),
  T4_WORKFLOW_CONFLICT: input("Read the workflow; its state does not allow this any more.", { http: 409 }),
  T4_WORKFLOW_LEASED: resource("Try again shortly; another process runs this workflow.", { ...busy, http: 409 }),
  T4_DISPATCHER_UNAVAILABLE: external(
    "Start the dispatcher, or mend the way to it; what was accepted waits in the ledger and goes on then.",
    { http: 503 },
  ),
  T4_DISPATCHER_REFUSED: resource(
    "See its answer in the detail: the drives must be registered there, and reachable at the address given.",
    { retryable: true },
  ),
  T4_ACTION_IN_DOUBT: external("Find out whether the effect happened, then answer the gate: done, retry or fail.", {
    severity: "degraded",
    retryable: false,
  }),
  T4_MIDDLEWARE_VIOLATION: processing("Repair the middleware named in the detail."),
  T4_DEPENDENCY_FAILED: external("See the step this one depends on; retry when that one can succeed.", {
    severity: "degraded",
    retryable: false,
  }),
  T4_STEP_BLOCKED: policy("See which decision blocked the step; it is not tried again."),
  T4_TOKEN_DEPENDENCY_INVALID: input("Name only tokens that exist, and none that waits for this one."),
  T4_TOKEN_LIMIT_REACHED: resource("Wait until queued tokens have run, or raise the limit named in the detail.", busy),
  T4_TOKEN_EXECUTOR_FAILED: processing("Repair the executor; the cause is what it threw or answered."),
  T4_TOKEN_STATE_CONFLICT: input("The token, or its kernel, does not allow this now; see the detail.", { http: 409 }),
  T4_TOKEN_RECORD_INVALID: input("Use the record as the kernel wrote it; the detail says where it is broken."),

  // T5: ego
  T5_BUDGET_EXHAUSTED: resource("Raise the budget named in the detail, then retry the workflow."),
  T5_CAPABILITY_NOT_FOUND: policy("Register the capability named in the detail, or use another."),
  T5_IDENTITY_VIOLATION: policy("Ask as yourself, for your own tenant."),
  T5_AUTHZ_FORBIDDEN: policy("Let somebody do it who may, or ask an administrator for the scope in the message."),
  T5_AUTHN_FAILED: policy("Sign in again with valid credentials, or have the role added to those of the kernel.", {
    http: 401,
  }),
  T5_CSRF_REJECTED: policy("Send the X-CSRF-Token that /v1/session names, from a page of this host."),
  T5_POLICY_DENIED: policy(
    "Change the request or the rule, then submit again or retry with mode regenerate and the step in step_ids.",
  ),
  T5_POLICY_FAILED: policy("Repair the policy rule that threw; until then it denies."),
  T5_POLICY_UNSETTLED: policy(
    "Change the rules that the reason names, so that they leave a payload as it is that they have changed already.",
  ),
  T5_POLICY_INVALID: input("Correct the rules and fields named in the detail; until then none of the set applies."),
  T5_POLICY_UNSIGNED: policy("Have the bundle signed by one of the keys that openBundle is given, or add its key."),
  T5_HUMAN_DENIED: policy("Talk to the person who rejected it, then submit a changed request."),
  T5_GATE_EXPIRED: policy(
    "Nobody decided in time: submit the request again, or give its gate more time (expiry) or people (escalation).",
  ),
  T5_GATE_NOT_FOUND: input("Check the gate id and the workflow id.", { http: 404 }),
  T5_HALT_NOT_FOUND: input("List the halts; this one was never set in this tenant.", { http: 404 }),
  T5_GRANT_NOT_FOUND: input("List the grants; this one was never given in this tenant, or is revoked.", { http: 404 }),
  T5_STAND_IN_NOT_FOUND: input("List the stand-ins; this one was never named here, or has ended.", { http: 404 }),
  T5_STAND_IN_REFUSED: input("Name somebody else as your stand-in, until a time of the next 90 days.", { http: 409 }),
  T5_GRANT_REFUSED: input("Decide the gate itself; a grant stands for one plain approval of a call.", { http: 409 }),
  T5_GATE_UNNAMED: input("Say which gate: its gate_id, or of a decision the payload_digest that it shows."),
  T5_GATE_CONFLICT: input("Read the gate again: it was decided otherwise, or shows something else.", { http: 409 }),
  T5_GATE_AMBIGUOUS: input("Say which gate; several are open.", { http: 409 }),
  T5_PERSON_UNDECIDED: policy("Repair the host's samePerson; until then nothing is decided that rests on it."),
  T5_RESULT_INVALID: input("State a result that follows the operator's output schema, or none."),
  T5_ANSWER_INVALID: input(
    "Answer as the form in the payload of the gate says; the detail names each member that does not follow it.",
  ),
  T5_GATE_NOT_RUNNABLE: input(
    "See the cause; then register the version that it names beside the new one, begin the work again under the " +
      "new one (retry, mode migrate), edit the payload, or end it (reject, cancel): the gate stays open.",
    { http: 409 },
  ),
  T5_EDIT_WITHOUT_EFFECT: input(
    "Change what the gate names as editable, or decide without an edit; the gate stays open.",
    { http: 422 },
  ),
  T5_GATE_FULL: resource("Decide the gate as it stands, or raise the limit named in the detail."),
  T5_REVIEWER_UNKNOWN: input("Name a registered reviewer, or a role that one of them has.", { http: 404 }),
  T5_REVIEW_NOT_FOUND: input("Check the review id; the log names it where the interaction was queued.", { http: 404 }),
  T5_REVIEW_CONFLICT: input("The interaction or its review has an entry already; read the log.", { http: 409 }),
  T5_DELEGATION_REFUSED: policy("Lend your seat to somebody else, until a time that is still to come."),
  T5_SIGNATURE_REQUIRED: policy("Sign the gate's claims with your key and send the signature with the decision."),
  T5_SIGNATURE_INVALID: policy("Read the gate and sign what it shows now, with a key that is known here as yours."),
  T5_IN_FLIGHT_LIMIT: resource("Try again when some of what is under way has been answered.", busy),

  // T6: metacognition
  T6_HALLUCINATION_DETECTED: processing("Check the claims against their sources before you use the output.", degraded),
  T6_OVERCONFIDENCE_DETECTED: processing("Treat the output as less certain than it says.", degraded),
  T6_LOOP_DETECTED: processing("Change the objective; the same work was being repeated.", degraded),

  // T7: orchestration
  T7_SPAWN_INSUFFICIENT_RESOURCES: resource(
    "Try again when some of the running workflows have finished, or raise the limit named in the message.",
    busy,
  ),
  T7_SPAWN_SHARE_EXCEEDED: resource(
    "Try again when some of your running workflows have finished, or raise the share named in the message.",
    busy,
  ),
  T7_QUEUE_FULL: resource("Try again when a workflow of the queue has ended, or raise its maxWaiting.", busy),
  T7_SPAWN_ABANDONED: resource("Submit it again if it is still wanted; nothing of it was begun for this caller.", {
    ...busy,
    http: 503,
  }),
  T7_ROUTE_NO_ENDPOINT: resource("Configure a model endpoint with the capabilities named in the detail.", {
    http: 503,
  }),
  T7_SCHEDULE_INVALID: input("Name a cron expression that has a next instant and an IANA time zone, or every_ms."),
  T7_SCHEDULE_NOT_FOUND: input("List the schedules of the tenant, and use a name of the list.", { http: 404 }),
  T7_SCHEDULE_OVERLAP: input("Wait until the workflow that the schedule began has ended, or change its overlap.", {
    http: 409,
  }),
  T7_SCHEDULE_BACKFILL: input("Name a span in the past with fewer instants, once the backfill before it is through.", {
    http: 409,
  }),

  // One hop of escalation each: the code names the tier that received an error it could not handle either.
  T1_ESCALATION_UNHANDLED: processing("See the cause; no lower tier could handle it."),
  T2_ESCALATION_UNHANDLED: processing("See the cause; no lower tier could handle it."),
  T3_ESCALATION_UNHANDLED: processing("See the cause; no lower tier could handle it."),
  T4_ESCALATION_UNHANDLED: processing("See the cause; no lower tier could handle it."),
  T5_ESCALATION_UNHANDLED: processing("See the cause; no lower tier could handle it."),
  T6_NOTICE_FAILED: external("See why the notifier failed; the notice is told again by itself, or by redeliver."),
  T6_NOTICE_TIMEOUT: external("Check that the notifier's receiver answers; the notice is told again after a pause."),
  T6_NOTICE_REFUSED: external("See what the receiver answered, and mend its address or its credentials."),
  T6_NOTICE_REDIRECTED: external(
    "Name the address that the receiver stands at now; a notice follows to no other host.",
  ),
  T6_NOTICE_ADDRESS: external("Name another host, or allow private addresses where this one is meant to be reached."),
  T6_NOTICE_NOBODY: external("Give an address to somebody who may decide on this gate; the notice waits for it."),
  T6_ESCALATION_UNHANDLED: processing("See the cause; no lower tier could handle it."),
  T7_ESCALATION_UNHANDLED: processing("See the cause; no tier could handle it and the workflow has ended."),
});

/** The name of a row of the catalogue. */
export type ErrorCode = keyof typeof errorCodes;

/** Returns whether a code is in the catalogue (own keys only). */
export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCodes, code);
}

/** The options of kernelError beyond its row. `retry` and `severity` override the row. */
export type KernelErrorOptions = {
  readonly detail?: Readonly<Record<string, unknown>>;
  readonly cause?: KernelError | null;
  readonly retry?: boolean;
  readonly severity?: Severity;
};

/** Builds a frozen KernelError from the code's catalogue row. */
export function kernelError(
  code: ErrorCode,
  message: string,
  source: ModuleRef,
  options: KernelErrorOptions = {},
): KernelError {
  const { category, severity, retryable } = errorCodes[code];
  const { detail = null, cause = null } = options;
  return createError(
    code,
    category,
    options.severity ?? severity,
    message,
    source,
    options.retry ?? retryable,
    detail,
    cause,
  );
}
