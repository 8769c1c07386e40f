/**
 * Notices as e-mail, over SMTP: text, and the same as HTML without anything that could act.
 *
 * 1.  The Message-ID is derived from the notice's id: a repeated mail is recognised, and the mails of a gate are one
 *     thread.
 * 2.  No text of a gate reaches a header but the subject, on one line. No text becomes markup.
 * 3.  A notice is delivered if the server accepted it for at least one recipient; the others are logged.
 */
import { z } from "zod";
import { sha256 } from "../../contract/digest.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { type GateNotice, type WaitNotice, waitNoticesId } from "../../contract/gate-notice.ts";
import { raise } from "../../contract/kernel-error.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { NoticeTaken, Notifier } from "../../index.ts";
import { ConsoleUrl, linkTo, linkToRun } from "../../protocol/console-link.ts";
import { type DescribedNotice, describeCut, describeNotice } from "./describe-notice.ts";
import { describeWait } from "./describe-wait.ts";
import { findRecipients, findReminded, MailAddress, Recipients } from "./find-recipients.ts";
import { notifierOptions } from "./notifier-options.ts";
import { type Letter, Sending, sendMail, toMarkup, toPage } from "./send-mail.ts";

const Options = z.strictObject({
  ...notifierOptions("mail").shape,
  ...Recipients.shape,
  ...Sending.shape,
  /** The console's address, for the link to the gate. */
  consoleUrl: ConsoleUrl,
});
/** The mail server, the addresses of the sender and of the recipients, and the console. */
export interface MailOptions extends Readonly<z.input<typeof Options>> {}
type Read = z.output<typeof Options>;

const mailRef = moduleRef(6, "notifiers", "mailNotifier");

/** Makes a notifier by mail. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
export function mailNotifier(given: MailOptions): Notifier {
  const options = readStrictly(Options, given, { what: "mailNotifier", source: mailRef });
  const { name, kinds } = options;
  const send = async (to: readonly string[], letter: () => Letter): Promise<NoticeTaken | undefined> => {
    const wrong = to.filter((address) => !MailAddress.safeParse(address).success);
    const right = to.filter((address) => !wrong.includes(address));
    if (right.length === 0) refuseAddresses(wrong);
    const missed = [...wrong, ...(await sendMail(options, { to: right, letter }))];
    return missed.length === 0 ? undefined : { remark: `not reached: ${missed.join(", ")}` };
  };
  return {
    name,
    ...(kinds !== undefined && { kinds }),
    deliver: async (notice) => send(await findRecipients(notice, options), () => compose(notice, options)),
    remind: async (notice) => send(findReminded(notice, options), () => composeReminder(notice, options)),
  };
}

const refuseAddresses = (wrong: readonly string[]): never =>
  raise(kernelError("T6_NOTICE_NOBODY", `these are no mail addresses: ${wrong.join(", ")}`, mailRef));

const limits = { maxSubject: 160, maxPreview: 10_000, maxPayload: 20_000 } as const;

function compose(notice: GateNotice, options: Read): Letter {
  const reported = describeNotice(notice, { ...limits, linkOnly: options.linkOnly });
  const link = { words: "Open the gate", more: " (that decides nothing)", url: linkTo(options.consoleUrl, notice) };
  return write(options, { ...notice, thread: notice.gate.gate_id }, { reported, link });
}

function composeReminder(notice: WaitNotice, options: Read): Letter {
  const reported = { ...describeWait(notice, options.linkOnly), parts: [], cut: [], isWhole: true };
  const link = { words: "Open the workflow", more: "", url: linkToRun(options.consoleUrl, notice) };
  return write(options, { ...notice, thread: waitNoticesId(notice.step_id) }, { reported, link });
}

interface Link {
  readonly words: string;
  readonly more: string;
  readonly url: string;
}

interface Heading extends Pick<GateNotice, "notice_id" | "workflow_id" | "at"> {
  /** The mails of one gate, or of one wait, have one. */
  readonly thread: string;
}

function write(
  { from }: Read,
  { notice_id, workflow_id, at, thread: of }: Heading,
  { reported, link }: { readonly reported: DescribedNotice; readonly link: Link },
): Letter {
  const domain = from.slice(from.lastIndexOf("@") + 1);
  const thread = sha256(`${workflow_id}/${of}`).slice(0, 32);
  return {
    messageId: `<${notice_id}@${domain}>`,
    references: [`<${thread}@${domain}>`],
    headers: { "Auto-Submitted": "auto-generated" },
    date: new Date(at),
    subject: reported.subject,
    text: toText(reported, link),
    html: toHtml(reported, link),
  };
}

function toText({ subject, facts, parts, cut }: DescribedNotice, { words, more, url }: Link): string {
  const lines = facts.map(([name, value]) => `${name.padEnd(9)} ${value}`);
  const shown = parts.map(([name, text]) => `${name}\n${text}`);
  const notWhole = describeCut(cut);
  const end = [...(notWhole === null ? [] : [notWhole]), `${words}${more}: ${url}`];
  return `${[subject, lines.join("\n"), ...shown, ...end].join("\n\n")}\n`;
}

function toHtml({ subject, facts, parts, cut }: DescribedNotice, { words, more, url }: Link): string {
  const rows = facts.map(
    ([name, value]) => `<tr><th align="left">${toMarkup(name)}</th><td>${toMarkup(value)}</td></tr>`,
  );
  const shown = parts.map(([name, text]) => `<h2>${name}</h2>\n<pre>${toMarkup(text)}</pre>\n`);
  const notWhole = describeCut(cut);
  const cutLine = notWhole === null ? "" : `<p>${toMarkup(notWhole)}</p>\n`;
  const table = `<table>\n${rows.join("\n")}\n</table>\n`;
  return toPage(subject, `${table}${shown.join("")}${cutLine}<p><a href="${toMarkup(url)}">${words}</a>${more}</p>`);
}
