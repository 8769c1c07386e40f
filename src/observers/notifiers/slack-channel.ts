/**
 * Messages in a channel of Slack by the Web API: posted with a bot token, and replaced later in place.
 *
 * 1.  A receipt names a message by channel and timestamp: with it any process can replace the message.
 * 2.  A deleted message needs no replacement. A failed replacement does not prevent the others; a pause that Slack asks
 *     for is kept before the next call.
 * 3.  Messages that were replaced for a notice are not replaced again when that notice is tried again in the same
 *     process.
 */
import { z } from "zod";
import { kernelError } from "../../contract/error-codes.ts";
import { KernelErrorException, raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { postText } from "./post-text.ts";

export interface ChannelOptions {
  readonly apiUrl: URL;
  readonly token: string;
  /** The channel for new messages. */
  readonly channel: string;
  readonly allowPrivate: boolean;
}

interface Replacement {
  readonly notice_id: string;
  readonly receipts: readonly string[];
  readonly message: object;
}

export interface SlackChannel {
  /** Posts a message. Returns its receipt. */
  readonly post: (message: object, signal: AbortSignal) => Promise<string>;
  /** Puts a message in the place of each that a receipt names. */
  readonly replace: (replacement: Replacement, signal: AbortSignal) => Promise<void>;
  /** Drops the memory of replacements for a delivered notice. */
  readonly forget: (noticeId: string) => void;
}

const channelRef = moduleRef(6, "notifiers", "slack_channel");
const maxAnswerBytes = 200_000;

const Answer = z.object({
  ok: z.boolean(),
  error: z.string().optional(),
  channel: z.string().optional(),
  ts: z.string().optional(),
});
type Answer = z.infer<typeof Answer>;

/** Names a message to Slack. */
const Receipt = z.object({ channel: z.string(), ts: z.string() });

export function openChannel(options: ChannelOptions): SlackChannel {
  const replaced = new Map<string, Set<string>>();
  return {
    async post(message, signal) {
      const answer = await call(
        options,
        { method: "chat.postMessage", signal },
        { channel: options.channel, ...message },
      );
      const read = Receipt.safeParse(answer);
      return read.success ? JSON.stringify(read.data) : refuse(options, "named no message");
    },
    async replace({ notice_id, receipts, message }, signal) {
      const done = replaced.get(notice_id) ?? new Set();
      replaced.set(notice_id, done);
      const failures: unknown[] = [];
      for (const receipt of receipts.filter((one) => !done.has(one))) {
        const failure = await update(options, { receipt, message }, signal);
        if (failure === null) done.add(receipt);
        else failures.push(failure);
        if (signal.aborted || asksForPause(failure)) break;
      }
      if (failures.length > 0) throw failures[0];
    },
    forget: (noticeId) => void replaced.delete(noticeId),
  };
}

interface Update {
  readonly receipt: string;
  readonly message: object;
}

/** Returns why a message could not be replaced; null if it was, or if there is none to replace. */
async function update(options: ChannelOptions, { receipt, message }: Update, signal: AbortSignal): Promise<unknown> {
  // The receipt of another notifier, which had this name before, names no message here.
  const at = readAs(Receipt, receipt);
  if (at === null) return null;
  try {
    await call(options, { method: "chat.update", signal, allowed: "message_not_found" }, { ...at, ...message });
    return null;
  } catch (failure) {
    return failure;
  }
}

const asksForPause = (failure: unknown): boolean =>
  failure instanceof KernelErrorException && failure.error.detail["retry_after_ms"] !== undefined;

interface Call {
  readonly method: "chat.postMessage" | "chat.update";
  readonly signal: AbortSignal;
  /** An error of Slack's that is an answer to the caller like any other. */
  readonly allowed?: string;
}

/** Calls Slack. @throws KernelErrorException T6_NOTICE_REFUSED if Slack refuses; errors of `postText`. */
async function call(options: ChannelOptions, { method, signal, allowed }: Call, body: object): Promise<Answer> {
  const { apiUrl, token, allowPrivate } = options;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json; charset=utf-8" };
  const posted = { headers, body: JSON.stringify(body), signal, maxAnswerBytes };
  const answer = readAs(Answer, await postText({ url: new URL(method, apiUrl), allowPrivate }, posted));
  if (answer === null) return refuse(options, "gave no answer of Slack's Web API");
  if (answer.ok || (allowed !== undefined && answer.error === allowed)) return answer;
  return refuse(options, `answered ${answer.error ?? "no"} to ${method}`);
}

/** Returns null for a text that is no JSON of this shape. */
function readAs<T>(shape: z.ZodType<T>, text: string): T | null {
  try {
    return shape.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

const refuse = ({ apiUrl }: ChannelOptions, answered: string): never =>
  raise(kernelError("T6_NOTICE_REFUSED", `${apiUrl.host} ${showLine(answered.slice(0, 200))}`, channelRef));
