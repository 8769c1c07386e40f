/**
 * Several servers as one connection: names of tools and prompts have the server's name as a prefix (`files__read`), and
 * each request goes to the server that it belongs to.
 *
 * 1.  A server cannot take the name of another one's tool or prompt. An address of a resource belongs to the first
 *     server that lists it; the same address of another one is left out.
 * 2.  Requests of servers to the client have the server's number before their ids.
 * 3.  Clients of 2026-07-28 begin a session here, as those before: `server/discover` is not known.
 */
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";
import { isPlainObject, type JsonObject } from "../../contract/json.ts";
import { errorWith, resultWith } from "../../protocol/relayed-message.ts";
import { joinGreetings } from "./greeting.ts";
import { splitName } from "./split-name.ts";

/** A server of the connection. */
export interface Member {
  readonly name: string;
  readonly transport: Transport;
}

/** The lists of the protocol: the member of the result, and the ability of a server that has it. */
const lists: Readonly<Record<string, { readonly member: string; readonly needs: string }>> = {
  "tools/list": { member: "tools", needs: "tools" },
  "prompts/list": { member: "prompts", needs: "prompts" },
  "resources/list": { member: "resources", needs: "resources" },
  "resources/templates/list": { member: "resourceTemplates", needs: "resources" },
};

type Answers = (from: number, result: JsonObject) => void;

export class JoinedUpstreams implements Transport {
  onmessage?: Transport["onmessage"];
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly #members: readonly Member[];
  /** Requests that wait for answers: the function that takes a result, and the server if it is one. */
  readonly #waiting = new Map<RequestId, { readonly to: number | null; readonly take: Answers }>();
  readonly #owners = new Map<string, number>();
  #abilities: readonly JsonObject[] = [];

  constructor(members: readonly Member[]) {
    this.#members = members;
  }

  async start(): Promise<void> {
    for (const [i, { transport }] of this.#members.entries()) {
      transport.onmessage = (message) => this.#receive(i, message as JSONRPCMessage);
      transport.onclose = () => void this.close();
      transport.onerror = (error) => this.onerror?.(error);
    }
    await Promise.all(this.#members.map(({ transport }) => transport.start()));
  }

  async close(): Promise<void> {
    const { onclose } = this;
    delete this.onclose;
    await Promise.allSettled(this.#members.map(({ transport }) => transport.close()));
    onclose?.();
  }

  setProtocolVersion(version: string): void {
    for (const { transport } of this.#members) transport.setProtocolVersion?.(version);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (isJSONRPCRequest(message)) return this.#request(message);
    if (isJSONRPCNotification(message)) return this.#notify(message);
    const [, number = "", id = ""] = /^(\d+):(.*)$/s.exec(String(message.id)) ?? [];
    const { transport } = this.#members[Number(number)] ?? {};
    await transport?.send({ ...message, id: JSON.parse(id) as RequestId });
  }

  async #notify(message: JSONRPCNotification): Promise<void> {
    const id = (message.params as { readonly requestId?: RequestId } | undefined)?.requestId;
    const to = id === undefined ? null : (this.#waiting.get(id)?.to ?? null);
    await Promise.all(
      this.#members.flatMap(({ transport }, i) => (to === null || to === i ? [transport.send(message)] : [])),
    );
  }

  #request(message: JSONRPCRequest): Promise<void> {
    const { method } = message;
    const params = (message.params ?? {}) as JsonObject;
    const list = Object.hasOwn(lists, method) ? lists[method] : undefined;
    if (list !== undefined) return this.#list(message, list);
    if (method === "initialize") return this.#askAll(message, this.#all(), (results) => this.#greet(results));
    if (method === "ping") return this.#answer(message.id, {});
    if (method === "logging/setLevel") return this.#askAll(message, this.#able("logging"), () => ({}));
    if (method === "tools/call" || method === "prompts/get") return this.#askNamed(message, params);
    if (method.startsWith("resources/")) return this.#askOwner(message, String(params["uri"]));
    if (method === "completion/complete") return this.#complete(message, params);
    return this.#refuse(message.id, -32601, `there is no method ${method}`);
  }

  #all(): readonly number[] {
    return this.#members.map((_, i) => i);
  }

  #able(ability: string): readonly number[] {
    return this.#all().filter((i) => this.#abilities[i]?.[ability] !== undefined);
  }

