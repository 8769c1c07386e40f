/** The entry `countersign/notifiers`: notifies people of gates. @module */
export type { RecipientOptions } from "./find-recipients.ts";
export { type MailDigest, type MailDigestOptions, mailDigest } from "./mail-digest.ts";
export { type MailOptions, mailNotifier } from "./mail-notifier.ts";
export type { NotifierOptions } from "./notifier-options.ts";
export type { SmtpOptions } from "./send-mail.ts";
export type { PrincipalOf, SlackUser } from "./slack-interactions.ts";
export { type SlackNotifier, type SlackOptions, slackNotifier } from "./slack-notifier.ts";
export { type WebhookOptions, webhookNotifier } from "./webhook-notifier.ts";
