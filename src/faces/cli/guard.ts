/**
 * `guard`: stands before an MCP server, for one client over stdio or for many over HTTP; each call of a tool is a
 * workflow under policies, budgets and gates. It also serves the console, where people decide.
 *
 * 1.  Over stdio only protocol messages are written to stdout; messages for people go to stderr.
 * 2.  The end of the input ends the guard. Unfinished calls wait in the ledger.
 */
import { once } from "node:events";
import type { Command } from "commander";
import { approverScopes } from "../../contract/auth-context.ts";
import { KernelErrorException } from "../../contract/kernel-error.ts";
import { loadAllPeers } from "../../protocol/load-peers.ts";
import { showText } from "../../protocol/visible-text.ts";
import type { Guard } from "../guard/create-guard.ts";
import type { McpHandlerOptions } from "../mcp/index.ts";
import { complainTo } from "./complain-to.ts";
import { addGuardUsers, type GuardUsers, type KnownClients, readClients } from "./guard-users.ts";
import { type CommandContext, usualDrainMs, withKernel } from "./open-kernel.ts";
import {
  type AnswerGates,
  addAnswerGates,
  addCommonOptions,
  collect,
  readLimit,
  readName,
  readPort,
  requireKnownRole,
  type Session,
  urlReader,
} from "./options.ts";
import { environment, readServers, type Upstreams } from "./read-servers.ts";
import { readVersion } from "./read-version.ts";
import { UsageError } from "./report-error.ts";
import { localHosts, readToken, servedAgain } from "./serve.ts";
import type { Terminal } from "./terminal.ts";

interface GuardCommand extends GuardUsers, AnswerGates {
  readonly upstream?: string;
  /** The file that names several servers, as configurations of clients do. */
  readonly servers?: Upstreams;
  readonly header: readonly string[];
  readonly name: string;
  /** The port of the console, for a guard over stdio. */
  readonly port: number;
  readonly strict: boolean;
  /** Whether calls are recorded without asking anybody. */
  readonly learn: boolean;
  /** Whether rules are proposed from the record, and nothing is served. */
  readonly propose: boolean;
  readonly wait: number;
  readonly timeout: number;
  readonly approverToken?: string;
}

export function addGuard(program: Command, terminal: Terminal): void {
  const command = addAnswerGates(addCommonOptions(program.command("guard")))
    .description("stand before an MCP server: its tools are called under policies, budgets and gates")
    .argument("[command...]", "the server to start, after --; it speaks over its stdin and stdout")
    .option(
      "--upstream <url>",
      "the server's address, where it is reached over HTTP",
      urlReader("https://mcp.example/mcp"),
    )
    .option(
      "--header <header>",
      "a header for that address, such as 'Authorization: Bearer …' (repeatable)",
      collect,
      [],
    )
    .option("--name <name>", "the server's name in policies, gates and the ledger", readName, "server")
    .option("--servers <file>", "several servers: a file with mcpServers, as clients of MCP have it", readServers)
    .option("--listen <port>", "serve clients over HTTP at this port of this machine, and not over stdio", readPort)
    .option("--port <port>", "the console's port where clients come over stdio; if it is taken, any", readPort, 8790)
    .option("--strict", "a person accepts each tool, also one that is seen for the first time", false)
    .option("--learn", "ask nobody, and record what is called; rules that deny still do", false)
    .option("--propose", "print rules for the tools that were called, to review, and end", false)
    .option("--wait <seconds>", "how long a call waits for a person before it says that it waits", readLimit, 50)
    .option("--timeout <seconds>", "how long the server may take over one call", readLimit, 300)
    .option("--approver-token <token>", "a bearer token that decides gates and reads, for a person", readToken);
  addGuardUsers(command).action((command: readonly string[], options: GuardCommand) =>
    options.propose ? propose({ options, terminal }) : openGuard({ options, terminal }, command),
  );
}

/** Returns the servers by name. @throws UsageError unless they are named in exactly one way. */
function readUpstreams(options: GuardCommand, [command, ...args]: readonly string[]): Upstreams {
  const { upstream, header, servers, name } = options;
  if ([upstream, servers, command].filter((given) => given !== undefined).length !== 1)
    throw new UsageError("name the server: a command after --, --upstream with its address, or --servers with a file");
  if (servers !== undefined) return servers;
  if (upstream !== undefined) return { [name]: { url: upstream, headers: Object.fromEntries(header.map(readHeader)) } };
  return { [name]: { command: command as string, args, env: environment() } };
}

function readHeader(header: string): readonly [string, string] {
  const [, name, value] = /^([\w-]+):\s*(.*)$/.exec(header) ?? [];
  if (name === undefined || value === undefined) throw new UsageError(`--header ${header} is no name, colon and value`);
  return [name, value];
}

/** Prints rules for the tools that were called. */
async function propose(session: Session<GuardCommand>): Promise<void> {
  const { proposeRules } = await import("../guard/propose-rules.ts");
  await withKernel(session, async ({ kernel, caller }) =>
    session.terminal.write(showText(await proposeRules(kernel, caller))),
  );
}

