/**
 * `inspect WF`: plays a ledger into Stately's inspector, from the beginning and then live, or from an export.
 *
 * 1.  No workflow is run. Without --payloads, only ids, states, digests, counts and instants are shown.
 * 2.  It serves a page on this machine until the program is interrupted; with --json the messages are printed instead.
 * 3.  --import opens no ledger. If the chain of its rows is broken, the file is refused and none of it is shown.
 */
import { once } from "node:events";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { LedgerEvent } from "../../contract/event.ts";
import { openTurns } from "../../contract/turn.ts";
import type { Inspection, InspectorServer, PlayOptions } from "../../observers/inspect/index.ts";
import { withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, readCount, readPort, type Session } from "./options.ts";
import { readExport } from "./read-export.ts";
import { toJsonText } from "./render-text.ts";
import { UsageError } from "./report-error.ts";
import type { Terminal } from "./terminal.ts";

interface InspectOptions extends CommonOptions {
  readonly speed?: number;
  readonly real: boolean;
  readonly at?: number;
  readonly import?: string;
  readonly payloads: boolean;
  readonly port: number;
  readonly ui: "stately" | "own";
}

export const defaultInspectorPort = 8790;

export function addInspect(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("inspect"))
    .description("play a workflow into Stately's inspector, in a browser of this machine")
    .argument("[workflow]", "its id; with --import, without it the whole file")
    .option("--speed <n>", "as many times as fast as it was; without it at once", readSpeed)
    .option("--real", "keep long pauses, which are cut to two seconds otherwise", false)
    .option("--at <n>", "play up to this sequence number and no further", readCount)
    .option("--import <file>", "play the JSON Lines of this file, as `export` writes them, without a ledger")
    .option("--payloads", "show what events carry; without it ids, states and digests only", false)
    .option("--port <port>", "the port of the page; 0 takes any that is free", readPort, defaultInspectorPort)
    .addOption(new Option("--ui <ui>", "what the page shows").choices(["stately", "own"]).default("stately"))
    .action((workflowId: string | undefined, options: InspectOptions) => inspect(workflowId, { options, terminal }));
}

function readSpeed(value: string): number {
  const speed = Number(value);
  if (value.trim() !== "" && Number.isFinite(speed) && speed > 0) return speed;
  throw new InvalidArgumentError("It must be a number above 0, such as 10 or 0.5.");
}

type Play = Pick<PlayOptions, "speed" | "real" | "redact" | "signal">;

async function inspect(workflowId: string | undefined, session: Session<InspectOptions>): Promise<void> {
  const { options, terminal } = session;
  const { playEvents, inspectKernel, showPayload } = await import("../../observers/inspect/index.ts");
  const play: Play = {
    ...(options.speed !== undefined && { speed: options.speed }),
    real: options.real,
    ...(options.payloads && { redact: showPayload }),
    signal: terminal.signal,
  };
  const playAll = (events: readonly LedgerEvent[]): Promise<void> => {
    const upTo = events.filter(({ sequence }) => sequence <= (options.at ?? Number.POSITIVE_INFINITY));
    return show({ [Symbol.asyncIterator]: () => playEvents(upTo, play) }, session);
  };
  if (options.import !== undefined) return playAll(await eventsIn(options.import, terminal.signal, workflowId));
  if (workflowId === undefined) throw new UsageError("name a workflow, or a file with --import");
  await withKernel(session, async ({ kernel, caller }) => {
    await kernel.workflow(workflowId, caller);
    const isLive = options.at === undefined && !options.json;
    if (!isLive) return playAll(await Array.fromAsync(kernel.events(workflowId, { live: false }, caller)));
    return show(inspectKernel(kernel, { ...play, workflows: [workflowId], caller }), session);
  });
}

/** Reads the events of an export in their order. @throws UsageError, KernelErrorException T0_LEDGER_CORRUPT. */
async function eventsIn(...given: Parameters<typeof readExport>): Promise<readonly LedgerEvent[]> {
  const streams = Map.groupBy(await readExport(...given), ({ stream }) => stream);
  return [...streams.values()].flatMap((rows) => openTurns(rows));
}

/**
 * Plays the messages to the inspector's page, or prints them. @throws the abort reason of the terminal's signal, since
 * an interrupted source ends without an error.
 */
async function show(source: AsyncIterable<Inspection>, session: Session<InspectOptions>): Promise<void> {
  const { terminal } = session;
  await (session.options.json ? terminal.printAll(toLines(source)) : serve(source, session));
  terminal.signal.throwIfAborted();
}

async function serve(source: AsyncIterable<Inspection>, session: Session<InspectOptions>): Promise<void> {
  const { options, terminal } = session;
  const { serveInspector } = await import("../../observers/inspect/index.ts");
  const server = await serveInspector(source, { port: options.port, ui: options.ui });
  terminal.print(describeInspector(server, options.ui));
  if (!terminal.signal.aborted) await once(terminal.signal, "abort");
  await server.close();
}

async function* toLines(source: AsyncIterable<Inspection>): AsyncGenerator<string> {
  for await (const message of source) yield toJsonText(message);
}

export const describeInspector = ({ url }: InspectorServer, ui: "stately" | "own" = "stately"): string =>
  ui === "own"
    ? `inspector feed  ${url.replace("http", "ws")}  (a message a frame)`
    : `inspector  ${url}  (needs the internet: what is inspected goes to stately.ai's page in your browser)`;
