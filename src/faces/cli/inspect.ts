/**
 * `inspect WF`: plays a ledger into Stately's inspector, from the beginning and then live, or from an export; or into
 * the player of this package, as a page (--ui own) or as a file (--html).
 *
 * 1.  No workflow is run. Without --payloads, Stately's page is given ids, states, digests, counts and instants alone.
 *     The player stays with whoever made it, and holds all that the caller may read, as an export does.
 * 2.  It serves a page on this machine until the program is interrupted; with --json the messages are printed instead.
 * 3.  --import opens no ledger. If the chain of its rows is broken, the file is refused and none of it is shown.
 */
import { once } from "node:events";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { LedgerEvent } from "../../contract/event.ts";
import { openTurns } from "../../contract/turn.ts";
import type { Inspection, InspectorServer, PlayerPage, PlayOptions } from "../../observers/inspect/index.ts";
import { withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, readCount, readPort, type Session } from "./options.ts";
import { readExport } from "./read-export.ts";
import type { Recorded } from "./record-runs.ts";
import { toJsonText } from "./render-text.ts";
import { UsageError } from "./report-error.ts";
import type { Terminal } from "./terminal.ts";
import { writeOut } from "./write-out.ts";

interface InspectOptions extends CommonOptions {
  readonly speed?: number;
  readonly real: boolean;
  readonly at?: number;
  readonly import?: string;
  readonly html?: string;
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
    .option("--html <file>", "write a page to this file that plays the run offline, with its children")
    .option("--payloads", "show what events carry; without it ids, states and digests only", false)
    .option("--port <port>", "the port of the page; 0 takes any that is free", readPort, defaultInspectorPort)
    .addOption(
      new Option("--ui <ui>", "whose page it is: Stately's, or the player of this package, which needs no internet")
        .choices(["stately", "own"])
        .default("stately"),
    )
    .action((workflowId: string | undefined, options: InspectOptions) => inspect(workflowId, { options, terminal }));
}

function readSpeed(value: string): number {
  const speed = Number(value);
  if (value.trim() !== "" && Number.isFinite(speed) && speed > 0) return speed;
  throw new InvalidArgumentError("It must be a number above 0, such as 10 or 0.5.");
}

type Play = Pick<PlayOptions, "speed" | "real" | "redact" | "signal">;

/** The runs that are asked for, and how they are read. */
interface Source {
  readonly roots: readonly string[];
  readonly read: Recorded["read"];
  /** The messages of the runs, for an inspector. */
  readonly play: (play: Play) => AsyncIterable<Inspection>;
}

async function inspect(workflowId: string | undefined, session: Session<InspectOptions>): Promise<void> {
  const { options, terminal } = session;
  if (options.html !== undefined && options.json)
    throw new UsageError("--html writes a page, and --json prints messages: name one of them");
  if (options.import !== undefined) return present(await sourceIn(options.import, workflowId, session), session);
  if (workflowId === undefined) throw new UsageError("name a workflow, or a file with --import");
  const { inspectKernel } = await import("../../observers/inspect/index.ts");
  await withKernel(session, async ({ kernel, caller }) => {
    await kernel.workflow(workflowId, caller);
    const read = async (id: string) => upTo(await Array.fromAsync(kernel.events(id, { live: false }, caller)), options);
    const isLive = options.at === undefined && !options.json;
    const play: Source["play"] = (how) =>
      isLive ? inspectKernel(kernel, { ...how, workflows: [workflowId], caller }) : playRuns([workflowId], read, how);
    return present({ roots: [workflowId], read, play }, session);
  });
  terminal.signal.throwIfAborted();
}

/** Returns the events of a run up to the sequence number that is asked for. */
const upTo = (events: readonly LedgerEvent[], { at }: InspectOptions): readonly LedgerEvent[] =>
  events.filter(({ sequence }) => sequence <= (at ?? Number.POSITIVE_INFINITY));

/** Returns an iterable that plays runs one after another, each time from the beginning. */
const playRuns = (ids: readonly string[], read: Recorded["read"], play: Play): AsyncIterable<Inspection> => ({
  async *[Symbol.asyncIterator]() {
    const { playEvents } = await import("../../observers/inspect/index.ts");
    const events = await Promise.all(ids.map(read));
    yield* playEvents(events.flat(), play);
  },
});

/** Reads an export. @throws UsageError, KernelErrorException T0_LEDGER_CORRUPT. */
async function sourceIn(path: string, workflowId: string | undefined, { options, terminal }: Session<InspectOptions>) {
  const isPlayed = options.html !== undefined || options.ui === "own";
  // A player shows the children of a run as well, which the file may hold.
  const rows = await readExport(path, terminal.signal, isPlayed ? undefined : workflowId);
  const streams = Map.groupBy(rows, ({ stream }) => stream);
  const events = new Map([...streams].map(([id, own]) => [id, upTo(openTurns(own), options)]));
  if (workflowId !== undefined && !events.has(workflowId))
    throw new UsageError(`${path} holds no row of ${workflowId}`);
  const roots = workflowId === undefined ? [...events.keys()] : [workflowId];
  const read = async (id: string) => events.get(id) ?? [];
  return { roots, read, play: (play: Play) => playRuns(roots, read, play) };
}

/** Shows the runs in the way that is asked for. */
async function present({ roots, read, play }: Source, session: Session<InspectOptions>): Promise<void> {
  const { options, terminal } = session;
  const { showPayload, playerPage } = await import("../../observers/inspect/index.ts");
  const makePage = async () => {
    const { recordWithChildren } = await import("./record-runs.ts");
    return playerPage(await recordWithChildren({ roots, read, now: terminal.now() }));
  };
  if (options.html !== undefined) {
    writeOut(options.html, (await makePage()).html);
    return terminal.print(`wrote ${options.html}: open it in a browser; it needs no network`);
  }
  const messages = play({
    ...(options.speed !== undefined && { speed: options.speed }),
    real: options.real,
    ...(options.payloads && { redact: showPayload }),
    signal: terminal.signal,
  });
  await show(messages, session, options.ui === "own" ? makePage : undefined);
}

/**
 * Plays the messages to the inspector's page, or prints them. @throws the abort reason of the terminal's signal, since
 * an interrupted source ends without an error.
 */
async function show(source: AsyncIterable<Inspection>, session: Session<InspectOptions>, page: MakePage) {
  const { terminal } = session;
  await (session.options.json ? terminal.printAll(toLines(source)) : serve(source, session, page));
  terminal.signal.throwIfAborted();
}

/** Makes the page of the player anew; undefined for Stately's. */
type MakePage = (() => Promise<PlayerPage>) | undefined;

async function serve(source: AsyncIterable<Inspection>, session: Session<InspectOptions>, page: MakePage) {
  const { options, terminal } = session;
  const { serveInspector } = await import("../../observers/inspect/index.ts");
  const server = await serveInspector(source, { port: options.port, ...(page && { page }) });
  terminal.print(describeInspector(server, options.ui));
  if (!terminal.signal.aborted) await once(terminal.signal, "abort");
  await server.close();
}

async function* toLines(source: AsyncIterable<Inspection>): AsyncGenerator<string> {
  for await (const message of source) yield toJsonText(message);
}

export const describeInspector = ({ url }: InspectorServer, ui: "stately" | "own" = "stately"): string =>
  ui === "own"
    ? `player     ${url}  (the run as it stands; load it again to see what came since)`
    : `inspector  ${url}  (needs the internet: what is inspected goes to stately.ai's page in your browser)`;
