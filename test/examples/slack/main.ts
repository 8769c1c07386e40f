/**
 * People are asked in Slack and answer by a button. `npm start` lets a small server stand for Slack; with
 * SLACK_WEBHOOK_URL and SLACK_SIGNING_SECRET in the environment the same lines ask a real channel.
 */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createKernel } from "countersign";
import { createHttpApp, serveHttp } from "countersign/http";
import { slackNotifier } from "countersign/notifiers";
import { person, refund, request } from "../shop/refund.ts";

const slack = createServer(async (request, answer) => {
  slack.emit("message", JSON.parse(await text(request)));
  answer.end("ok");
}).listen(0, "127.0.0.1");
await once(slack, "listening");
const standIn = `http://127.0.0.1:${(slack.address() as AddressInfo).port}`;
const signingSecret = process.env["SLACK_SIGNING_SECRET"] ?? "a secret of sixteen or more";
const people: Readonly<Record<string, string>> = { U1: "bo" }; // who a user of Slack is here

const notifier = slackNotifier({
  url: process.env["SLACK_WEBHOOK_URL"] ?? standIn,
  consoleUrl: "https://approvals.example",
  allowPrivate: true, // the stand-in is on this machine
  signingSecret,
  principalOf: ({ user_id }) => (people[user_id] === undefined ? null : person(people[user_id])),
});
await using kernel = await createKernel({ capabilities: [refund], notifiers: [notifier] });
const callbacks = { "/callbacks/slack": notifier.callback(kernel) }; // the address that Slack's app is told
const server = await serveHttp(createHttpApp(kernel, { sessions: {}, callbacks }), { port: 0 });

const told = once(slack, "message");
const { workflow_id } = await kernel.submit({ ...person("ann"), ...request });
const [message] = await told;
console.log(message.blocks.map((block: { text?: { text: string } }) => block.text?.text).find(Boolean));

// What Slack sends when Bo presses the button.
const elements = message.blocks.flatMap((block: { elements?: object[] }) => block.elements ?? []);
const action = elements.find((element: { action_id?: string }) => element.action_id === "countersign_approve");
const pressed = {
  type: "block_actions",
  user: { id: "U1", team_id: "T1" },
  team: { id: "T1" },
  response_url: standIn,
  actions: [action],
};
const body = new URLSearchParams({ payload: JSON.stringify(pressed) }).toString();
const at = String(Math.floor(Date.now() / 1000));
const signature = `v0=${createHmac("sha256", signingSecret).update(`v0:${at}:${body}`).digest("hex")}`;
const headers = { "x-slack-request-timestamp": at, "x-slack-signature": signature };
console.log((await fetch(`${server.url}/callbacks/slack`, { method: "POST", headers, body })).status);
console.log((await kernel.settled(workflow_id)).state);
await server.close();
slack.close();
