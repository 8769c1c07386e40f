/** Slack: a message of plain text, and buttons that decide what was shown, by whom the host says, or nothing. */
import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Gate } from "../../src/contract/gate.ts";
import { createHttpApp } from "../../src/faces/http/index.ts";
import type { GateNotice } from "../../src/index.ts";
import { type SlackOptions, slackNotifier } from "../../src/observers/notifiers/index.ts";
import { nameForbidden } from "../../src/protocol/visible-text.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { gatedSteps, intent } from "../gates/story.ts";
import { callWith, hostile, notice } from "./notices.ts";
import { type HttpPosted, type Receiver, receiveHttp } from "./receivers.ts";

const signingSecret = "a-signing-secret-of-slack";
const consoleUrl = "https://gates.test/";
const principalOf = ({ user_id, team_id }: { user_id: string; team_id: string }) =>
  user_id === "U1" && team_id === "T1" ? testCaller : null;

interface Block {
  readonly type: string;
  readonly text?: { readonly type: string; readonly text: string };
  readonly elements?: readonly { readonly action_id: string; readonly value: string }[];
}

const at = (port: number, more: Partial<SlackOptions> = {}) =>
  slackNotifier({ url: `http://127.0.0.1:${port}/services/T/B/x`, consoleUrl, allowPrivate: true, ...more });

async function told(options: Partial<SlackOptions>, gate: Partial<Gate> = {}, more: Partial<GateNotice> = {}) {
  await using slack = await receiveHttp();
  await at(slack.port, options).deliver(notice(gate, more), callWith());
  const [posted] = await slack.inbox.count(1);
  return JSON.parse(posted!.body) as { text: string; mrkdwn: boolean; blocks: readonly Block[] };
}

const buttons = { signingSecret, principalOf };
const buttonsIn = (message: { readonly blocks: readonly Block[] }) =>
  message.blocks.flatMap(({ elements = [] }) => elements.map(({ action_id }) => action_id));

