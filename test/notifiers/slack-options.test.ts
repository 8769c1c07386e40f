/** The Slack notifier takes a bot token with a channel, or the address of a webhook, and refuses what is neither. */
import { describe, expect, it } from "vitest";
import { slackNotifier } from "../../src/observers/notifiers/index.ts";
import { refusalOf } from "../fixtures.ts";

const signingSecret = "a-signing-secret-of-slack";
const consoleUrl = "https://gates.test/";
const principalOf = () => null;

describe("options of Slack", () => {
  const good = { url: "https://hooks.slack.com/services/T/B/x", consoleUrl };
  it.each([
    [
      "a key that nobody knows",
      { ...good, signingSecrte: signingSecret },
      'signingSecrte: there is no such key; did you mean "signingSecret"?',
    ],
    ["a secret without people", { ...good, signingSecret }, "principalOf: buttons need both"],
    ["people without a secret", { ...good, principalOf }, "principalOf: buttons need both"],
    ["plain http", { ...good, url: "http://hooks.slack.com/" }, "url: is https"],
    ["no console", { url: good.url }, "consoleUrl"],
    ["a token without a channel", { token: "xoxb-1", consoleUrl }, "channel: a bot token and a channel go together"],
    ["a channel without a token", { ...good, channel: "#gates" }, "channel: a bot token and a channel go together"],
    ["neither a token nor a webhook", { consoleUrl }, "url: either a bot token with its channel, or the url"],
    ["a token and a webhook", { ...good, token: "xoxb-1", channel: "C1" }, "url: either a bot token"],
    [
      "an address of the API without a token",
      { ...good, apiUrl: "https://slack.test/api/" },
      "apiUrl: is for a bot token",
    ],
    [
      "plain http for the API",
      { token: "xoxb-1", channel: "C1", consoleUrl, apiUrl: "http://slack.test/api/" },
      "apiUrl: is https",
    ],
    ["a token that is none", { token: "xoxb 1", channel: "C1", consoleUrl }, "token: is a bot token"],
  ])("with %s are refused", async (_what, options, word) => {
    const refused = await refusalOf((async () => slackNotifier(options as never))());
    expect([refused.code, refused.message]).toEqual([
      "T0_VALIDATION_SCHEMA_MISMATCH",
      expect.stringContaining(`slackNotifier: ${word}`),
    ]);
  });
});
