/**
 * `guard`: stands before an MCP server, for one client over stdio or for many over HTTP; each call of a tool is a
 * workflow under policies, budgets and gates. It also serves the console, where people decide.
 *
 * 1.  Over stdio only protocol messages are written to stdout; messages for people go to stderr.
 * 2.  The end of the input ends the guard. Unfinished calls wait in the ledger.
 */
import { once } from "node:events";
import { type Command, InvalidArgumentError } from "commander";
import { approverScopes } from "../../contract/auth-context.ts";
import { KernelErrorException } from "../../contract/kernel-error.ts";
import { loadAllPeers } from "../../protocol/load-peers.ts";
import { showText } from "../../protocol/visible-text.ts";
import type { Guard } from "../guard/create-guard.ts";
import { complainTo } from "./complain-to.ts";
import { type CommandContext, withKernel } from "./open-kernel.ts";
import {
  type AnswerGates,
  addAnswerGates,
  addCommonOptions,
  type CommonOptions,
  callerOf,
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
import { makeToken, readToken, servedAgain } from "./serve.ts";
import type { Terminal } from "./terminal.ts";

interface GuardCommand extends CommonOptions, AnswerGates {
  /** The port for clients over HTTP; absent: one client over stdio. */
  readonly listen?: number;
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
  readonly token?: string;
  readonly approverToken?: string;
  /** The authorization server whose access tokens clients bring. */
  readonly issuer?: string;
  readonly jwks?: string;
  readonly audience?: string;
  readonly scope: string;
}

export function addGuard(program: Command, terminal: Terminal): void {
  addAnswerGates(addCommonOptions(program.command("guard")))
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
    .option("--token <token>", "over HTTP, the bearer token of clients; without it, one is made", readToken)
    .option("--approver-token <token>", "a bearer token that decides gates and reads, for a person", readToken)
    .option("--issuer <url>", "over HTTP, take access tokens of this OAuth authorization server", readHttps)
    .option("--jwks <url>", "the address of the issuer's keys", readHttps)
    .option("--audience <url>", "the guard's address as these tokens name it (default: its own)", readHttps)
    .option("--scope <scope>", "the scope that these tokens need", readScope, "mcp:tools")
    .action((command: readonly string[], options: GuardCommand) =>
      options.propose ? propose({ options, terminal }) : openGuard({ options, terminal }, command),
    );
}

const readHttps = urlReader("https://auth.example");

function readScope(value: string): string {
  if (/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value)) return value;
  throw new InvalidArgumentError("It is one scope: printable characters without spaces, quotes and backslashes.");
}

/**
 * Returns the guard as a resource of OAuth: the subject of a token is the principal, with the tenant and the role of
 * the options. Null without `--issuer`. @throws UsageError unless all that is needed is there.
 */
async function readResource({ options }: Session<GuardCommand>) {
  const { issuer, jwks, listen, scope, audience } = options;
  if (issuer === undefined && jwks === undefined) return null;
  if (issuer === undefined || jwks === undefined) throw new UsageError("--issuer and --jwks go together");
  if (listen === undefined) throw new UsageError("--issuer is for clients over HTTP: give --listen");
  if (listen === 0 && audience === undefined) throw new UsageError("the port is not known before: give --audience");
  const { createResourceServer } = await import("../http/resource-server.ts");
  const { clientScope } = await import("../guard/client-scope.ts");
  const { tenant_id, principal } = callerOf(options);
  return createResourceServer({
    issuer,
    scope,
    jwks: new URL(jwks),
    resource: new URL(audience ?? `http://127.0.0.1:${listen}/mcp`),
    callerOf: (subject) => ({ tenant_id, principal: { ...principal, id: subject }, scopes: [clientScope] }),
  });
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
  const resource = await readResource(session);
  await requireKnownRole(options);
  await loadAllPeers("countersign guard", [import("../http/entry.ts"), import("../mcp/entry.ts")]);
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
      resource,
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

type ResourceServer = NonNullable<Awaited<ReturnType<typeof readResource>>>;

interface Guarded {
  readonly guard: Guard;
  readonly resource: ResourceServer | null;
  readonly onListening: (url: string) => void;
}

interface Faces {
  readonly ended: Promise<unknown>;
  readonly close: () => Promise<void>;
}

async function serveFaces(
  { kernel, caller, ledger }: CommandContext,
  { options, terminal }: Session<GuardCommand>,
  { guard, resource, onListening }: Guarded,
): Promise<Faces> {
  const { createHttpApp, serveHttp } = await import("../http/index.ts");
  const { createGuardHandler, serveGuardStdio } = await import("../guard/guard-front.ts");
  const { listen, answerGates: answersGates, approverToken: approver } = options;
  const logger = complainTo(terminal);
  const token = options.token ?? (listen === undefined || resource !== null ? undefined : makeToken());
  const handler = listen === undefined ? null : createGuardHandler(guard, kernel, { answersGates, logger });
  const { clientScope, forClients } = await import("../guard/client-scope.ts");
  const mount = handler === null ? null : forClients(handler.handle);
  const app = createHttpApp(kernel, {
    ...(mount !== null && { mounts: { "/mcp": resource?.requireScope(mount) ?? mount } }),
    ...(resource !== null && { jwt: resource.jwt, callbacks: resource.callbacks }),
    tokens: [
      ...(listen === undefined || token === undefined ? [] : [{ token, ...caller, scopes: [clientScope] }]),
      ...(approver === undefined ? [] : [{ token: approver, ...caller, scopes: approverScopes }]),
    ],
    sessions: { ...(ledger.sessions !== undefined && { store: ledger.sessions }), home: "/" },
    console: true,
  });
  const served = resource === null ? app : { fetch: resource.challenge(app.fetch) };
  const server = await listenAt((port) => serveHttp(served, { host: "127.0.0.1", port }), options);
  onListening(server.url);
  const login = `${server.url}${await app.loginPath(caller)}`;
  const tell = listen === undefined ? terminal.complain : terminal.print;
  if (handler !== null)
    tell(
      `guarding at ${server.url}/mcp${options.token === undefined && token !== undefined ? `  token ${token}` : ""}`,
    );
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
  const interrupted = terminal.signal.aborted ? Promise.resolve() : once(terminal.signal, "abort");
  return {
    ended: Promise.race([interrupted, ...(stdio === null ? [] : [stdio.ended])]),
    close: async () => {
      await stdio?.close();
      await handler?.close();
      await guard.close();
      await server.close({ graceMs: 0 });
    },
  };
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
