/**
 * Submit, and what callers say to a workflow: each body becomes one call of the in-process API.
 */
import type { JsonObject } from "../../contract/json.ts";
import { answerJson } from "../answer.ts";
import { requireCredentialScope } from "../claim-caller.ts";
import { type Call, type Edge, workflowOf, workflowPath } from "../edge.ts";
import { inNameOf, submit, submitScope, toSubmit, workflowCommands } from "../kernel-commands.ts";
import { readJsonBody } from "../read-body.ts";
import { readKey, withKey } from "../read-key.ts";
import { type Answer, type Answers, createAnswers } from "../remember-answers.ts";

export function addCommands(edge: Edge): void {
  const { app, kernel } = edge;
  const answers = createAnswers(edge.options.limits.maxKeptAnswers);
  app.post("/v1/kernel/submit", async (call) => {
    const raw = toSubmit(await readCommand(call, edge, submitScope), call.get("trace"));
    const body = withKey(inNameOf(call.get("caller"), submitScope, raw), readKey(call.req.header("idempotency-key")));
    return answerOnce(call, { answers, body }, async () => {
      const accepted = await submit(kernel, body);
      return { status: 202, body: accepted, headers: { location: `/v1/kernel/workflows/${accepted.workflow_id}` } };
    });
  });
  for (const [name, { needs, run }] of Object.entries(workflowCommands))
    app.post(`${workflowPath}/${name}`, async (call) => {
      const said = inNameOf(call.get("caller"), needs, await readCommand(call, edge, needs));
      // A retry may begin a workflow.
      const body = name === "retry" ? withKey(said, readKey(call.req.header("idempotency-key"))) : said;
      const work = async () => ({ status: 200, body: await run(kernel, workflowOf(call), body) });
      return answerOnce(call, { answers, body }, work);
    });
}

/** The body, which is not read for a credential that does not reach so far. */
function readCommand(call: Call, { options }: Edge, needs: string): Promise<unknown> {
  requireCredentialScope(call.get("caller"), needs);
  return readJsonBody(call.req.raw, options.limits);
}

/** The answer to a command: that of the first request with its Idempotency-Key, where it has one. */
async function answerOnce(
  call: Call,
  { answers, body }: { readonly answers: Answers; readonly body: JsonObject },
  work: () => Promise<Answer>,
): Promise<Response> {
  const key = readKey(call.req.header("idempotency-key"));
  const answer = await answers.once({ key, caller: call.get("caller"), operation: call.req.path, body }, work);
  return answerJson(answer.body, answer.status, answer.headers);
}
