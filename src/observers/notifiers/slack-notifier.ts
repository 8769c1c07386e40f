/**
 * Notices in a channel of Slack: a link, and buttons if the app's signing secret is given.
 *
 * 1.  With a bot token each message about a gate is replaced once the gate is decided, or shows something else: its
 *     buttons are removed, and it names the decision or the change. Such notices are received whatever `kinds` names.
 * 2.  A decision is posted as a message of its own only if there is no message to replace.
 * 3.  With an incoming webhook nothing is replaced but the message whose button is pressed (slack-interactions.ts).
 * 4.  The host determines the principal who presses a button.
 */
import { z } from "zod";
import type { GateNotice, NoticeKind } from "../../contract/gate-notice.ts";
import { hostFunction, objectWith } from "../../contract/host-object.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { type Clock, type NoticeCall, type NoticeTaken, type Notifier, wallClock } from "../../index.ts";
import { ConsoleUrl } from "../../protocol/console-link.ts";
import { isHttpsWhereNeeded, needsHttps, notifierOptions, PostUrl } from "./notifier-options.ts";
import { postText } from "./post-text.ts";
import { openChannel, type SlackChannel } from "./slack-channel.ts";
import { answerInteractions, type Decider, type PrincipalOf } from "./slack-interactions.ts";
import { composeMessage, composeReminder, composeReplacement, type MessageOptions } from "./slack-message.ts";

/** A notifier whose messages have buttons; `callback` answers their requests. */
export interface SlackNotifier extends Notifier {
  /** Answers requests of buttons; mount it at an address that Slack reaches (`callbacks` of createHttpApp). */
  readonly callback: (kernel: Decider) => (request: Request) => Promise<Response>;
}

