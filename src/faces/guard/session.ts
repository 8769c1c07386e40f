/**
 * One client's connection, with the connection to the server that belongs to it: messages pass in both directions as
 * they are, except the calls of tools, which go to the guard's own MCP server (guard-server.ts).
 *
 * 1.  A request keeps its id on both sides, so that progress, cancellation and streams need no translation.
 * 2.  Requests of the guard's own (`countersign:`) are answered here and nowhere else; nobody else's id begins so.
 * 3.  When either side ends, the other one is ended, and every request under way has an answer.
 */
import {
  InMemoryTransport,
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  ProtocolError,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";
import { kernelError } from "../../contract/error-codes.ts";
import { isPlainObject, type JsonObject } from "../../contract/json.ts";
import { type KernelError, raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { errorToJsonrpcError } from "../../protocol/error-to-jsonrpc-error.ts";
import { errorWith, notificationWith, requestWith } from "../../protocol/relayed-message.ts";
import { errorOf } from "../mcp/mcp-error.ts";
import type { ToolRequest } from "./call-package.ts";
import type { Attached } from "./calls-in-flight.ts";
import { mergeGreeting, offersTasks } from "./greeting.ts";
import { paramHeadersOf, readHttpRefusal } from "./http-refusal.ts";
import { Receipts } from "./receipts.ts";
import { errorMembers, errorResult, orServerError } from "./server-error.ts";
import { withoutContinued } from "./upstream-question.ts";

export interface SessionOptions {
  readonly client: Transport;
  /** The connection to the server; not started yet. */
  readonly upstream: Transport;
  /** Serves the guard's own MCP server over a transport; the returned function ends it. */
  readonly serve: (transport: Transport, session: GuardSession) => () => Promise<void>;
  /** Changes what the server answers to tools/list. */
  readonly listTools: (result: JsonObject) => Promise<JsonObject>;
  /** Returns a tool as its server lists it now, by its name there. */
  readonly see: Attached["see"];
  /** Returns the refusal of a call whose headers do not repeat its arguments; null if they do. */
  readonly refuseHeaders: (request: JSONRPCRequest, headers: Headers) => Promise<JSONRPCMessage | null>;
  /** Called when the server says that its tools have changed. */
  readonly onToolsChanged: () => void;
  readonly onError: (error: Error) => void;
  /** Resolves when all that was written to the client has been taken, with whether it was; absent over HTTP. */
  readonly flush?: () => Promise<boolean>;
  /** Whether the server behind runs tasks itself, as far as any greeting has told; the connections share it. */
  readonly tasks: { areTheirs: boolean };
}

interface Sending {
  readonly method: string;
  readonly params: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Pending {
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: Error) => void;
}

type ResponseMessage = Extract<JSONRPCMessage, { readonly result: unknown } | { readonly error: unknown }>;

const sessionRef = moduleRef(0, "guard", "session");
const ownPrefix = "countersign:";

export class GuardSession {
  readonly #options: SessionOptions;
  readonly #inner: Transport;
  readonly #innerEnd: Transport;
  /** Requests that the client waits for, by id, with the method. */
  readonly #asked = new Map<RequestId, JSONRPCRequest>();
  /** Calls of the guard that the server has not answered yet. */
  readonly #sent = new Map<RequestId, Pending>();
  /** Requests of the guard's own server to the client, by the id that the client sees. */
  readonly #questions = new Map<RequestId, RequestId>();
  /** The headers of a request, as its client sent them. */
  readonly #headers = new WeakMap<JSONRPCRequest, Headers>();
  #count = 0;
  /** The envelope of the client's latest request, which requests since 2026-07-28 have. */
  #envelope: JsonObject = {};
  #closed = false;
  #closeInner: () => Promise<void> = async () => undefined;
  /** The receipts of the answers of this guard. */
  readonly receipts = new Receipts();
  onclose?: () => void;

  constructor(options: SessionOptions) {
    this.#options = options;
    [this.#inner, this.#innerEnd] = InMemoryTransport.createLinkedPair();
  }

  /** Connects both sides. @throws Error if the server cannot be reached. */
  async start(): Promise<void> {
    const { client, upstream } = this.#options;
    upstream.onmessage = (message) => this.#attend(this.#fromUpstream(message as JSONRPCMessage));
    upstream.onclose = () => void this.close();
    upstream.onerror = this.#options.onError;
    this.#inner.onmessage = (message) => this.#attend(this.#fromInner(message as JSONRPCMessage));
    client.onmessage = (message, extra) => {
      if (isJSONRPCRequest(message)) this.#headers.set(message, extra?.request?.headers ?? new Headers());
      this.#attend(this.#fromClient(message as JSONRPCMessage));
    };
    client.onclose = () => void this.close();
    client.onerror = this.#options.onError;
    this.#closeInner = this.#options.serve(this.#innerEnd, this);
    await this.#inner.start();
    await upstream.start();
    await client.start();
  }

  /** Whether tasks are the guard's own. */
  get runsTasks(): boolean {
    return !this.#options.tasks.areTheirs;
  }

  /** Returns the request of the client that this id belongs to. */
  asked(id: RequestId): JSONRPCRequest | undefined {
    return this.#asked.get(id);
  }

  /** Returns the connection as the sender of a call: the client's own request, with what policy let pass. */
  attach(request: JSONRPCRequest): Attached {
    return {
      isOpen: () => !this.#closed,
      see: this.#options.see,
      send: (asked, signal) => this.#send(request, asked, signal),
    };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.receipts.close();
    const { client, upstream } = this.#options;
    for (const { reject } of this.#sent.values()) reject(new Error("the connection to the server has ended"));
    for (const request of this.#asked.values())
      if (!this.#sent.has(request.id)) await this.#answer(client, request.id, this.#gone()).catch(() => undefined);
    await Promise.allSettled([this.#closeInner(), upstream.close(), client.close()]);
    this.onclose?.();
  }

  /**
   * Asks the server something for the guard itself. @throws ProtocolError as the server answers; KernelErrorException
   * T0_GUARD_UPSTREAM_GONE if it does not.
   */
  async request(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const asked = { ...params, ...(Object.keys(this.#envelope).length > 0 && { _meta: this.#envelope }) };
    const sending = this.#sendAs(this.#ownId(), { method, params: asked }, signal);
    const result = await sending.catch((thrown: Error) => raise(this.#gone(thrown.message)));
    return orServerError(result);
  }

  #send(request: JSONRPCRequest, asked: ToolRequest, signal: AbortSignal): Promise<JsonObject> {
    // A request that has been answered already (a task, a call that was sent again) no longer owns its id.
    const id = this.#asked.has(request.id) ? request.id : this.#ownId();
    const { task, inputResponses: _1, requestState: _2, ...params } = (request.params ?? {}) as JsonObject;
    const sent = {
      ...params,
      arguments: asked.arguments,
      ...asked.continues,
      ...(task !== undefined && !this.runsTasks && { task }),
    };
    const headers = paramHeadersOf(this.#headers.get(request));
    return this.#sendAs(id, { method: "tools/call", params: sent, headers }, signal);
  }

  async #sendAs(id: RequestId, { headers = {}, ...message }: Sending, signal: AbortSignal): Promise<JsonObject> {
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    this.#sent.set(id, { resolve, reject });
    const abort = (): void => {
      void this.#toUpstream(notificationWith("notifications/cancelled", { requestId: id }));
      reject(signal.reason);
    };
    signal.addEventListener("abort", abort, { once: true });
    try {
      // The connection may end, and the answer may arrive, before the transport has sent all.
      const sending = this.#options.upstream.send(requestWith(id, message), { headers });
      return await Promise.race([promise, sending.then(() => promise)]);
    } catch (thrown) {
      const refused = readHttpRefusal(thrown);
      if (refused === null) throw thrown;
      return errorResult(refused);
    } finally {
      signal.removeEventListener("abort", abort);
      this.#sent.delete(id);
    }
  }

  /** Reports the failure of one message, which ends nothing else. */
  #attend(work: Promise<unknown>): void {
    work.catch((thrown: unknown) => this.#options.onError(thrown as Error));
  }

  async #fromClient(message: JSONRPCMessage): Promise<void> {
    if (isJSONRPCRequest(message)) {
      if (String(message.id).startsWith(ownPrefix)) return this.#answer(this.#options.client, message.id, refuseId());
      this.#asked.set(message.id, message);
      this.#envelope = envelopeOf(message);
      const refused = await this.#refuseHeaders(message);
      if (refused !== null && this.#asked.delete(message.id)) return this.#pass(refused, message.id);
      return this.#isOurs(message.method) ? this.#inner.send(withoutContinued(message)) : this.#toUpstream(message);
    }
    if (isJSONRPCNotification(message)) {
      const id = (message.params as { readonly requestId?: RequestId } | undefined)?.requestId;
      const asked = id === undefined ? undefined : this.#asked.get(id);
      if (message.method === "notifications/cancelled" && id !== undefined && this.#asked.delete(id))
        this.receipts.drop(id);
      if (asked !== undefined && this.#isOurs(asked.method)) return this.#inner.send(message);
      if (message.method === "notifications/initialized") await this.#inner.send(message);
      return this.#toUpstream(message);
    }
    const question = this.#questions.get(message.id as RequestId);
    if (question === undefined) return this.#toUpstream(message);
    this.#questions.delete(message.id as RequestId);
    return this.#inner.send({ ...message, id: question });
  }

  /** Checks the headers that repeat arguments, which requests since 2026-07-28 have over HTTP. */
  async #refuseHeaders(message: JSONRPCRequest): Promise<JSONRPCMessage | null> {
    const headers = this.#headers.get(message);
    if (message.method !== "tools/call" || Object.keys(this.#envelope).length === 0) return null;
    return headers?.has("mcp-method") === true ? this.#options.refuseHeaders(message, headers) : null;
  }

  async #fromUpstream(message: JSONRPCMessage): Promise<void> {
    if (isJSONRPCRequest(message)) {
      if (String(message.id).startsWith(ownPrefix)) return this.#answer(this.#options.upstream, message.id, refuseId());
      return this.#pass(message, this.#relatedTo(message));
    }
    if (isJSONRPCNotification(message)) {
      if (message.method === "notifications/tools/list_changed") this.#options.onToolsChanged();
      return this.#pass(message, this.#relatedTo(message));
    }
    const id = message.id as RequestId;
    const sent = this.#sent.get(id);
    if (sent !== undefined)
      return isJSONRPCErrorResponse(message)
        ? sent.resolve(errorResult(message.error))
        : sent.resolve((message as { readonly result: JsonObject }).result);
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    // An answer to nothing that was asked, or to what was cancelled, is of use to nobody.
    if (asked === undefined) return;
    const answered = await this.#readAnswer(asked, message as ResponseMessage).catch((thrown: unknown) =>
      errorWith(
        id,
        thrown instanceof ProtocolError ? errorMembers(thrown) : errorToJsonrpcError(errorOf(thrown, undefined)),
      ),
    );
    await this.#toClient(answered, id);
  }

  async #fromInner(message: JSONRPCMessage): Promise<void> {
    if (isJSONRPCRequest(message)) {
      const id = this.#ownId();
      this.#questions.set(id, message.id);
      return this.#pass({ ...message, id }, this.#relatedTo(message));
    }
    if (isJSONRPCNotification(message)) return this.#pass(message, this.#relatedTo(message));
    const id = message.id as RequestId;
    if (id === greetingId) return;
    // The answer to a request that was cancelled, or whose id was used again, reaches nobody.
    if (this.#asked.delete(id)) await this.#deliver(message, id);
    else this.receipts.drop(id);
  }

  /** Sends an answer of the guard's own and records whether the client takes it. */
  async #deliver(message: JSONRPCMessage, id: RequestId): Promise<void> {
    this.receipts.send(id);
    if (!(await this.#toClient(message, id))) return this.receipts.drop(id);
    const { flush } = this.#options;
    if (flush !== undefined) this.endAnswer(id, await flush());
  }

  /** Records the end of the stream of a request: `isWhole` says whether the client took it to the end. */
  endAnswer(id: RequestId, isWhole: boolean): void {
    if (this.receipts.has(id) || (!isWhole && this.#asked.has(id))) this.receipts.end(id, isWhole);
  }

  /** Returns the answer for the client, and tells the guard's own server what it needs to know of it. */
  async #readAnswer(asked: JSONRPCRequest, message: ResponseMessage): Promise<JSONRPCMessage> {
    if (!isJSONRPCResultResponse(message)) return message;
    const result = message.result as JsonObject;
    if (asked.method === "tools/list") return { ...message, result: await this.#options.listTools(result) };
    if (asked.method !== "initialize" && asked.method !== "server/discover") return message;
    this.#options.tasks.areTheirs = offersTasks(result);
    if (asked.method === "initialize") {
      this.#options.upstream.setProtocolVersion?.(String(result["protocolVersion"]));
      const params = { ...asked.params, protocolVersion: result["protocolVersion"] };
      await this.#inner.send({ ...asked, id: greetingId, params });
    }
    return { ...message, result: mergeGreeting(asked.method, result) };
  }

  #ownId(): string {
    this.#count += 1;
    return `${ownPrefix}${this.#count}`;
  }

  #isOurs(method: string): boolean {
    return method === "tools/call" || (this.runsTasks && method.startsWith("tasks/"));
  }

  /** Returns the client's request that a message of the server belongs to: the one it names, else the newest one. */
  #relatedTo({ params }: { readonly params?: unknown }): RequestId | undefined {
    const { progressToken, _meta } = (isPlainObject(params) ? params : {}) as {
      readonly progressToken?: unknown;
      readonly _meta?: { readonly [key: string]: unknown };
    };
    const named = _meta?.["io.modelcontextprotocol/subscriptionId"];
    const open = [...this.#asked.values()];
    const byToken = open.find(
      (one) => progressToken !== undefined && one.params?._meta?.progressToken === progressToken,
    );
    const byName = open.find(({ id }) => named !== undefined && String(id) === String(named));
    return (byToken ?? byName ?? open.at(-1))?.id;
  }

  async #pass(message: JSONRPCMessage, relatedRequestId?: RequestId): Promise<void> {
    await this.#toClient(message, relatedRequestId);
  }

  /** Sends a message to the client. Returns whether its transport took it. */
  async #toClient(message: JSONRPCMessage, relatedRequestId?: RequestId): Promise<boolean> {
    if (this.#closed) return false;
    try {
      await this.#options.client.send(message, relatedRequestId === undefined ? {} : { relatedRequestId });
      return true;
    } catch (thrown) {
      this.#options.onError(thrown as Error);
      return false;
    }
  }

  /** Passes a message on. A request that cannot be sent is answered with an error. */
  async #toUpstream(message: JSONRPCMessage): Promise<void> {
    try {
      await this.#options.upstream.send(message);
    } catch (thrown) {
      this.#options.onError(thrown as Error);
      if (!isJSONRPCRequest(message) || !this.#asked.delete(message.id)) return;
      const refused = readHttpRefusal(thrown);
      if (refused === null) await this.#answer(this.#options.client, message.id, this.#gone((thrown as Error).message));
      else await this.#toClient(errorWith(message.id, refused), message.id);
    }
  }

  #answer(to: Transport, id: RequestId, error: KernelError): Promise<void> {
    return to.send(errorWith(id, errorToJsonrpcError(error)), { relatedRequestId: id });
  }

  #gone(why = "its connection has ended"): KernelError {
    return kernelError("T0_GUARD_UPSTREAM_GONE", `the server behind the guard cannot be reached: ${why}`, sessionRef);
  }
}

const greetingId = `${ownPrefix}initialize`;

const refuseId = (): KernelError =>
  kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `an id that begins with ${ownPrefix} is the guard's own`, sessionRef);

const envelopePrefix = "io.modelcontextprotocol/";

/** Returns the members of a request's `_meta` that say who asks, in which revision, with which abilities. */
function envelopeOf({ params }: JSONRPCRequest): JsonObject {
  const { progressToken: _, ...meta } = (params?._meta ?? {}) as JsonObject;
  return Object.fromEntries(Object.entries(meta).filter(([name]) => name.startsWith(envelopePrefix)));
}
