/**
 * Submit, and the commands to a workflow: each body becomes one call of the in-process API.
 */
import type { z } from "zod";
import { kernelCommands, submit, workflowCommands } from "../../../api/commands.ts";
import type { Command, KernelCommand } from "../../../api/operation.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { addRoute, offer, type Route } from "../add-route.ts";
import { answerJson } from "../answer.ts";
import { requireCredentialScope } from "../claim-caller.ts";
import { commandBodies, SubmitBody } from "../command-bodies.ts";
import { type Call, type Edge, locationOf, workflowOf, workflowPath } from "../edge.ts";
import { inNameOf, runCommand, runSubmit, submitInNameOf } from "../kernel-commands.ts";
import { readJsonBody } from "../read-body.ts";
import { readKey, withKey } from "../read-key.ts";
import { type Answer, type Answers, createAnswers } from "../remember-answers.ts";

const submitRoute: Route = {
  ...offer(submit),
  method: "post",
  path: `/v1/kernel/${submit.word}`,
  idempotent: true,
  body: SubmitBody,
  answers: {
    202: {
      description: "Accepted: the intent is in the ledger. `Location` is its workflow.",
      schema: submit.answer,
      located: true,
    },
  },
};

function routeOf(command: Command, path: string, body: z.ZodType): Route {
  const { answer, namesGate = false } = command;
  return {
    ...offer(command),
    method: "post",
    path,
    idempotent: true,
    body,
    bodyOptional: !namesGate && body.safeParse({}).success,
    answers: { 200: { description: "Done, or done before.", schema: answer } },
  };
}

export function addCommands(edge: Edge): void {
  const { kernel } = edge;
  const answers = createAnswers(edge.options.limits.maxKeptAnswers);
  addRoute(edge, submitRoute, async (call) => {
    const raw = await readCommand(call, edge, submit.scope);
    const named = submitInNameOf(call.get("caller"), raw, call.get("trace"));
    const body = withKey(named, readKey(call.req.header("idempotency-key")));
    return answerOnce(call, { answers, body, joins: true }, async () => {
      const accepted = await runSubmit(kernel, body, call.req.raw.signal);
      return { status: 202, body: accepted, headers: { location: locationOf(accepted) } };
    });
  });
  for (const [method, command] of Object.entries(kernelCommands)) {
    const body = commandBodies[method as keyof typeof kernelCommands];
    const { namesOne = false }: KernelCommand = command;
    const route = { ...routeOf(command, `/v1/kernel/${command.word}`, body), names: namesOne };
    addRoute(edge, route, async (call) => {
      const named = inNameOf(call.get("caller"), command.scope, await readCommand(call, edge, command.scope));
      return answerOnce(call, { answers, body: named }, async () => ({
        status: 200,
        body: await command.run(kernel, named),
      }));
    });
  }
  for (const [method, command] of Object.entries(workflowCommands)) {
    const body = commandBodies[method as keyof typeof workflowCommands];
    const route = routeOf(command, `${workflowPath}/${command.word}`, body);
    addRoute(edge, route, async (call) => {
      const raw = await readCommand(call, edge, command.scope);
      const named = inNameOf(call.get("caller"), command.scope, raw);
      const body = command.isKeyed === true ? withKey(named, readKey(call.req.header("idempotency-key"))) : named;
      const directed = { workflowId: workflowOf(call), body };
      const work = async () => ({ status: 200, body: await runCommand(kernel, command, directed) });
      return answerOnce(call, { answers, body }, work);
    });
  }
}

/** Returns the body, which is not read for a credential without the scope. */
export function readCommand(call: Call, { options }: Edge, needs: string): Promise<unknown> {
  requireCredentialScope(call.get("caller"), needs);
  return readJsonBody(call.req.raw, options.limits);
}

/** Answers a command: with the answer to the first request with its Idempotency-Key, if it has one. */
async function answerOnce(
  call: Call,
  { answers, ...asked }: { readonly answers: Answers; readonly body: JsonObject; readonly joins?: boolean },
  work: () => Promise<Answer>,
): Promise<Response> {
  const key = readKey(call.req.header("idempotency-key"));
  const answer = await answers.once({ key, caller: call.get("caller"), operation: call.req.path, ...asked }, work);
  return answerJson(answer.body, answer.status, answer.headers);
}
