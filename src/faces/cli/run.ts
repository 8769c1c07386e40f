/**
 * `run INTENT`: submits an intent of a registered capability, and with --wait runs it to its next rest.
 * Without --wait the answer comes as soon as the request is committed; the next kernel that takes up unfinished work
 * runs it.
 */
import type { Command } from "commander";
import type { JsonObject } from "../../contract/json.ts";
import { withKernel } from "./open-kernel.ts";
import {
  addCommonOptions,
  type CommonOptions,
  readDuration,
  readInstant,
  readInteger,
  readJsonObject,
} from "./options.ts";
import { printJson, showResult } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";
import { watchRun } from "./watch-run.ts";

interface RunOptions extends CommonOptions {
  readonly input: JsonObject;
  readonly startAt?: string;
  readonly delay?: number;
  readonly queue?: JsonObject;
  readonly priority?: number;
  readonly wait: boolean;
  readonly recover: boolean;
}

export function addRun(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("run"))
    .description("submit an intent of a registered capability")
    .argument("<intent>", "its type, such as Repo.ReleaseNotes.Draft")
    .option("--input <json>", "its inputs: a JSON object, or @FILE", readJsonObject, {})
    .option("--start-at <time>", "begin it at this instant, and not before", readInstant)
    .option("--delay <time>", "begin it after this time, such as 90s, 15m, 6h or 7d", readDuration)
    .option("--queue <json>", 'the queue in which it waits: {"name":"imports","concurrency":5}', readJsonObject)
    .option("--priority <n>", "its priority in its queue: the highest goes first", readInteger)
    .option("--wait", "run it to its end or to its next gate", false)
    .option("--recover", "first take up the unfinished work of this ledger", false)
    .action((intent: string, options: RunOptions) => runIntent(intent, options, terminal));
}

async function runIntent(intent: string, options: RunOptions, terminal: Terminal): Promise<void> {
  const session = { terminal, options };
  await withKernel(
    session,
    async ({ kernel, caller }) => {
      const { input, startAt, delay, queue, priority } = options;
      const turn = { ...queue, ...(priority !== undefined && { priority }) };
      const request = {
        ...caller,
        intent_hint: { intent_type: intent, inputs: input },
        ...(startAt !== undefined && { start_at: startAt }),
        ...(delay !== undefined && { delay_ms: delay }),
        ...(Object.keys(turn).length > 0 && { queue: turn }),
      };
      const answer = await kernel.submit(request);
      const workflowId = answer.workflow_id;
      if (options.wait) return showResult(session, await watchRun({ kernel, workflowId }, session), { answer });
      if (options.json) return printJson(session, answer);
      return terminal.print(`${workflowId} ${answer.status}`);
    },
    { recover: options.recover, create: true },
  );
}
