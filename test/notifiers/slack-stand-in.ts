/**
 * A server that stands for Slack's Web API: it keeps messages by their timestamps and replaces them.
 * Owns: the messages as people would see them. Never: asserts anything.
 */
import { type HttpPosted, type Receiver, receiveHttp } from "./receivers.ts";

export interface Block {
  readonly type: string;
  readonly text?: { readonly type: string; readonly text: string };
  readonly elements?: readonly { readonly action_id: string; readonly value: string }[];
}

export interface Message {
  readonly text: string;
  readonly blocks: readonly Block[];
}

export interface Called extends Message {
  readonly method: string;
  readonly authorization: string | undefined;
  readonly channel: string;
  readonly ts?: string;
}

/** What Slack answers in place of doing what it is asked; undefined: it does it. */
type Refuse = (
  called: Called,
) => { readonly status?: number; readonly retryAfter?: number; readonly error?: string } | undefined;

export interface SlackStandIn extends AsyncDisposable {
  readonly apiUrl: string;
  /** Messages by their timestamps, as they stand. */
  readonly messages: Map<string, Message>;
  readonly calls: readonly Called[];
  /** What was sent to addresses that are none of the Web API's. */
  readonly answers: readonly {
    readonly path: string;
    readonly body: Message & { readonly replace_original: boolean };
  }[];
  /** Resolves when it is so, which is asked after each call. */
  readonly until: (isSo: () => boolean) => Promise<void>;
}

export const channelId = "C0123456789";

export async function standForSlack(refuse: Refuse = () => undefined): Promise<SlackStandIn> {
  const messages = new Map<string, Message>();
  const calls: Called[] = [];
  const answers: SlackStandIn["answers"][number][] = [];
  const receiver: Receiver<HttpPosted> = await receiveHttp((response, { path, headers, body }) => {
    const [, method] = /^\/api\/([\w.]+)$/.exec(path) ?? [];
    if (method === undefined) answers.push({ path, body: JSON.parse(body) });
    const called: Called = { method: method ?? "", authorization: headers.authorization, ...JSON.parse(body) };
    if (method !== undefined) calls.push(called);
    const refused = method === undefined ? undefined : refuse(called);
    const after = refused?.retryAfter === undefined ? {} : { "retry-after": String(refused.retryAfter) };
    response.writeHead(refused?.status ?? 200, after);
    response.end(JSON.stringify(refused === undefined ? apply(called) : { ok: false, error: refused.error }));
    receiver.inbox.add({ path: "answered", headers: {}, body: "" });
  });

  function apply({ method, channel, ts = `1700000000.00000${messages.size + 1}`, text, blocks }: Called) {
    if (method === "chat.update" && !messages.has(ts)) return { ok: false, error: "message_not_found" };
    if (method !== "") messages.set(ts, { text, blocks });
    // Slack names a channel by its id, however it was named.
    return { ok: true, channel: channel === "#gates" ? channelId : channel, ts };
  }

  return {
    apiUrl: `http://127.0.0.1:${receiver.port}/api/`,
    messages,
    calls,
    answers,
    until: (isSo) => receiver.inbox.until(isSo),
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  };
}

export const buttonsIn = (message: Message | undefined): readonly string[] =>
  (message?.blocks ?? []).flatMap(({ elements = [] }) => elements.map(({ action_id }) => action_id));

export const textIn = (message: Message | undefined): string =>
  (message?.blocks ?? []).map(({ text }) => text?.text ?? "").join("\n");
