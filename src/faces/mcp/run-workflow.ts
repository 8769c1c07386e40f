/**
 * A tool call that is a workflow: submitted, followed to its rest, and shown to the person if it waits for one.
 *
 * 1.  The work is durable: a call that is cancelled or cut off ends the waiting, never the workflow; a submit
 *     that has no place yet leaves the queue.
 * 2.  Under one key of `_meta` a call is one workflow, however often it is sent. Under "countersign/until" a program
 *     receives only an end; any end but success is an error.
 * 3.  An answered question names its workflow, under seal, and continues it; nothing is submitted twice, and it answers
 *     no other question.
 */
import { type CallToolResult, inputRequired, type ServerContext } from "@modelcontextprotocol/server";
import { withoutScopes } from "../../contract/auth-context.ts";
import { toolResultOutcome } from "../../contract/mcp.ts";
import { isTerminal } from "../../contract/workflow.ts";
import type { KernelProgress, WorkflowState } from "../../index.ts";
import { questionKey } from "../../protocol/name-question.ts";
import { waitForRest } from "../../protocol/wait-for-rest.ts";
import { applyAnswers, askableGates, toQuestion } from "./ask-person.ts";
import { describeWorkflow, toMcpWorkflow } from "./describe-workflow.ts";
import { isGranted, type McpContext, requireGranted } from "./mcp-context.ts";
import { type QuestionState, questionStates, readQuestionState } from "./question-state.ts";
import { type CallTerms, structured, type ToolAnswer, type ToolCall, termsOf } from "./tools/tool.ts";

/** Follows the workflow that `submit` begins, or that the request continues. */
export async function runWorkflow(
  context: McpContext,
  call: ToolCall,
  submit: (terms: CallTerms) => Promise<string>,
): Promise<ToolAnswer> {
  await requireGranted(context, "outcome:read");
  const state = readQuestionState(call.ctx, call.tool);
  const workflowId = state?.workflow_id ?? (await submit(termsOf(call.ctx, call.meta)));
  const dismissed = await applyAnswers(
    context,
    await context.kernel.workflow(workflowId, withoutScopes(context.caller)),
    answersTo(state, call),
  );
  return answerRest(context, call, { workflowId, dismissed });
}

function answersTo(state: QuestionState | null, { ctx }: ToolCall): Readonly<Record<string, unknown>> {
  const answers = (ctx.mcpReq.inputResponses ?? {}) as Readonly<Record<string, unknown>>;
  if (state === null || !Object.hasOwn(answers, state.question)) return {};
  return { [state.question]: answers[state.question] };
}

interface Followed {
  readonly workflowId: string;
  readonly dismissed: ReadonlySet<string>;
}

/**
 * Answers with the question or the result. A caller that waits for the end receives no gate that it is not asked about.
 */
async function answerRest(
  context: McpContext,
  call: ToolCall,
  { workflowId, dismissed }: Followed,
): Promise<ToolAnswer> {
  const waiting = { signal: call.ctx.mcpReq.signal, onProgress: progressReporter(call.ctx) };
  const mayAsk = call.hasForms && (await isGranted(context, "gate:approve"));
  for (let after = -1; ; ) {
    const state = await waitForRest({ ...context, caller: withoutScopes(context.caller) }, workflowId, {
      ...waiting,
      after,
    });
    const gate = mayAsk ? askableGates(state).find((open) => !dismissed.has(questionKey(open))) : undefined;
    if (gate !== undefined) {
      const question = questionKey(gate);
      const asked = { workflow_id: workflowId, tool: call.tool, question };
      const requestState = await questionStates(context).mint(asked, call.ctx);
      return inputRequired({ inputRequests: { [question]: toQuestion(gate) }, requestState });
    }
    if (!call.meta.untilEnd || isTerminal(state.state)) return resultOf(state);
    after = state.sequence;
  }
}

/**
 * Returns the tool result of a workflow in its present state. A workflow whose outcome is the result of a tool has that
 * result.
 */
export function resultOf(state: WorkflowState): CallToolResult {
  const passedOn = state.outcomes.find(({ outcome_type }) => outcome_type === toolResultOutcome);
  if (passedOn !== undefined && state.state === "completed") return passedOn.content as CallToolResult;
  const reported = toMcpWorkflow(state);
  const texts = [...(reported.text === "" ? [] : [reported.text]), describeWorkflow(state), ...describeOutcomes(state)];
  const failed = state.state === "failed" || state.state === "cancelled" ? { isError: true } : {};
  const error =
    reported.error === undefined ? [] : [`${reported.error.code}: ${reported.error.message}. ${reported.error.next}`];
  return { ...structured(reported, [...error, ...texts]), ...failed };
}

/** Describes outcomes as text, if the workflow has no text of its own. */
function describeOutcomes({ state, response, outcomes }: WorkflowState): readonly string[] {
  if (!isTerminal(state) || response.text !== "") return [];
  return outcomes.map(({ outcome_type, content }) => `${outcome_type}: ${JSON.stringify(content)}`);
}

/** Returns a function that reports progress if the client asked for it; each value is higher than the last. */
export function progressReporter({ mcpReq }: ServerContext): (progress: KernelProgress) => Promise<void> {
  const progressToken = mcpReq._meta?.progressToken;
  let reported = -1;
  return async ({ percent, stage, current_step: step }) => {
    if (progressToken === undefined || percent <= reported) return;
    reported = percent;
    const message = step === null ? stage : `${stage}: ${step.name}`;
    await mcpReq.notify({
      method: "notifications/progress",
      params: { progressToken, progress: percent, total: 100, message },
    });
  };
}
