/**
 * `serve`: serves the HTTP API of one ledger, by default on this machine only, until the program is interrupted.
 *
 * 1.  Every call needs a token; if none is given, one is made and printed once. It may submit, run and read.
 * 2.  A browser signs in by a link that is printed once, works once and expires soon.
 * 3.  Gates are decided by a person: in a browser's session, or with the approver's token. Events, which may end the
 *     wait for a person elsewhere, are sent with a token of their own, or in a session.
 * 4.  Events are logged to stderr, without texts from callers: as short lines at a terminal, else as JSON lines; stdout
 *     names the address. The keys that seal questions of MCP and AG-UI follow from the tokens that it was given.
 * 5.  When it is told to end, it first reports that it is not ready, takes no more requests, answers those under way,
 *     closes the streams, and then stops the kernel, which gives up its leases. This takes at most `--linger`,
 *     `--drain` and a few seconds. A SIGTERM that is followed ends with exit 0.
 */
import { hkdfSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { isIP } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Command, InvalidArgumentError, Option } from "commander";
import { agentScopes, approverScopes, commandScopes } from "../../contract/auth-context.ts";
import type { Logger, Notifier, PushStore, RuleSet } from "../../index.ts";
import type { InspectorServer } from "../../observers/inspect/index.ts";
import type { LogLevel, Observer } from "../../observers/telemetry/index.ts";
import type { CedarOptions } from "../../packages/policies/cedar/index.ts";
import type { OpaOptions } from "../../packages/policies/opa/index.ts";
import { loadAllPeers } from "../../protocol/load-peers.ts";
import { escapeJson } from "../../protocol/visible-text.ts";
import { defaultInspectorPort, describeInspector } from "./inspect.ts";
import { loadTelling } from "./load-modules.ts";
import { type CommandContext, withKernel } from "./open-kernel.ts";
import {
  type AnswerGates,
  addAnswerGates,
  addCommonOptions,
  type CommonOptions,
  collect,
  readCount,
  readOrigin,
  readPort,
  requireKnownRole,
  type Session,
} from "./options.ts";
import { readVersion } from "./read-version.ts";
import { renderLogLine } from "./render-log.ts";
import { toJsonText } from "./render-text.ts";
import { UsageError } from "./report-error.ts";
import { isAskedToEnd, type Terminal } from "./terminal.ts";

interface ServeOptions extends CommonOptions, AnswerGates {
  /** The address to listen on. */
  readonly listen: string;
  readonly port: number;
  readonly origin?: string;
  readonly token?: string;
  readonly approverToken?: string;
  readonly logLevel: LogLevel;
  readonly logFormat?: LogFormat;
  readonly metricsToken?: string;
  readonly eventToken?: string;
  readonly pushSecret?: string;
  /** The port of the inspector's page; `true` if none was named. */
  readonly inspect?: number | true;
  readonly notify: readonly string[];
  /** The time for which the server stays reachable while it is not ready, in seconds. */
  readonly linger: number;
  readonly drain: number;
}

/** The levels of the log. They are listed here, so that help need not load the logger. */
const logLevels = ["debug", "info", "warn", "error", "silent"] as const satisfies readonly LogLevel[];

const logFormats = ["lines", "json"] as const;
type LogFormat = (typeof logFormats)[number];

export function addServe(program: Command, terminal: Terminal): void {
  addAnswerGates(addCommonOptions(program.command("serve")))
    .description(
      "serve the console, the HTTP API, MCP, A2A and AG-UI; tokens speak for --tenant, --principal and --role",
    )
    .option("--listen <address>", "the address to listen on", "127.0.0.1")
    .option("--port <port>", "the port; 0 takes any that is free", readPort, 8787)
    .option(
      "--origin <origin>",
      "the scheme and host that browsers know it by, where a proxy stands before it",
      readOrigin,
    )
    .option(
      "--token <token>",
      "the bearer token of programs: it submits, runs and reads, and decides no gate; without one, one is made",
      readToken,
    )
    .option(
      "--approver-token <token>",
      "a bearer token that decides gates and reads, for a person; without one, people sign in",
      readToken,
    )
    .addOption(new Option("--log-level <level>", "what is logged to stderr").choices(logLevels).default("info"))
    .addOption(
      new Option("--log-format <format>", "short lines for a person, or JSON; by default lines at a terminal").choices(
        logFormats,
      ),
    )
    .option(
      "--metrics-token <token>",
      "a token that may read /metrics and nothing else; without it there is none",
      readToken,
    )
    .option(
      "--event-token <token>",
      "a token that sends events, to /events too, and does nothing else; without it people alone send events",
      readToken,
    )
    .option(
      "--push-secret <secret>",
      "notify addresses that clients of A2A name, signed with this secret (whsec_ and base64); without it nobody is",
    )
    .option(
      "--inspect [port]",
      "show what has not ended, live, in Stately's inspector; 0 takes any port that is free",
      readPort,
    )
    .option(
      "--notify <module>",
      "tell people of gates by what this module exports: webhookNotifier, mailNotifier, slackNotifier (repeatable)",
      collect,
      [],
    )
    .option("--linger <seconds>", "after SIGTERM: how long it serves on while /ready says no", readCount, 0)
    .option("--drain <seconds>", "after that: how long what runs may go on before it is left to others", readCount, 5)
    .action((options: ServeOptions) => openAndServe({ options, terminal }));
}

