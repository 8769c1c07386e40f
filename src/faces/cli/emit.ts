/**
 * `emit`: hands an event from outside to the steps that wait for it. Each workflow that it resumes then runs here to
 * its next rest, unless another process runs it already. `token-url` prints the one-time address of a wait.
 */
import type { Command } from "commander";
import type { Json } from "../../contract/json.ts";
import type { EmitResponse } from "../../contract/received-event.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, readJson, type Session } from "./options.ts";
import { describeTime } from "./render-text.ts";
import { printJson } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";
import { lookForRests } from "./watch-run.ts";

interface EmitOptions extends CommonOptions {
  readonly eventId?: string;
  readonly broadcast?: boolean;
}

/** The event as it was typed; the kernel checks its parts. */
interface TypedEvent {
  readonly name: string;
  readonly key: string;
  readonly payload: unknown;
}

export function addEmit(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("emit"))
    .description("send an event to the step that waits for it; until one does, it is kept")
    .argument("<name>", "the kind of event, such as contract.signed")
    .argument("<key>", "its subject, such as the id of a contract")
    .argument("[payload]", "its data, as JSON or @FILE; null where none is given", readJson)
    .option("--event-id <id>", "the sender's own id of the event: the same event again is ignored")
    .option("--broadcast", "end every wait for it, not only the one that has lasted longest")
    .action((name: string, key: string, payload: unknown, options: EmitOptions) =>
      emit({ name, key, payload }, { options, terminal }),
    );
}

export function addTokenUrl(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("token-url"))
    .description("print the one-time address of a wait; whoever has it can answer the wait")
    .argument("<workflow_id>", "a workflow")
    .argument("<step_id>", "its step that waits, or will wait")
    .action((workflowId: string, stepId: string, options: CommonOptions) =>
      withKernel({ options, terminal }, async ({ kernel, caller }) => {
        const answer = await kernel.tokenUrl(workflowId, { ...caller, step_id: stepId });
        if (options.json) printJson({ options, terminal }, answer);
        else terminal.print(answer.url);
      }),
    );
}

function emit({ name, key, payload = null }: TypedEvent, session: Session<EmitOptions>): Promise<void> {
  const { terminal, options } = session;
  const { eventId, broadcast } = options;
  return withKernel(session, async ({ kernel, caller }) => {
    const answer = await kernel.emit({
      ...caller,
      name,
      key,
      payload: payload as Json,
      ...(eventId !== undefined && { event_id: eventId }),
      ...(broadcast !== undefined && { broadcast }),
    });
    const resumed = new Set(answer.resumed.map(({ workflow_id }) => workflow_id));
    await lookForRests({ kernel }, resumed, terminal.signal);
    if (options.json) printJson(session, answer);
    else for (const line of describeAnswer(answer, terminal.now())) terminal.print(line);
  });
}

function describeAnswer({ event_id, status, resumed, kept_until, duplicate }: EmitResponse, now: number): string[] {
  const id = showLine(event_id) + (duplicate ? ", received before" : "");
  if (status === "expired") return [`${id}: expired; no step took it in time`];
  const kept = kept_until === null ? [] : [`${id}: kept for later steps; expires ${describeTime(kept_until, now)}`];
  return [...resumed.map((step) => `${id}: resumed ${showLine(step.step_id)} of ${step.workflow_id}`), ...kept];
}
