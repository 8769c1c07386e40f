/**
 * Submit, and what callers say to a workflow: each body becomes one call of the in-process API.
 *
 * C1  All execution begins at submit; a JobRequest is one more way to say it (API-07).
 */
import { isPlainObject, type JsonObject } from "../../contract/json.ts";
import type { Kernel } from "../../index.ts";
import { httpRequestToSignal } from "../../protocol/http-request-to-signal.ts";
import { answerJson } from "../answer.ts";
import { claimCaller, requireCredentialScope } from "../claim-caller.ts";
import { type Call, type Edge, workflowOf, workflowPath } from "../edge.ts";
import { readJsonBody } from "../read-body.ts";
import { type Answer, type Answers, createAnswers } from "../remember-answers.ts";

interface Command {
  readonly needs: string;
  readonly run: (kernel: Kernel, workflowId: string, body: JsonObject) => Promise<object>;
}

// The kernel checks each request against its schema; a body is only known to be an object here.
const commands: Readonly<Record<string, Command>> = {
  gate: { needs: "gate:approve", run: (kernel, id, body) => kernel.decideGate(id, body as never) },
  withdraw: { needs: "gate:approve", run: (kernel, id, body) => kernel.withdrawVote(id, body as never) },
  delegate: { needs: "gate:approve", run: (kernel, id, body) => kernel.delegateGate(id, body as never) },
  retry: { needs: "workflow:execute", run: (kernel, id, body) => kernel.retry(id, body as never) },
  cancel: { needs: "workflow:execute", run: (kernel, id, body) => kernel.cancel(id, body as never) },
};

export function addCommands(edge: Edge): void {
  const { app, kernel } = edge;
  const answers = createAnswers(edge.options.limits.maxKeptAnswers);
  app.post("/v1/kernel/submit", async (call) => {
    const body = await readCommand(call, edge, "intent:submit");
    return answerOnce(call, { answers, body }, async () => {
      const accepted = await kernel.submit(body as never);
      return { status: 202, body: accepted, headers: { location: `/v1/kernel/workflows/${accepted.workflow_id}` } };
    });
  });
  for (const [name, { needs, run }] of Object.entries(commands))
    app.post(`${workflowPath}/${name}`, async (call) => {
      const body = await readCommand(call, edge, needs);
      const work = async () => ({ status: 200, body: await run(kernel, workflowOf(call), body) });
      return answerOnce(call, { answers, body }, work);
    });
}

/** The answer to a command: that of the first request with its Idempotency-Key, where it has one. */
async function answerOnce(
  call: Call,
  { answers, body }: { readonly answers: Answers; readonly body: JsonObject },
  work: () => Promise<Answer>,
): Promise<Response> {
  const key = call.req.header("idempotency-key");
  const answer = await answers.once({ key, caller: call.get("caller"), operation: call.req.path, body }, work);
  return answerJson(answer.body, answer.status, answer.headers);
}

async function readCommand(call: Call, { options }: Edge, needs: string): Promise<JsonObject> {
  const caller = call.get("caller");
  requireCredentialScope(caller, needs);
  const body = await readJsonBody(call.req.raw, options.limits);
  return claimCaller(needs === "intent:submit" ? toSubmit(body, call.get("trace")) : body, caller);
}

/** A JobRequest as the submit request that says the same; any other body as it is. */
export function toSubmit(body: unknown, trace: string): unknown {
  if (!isPlainObject(body)) return body;
  const signal = httpRequestToSignal(body, trace);
  if (signal.kind !== "text") return body;
  const { query: _, ...constraints } = body;
  return { input: { mode: "message", text: signal.body["text"] }, constraints };
}
