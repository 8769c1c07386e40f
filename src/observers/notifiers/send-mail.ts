/**
 * Sending a mail over SMTP: the server, the sender, and the marks that turn text into HTML without any effect.
 */
import { z } from "zod";
import { loadPeers } from "../../protocol/load-peers.ts";
import { MailAddress } from "./find-recipients.ts";

const Smtp = z.strictObject({
  /** Its name or address. */
  host: z.string().min(1),
  /** 465 with `secure`, else 587, by default. */
  port: z.int().min(1).max(65_535).optional(),
  /** TLS from the first byte. */
  secure: z.boolean().optional(),
  /** No mail without STARTTLS. */
  requireTLS: z.boolean().optional(),
  /** The account to sign in with. */
  auth: z
    .strictObject({
      /** The name of the account. */
      user: z.string(),
      /** Its password. */
      pass: z.string(),
    })
    .optional(),
  /** Options of `tls.connect`. */
  tls: z.record(z.string(), z.unknown()).optional(),
});
/**
 * The options of the server, as nodemailer's. `secure`: TLS from the first byte; else STARTTLS if it is offered, and
 * `requireTLS` requires it.
 */
export interface SmtpOptions extends Readonly<z.input<typeof Smtp>> {}

/** The members of options that say how a mail is sent. */
export const Sending = z.strictObject({
  /** The server that takes the mail. */
  smtp: Smtp,
  /** The sender's address. */
  from: MailAddress,
  /** The time for the connection, and between two responses of the server; 8 000 ms by default. */
  smtpTimeoutMs: z.int().positive().default(8_000),
});

/** A mail without its sender and its recipients. */
export interface Letter {
  readonly messageId: string;
  readonly references?: string[];
  readonly headers: Record<string, string>;
  /** The time of the notice; without it that of the sending. */
  readonly date?: Date;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

interface Addressed {
  readonly to: readonly string[];
  /** Writes the letter, once the mailer is loaded. */
  readonly letter: () => Letter;
}

/** Returns the recipients that the server refused; throws if it refused all. */
export async function sendMail(
  { smtp, smtpTimeoutMs, from }: z.output<typeof Sending>,
  { to, letter }: Addressed,
): Promise<readonly string[]> {
  // The mailer is loaded late, so that it is needed only for sending.
  const mailer = { user: "mailNotifier", packages: ["nodemailer@10"] };
  const { createTransport } = await loadPeers(mailer, () => import("nodemailer"));
  const timeouts = { connectionTimeout: smtpTimeoutMs, greetingTimeout: smtpTimeoutMs, socketTimeout: smtpTimeoutMs };
  const guards = { disableFileAccess: true, disableUrlAccess: true };
  const transport = createTransport({ ...smtp, ...timeouts, ...guards } as Parameters<typeof createTransport>[0]);
  try {
    const { rejected } = await transport.sendMail({ from, to: [...to], ...letter() });
    return (rejected as readonly (string | { readonly address: string })[]).map((one) =>
      typeof one === "string" ? one : one.address,
    );
  } finally {
    transport.close();
  }
}

const marks: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Returns text as HTML that shows just this text. */
export const toMarkup = (text: string): string => text.replace(/[&<>"']/g, (mark) => marks[mark] as string);

/** Returns a page of HTML without scripts or styles: its title as the heading, and a body that is markup already. */
export const toPage = (title: string, body: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${toMarkup(title)}</title></head><body>
<h1>${toMarkup(title)}</h1>
${body}
</body></html>
`;
