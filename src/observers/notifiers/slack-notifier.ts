/**
 * Notices in a channel of Slack, through an incoming webhook: a link, and buttons where the app's signing secret is given.
 *
 * S1  Text of a gate is plain text: no markup, no mention, no link comes of it.
 * S2  Buttons stand only beneath a message that shows whole what would run, its preview, its title and each fact; one that
 *     is cut says so and where all of it is shown. They carry the digest of what is shown: they
 *     decide what was shown or nothing. Where a signature or a resolution is asked for there is a link alone.
 * S3  Who presses a button is whoever the host says (slack-interactions.ts).
 */
import { z } from "zod";
import { isOpenGate } from "../../contract/gate.ts";
import type { GateNotice } from "../../contract/gate-notice.ts";
import { type KeysOf, readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { type Clock, type Notifier, wallClock } from "../../index.ts";
import { cut, describeCut, describeNotice, type ToldNotice } from "./describe-notice.ts";
import { ConsoleUrl, Kinds, LinkOnly, linkTo, type NotifierOptions, nameAs, PostUrl } from "./notifier-options.ts";
import { postText } from "./post-text.ts";
import { answerInteractions, type Decider, type PrincipalOf, toMrkdwn } from "./slack-interactions.ts";

/** Which channel, whose token, and who of Slack is who here. */
export interface SlackOptions extends NotifierOptions {
  /** The address of an incoming webhook; whoever knows it may write to its channel. */
  readonly url: string;
  /** The console's address, for the link to the gate. */
  readonly consoleUrl: string;
  /** The app's; with it and `principalOf` messages have buttons. */
  readonly signingSecret?: string;
  /** Who a user of Slack is here; null: nobody, and nothing is decided. */
  readonly principalOf?: PrincipalOf;
  /** True: private addresses and plain http are meant to be reached. */
  readonly allowPrivate?: boolean;
  /** For the age of what Slack says; the machine's by default. */
  readonly clock?: Clock;
}

/** A notifier whose messages have buttons; `callback` answers what they send. */
export interface SlackNotifier extends Notifier {
  /** Answers what buttons send, to be mounted at an address that Slack reaches (`callbacks` of createHttpApp). */
  readonly callback: (kernel: Decider) => (request: Request) => Promise<Response>;
}

const Options = z
  .strictObject({
    name: nameAs("slack"),
    kinds: Kinds,
    linkOnly: LinkOnly,
    url: PostUrl,
    consoleUrl: ConsoleUrl,
    signingSecret: z.string().min(16).optional(),
    principalOf: z.custom<PrincipalOf>((value) => typeof value === "function", "must be a function").optional(),
    allowPrivate: z.boolean().default(false),
    clock: z.custom<Clock>().optional(),
  } satisfies KeysOf<Required<SlackOptions>>)
  .refine(({ url, allowPrivate }) => url.protocol === "https:" || allowPrivate, {
    path: ["url"],
    error: "is https; plain http is for private addresses, with allowPrivate",
  })
  .refine(({ signingSecret, principalOf }) => (signingSecret === undefined) === (principalOf === undefined), {
    path: ["principalOf"],
    error: "buttons need both the signing secret and a function that says who somebody is",
  });
type Read = z.output<typeof Options>;

/**
 * Tells a channel of Slack of gates; with `principalOf` and `signingSecret` messages have buttons.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH.
 */
export function slackNotifier(given: SlackOptions): SlackNotifier {
  const source = moduleRef(6, "notifiers", "slackNotifier");
  const options = readStrictly(Options, given, { what: "slackNotifier", source });
  const { name, kinds, url, allowPrivate, signingSecret, principalOf, clock = wallClock } = options;
  return {
    name,
    ...(kinds !== undefined && { kinds }),
    async deliver(notice, { signal }) {
      const body = JSON.stringify(compose(notice, options));
      await postText({ url, allowPrivate }, { headers: { "content-type": "application/json" }, body, signal });
      return undefined;
    },
    callback: (kernel) => answerInteractions(kernel, { signingSecret, principalOf, clock, url, allowPrivate }),
  };
}

/** Slack takes 3000 characters of a section, 150 of a header and 2000 of a button's value. */
const limits = { maxSubject: 120, maxPreview: 2_500, maxPayload: 2_900 } as const;
const maxFacts = 2_900;

function compose(notice: GateNotice, options: Read) {
  const { consoleUrl, linkOnly } = options;
  const told = describeNotice(notice, { ...limits, linkOnly });
  const link = linkTo(consoleUrl, notice);
  const facts = told.facts.map(([name, value]) => `${name}: ${value}`).join("\n");
  const areFactsCut = facts.length > maxFacts;
  const notWhole = describeCut([...told.cut, ...(areFactsCut ? ["the list of facts"] : [])]);
  const blocks = [
    { type: "header", text: plain(told.subject) },
    section(cut(facts, maxFacts)),
    ...told.parts.map(([name, text]) => section(`${name}:\n${text}`)),
    ...(notWhole === null ? [] : [section(notWhole)]),
    { type: "section", text: { type: "mrkdwn", text: `<${toMrkdwn(link)}|Open the gate> (that decides nothing)` } },
    ...(areFactsCut ? [] : buttonsOf(notice, told, options)),
  ];
  return { text: toMrkdwn(told.subject), mrkdwn: false, unfurl_links: false, unfurl_media: false, blocks };
}

const plain = (text: string) => ({ type: "plain_text", text: text.toWellFormed(), emoji: false });
const section = (text: string) => ({ type: "section", text: plain(text) });

function buttonsOf({ gate, workflow_id, kind }: GateNotice, { isWhole }: ToldNotice, { signingSecret }: Read) {
  const isPlain = gate.kind === "approval" && !gate.signed && isOpenGate(gate) && kind !== "decided";
  if (signingSecret === undefined || !isWhole || !isPlain) return [];
  const { gate_id, payload_digest, basis_digest } = gate;
  const value = JSON.stringify({ workflow_id, gate_id, payload_digest, basis_digest });
  if (value.length > 2_000) return [];
  const button = (decision: "approve" | "reject", style: string, text: string) => ({
    type: "button",
    action_id: `countersign_${decision}`,
    style,
    text: plain(text),
    value,
    confirm: {
      title: plain(`${text}?`),
      text: plain(`${text} what this message shows, with the digest ${payload_digest.slice(0, 12)}…`),
      confirm: plain(text),
      deny: plain("Not now"),
    },
  });
  return [
    { type: "actions", elements: [button("approve", "primary", "Approve"), button("reject", "danger", "Reject")] },
  ];
}
