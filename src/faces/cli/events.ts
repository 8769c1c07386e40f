/**
 * `events WF` and `export WF`: the events of a workflow in a form for people, and its ledger rows together with the
 * evidence.
 *
 * 1.  Without --follow the command ends after the last committed event; with it, when the workflow has ended.
 * 2.  An export is the input of `verify --import` and nothing else: one unchanged row a line, then the audit entries,
 *     the evaluation reports and the closing line.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import type { LedgerEvent } from "../../contract/event.ts";
import { isTerminal } from "../../contract/workflow.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { type CommandContext, withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, readCount, type Session } from "./options.ts";
import { cutLine, describeOffset, toJsonText } from "./render-text.ts";
import type { Terminal } from "./terminal.ts";
import { pollMs } from "./watch-run.ts";

interface EventOptions extends CommonOptions {
  readonly follow: boolean;
  readonly after: number;
}

export function addStreams(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("events"))
    .description("list the events of a workflow")
    .argument("<workflow>", "its id")
    .option("--follow", "go on with what happens, until the workflow ends", false)
    .option("--after <n>", "only events after this sequence number", readCount, 0)
    .action((workflowId: string, options: EventOptions) => listEvents(workflowId, { options, terminal }));
  addCommonOptions(program.command("export"))
    .description("write a workflow's ledger rows, audit and reports as JSON Lines, for verification elsewhere")
    .argument("<workflow>", "its id")
    .action((workflowId: string, options: CommonOptions) => exportEvidence(workflowId, { options, terminal }));
}

async function listEvents(workflowId: string, session: Session<EventOptions>): Promise<void> {
  const { terminal, options } = session;
  await withKernel(session, async (context) => {
    const { accepted_at } = await context.kernel.workflow(workflowId, context.caller);
    const show = (event: LedgerEvent) => (options.json ? toJsonText(event) : renderEvent(event, accepted_at, terminal));
    await terminal.printAll(mapEach(readEvents(context, workflowId, session), show));
  });
}

/** Yields the committed events; with --follow also later ones, from whichever process writes them. */
async function* readEvents(
  { kernel, caller }: CommandContext,
  workflowId: string,
  { options, terminal: { signal } }: Session<EventOptions>,
): AsyncGenerator<LedgerEvent> {
  let { after } = options;
  for (;;) {
    for await (const event of kernel.events(workflowId, { after, live: false, signal }, caller)) {
      after = event.sequence;
      yield event;
    }
    if (!options.follow || isTerminal((await kernel.workflow(workflowId, caller)).state)) return;
    await sleep(pollMs, undefined, { signal });
  }
}

async function* mapEach<A>(items: AsyncIterable<A>, show: (item: A) => string): AsyncGenerator<string> {
  for await (const item of items) yield show(item);
}

const typeWidth = 24;

/** Formats an event as `  12  +0.031 s  STEP_SUCCEEDED  draft  {"cost":1,…`. */
export function renderEvent(
  event: LedgerEvent,
  from: string,
  { paint, columns }: Pick<Terminal, "paint" | "columns">,
): string {
  const head = `${String(event.sequence).padStart(4)}  ${describeOffset(event.timestamp, from).padStart(11)}  `;
  const middle = `${showLine(event.event_type).padEnd(typeWidth)}${showLine(event.step_id ?? "").padEnd(10)} `;
  const rest = cutLine(describePayload(event), Math.max(20, columns - head.length - middle.length));
  return `${paint("dim", head)}${middle}${paint("dim", rest)}`.trimEnd();
}

/** Formats a payload without nested values; a list is shown as its length, a record as `{…}` or its error code. */
function describePayload({ payload }: LedgerEvent): string {
  const parts = Object.entries(payload).map(([key, value]) => `${key}=${describeValue(value)}`);
  return parts.join(" ");
}

function describeValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.length}]`;
  if (typeof value === "object" && value !== null) return "code" in value ? String(value.code) : "{…}";
  return typeof value === "string" ? JSON.stringify(value.slice(0, 80)) : String(value);
}

async function exportEvidence(workflowId: string, session: Session): Promise<void> {
  await withKernel(session, ({ kernel, caller }) =>
    session.terminal.printAll(kernel.evidence(workflowId, caller), "exact"),
  );
}