const Options = z
  .strictObject({
    ...notifierOptions("slack").shape,
    /** A bot token with the scope `chat:write`; with it messages lose their buttons once their gate is decided. */
    token: z
      .string()
      .regex(/^[\x21-\x7e]{1,1000}$/, "is a bot token such as xoxb-…")
      .optional(),
    /** The id or the name of the channel that the bot posts in. */
    channel: z
      .string()
      .regex(/^#?[\p{L}\p{N}_.-]{1,80}$/u, "is a channel's id or name")
      .optional(),
    /** The address of Slack's Web API; `https://slack.com/api/` by default. */
    apiUrl: PostUrl.optional(),
    /**
     * The address of an incoming webhook, instead of `token` and `channel`; anybody who knows it can write to its
     * channel.
     */
    url: PostUrl.optional(),
    /** The console's address, for the link to the gate. */
    consoleUrl: ConsoleUrl,
    /** The app's; with it and `principalOf` messages have buttons. */
    signingSecret: z.string().min(16).optional(),
    /** Returns the principal of a Slack user; null if there is none, and nothing is decided. */
    principalOf: hostFunction<PrincipalOf>().optional(),
    /** True: private addresses and plain http are meant to be reached. */
    allowPrivate: z.boolean().default(false),
    /** The clock for the age of Slack's requests; the machine's by default. */
    clock: objectWith<Clock>("now").optional(),
  })
  .refine(({ url, allowPrivate }) => isHttpsWhereNeeded(url, allowPrivate), {
    path: ["url"],
    error: needsHttps,
  })
  .refine(({ apiUrl, allowPrivate }) => isHttpsWhereNeeded(apiUrl, allowPrivate), {
    path: ["apiUrl"],
    error: needsHttps,
  })
  .refine(({ token, channel }) => (token === undefined) === (channel === undefined), {
    path: ["channel"],
    error: "a bot token and a channel go together",
  })
  .refine(({ token, url }) => (token === undefined) !== (url === undefined), {
    path: ["url"],
    error: "either a bot token with its channel, or the url of an incoming webhook",
  })
  .refine(({ token, apiUrl }) => token !== undefined || apiUrl === undefined, {
    path: ["apiUrl"],
    error: "is for a bot token",
  })
  .refine(({ signingSecret, principalOf }) => (signingSecret === undefined) === (principalOf === undefined), {
    path: ["principalOf"],
    error: "buttons need both the signing secret and a function that says who somebody is",
  });
/** The channel, the token, and the mapping of users to principals: `token` and `channel`, or `url`. */
export interface SlackOptions extends Readonly<z.input<typeof Options>> {}
type Read = z.output<typeof Options>;

/**
 * Makes a notifier for a channel of Slack; with `principalOf` and `signingSecret` messages have buttons.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH.
 */
export function slackNotifier(given: SlackOptions): SlackNotifier {
  const source = moduleRef(6, "notifiers", "slackNotifier");
  const options = readStrictly(Options, given, { what: "slackNotifier", source });
  const { name, kinds, clock = wallClock, signingSecret, principalOf, allowPrivate } = options;
  const messages = { ...options, hasButtons: signingSecret !== undefined };
  const way = options.token === undefined ? byWebhook(options, messages) : byToken(options, messages);
  const parts = { signingSecret, principalOf, clock, messages, allowPrivate, answersAt: way.answersAt };
  return {
    name,
    ...(kinds !== undefined && { kinds: [...new Set([...kinds, ...way.kinds])] }),
    deliver: way.deliver,
    remind: way.remind,
    callback: (kernel) => answerInteractions(kernel, parts),
  };
}

/** The way in which notices reach the channel. */
interface Way {
  /** The kinds of notices that it receives in any case. */
  readonly kinds: readonly NoticeKind[];
  readonly deliver: Notifier["deliver"];
  readonly remind: NonNullable<Notifier["remind"]>;
  /** The origins of Slack's addresses for an answer to a button. */
  readonly answersAt: readonly string[];
}

function byWebhook({ url: given, allowPrivate }: Read, messages: MessageOptions): Way {
  const url = given as URL;
  const post = async (message: object, signal: AbortSignal): Promise<undefined> => {
    const headers = { "content-type": "application/json" };
    await postText({ url, allowPrivate }, { headers, body: JSON.stringify(message), signal });
  };
  return {
    kinds: [],
    deliver: (notice, { signal }) => post(composeMessage(notice, messages), signal),
    remind: (notice, { signal }) => post(composeReminder(notice, messages), signal),
    answersAt: [url.origin],
  };
}

const slackApi = "https://slack.com/api/";

function byToken(options: Read, messages: MessageOptions): Way {
  const { token, channel: id, apiUrl: given = new URL(slackApi), allowPrivate, kinds } = options;
  const apiUrl = new URL(given.href.endsWith("/") ? given.href : `${given.href}/`);
  const channel = openChannel({ apiUrl, token: token as string, channel: id as string, allowPrivate });
  return {
    kinds: ["revised", "decided"],
    deliver: (notice, call) =>
      tellChannel(channel, { notice, call, isAsked: kinds?.includes(notice.kind) ?? true }, messages),
    async remind(notice, { signal }) {
      await channel.post(composeReminder(notice, messages), signal);
      return undefined;
    },
    answersAt: [apiUrl.origin, `${apiUrl.protocol}//hooks.${apiUrl.host}`],
  };
}

interface NoticeTask {
  readonly notice: GateNotice;
  readonly call: NoticeCall;
  /** Whether the host wants a message about such a notice. */
  readonly isAsked: boolean;
}

/** Replaces the outdated messages, then posts: a repeated attempt replaces the same ones and posts once. */
async function tellChannel(
  channel: SlackChannel,
  { notice, call: { signal, receipts }, isAsked }: NoticeTask,
  messages: MessageOptions,
): Promise<NoticeTaken | undefined> {
  const { notice_id, kind } = notice;
  const message = composeReplacement(notice, messages);
  if (kind === "decided" || kind === "revised") await channel.replace({ notice_id, receipts, message }, signal);
  const isShown = kind === "decided" && receipts.length > 0;
  const receipt = isAsked && !isShown ? await channel.post(composeMessage(notice, messages), signal) : undefined;
  channel.forget(notice_id);
  return receipt === undefined ? undefined : { receipt };
}
