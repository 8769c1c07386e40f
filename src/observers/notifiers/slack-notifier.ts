/**
 * Notices in a channel of Slack: a link, and buttons where the app's signing secret is given.
 *
 * 1.  With a bot token each message about a gate is replaced once the gate is decided, or shows something else: its buttons
 *     are gone, and it says who decided what, or what was changed. Such notices are taken whatever `kinds` says.
 * 2.  A decision is posted as a message of its own only where there is no message to be replaced.
 * 3.  With an incoming webhook nothing is replaced but the message whose button is pressed (slack-interactions.ts).
 * 4.  Who presses a button is whoever the host says.
 */
import { z } from "zod";
import type { GateNotice, NoticeKind } from "../../contract/gate-notice.ts";
import { hostFunction, objectWith } from "../../contract/host-object.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { type Clock, type NoticeCall, type NoticeTaken, type Notifier, wallClock } from "../../index.ts";
import { ConsoleUrl, isHttpsWhereNeeded, needsHttps, notifierOptions, PostUrl } from "./notifier-options.ts";
import { postText } from "./post-text.ts";
import { openChannel, type SlackChannel } from "./slack-channel.ts";
import { answerInteractions, type Decider, type PrincipalOf } from "./slack-interactions.ts";
import { composeMessage, composeReplacement, type MessageOptions } from "./slack-message.ts";

/** A notifier whose messages have buttons; `callback` answers what they send. */
export interface SlackNotifier extends Notifier {
  /** Answers what buttons send, to be mounted at an address that Slack reaches (`callbacks` of createHttpApp). */
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
    /** Where Slack's Web API is; `https://slack.com/api/` by default. */
    apiUrl: PostUrl.optional(),
    /** The address of an incoming webhook, in place of `token` and `channel`; whoever knows it may write to its channel. */
    url: PostUrl.optional(),
    /** The console's address, for the link to the gate. */
    consoleUrl: ConsoleUrl,
    /** The app's; with it and `principalOf` messages have buttons. */
    signingSecret: z.string().min(16).optional(),
    /** Who a user of Slack is here; null: nobody, and nothing is decided. */
    principalOf: hostFunction<PrincipalOf>().optional(),
    /** True: private addresses and plain http are meant to be reached. */
    allowPrivate: z.boolean().default(false),
    /** For the age of what Slack says; the machine's by default. */
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
/** Which channel, whose token, and who of Slack is who here: `token` and `channel`, or `url`. */
export interface SlackOptions extends Readonly<z.input<typeof Options>> {}
type Read = z.output<typeof Options>;

/**
 * Tells a channel of Slack of gates; with `principalOf` and `signingSecret` messages have buttons.
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
    callback: (kernel) => answerInteractions(kernel, parts),
  };
}

/** How notices reach the channel. */
interface Way {
  /** What it is told of in any case. */
  readonly kinds: readonly NoticeKind[];
  readonly deliver: Notifier["deliver"];
  /** The origins of Slack's addresses for an answer to a button. */
  readonly answersAt: readonly string[];
}

function byWebhook({ url: given, allowPrivate }: Read, messages: MessageOptions): Way {
  const url = given as URL;
  return {
    kinds: [],
    async deliver(notice, { signal }) {
      const body = JSON.stringify(composeMessage(notice, messages));
      await postText({ url, allowPrivate }, { headers: { "content-type": "application/json" }, body, signal });
      return undefined;
    },
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
    answersAt: [apiUrl.origin, `${apiUrl.protocol}//hooks.${apiUrl.host}`],
  };
}

interface Told {
  readonly notice: GateNotice;
  readonly call: NoticeCall;
  /** Whether the host wants a message about such a notice. */
  readonly isAsked: boolean;
}

/** Replaces what the notice overtakes, then posts: what is tried again replaces the same and posts once. */
async function tellChannel(
  channel: SlackChannel,
  { notice, call: { signal, receipts }, isAsked }: Told,
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