  #greet(results: readonly JsonObject[]): JsonObject {
    this.#abilities = results.map(({ capabilities }) => (isPlainObject(capabilities) ? capabilities : {}));
    return joinGreetings(results);
  }

  /** Asks several servers and answers when all have answered. */
  async #askAll(
    message: JSONRPCRequest,
    members: readonly number[],
    join: (results: readonly JsonObject[]) => JsonObject,
  ): Promise<void> {
    if (members.length === 0) return this.#answer(message.id, join([]));
    const results = new Map<number, JsonObject>();
    const take: Answers = (from, result) => {
      results.set(from, result);
      if (results.size < members.length) return;
      this.#waiting.delete(message.id);
      void this.#answer(message.id, join(members.map((i) => results.get(i) as JsonObject)));
    };
    this.#waiting.set(message.id, { to: null, take });
    await Promise.all(members.map((i) => this.#members[i]?.transport.send(message)));
  }

  async #ask(message: JSONRPCRequest, to: number, read: (result: JsonObject) => JsonObject = same): Promise<void> {
    const take: Answers = (_, result) => {
      this.#waiting.delete(message.id);
      void this.#answer(message.id, read(result));
    };
    this.#waiting.set(message.id, { to, take });
    await this.#members[to]?.transport.send(message);
  }

  #askNamed(message: JSONRPCRequest, params: JsonObject): Promise<void> {
    const [to, name] = this.#resolve(String(params["name"]));
    if (to === null) return this.#refuse(message.id, -32602, `no server has ${String(params["name"]).slice(0, 128)}`);
    return this.#ask({ ...message, params: { ...params, name } }, to);
  }

  #askOwner(message: JSONRPCRequest, uri: string): Promise<void> {
    const [only, another] = this.#able("resources");
    const to = this.#owners.get(uri) ?? (another === undefined ? only : undefined);
    if (to !== undefined) return this.#ask(message, to);
    return this.#refuse(message.id, -32002, `no server has listed ${uri.slice(0, 256)}`);
  }

  #complete(message: JSONRPCRequest, params: JsonObject): Promise<void> {
    const ref = (isPlainObject(params["ref"]) ? params["ref"] : {}) as JsonObject;
    if (ref["type"] !== "ref/prompt") return this.#askOwner(message, String(ref["uri"]));
    const [to, name] = this.#resolve(String(ref["name"]));
    if (to === null) return this.#refuse(message.id, -32602, `no server has ${String(ref["name"]).slice(0, 128)}`);
    return this.#ask({ ...message, params: { ...params, ref: { ...ref, name } } }, to);
  }

  /** Asks one server for one page; the cursor has the number of the server that it belongs to. */
  #list(message: JSONRPCRequest, { member, needs }: (typeof lists)[string]): Promise<void> {
    const able = this.#able(needs);
    const cursor = message.params?.["cursor"];
    const [, number, own] = typeof cursor === "string" ? (/^(\d+):(.*)$/s.exec(cursor) ?? []) : [];
    const to = cursor === undefined ? able[0] : able.find((i) => String(i) === number);
    if (to === undefined && cursor === undefined) return this.#answer(message.id, { [member]: [] });
    if (to === undefined) return this.#refuse(message.id, -32602, "the cursor is none that this list gave");
    const { cursor: _, ...params } = (message.params ?? {}) as JsonObject;
    const asked = { ...message, params: { ...params, ...(own !== undefined && own !== "" && { cursor: own }) } };
    const following = able[able.indexOf(to) + 1];
    return this.#ask(asked, to, ({ nextCursor, ...result }) => {
      const next =
        typeof nextCursor === "string" ? `${to}:${nextCursor}` : following === undefined ? null : `${following}:`;
      const items = Array.isArray(result[member]) ? (result[member] as readonly JsonObject[]) : [];
      const named = items.flatMap((item) => this.#claim(to, item));
      return { ...result, [member]: named, ...(next !== null && { nextCursor: next }) };
    });
  }

  /** Names an item of a list after its server; leaves out an address that another server has. */
  #claim(from: number, item: JsonObject): readonly JsonObject[] {
    const { name: server = "" } = this.#members[from] ?? {};
    const address = item["uri"] ?? item["uriTemplate"];
    if (address === undefined) return [{ ...item, name: `${server}__${String(item["name"])}` }];
    const owner = this.#owners.get(String(address)) ?? from;
    this.#owners.set(String(address), owner);
    return owner === from ? [item] : [];
  }

  #resolve(called: string): readonly [number | null, string] {
    const [server, name] = splitName(called);
    const to = this.#members.findIndex((one) => one.name === server);
    return [to === -1 ? null : to, name];
  }

  #receive(from: number, message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message)) return this.onmessage?.({ ...message, id: `${from}:${JSON.stringify(message.id)}` });
    if (isJSONRPCNotification(message)) return this.onmessage?.(nameCancelled(from, message));
    const waiting = this.#waiting.get(message.id as RequestId);
    if (waiting === undefined || (waiting.to !== null && waiting.to !== from)) return;
    if (!isJSONRPCErrorResponse(message))
      return waiting.take(from, (message as { readonly result: JsonObject }).result);
    this.#waiting.delete(message.id as RequestId);
    this.onmessage?.(message);
  }

  async #answer(id: RequestId, result: JsonObject): Promise<void> {
    this.onmessage?.(resultWith(id, result));
  }

  async #refuse(id: RequestId, code: number, message: string): Promise<void> {
    this.onmessage?.(errorWith(id, { code, message }));
  }
}

const same = (result: JsonObject): JsonObject => result;

/** Returns a notification for the client: one that cancels a request names it as the client knows it. */
function nameCancelled(from: number, message: JSONRPCNotification): JSONRPCNotification {
  if (message.method !== "notifications/cancelled") return message;
  const params = (message.params ?? {}) as JsonObject;
  return { ...message, params: { ...params, requestId: `${from}:${JSON.stringify(params["requestId"])}` } };
}
