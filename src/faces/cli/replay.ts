/**
 * `replay WF`: checks that the workflow's ledger can be decided again byte for byte, and names the first event that
 * differs.
 *
 * 1.  Runs no operator and writes to no ledger; a difference ends with exit 1.
 * 2.  `--import` reads an export and opens no ledger.
 */
import type { Command } from "commander";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { Json } from "../../contract/json.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Replay } from "../../contract/replay.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, type Session } from "./options.ts";
import { readExport } from "./read-export.ts";
import { cutLine } from "./render-text.ts";
import { printJson } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";

interface ReplayOptions extends CommonOptions {
  readonly import?: string;
}

export function addReplay(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("replay"))
    .description("replay a workflow from its ledger, without effects, and compare it byte by byte")
    .argument("<workflow>", "its id")
    .option("--import <file>", "replay from the JSON Lines of this file, as `export` writes them, without a ledger")
    .action((workflowId: string, options: ReplayOptions) => replay(workflowId, { options, terminal }));
}

async function replay(workflowId: string, session: Session<ReplayOptions>): Promise<void> {
  const { options, terminal } = session;
  const result = await replayFrom(workflowId, session);
  if (options.json) printJson(session, result);
  else terminal.print(renderReplay(result, terminal));
  if (result.difference !== null) refuseDifferent(result.difference.sequence, result.difference.reason);
}

async function replayFrom(workflowId: string, session: Session<ReplayOptions>): Promise<Replay> {
  const { import: file } = session.options;
  if (file === undefined) return withKernel(session, ({ kernel, caller }) => kernel.replay(workflowId, caller));
  const rows = await readExport(file, session.terminal.signal, workflowId);
  const { replayRows } = await import("../../index.ts");
  return replayRows(rows);
}

export function renderReplay({ workflow_id, events, head, difference }: Replay, { paint, columns }: Terminal): string {
  if (difference === null) return paint("green", `identical: ${events} events of ${workflow_id}, head ${head}`);
  const { sequence, event_type, step_id, path, expected, actual, reason } = difference;
  const show = (value: Json): string => cutLine(JSON.stringify(value), Math.max(40, columns - 12));
  return [
    paint(
      "red",
      showLine(
        `different: ${workflow_id} at sequence ${sequence}, ${event_type}${step_id === null ? "" : ` of ${step_id}`}`,
      ),
    ),
    `  ${cutLine(reason, Math.max(40, columns - 2))}`,
    ...(path === null ? [] : [`  at      ${showLine(path)}`]),
    `  ledger  ${show(expected)}`,
    `  replay  ${show(actual)}`,
  ].join("\n");
}

function refuseDifferent(sequence: number, reason: string): never {
  const message = `the replay differs first at sequence ${sequence}: ${reason}`;
  return raise(kernelError("T0_REPLAY_DIFFERENT", message, moduleRef(0, "cli", "replay"), { detail: { sequence } }));
}
