/**
 * One connection to an MCP server, from its handshake to its end, and the tools that the server listed over it.
 *
 * Owns: the features that are offered to the server, the listing and its age, and the number of calls on the line.
 * Never: connects again (connection.ts makes another line), answers sampling or elicitation: neither is offered.
 * 1.  After a notice that tools changed they are listed again before a call that comes then; a notice during a listing
 *     makes the next call list again.
 * 2.  A line that broke takes no new call, and is closed when its last one has ended.
 * 3.  A server that sends more than `limits.maxMessages` while no call begins or ends loses its connection.
 */
import {
  Client,
  type Implementation,
  type JSONRPCMessage,
  type jsonSchemaValidator,
  type Root,
  type Tool,
  type Transport,
} from "@modelcontextprotocol/client";
import { orAborted } from "../llm/read-answer.ts";
import { mcpError } from "./mcp-error.ts";
import type { McpClientLimits } from "./mcp-limits.ts";

export interface LineOptions {
  readonly clientInfo: Implementation;
  readonly negotiation: "legacy" | "auto";
  readonly roots: readonly Root[] | undefined;
  readonly limits: McpClientLimits;
  readonly onError: (error: Error) => void;
}

export class McpLine {
  readonly client: Client;
  /** Settles with the handshake, within `limits.answerTimeoutMs`. Rejects with whatever went wrong. */
  readonly opened: Promise<void>;
  readonly #options: LineOptions;
  readonly #ended = new AbortController();
  #listed: readonly Tool[] = [];
  #listing: Promise<void> | null = null;
  #stale = true;
  #calls = 0;
  #messages = 0;
  #broken = false;
  #fault: Error | null = null;

  constructor(options: LineOptions, makeTransport: () => Transport | Promise<Transport>) {
    this.#options = options;
    this.client = this.#createClient(options);
    this.opened = this.#open(makeTransport);
    this.opened.catch(ignore);
  }

  /** Returns the tools as listed, including several of one name. */
  get tools(): readonly Tool[] {
    return this.#listed;
  }

  get isBroken(): boolean {
    return this.#broken;
  }

  /** Returns why this side ended the connection, if it did so for what the server sent. */
  get fault(): Error | null {
    return this.#fault;
  }

  /** Lists the tools where the last listing is not good any more, or is not good enough. */
  async list(anew: boolean): Promise<void> {
    // One that is under way may have begun before what its caller wants to see.
    if (anew) await this.#listing?.catch(ignore);
    this.#stale ||= anew;
    if (this.#stale)
      this.#listing ??= this.#fetchTools().finally(() => {
        this.#listing = null;
      });
    await this.#listing;
  }

  /** Works with the line; it is not closed meanwhile for being broken. */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    this.#calls += 1;
    this.#messages = 0;
    try {
      return await work();
    } finally {
      this.#calls -= 1;
      this.#messages = 0;
      if (this.#broken) this.retire();
    }
  }

  retire(): void {
    this.#broken = true;
    if (this.#calls === 0) void this.close();
  }

  async close(): Promise<void> {
    this.#broken = true;
    this.#ended.abort(this.#fault ?? new Error("the connection was closed"));
    await this.client.close().catch(this.#options.onError);
  }

  async #open(makeTransport: () => Transport | Promise<Transport>): Promise<void> {
    const { answerTimeoutMs: timeout } = this.#options.limits;
    const connect = async (): Promise<void> => {
      const transport = await makeTransport();
      guardMessages(transport, () => this.#admit());
      if (!this.#broken) await this.client.connect(transport, { timeout });
    };
    try {
      // A transport that never starts is nobody else's to give up.
      await orAborted(connect(), AbortSignal.any([AbortSignal.timeout(timeout), this.#ended.signal]));
      if (this.#broken) throw new Error("the connection ended at once");
    } catch (thrown) {
      await this.close();
      throw thrown;
    }
  }

  /** Counts a message and says whether it is read. The first one too many ends the connection. */
  #admit(): boolean {
    const { limits, onError } = this.#options;
    this.#messages += 1;
    if (this.#messages > limits.maxMessages && this.#fault === null) {
      this.#fault = new Error(`the server sent more than limits.maxMessages = ${limits.maxMessages} messages at once`);
      onError(this.#fault);
      void this.close();
    }
    return this.#fault === null;
  }

  #createClient({ clientInfo, negotiation, roots, limits, onError }: LineOptions): Client {
    const onChanged = (): void => {
      this.#stale = true;
    };
    const client = new Client(clientInfo, {
      capabilities: roots === undefined ? {} : { roots: {} },
      versionNegotiation: { mode: negotiation },
      inputRequired: { autoFulfill: roots !== undefined },
      listMaxPages: limits.maxPages,
      jsonSchemaValidator: noValidator,
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } },
    });
    if (roots !== undefined) client.setRequestHandler("roots/list", () => ({ roots: [...roots] }));
    client.onerror = onError;
    return client;
  }

  async #fetchTools(): Promise<void> {
    const { answerTimeoutMs: timeout, maxTools } = this.#options.limits;
    this.#stale = false;
    try {
      const has = this.client.getServerCapabilities()?.tools !== undefined;
      const { tools } = has ? await this.client.listTools(undefined, { timeout, cacheMode: "refresh" }) : { tools: [] };
      if (tools.length > maxTools) throw tooMany(tools.length, maxTools);
      this.#listed = tools;
    } catch (thrown) {
      this.#stale = true;
      throw thrown;
    }
  }
}

const ignore = (): void => undefined;

/** Makes a transport deliver only messages that `admit` takes, before anything else is done with them. */
function guardMessages(transport: Transport, admit: () => boolean): void {
  let deliver: Transport["onmessage"];
  Object.defineProperty(transport, "onmessage", {
    configurable: true,
    enumerable: true,
    get: () => deliver,
    set(next: Transport["onmessage"]) {
      deliver = next && ((message: JSONRPCMessage, extra) => void (admit() && next(message, extra)));
    },
  });
}

/** The SDK compiles no schema of a server: operators judge arguments and results themselves (tool-schema.ts). */
const noValidator: jsonSchemaValidator = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
};

const tooMany = (count: number, most: number): Error =>
  mcpError("T0_VALIDATION_PAYLOAD_TOO_LARGE", `the server lists ${count} tools, more than limits.maxTools = ${most}`);