async function openGuard(session: Session<GuardCommand>, command: readonly string[]): Promise<void> {
  const { options } = session;
  const upstreams = readUpstreams(options, command);
  await requireKnownRole(options);
  await loadAllPeers("countersign guard", [import("../http/entry.ts"), import("../mcp/entry.ts")]);
  const clients = await readClients(options);
  const { createGuard } = await import("../guard/create-guard.ts");
  const { learningRules } = await import("../guard/learning-rules.ts");
  let console = "";
  const guard = createGuard({
    upstreams,
    waitMs: options.wait * 1000,
    timeoutSec: options.timeout,
    maxResultChars: 4_000_000,
    strict: options.strict,
    consoleUrl: () => console,
    version: readVersion(),
  });
  const opening = {
    recover: true,
    create: true,
    endsItself: true,
    packages: guard.packages,
    rules: options.learn ? [learningRules] : [],
  };
  const work = async (context: CommandContext): Promise<void> => {
    const faces = await serveFaces(context, session, {
      guard,
      clients,
      onListening: (url) => {
        console = `${url}/`;
      },
    });
    try {
      await faces.ended;
    } finally {
      await faces.close();
    }
  };
  await withKernel(session, work, opening);
}

interface Guarded {
  readonly guard: Guard;
  readonly clients: KnownClients;
  readonly onListening: (url: string) => void;
}

interface Faces {
  readonly ended: Promise<unknown>;
  readonly close: () => Promise<void>;
}

async function serveFaces(
  { kernel, caller, ledger }: CommandContext,
  { options, terminal }: Session<GuardCommand>,
  { guard, clients, onListening }: Guarded,
): Promise<Faces> {
  const { createHttpApp, serveHttp } = await import("../http/index.ts");
  const { createGuardHandler, serveGuardStdio } = await import("../guard/guard-front.ts");
  const { listen, answerGates: answersGates, approverToken: approver, audience } = options;
  const logger = complainTo(terminal);
  const { resource, proxy, tokens, made } = clients;
  // What is open is closed again if the rest fails, or this process would not end.
  await using open = new AsyncDisposableStack();
  const handler =
    listen === undefined ? null : createGuardHandler(guard, kernel, { answersGates, logger, ...hostsOf(audience) });
  const { forClients } = await import("../guard/client-scope.ts");
  const mount = handler === null ? null : forClients(handler.handle);
  const app = createHttpApp(kernel, {
    ...(mount !== null && { mounts: { "/mcp": resource?.requireScope(mount) ?? mount } }),
    ...(resource !== null && { jwt: resource.jwt, callbacks: resource.callbacks }),
    ...(proxy !== null && { authenticate: proxy.authenticate }),
    tokens: [...tokens, ...(approver === undefined ? [] : [{ token: approver, ...caller, scopes: approverScopes }])],
    sessions: { ...(ledger.sessions !== undefined && { store: ledger.sessions }), home: "/" },
    console: true,
  });
  const fetch = resource === null ? app.fetch : resource.challenge(app.fetch);
  const served = { fetch: proxy === null ? fetch : proxy.admit(fetch) };
  const server = await listenAt((port) => serveHttp(served, { host: "127.0.0.1", port }), options);
  open.defer(() => server.close({ graceMs: 0 }));
  open.defer(() => guard.close());
  open.defer(async () => handler?.close());
  onListening(server.url);
  const login = `${server.url}${await app.loginPath(caller)}`;
  const tell = listen === undefined ? terminal.complain : terminal.print;
  if (handler !== null) tell(`guarding at ${server.url}/mcp${made === undefined ? "" : `  token ${made}`}`);
  tell(`console  ${login}  (signs in once, within five minutes; who signs in may decide gates)`);
  terminal.safety.tell = servedAgain;
  const stdio =
    handler === null
      ? await serveGuardStdio(guard, kernel, {
          caller,
          answersGates,
          logger,
          input: process.stdin,
          output: process.stdout,
        })
      : null;
  open.defer(async () => stdio?.close());
  // The kernel ends before the connections do: a call that is decided meanwhile is left to the next guard.
  open.defer(() => kernel.stop({ drainMs: usualDrainMs }));
  const opened = open.move();
  const interrupted = terminal.signal.aborted ? Promise.resolve() : once(terminal.signal, "abort");
  return {
    ended: Promise.race([interrupted, ...(stdio === null ? [] : [stdio.ended])]),
    close: () => opened.disposeAsync(),
  };
}

/** Returns the hosts that clients and their pages may name: those of this machine, and the one that tokens name. */
function hostsOf(audience: string | undefined): Pick<McpHandlerOptions, "allowedHosts" | "allowedOrigins"> {
  const hosts = localHosts(audience);
  return { allowedHosts: hosts, allowedOrigins: hosts };
}

/** Listens at the port that is asked for; a console whose port is taken takes any other one. */
async function listenAt<S>(serve: (port: number) => Promise<S>, { listen, port }: GuardCommand): Promise<S> {
  try {
    return await serve(listen ?? port);
  } catch (thrown) {
    const isTaken = thrown instanceof KernelErrorException && thrown.error.code === "T0_HTTP_ADDRESS_UNAVAILABLE";
    if (listen !== undefined || !isTaken) throw thrown;
    return serve(0);
  }
}
