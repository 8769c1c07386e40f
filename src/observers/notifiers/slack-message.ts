/**
 * The messages of the Slack notifier: their content, and which of them have buttons.
 *
 * 1.  Text of a gate is plain text: it becomes no markup, no mention and no link.
 * 2.  Only a message that shows the payload, its preview, its title and each fact whole has buttons; a cut one states
 *     that and where all of it is shown. Buttons carry the digest of the shown payload: they decide that payload or
 *     nothing. If a signature or a resolution is required there is only a link.
 * 3.  A message about a gate that is decided, or that shows something else by now, has no buttons.
 */
import { isOpenGate } from "../../contract/gate.ts";
import type { GateNotice, WaitNotice } from "../../contract/gate-notice.ts";
import { linkTo, linkToRun } from "../../protocol/console-link.ts";
import { cut, type DescribedNotice, describeCut, describeNotice, isStanding } from "./describe-notice.ts";
import { describeWait } from "./describe-wait.ts";

export interface MessageOptions {
  readonly consoleUrl: string;
  readonly linkOnly: boolean;
  /** Whether a message that asks may have buttons. */
  readonly hasButtons: boolean;
}

/** Slack takes 3000 characters of a section, 150 of a header and 2000 of a button's value. */
const limits = { maxSubject: 120, maxPreview: 2_500, maxPayload: 2_900 } as const;
const maxFacts = 2_900;

/** Escapes text for Slack's markup: it becomes no mention and no link. */
export const toMrkdwn = (text: string): string =>
  text.toWellFormed().replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Returns the message that tells a notice. */
export function composeMessage(notice: GateNotice, options: MessageOptions) {
  const reported = describeNotice(notice, { ...limits, linkOnly: options.linkOnly });
  const link = linkTo(options.consoleUrl, notice);
  const facts = linesOf(reported);
  const areFactsCut = facts.length > maxFacts;
  const notWhole = describeCut([...reported.cut, ...(areFactsCut ? ["the list of facts"] : [])]);
  const blocks = [
    { type: "header", text: plain(reported.subject) },
    section(cut(facts, maxFacts)),
    ...reported.parts.map(([name, text]) => section(`${name}:\n${text}`)),
    ...(notWhole === null ? [] : [section(notWhole)]),
    {
      type: "section",
      text: { type: "mrkdwn", text: `<${toMrkdwn(link)}|${openWords[notice.gate.kind]}> (that decides nothing)` },
    },
    ...(areFactsCut || !options.hasButtons ? [] : buttonsOf(notice, reported)),
  ];
  return messageOf(reported.subject, blocks);
}

/** Returns the message that reminds of an event that has not arrived. */
export function composeReminder(notice: WaitNotice, { consoleUrl, linkOnly }: MessageOptions) {
  const reported = describeWait(notice, linkOnly);
  const link = `<${toMrkdwn(linkToRun(consoleUrl, notice))}|Open the workflow>`;
  const blocks = [
    { type: "header", text: plain(cut(reported.subject, limits.maxSubject)) },
    section(cut(linesOf(reported), maxFacts)),
    { type: "section", text: { type: "mrkdwn", text: link } },
  ];
  return messageOf(reported.subject, blocks);
}

const linesOf = ({ facts }: Pick<DescribedNotice, "facts">): string =>
  facts.map(([name, value]) => `${name}: ${value}`).join("\n");

function messageOf<B>(subject: string, blocks: B) {
  return { text: toMrkdwn(subject), mrkdwn: false, unfurl_links: false, unfurl_media: false, blocks };
}

/** Returns the replacement of an earlier message about the gate of a notice: its present state, without buttons. */
export function composeReplacement(notice: GateNotice, options: MessageOptions) {
  const { text, blocks } = composeMessage(notice, { ...options, hasButtons: false });
  const where = section(
    "This message has no buttons any more. What is asked now is decided at a newer message or at the gate.",
  );
  return { text, blocks: isOpenGate(notice.gate) && isOpenGate(notice.gate_now) ? [...blocks, where] : blocks };
}

const plain = (text: string) => ({ type: "plain_text", text: text.toWellFormed(), emoji: false });
const section = (text: string) => ({ type: "section", text: plain(text) });

/** A question is answered where its form is: a button of a message could not give an answer. */
const openWords = {
  approval: "Open the gate",
  in_doubt: "Open the gate",
  ask: "Open the question to answer it",
} as const;

function buttonsOf(notice: GateNotice, { isWhole }: DescribedNotice) {
  const { gate, workflow_id, kind } = notice;
  const isPlain = gate.kind === "approval" && !gate.signed && isStanding(notice) && kind !== "decided";
  if (!isWhole || !isPlain) return [];
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
