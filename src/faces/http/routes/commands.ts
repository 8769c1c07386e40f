/**
 * Submit, and what callers say to a workflow: each body becomes one call of the in-process API.
 */
import type { JsonObject } from "../../../contract/json.ts";
import { SubmitResponse } from "../../../index.ts";
import { addRoute, type Route } from "../add-route.ts";
import { answerJson } from "../answer.ts";
import { requireCredentialScope } from "../claim-caller.ts";
import { SubmitBody } from "../command-bodies.ts";
import { type Call, type Edge, locationOf, workflowOf, workflowPath } from "../edge.ts";
import { inNameOf, submit, submitScope, toSubmit, workflowCommands } from "../kernel-commands.ts";
import { readJsonBody } from "../read-body.ts";
import { readKey, withKey } from "../read-key.ts";
import { type Answer, type Answers, createAnswers } from "../remember-answers.ts";

const submitRoute: Route = {
  method: "post",
  path: "/v1/kernel/submit",
  operation: "submitIntent",
  summary: "Accepts a request at once; its workflow goes on by itself",
  needs: submitScope,
  idempotent: true,
  body: SubmitBody,
  answers: {
    202: {
      description: "Accepted: the intent is in the ledger. `Location` is its workflow.",
      schema: SubmitResponse,
      located: true,
    },
  },
};

export function addCommands(edge: Edge): void {
  const { kernel } = edge;
  const answers = createAnswers(edge.options.limits.maxKeptAnswers);
  addRoute(edge, submitRoute, async (call) => {
    const raw = toSubmit(await readCommand(call, edge, submitScope), call.get("trace"));
    const body = withKey(inNameOf(call.get("caller"), submitScope, raw), readKey(call.req.header("idempotency-key")));
    return answerOnce(call, { answers, body }, async () => {
      const accepted = await submit(kernel, body);
      return { status: 202, body: accepted, headers: { location: locationOf(accepted) } };
    });
  });
  for (const [name, { needs, run, answer, isKeyed = false, ...told }] of Object.entries(workflowCommands)) {
    const answered = { 200: { description: "Done, or done before.", schema: answer } };
    const path = `${workflowPath}/${name}`;
    addRoute(edge, { ...told, method: "post", path, needs, idempotent: true, answers: answered }, async (call) => {
      const named = inNameOf(call.get("caller"), needs, await readCommand(call, edge, needs));
      const body = isKeyed ? withKey(named, readKey(call.req.header("idempotency-key"))) : named;
      const work = async () => ({ status: 200, body: await run(kernel, workflowOf(call), body) });
      return answerOnce(call, { answers, body }, work);
    });
  }
}

/** The body, which is not read for a credential that does not reach so far. */
export function readCommand(call: Call, { options }: Edge, needs: string): Promise<unknown> {
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