/** Makes a bearer token that nobody guesses. */
export const makeToken = (): string => randomBytes(24).toString("base64url");

export function readToken(value: string): string {
  if (!/^[\w.~+/=-]+$/.test(value)) throw new InvalidArgumentError("It has letters, digits and -._~+/= only.");
  return value;
}

async function openAndServe(session: Session<ServeOptions>): Promise<void> {
  const { options } = session;
  if (isIP(options.host ?? "") !== 0 || options.host === "localhost")
    throw new UsageError(`--host names a module; the address to listen on is --listen ${options.host}`);
  await requireKnownRole(options);
  // The entries are loaded here, because the other commands need neither network nor log. One error names all missing
  // packages.
  const entries = [import("../../observers/telemetry/entry.ts"), import("../http/entry.ts"), import("../mcp/entry.ts")];
  await loadAllPeers("countersign serve", entries);
  const { createLogger, createObserver } = await import("../../observers/telemetry/index.ts");
  const destination = { write: writerOf(session) };
  const logger = createLogger({ level: options.logLevel, destination });
  const observer = createObserver({ logger });
  const { notifiers, digests } = await loadTelling(options.notify);
  const drainMs = options.drain * 1000;
  const opening = { recover: true, create: true, logger, telemetry: observer, notifiers, endsItself: true, drainMs };
  const work = (context: CommandContext): Promise<void> => {
    for (const digest of digests) digest.read(context.kernel);
    return withInspector(context.kernel, options, (inspector) =>
      serve(context, session, { observer, logger, inspector }),
    );
  };
  return withKernel(session, work, opening);
}

/** Returns the function that writes a line of the log, in the format that the options or the terminal call for. */
function writerOf({ options, terminal }: Session<ServeOptions>): (line: string) => void {
  const { logFormat = terminal.interactive ? "lines" : "json" } = options;
  if (logFormat === "json") return (line) => terminal.complain(escapeJson(line.trimEnd()));
  return (line) => {
    const short = renderLogLine(line.trimEnd());
    if (short !== null) terminal.complain(short);
  };
}

interface Watching {
  readonly observer: Observer;
  readonly logger: Logger;
  readonly inspector: InspectorServer | null;
}

/** The message for a person who ends a serving program. */
export const servedAgain =
  "Nothing is lost: what was under way goes on from the ledger when the same command is run again.";

async function serve(
  { kernel, ledger, caller, notifiers }: CommandContext,
  { options, terminal }: Session<ServeOptions>,
  { observer, logger, inspector }: Watching,
): Promise<void> {
  const { createHttpApp, serveHttp } = await import("../http/index.ts");
  const token = options.token ?? makeToken();
  const { metricsToken: scraper, approverToken: approver, eventToken: sender, origin } = options;
  const mcp = await openMcp(kernel, options);
  const { createA2aHandler } = await import("../protocols/a2a/index.ts");
  const { createAgUiHandler } = await import("../protocols/agui/index.ts");
  const { createEventReceiver } = await import("../events/index.ts");
  const a2a = createA2aHandler(kernel, { ...agentOf(options, ledger.pushes), logger });
  const app = createHttpApp(kernel, {
    mounts: {
      "/mcp": mcp.handle,
      "/a2a": a2a.handle,
      "/ag-ui": createAgUiHandler(kernel, { logger, ...sealingOf("ag-ui", options) }).handle,
      "/events": createEventReceiver(kernel, { logger }).handle,
    },
    callbacks: { ...callbacksOf(notifiers, kernel), "/.well-known/agent-card.json": a2a.card },
    tokens: [
      { token, ...caller, scopes: agentScopes },
      ...(approver === undefined ? [] : [{ token: approver, ...caller, scopes: approverScopes }]),
      ...(scraper === undefined ? [] : [{ token: scraper, ...caller, scopes: ["metrics:read"] }]),
      ...(sender === undefined ? [] : [{ token: sender, ...caller, scopes: [commandScopes.emit] }]),
    ],
    sessions: { ...(ledger.sessions !== undefined && { store: ledger.sessions }), home: "/" },
    policyLanguages: { cedar: readCedar, opa: readRego },
    console: true,
    ...(origin !== undefined && { origin }),
    logger,
    observe: observer.http,
    ...(scraper === undefined ? {} : { metrics: observer.prometheus }),
  });
  observer.watch(kernel);
  const server = await serveHttp(app, { host: options.listen, port: options.port });
  const made = options.token === undefined;
  const { signal } = terminal;
  const isReported = (): boolean => signal.aborted && isAskedToEnd(signal.reason);
  try {
    const login = `${origin ?? server.url}${await app.loginPath(caller)}`;
    if (options.json)
      terminal.print(
        toJsonText({ url: server.url, ...(made && { token }), login, ...(inspector && { inspector: inspector.url }) }),
      );
    else tell(terminal, { url: server.url, token: made ? token : null, login });
    if (inspector !== null && !options.json) terminal.print(describeInspector(inspector));
    terminal.safety.tell = servedAgain;
    if (!signal.aborted) await once(signal, "abort");
    app.drain();
    if (isReported()) await sleep(options.linger * 1000);
  } finally {
    await Promise.all([mcp.close(), a2a.close()]);
    await server.close({ graceMs: isReported() ? graceMs : 0 });
    observer.stop();
  }
  if (!isReported()) throw signal.reason;
}

