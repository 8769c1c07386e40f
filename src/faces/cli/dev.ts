/**
 * `dev [DIR]`: serves the packages of a folder while they are changed: console, HTTP API and inspector.
 *
 * 1.  An empty folder gets the example of `create`, and one request of it that waits for a person.
 * 2.  A change is checked first. If the packages cannot be loaded, the reason is printed with its code, and the server
 *     goes on as it was; without a server it waits for the next change. Else the server starts again on the same
 *     ledger, ports and token, and takes up what was under way.
 * 3.  The ports are the first free ones from those of `serve` and `inspect` on, and stay the same.
 */
import { existsSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { makeFolder } from "./create.ts";
import { type DevAddress, type DevProblem, type DevServer, runCommand, startServer } from "./dev-server.ts";
import { defaultInspectorPort } from "./inspect.ts";
import { addCommonOptions, type CommonOptions, readPort, type Session } from "./options.ts";
import { toJsonText, wrapLines } from "./render-text.ts";
import { UsageError } from "./report-error.ts";
import { makeToken, servedAgain } from "./serve.ts";
import { commandLine, flagsOf } from "./show-result.ts";
import { isAskedToEnd, type Terminal } from "./terminal.ts";
import { watchFolder } from "./watch-folder.ts";

interface DevOptions extends CommonOptions {
  readonly port?: number;
}

const defaultPort = 8787;

export function addDev(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("dev"))
    .description("serve a folder of packages while you change them: console, API and inspector")
    .argument("[dir]", "the folder of the packages; an empty one gets an example", ".")
    .option("--port <port>", `the port of console and API; without it ${defaultPort}, or the next one free`, readPort)
    .action((dir: string, options: DevOptions) => dev(dir, { options, terminal }));
}

async function dev(dir: string, { options: given, terminal }: Session<DevOptions>): Promise<void> {
  const folder = resolve(dir);
  const isNew = seedFolder(folder);
  const db = given.db ?? (given.host === undefined ? join(folder, "countersign.db") : undefined);
  const options = { ...given, ...(db !== undefined && { db }), capabilities: [...given.capabilities, folder] };
  const work = new DevSession({ options, terminal }, { folder, isNew });
  terminal.safety.tell = servedAgain;
  try {
    await work.run();
  } catch (thrown) {
    if (!isAskedToEnd(terminal.signal.reason)) throw thrown;
  } finally {
    await work.stop();
  }
}

/** Makes the example in a folder that is empty or does not exist. Returns whether it did. */
function seedFolder(folder: string): boolean {
  try {
    if (existsSync(folder) && readdirSync(folder).some((name) => name !== ".git")) return false;
    makeFolder(folder);
    return true;
  } catch (error) {
    throw new UsageError(`${folder} cannot be used: ${(error as Error).message}; name another folder`);
  }
}

/** Returns the first port from `port` on that is free on this machine; of 0, any. */
async function findPort(port: number): Promise<number> {
  const server = createServer();
  const found = await new Promise<number | null>((found) => {
    server.once("error", () => found(null));
    server.listen(port, "127.0.0.1", () => found((server.address() as { readonly port: number }).port));
  });
  server.close();
  return found ?? findPort(port + 1);
}

/** An event of a run of `dev`; with --json a line each. */
type DevEvent =
  | ({ readonly event: "serving" } & DevAddress)
  | { readonly event: "reloaded" }
  | { readonly event: "ended" }
  | ({ readonly event: "broken"; readonly serves: boolean } & DevProblem);

class DevSession {
  readonly #session: Session<DevOptions>;
  readonly #folder: string;
  readonly #token = makeToken();
  readonly #isNew: boolean;
  #server: DevServer | null = null;
  #args: readonly string[] = [];

  constructor(session: Session<DevOptions>, { folder, isNew }: { readonly folder: string; readonly isNew: boolean }) {
    this.#session = session;
    this.#folder = folder;
    this.#isNew = isNew;
  }