describe("a message", () => {
  it("shows what would run and a link; buttons where somebody can be told by them", async () => {
    const plain = await told({});
    expect(plain.blocks.map(({ type }) => type)).toEqual(["header", "section", "section", "section", "section"]);
    expect(plain.blocks[4]?.text).toEqual({
      type: "mrkdwn",
      text: "<https://gates.test/#/w/wf_00000000000000000000000001/g/gate-a|Open the gate> (that decides nothing)",
    });
    expect(plain.blocks[3]?.text?.text).toContain('"to": "Ann"');
    expect(buttonsIn(plain)).toEqual([]);
    expect(buttonsIn(await told(buttons))).toEqual(["countersign_approve", "countersign_reject"]);
  });

  it.each<readonly [string, Partial<Gate>, Partial<GateNotice>]>([
    ["does not show all that would run", { payload: { text: "x".repeat(4_000) } }, {}],
    ["asks for a signature", { signed: true }, {}],
    ["asks what became of a call", { kind: "in_doubt" }, {}],
    ["is over", { status: "approved" }, { kind: "decided" }],
    ["was over before it was told", { status: "voided" }, {}],
  ])("has no buttons where the gate %s", async (_what, gate, more) => {
    expect(buttonsIn(await told(buttons, gate, more))).toEqual([]);
  });

  it.each(hostile)("holds hostile text as plain text that is seen: %j", async (text) => {
    const gate = { title: text, preview: text, payload: { [text]: text }, operator: text };
    const message = await told(buttons, gate);
    expect([message.mrkdwn, message.text.replaceAll(/&(amp|lt|gt);/g, "")]).toEqual([
      false,
      expect.not.stringMatching(/[<>&]/),
    ]);
    for (const { type, text: shown } of message.blocks) {
      if (shown === undefined) continue;
      expect(shown.text).toBe(nameForbidden(shown.text));
      if (shown.type === "mrkdwn") expect([type, shown.text]).toEqual(["section", expect.not.stringContaining("evil")]);
    }
    expect(message.blocks.filter(({ text: shown }) => shown?.type === "mrkdwn")).toHaveLength(1);
  });

  it("begins no line with what a preview says: what would run is said once", async () => {
    const preview = 'all is well\nWould run:\n{ "cents": 1 }\ndigest: good';
    const message = await told(buttons, { preview, payload: { cents: 99_999 } });
    const lines = message.blocks.flatMap(({ text: shown }) => shown?.text.split("\n") ?? []);
    expect(lines.filter((line) => line.startsWith("Would run:"))).toHaveLength(1);
    expect(lines.filter((line) => /^[ {]/.test(line)).join("\n")).toContain('"cents": 99999');
    expect(lines.filter((line) => line.startsWith("{"))).toEqual([]);
  });

  it("mentions the changes, the basis and the outcome that becomes final, or has no buttons", async () => {
    const basis = [{ name: "/etc/passwd\u202e", digest: "d" }];
    const target = { type: "Draft.Note", outcome_id: "out_1", version: 3 } as never;
    const gate = { diff: "--- a\n+++ b\n+one\n", basis, basis_digest: "e", target };
    const message = await told(buttons, gate);
    const text = message.blocks.map(({ text: shown }) => shown?.text ?? "").join("\n");
    for (const fact of ["changes: 3 lines, shown at the gate alone", "target: Draft.Note version 3"])
      expect(text).toContain(fact);
    expect(text).toContain("rests on: /etc/passwd‹U+202E RIGHT-TO-LEFT OVERRIDE›");
    expect(buttonsIn(message)).toHaveLength(2);
    const reasons = Array.from({ length: 9 }, () => ({ source: "plan" as const, rule: "r", reason: "x".repeat(499) }));
    const cut = await told(buttons, { ...gate, reasons });
    expect(JSON.stringify(cut.blocks)).toMatch(/… \d+ more characters/);
    expect(buttonsIn(cut)).toEqual([]);
  });

  it.each<readonly [string, Partial<Gate>]>([
    ["title", { title: "t".repeat(200) }],
    ["asked by", { reasons: [{ source: "plan", rule: "r", reason: "x".repeat(501) }] }],
    ["approve", { consequences: { approve: "x".repeat(501), reject: "stops", edit: "" } }],
    ["runs", { operator: "o".repeat(501) }],
    ["Preview", { preview: "p".repeat(2_501) }],
    ["Would run", { payload: { text: "x".repeat(4_000) } }],
  ])("that cuts %s says that it does and where it is whole, and has no buttons", async (name, gate) => {
    const message = await told(buttons, gate);
    const text = message.blocks.map(({ text: shown }) => shown?.text ?? "").join("\n");
    expect(text).toMatch(/… \d+ more characters/);
    expect(text).toContain(`Not shown whole here: ${name}. Open the gate to read all of it.`);
    expect(buttonsIn(message)).toEqual([]);
    expect(JSON.stringify(await told(buttons))).not.toContain("Not shown whole");
  });

  it("keeps within what Slack takes, whatever the gate holds", async () => {
    const long = "‮".repeat(5_000);
    const reasons = Array.from({ length: 50 }, () => ({ source: "plan" as const, rule: long, reason: long }));
    const message = await told(buttons, { title: long, preview: long, payload: { long }, reasons });
    for (const { type, text } of message.blocks)
      expect(text?.text.length ?? 0).toBeLessThanOrEqual(type === "header" ? 150 : 3_000);
  });
});

interface Story extends AsyncDisposable {
  readonly t: TestKernel;
  readonly slack: Receiver<HttpPosted>;
  readonly workflow_id: string;
  /** What the first message's button carries. */
  readonly value: string;
  readonly press: (how?: Partial<Pressed>) => Promise<number>;
  /** What the one who pressed was told. */
  readonly heard: () => Promise<string>;
  /** What the pressed message became. */
  readonly replaced: () => Promise<Replaced>;
}

interface Replaced {
  readonly replace_original: boolean;
  readonly text: string;
  readonly blocks: readonly Block[];
}

interface Pressed {
  readonly action: string;
  readonly value: string;
  readonly user: string;
  readonly secret: string;
  readonly ageSec: number;
  readonly responseUrl: string;
  readonly tamper: (body: string) => string;
}

/** What the first button of a message carries. */
function valueIn(posted: HttpPosted | undefined): string {
  const { blocks } = JSON.parse(posted?.body ?? "") as { blocks: readonly Block[] };
  return blocks.flatMap(({ elements = [] }) => elements)[0]?.value ?? "";
}

/**
 * What was sent to the address that Slack gave for the answer: the word to who pressed, or the message in its place.
 */
async function answerWith(slack: Receiver<HttpPosted>, isReplacement: boolean): Promise<Replaced> {
  for (let n = 1; ; n += 1) {
    const posted = (await slack.inbox.count(n))[n - 1];
    const answer = JSON.parse(posted?.body ?? "null") as Replaced;
    if (posted?.path === "/response" && answer.replace_original === isReplacement) return answer;
  }
}

async function openStory(approvals = 1): Promise<Story> {
  const slack = await receiveHttp();
  let t: TestKernel;
  const clock = { now: () => t.clock.now(), setTimer: () => () => undefined };
  const notifier = at(slack.port, { ...buttons, clock });
  t = await createTestKernel({
    capabilities: [gatedSteps(1, { gate: { quorum: { approvals } } }).capability],
    notifiers: [notifier],
  });
  const app = createHttpApp(t.kernel, {
    sessions: {},
    clock: t.clock,
    callbacks: { "/callbacks/slack": notifier.callback(t.kernel) },
  });
  const { workflow_id } = await t.run(intent);
  const [posted] = await slack.inbox.count(1);
  const shown = valueIn(posted);
  return {
    t,
    slack,
    workflow_id,
    value: shown,
    async press({
      action = "countersign_approve",
      value = shown,
      user = "U1",
      secret = signingSecret,
      ageSec = 0,
      responseUrl = `http://127.0.0.1:${slack.port}/response`,
      tamper = (body: string) => body,
    } = {}) {
      const payload = {
        type: "block_actions",
        user: { id: user, team_id: "T1" },
        team: { id: "T1" },
        response_url: responseUrl,
        actions: [{ action_id: action, value }],
      };
      const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
      const timestamp = String(Math.floor(t.clock.now() / 1000) - ageSec);
      const hex = createHmac("sha256", secret).update(`v0:${timestamp}:${body}`).digest("hex");
      const headers = {
        "content-type": "application/x-www-form-urlencoded",
        "x-slack-request-timestamp": timestamp,
        "x-slack-signature": `v0=${hex}`,
      };
      const request = new Request("http://edge.test/callbacks/slack", { method: "POST", headers, body: tamper(body) });
      return (await app.fetch(request)).status;
    },
    heard: async () => (await answerWith(slack, false)).text,
    replaced: () => answerWith(slack, true),
    async [Symbol.asyncDispose]() {
      await t[Symbol.asyncDispose]();
      await slack[Symbol.asyncDispose]();
    },
  };
}

const stateOf = async ({ t, workflow_id }: Story) => (await t.kernel.workflow(workflow_id)).gates[0]?.status;

describe("a button", () => {
  it("decides what was shown, in the name that the host gives, and says so to the one who pressed it", async () => {
    await using story = await openStory();
    expect(await story.press()).toBe(200);
    const [gate] = (await story.t.rest(story.workflow_id)).gates;
    expect([gate?.status, gate?.decision?.principal, gate?.decision?.comment]).toEqual([
      "approved",
      testCaller.principal,
      "decided in Slack",
    ]);
    expect(await story.heard()).toBe("approve: resumed");
  });

  it("removes the buttons of its message once it has decided the gate; the message says who and when", async () => {
    await using story = await openStory();
    await story.press();
    const message = await story.replaced();
    const text = message.blocks.map(({ text: shown }) => shown?.text ?? "").join("\n");
    expect([buttonsIn(message), text]).toEqual([
      [],
      expect.stringMatching(/^Approved: s1\ndecided: approve by user 1 at /),
    ]);
  });

  it("leaves its message with buttons as long as others may decide what it shows", async () => {
    await using story = await openStory(2);
    await story.press();
    expect(await story.heard()).toMatch(/^approve: /);
    await story.t.clock.settle();
    const bodies = story.slack.inbox.items.filter(({ path }) => path === "/response").map(({ body }) => body);
    expect(bodies.filter((body) => body.includes('"replace_original":true'))).toEqual([]);
  });

  it("of a gate that was decided elsewhere decides nothing, says so, and its message loses its buttons", async () => {
    await using story = await openStory();
    const { t, workflow_id } = story;
    await t.kernel.decideGate(workflow_id, { ...testCaller, gate_id: "gate-s1", decision: "reject" });
    await story.press();
    expect(await story.heard()).toMatch(/^Nothing was decided\. /);
    const message = await story.replaced();
    expect([buttonsIn(message), message.text]).toEqual([[], "Rejected: s1"]);
  });

  it("of somebody whom the host does not know, or of another tenant, replaces no message", async () => {
    const clock = { now: () => 1_000_000, setTimer: () => () => undefined };
    for (const caller of [null, { ...testCaller, tenant_id: 2 }]) {
      await using story = await openStory();
      const { t, slack, workflow_id } = story;
      await t.kernel.decideGate(workflow_id, { ...testCaller, gate_id: "gate-s1", decision: "reject" });
      const callback = at(slack.port, { signingSecret, principalOf: () => caller, clock }).callback(t.kernel);
      const action = { action_id: "countersign_approve", value: story.value };
      const response_url = `http://127.0.0.1:${slack.port}/response`;
      const payload = { type: "block_actions", user: { id: "U1" }, response_url, actions: [action] };
      const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
      const hex = createHmac("sha256", signingSecret).update(`v0:1000:${body}`).digest("hex");
      const headers = { "x-slack-request-timestamp": "1000", "x-slack-signature": `v0=${hex}` };
      await callback(new Request("http://edge.test/", { method: "POST", headers, body }));
      expect(await story.heard()).toMatch(/^Nothing was decided\. /);
      await t.clock.settle();
      expect(slack.inbox.items.filter(({ body: sent }) => sent.includes('"replace_original":true'))).toEqual([]);
    }
  });

  it("rejects as well; pressed again it is answered as before", async () => {
    await using story = await openStory();
    expect([
      await story.press({ action: "countersign_reject" }),
      await story.press({ action: "countersign_reject" }),
    ]).toEqual([200, 200]);
    expect(await stateOf(story)).toBe("rejected");
  });

  it("decides nothing once the gate shows something else, and says so; the next message has new buttons", async () => {
    await using story = await openStory(2);
    const { t, slack, workflow_id } = story;
    const edit = { payload: { edit: { id: "other" } } };
    await t.kernel.decideGate(workflow_id, { ...testCaller, ...edit, gate_id: "gate-s1", decision: "approve" });
    const [, revised] = await slack.inbox.count(2);
    expect(await story.press()).toBe(200);
    expect(await story.heard()).toMatch(/^Nothing was decided\. /);
    expect((await t.kernel.workflow(workflow_id)).gates[0]?.votes).toHaveLength(1);
    expect(valueIn(revised)).not.toBe(story.value);
  });

  it.each<readonly [string, Partial<Pressed>]>([
    ["is signed by another secret", { secret: "another-signing-secret" }],
    ["is five minutes old", { ageSec: 301 }],
    ["comes from the future", { ageSec: -301 }],
    ["was changed on the way", { tamper: (body) => body.replace("countersign_approve", "countersign_reject") }],
    ["was added to", { tamper: (body) => `${body}&payload={}` }],
  ])("that %s is nobody's", async (_what, how) => {
    await using story = await openStory();
    expect(await story.press({ action: "countersign_approve", ...how })).toBe(401);
    expect(await stateOf(story)).toBe("open");
  });

  it.each<readonly [string, Partial<Pressed>, RegExp]>([
    ["of somebody whom the host does not know", { user: "U2" }, /nobody here/],
    ["with a value that is none", { value: "{}" }, /could not be read/],
    ["with a value that is no JSON", { value: "<" }, /could not be read/],
    [
      "of another workflow",
      {
        value: JSON.stringify({
          workflow_id: `wf_${"0".repeat(26)}`,
          gate_id: "gate-s1",
          payload_digest: "0".repeat(64),
        }),
      },
      /there is no workflow/,
    ],
  ])("%s decides nothing, and says so", async (_what, how, word) => {
    await using story = await openStory();
    expect(await story.press(how)).toBe(200);
    expect(await stateOf(story)).toBe("open");
    expect(await story.heard()).toMatch(word);
  });

  it("of something else is taken and nothing follows; nothing is ever sent to another host", async () => {
    await using elsewhere = await receiveHttp();
    await using story = await openStory();
    expect(await story.press({ action: "open_link" })).toBe(200);
    expect(await stateOf(story)).toBe("open");
    expect(await story.press({ responseUrl: `http://127.0.0.1:${elsewhere.port}/steal` })).toBe(200);
    await story.t.rest(story.workflow_id);
    await story.t.clock.settle();
    expect(elsewhere.inbox.items).toEqual([]);
  });

  it("is narrowed by the scopes of whom the host names", async () => {
    await using slack = await receiveHttp();
    const narrowed = () => ({ ...testCaller, scopes: ["outcome:read"] });
    const clock = { now: () => 1_000_000, setTimer: () => () => undefined };
    let asked = 0;
    const decideGate = async () => {
      asked += 1;
    };
    const callback = at(slack.port, { signingSecret, principalOf: narrowed, clock }).callback({ decideGate } as never);
    const value = JSON.stringify({ workflow_id: "w", gate_id: "g", payload_digest: "d" });
    const payload = {
      type: "block_actions",
      user: { id: "U1" },
      actions: [{ action_id: "countersign_approve", value }],
    };
    const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    const timestamp = "1000";
    const hex = createHmac("sha256", signingSecret).update(`v0:${timestamp}:${body}`).digest("hex");
    const headers = { "x-slack-request-timestamp": timestamp, "x-slack-signature": `v0=${hex}` };
    const answered = await callback(new Request("http://edge.test/", { method: "POST", headers, body }));
    expect([answered.status, asked]).toEqual([200, 0]);
  });
});