/** The time for requests under way after the server has stopped taking new ones, in ms. */
const graceMs = 2000;

/**
 * Serves an inspector of all unfinished workflows and of the Signals between tiers, which only the host may see. It is
 * closed however the work ends.
 */
async function withInspector(
  kernel: CommandContext["kernel"],
  { inspect }: ServeOptions,
  work: (inspector: InspectorServer | null) => Promise<void>,
): Promise<void> {
  if (inspect === undefined) return work(null);
  const { inspectKernel, serveInspector } = await import("../../observers/inspect/index.ts");
  const source = inspectKernel(kernel);
  const server = await serveInspector(source, { port: inspect === true ? defaultInspectorPort : inspect });
  try {
    await work(server);
  } finally {
    source.close();
    await server.close();
  }
}

/** Reads policies of `whatif` in Cedar; the package is loaded when it is met. */
const readCedar = async (policies: CedarOptions): Promise<RuleSet> =>
  (await import("../../packages/policies/cedar/entry.ts")).cedar(policies);

/** Reads policies of `whatif` in Rego; the package is loaded when it is met. */
const readRego = async (policies: OpaOptions): Promise<RuleSet> =>
  (await import("../../packages/policies/opa/entry.ts")).opa(policies);

type Callback = (request: Request) => Promise<Response>;

/**
 * Returns the routes on which receivers of notifiers call back, such as Slack's buttons: `/callbacks/` and the
 * notifier's name.
 */
const callbacksOf = (
  notifiers: readonly Notifier[],
  kernel: CommandContext["kernel"],
): Readonly<Record<string, Callback>> =>
  Object.fromEntries(
    notifiers.flatMap((notifier) =>
      "callback" in notifier && typeof notifier.callback === "function"
        ? [[`/callbacks/${notifier.name}`, notifier.callback(kernel) as Callback] as const]
        : [],
    ),
  );

/** Returns the names of this machine, and the host of an address by which it is known elsewhere. */
export const localHosts = (address: string | undefined): readonly string[] => [
  ...["localhost", "127.0.0.1", "[::1]"],
  ...(address === undefined ? [] : [new URL(address).hostname]),
];

/** Opens MCP at /mcp for programs and pages of this machine, of the address that is listened on, and of `--origin`. */
async function openMcp(kernel: CommandContext["kernel"], options: ServeOptions) {
  const { listen, origin, answerGates: answersGates } = options;
  const { createMcpHandler } = await import("../mcp/index.ts");
  const allowedOrigins = localHosts(origin);
  const allowedHosts = [...allowedOrigins, listen.includes(":") ? `[${listen}]` : listen];
  const sealing = sealingOf("mcp", options);
  return createMcpHandler(kernel, { allowedHosts, allowedOrigins, answersGates, version: readVersion(), ...sealing });
}

/**
 * Returns the key that seals the questions of a protocol, derived from the tokens of the command line: a server that is
 * started again with the same tokens, or beside this one, takes the answers to them. Without a token of its own, the
 * server makes a key as it makes a token: both end with it.
 */
function sealingOf(
  protocol: "ag-ui" | "mcp",
  { token, approverToken = "" }: ServeOptions,
): { readonly stateKey?: Uint8Array } {
  if (token === undefined) return {};
  const secret = JSON.stringify([token, approverToken]);
  return { stateKey: new Uint8Array(hkdfSync("sha256", secret, "countersign", `questions of ${protocol}`, 32)) };
}

/**
 * Returns the options of the kernel as an A2A agent. Its address is the one that clients know; the ledger's store keeps
 * the addresses that are notified.
 */
const agentOf = ({ origin, answerGates: answersGates, pushSecret: secret }: ServeOptions, store?: PushStore) => ({
  answersGates,
  version: readVersion(),
  ...(origin !== undefined && { url: `${origin}/a2a` }),
  ...(secret !== undefined && { push: { secret, ...(store !== undefined && { store }) } }),
});

interface ServeAddress {
  readonly url: string;
  readonly token: string | null;
  readonly login: string;
}

function tell(terminal: Terminal, { url, token, login }: ServeAddress): void {
  terminal.print(`listening on ${url}`);
  terminal.print(`console  ${login}  (signs in once, within five minutes; who signs in may decide gates)`);
  terminal.print(`guide    ${url}/guide`);
  if (token !== null) terminal.print(`token ${token}  (submits and reads)`);
  terminal.print(`try  curl -H "Authorization: Bearer ${token ?? "TOKEN"}" ${url}/v1/kernel/workflows`);
}