  async run(): Promise<never> {
    const { options, terminal } = this.#session;
    const watch = watchFolder(this.#folder);
    try {
      const port =
        options.port === undefined || options.port === 0 ? await findPort(options.port ?? defaultPort) : options.port;
      const ports = ["--port", String(port), "--inspect", String(await findPort(defaultInspectorPort))];
      const format = options.json ? "json" : "lines";
      this.#args = [...flagsOf(options), ...ports, "--token", this.#token, "--log-format", format, "--drain", "2"];
      if (this.#isNew) await this.#submitExample();
      let isFirst = true;
      for (;;) {
        const began = await this.#start();
        if (began) this.#report(isFirst ? { event: "serving", ...began } : { event: "reloaded" });
        isFirst &&= began === null;
        await this.#untilSound(watch.changed);
        await this.stop();
      }
    } finally {
      watch.close();
      terminal.signal.throwIfAborted();
    }
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = null;
  }

  /** Starts the server and returns where it listens; if it does not, reports why and returns null. */
  async #start(): Promise<DevAddress | null> {
    const { signal, complain } = this.#session.terminal;
    const started = await startServer(this.#args, { signal, log: complain });
    if ("code" in started) {
      this.#report({ event: "broken", serves: false, ...started });
      return null;
    }
    this.#server = started;
    return started.address;
  }

  /** Waits for a change after which the packages can be loaded. */
  async #untilSound(changed: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { options, terminal } = this.#session;
    let isUp = this.#server !== null;
    const ended = this.#server?.ended.then(() => {
      if (isUp && !terminal.signal.aborted) this.#report({ event: "ended" });
      isUp = false;
    });
    void ended;
    for (;;) {
      await changed(terminal.signal);
      const problem = isUp ? await runCommand(["list", "--limit", "1", ...flagsOf(options)], terminal.signal) : null;
      if (problem === null) break;
      this.#report({ event: "broken", serves: isUp, ...problem });
    }
    isUp = false;
  }

  /** Submits the request of the example, and waits until it waits for a person. */
  async #submitExample(): Promise<void> {
    const { options, terminal } = this.#session;
    const input = JSON.stringify({ order: "A-7", cents: 1999 });
    const problem = await runCommand(
      ["run", "Shop.Refund", "--input", input, "--wait", ...flagsOf(options)],
      terminal.signal,
    );
    if (problem !== null) this.#report({ event: "broken", serves: false, ...problem });
  }

  #report(event: DevEvent): void {
    const { options, terminal } = this.#session;
    if (options.json)
      return terminal.print(toJsonText({ ...event, ...(event.event === "serving" && { token: this.#token }) }));
    if (event.event === "serving") return this.#describe(event);
    if (event.event === "reloaded") return terminal.print(terminal.paint("green", "reloaded"));
    if (event.event === "ended")
      return terminal.print(terminal.paint("red", "the server has ended; it starts again at the next change"));
    const { code, detail, next, serves } = event;
    const then = serves ? "The packages from before are served on." : "It is loaded again at the next change.";
    terminal.print(terminal.paint("red", wrapLines(`${code}: ${detail}`, terminal.columns)));
    terminal.print(wrapLines(`${next === null ? "" : `${next} `}${then}`, terminal.columns));
  }

  #describe({ url, login, inspector }: Extract<DevEvent, { readonly event: "serving" }>): void {
    const { options, terminal } = this.#session;
    const again = commandLine({ ...options, capabilities: [] }, "login", "--origin", url);
    for (const line of [
      ...(this.#isNew ? [`made       ${this.#folder}: refund.ts is the package; one refund waits for you`] : []),
      `console    ${login}`,
      "           signs you in, once, within five minutes; another link:",
      `           ${again}`,
      `api        ${url}/docs  (token ${this.#token}: submits and reads)`,
      `inspector  ${inspector}  (needs the internet)`,
      `guide      ${url}/guide`,
      `Packages in ${this.#folder} are loaded again when they change. Ctrl-C stops it.`,
    ])
      terminal.print(line);
  }
}
