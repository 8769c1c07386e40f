/** The entry `countersign/notifiers`: notifies people of gates. @module */
export type { RecipientOptions } from "./find-recipients.ts";
export { type MailOptions, mailNotifier, type SmtpOptions } from "./mail-notifier.ts";
export type { NotifierOptions } from "./notifier-options.ts";
export type { PrincipalOf, SlackUser } from "./slack-interactions.ts";
export { type SlackNotifier, type SlackOptions, slackNotifier } from "./slack-notifier.ts";
export { type WebhookOptions, webhookNotifier } from "./webhook-notifier.ts";
