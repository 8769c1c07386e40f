/**
 * Messages of a bot in Slack: once a gate is decided, or shows something else, no message about it has buttons for
 * that.
 */
import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { KernelOptions, Notifier } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { type SlackNotifier, type SlackOptions, slackNotifier } from "../../src/observers/notifiers/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { freshPaths } from "../fixtures.ts";
import { decide, gatedSteps, intent } from "../gates/story.ts";
import { withDatabase } from "../ledgers/ledger-files.ts";
import { delivered, restartBeforeDecision } from "./slack-restart.ts";
import { buttonsIn, channelId, type SlackStandIn, standForSlack, textIn } from "./slack-stand-in.ts";

const freshPath = freshPaths();
const minute = 60_000;
const both = ["countersign_approve", "countersign_reject"];

const botAt = ({ apiUrl }: SlackStandIn, more: Partial<SlackOptions> = {}): Notifier =>
  slackNotifier({
    ...{ token: "xoxb-test", channel: "#gates", apiUrl, allowPrivate: true, consoleUrl: "https://gates.test" },
    ...{ signingSecret: "a-signing-secret-of-slack", principalOf: () => testCaller },
    ...more,
  });

interface Story {
  readonly t: TestKernel;
  readonly workflow_id: string;
}

/** A kernel with one open gate, of which Slack was told. */
async function openGate(notifier: Notifier, gate: object = {}, more: Partial<KernelOptions> = {}): Promise<Story> {
  const { capability } = gatedSteps(1, { gate } as never);
  const t = await createTestKernel({ capabilities: [capability], notifiers: [notifier], ...more });
  const { workflow_id } = await t.run(intent);
  return { t, workflow_id };
}

const approve = ({ t, workflow_id }: Story) => decide(t, workflow_id, { gate_id: "gate-s1", decision: "approve" });
const messagesOf = ({ messages }: SlackStandIn) => [...messages.values()];
const methodsOf = ({ calls }: SlackStandIn) => calls.map(({ method }) => method);

const hasNoButtons = (slack: SlackStandIn) => messagesOf(slack).flatMap(buttonsIn).length === 0;

/** Time passes until it is so and nothing is left to be told; at most a quarter of an hour. */
async function advanceUntil(t: TestKernel, isSo: () => boolean): Promise<void> {
  for (let seconds = 0; seconds < 900; seconds += 1) {
    const [counts] = await t.kernel.deliveries();
    if (isSo() && counts?.pending === 0) return;
    await t.clock.advance(1_000);
  }
}

describe("a message of a bot", () => {
  it.each<readonly [string, (story: Story) => Promise<unknown>, RegExp]>([
    ["approved", approve, /^Approved: .*\ndecided: approve by user 1 at \d{4}-/],
    [
      "rejected",
      ({ t, workflow_id }) => decide(t, workflow_id, { gate_id: "gate-s1", decision: "reject" }),
      /^Rejected: .*\ndecided: reject by user 1 at \d{4}-/,
    ],
    ["expired", ({ t }) => t.clock.advance(10 * minute), /^Expired: .*\ndecided: by nobody: its time ended at \d{4}-/],
    [
      "cancelled with its workflow",
      ({ t, workflow_id }) => t.kernel.cancel(workflow_id, { ...testCaller, reason: "not needed" }),
      /^No longer to be decided: .*\ncancelled: by user 1 at \d{4}-.*: not needed/,
    ],
  ])("loses its buttons once the gate is %s, and says who decided what, when", async (_how, end, said) => {
    await using slack = await standForSlack();
    const story = await openGate(botAt(slack), { expiry: { after_ms: 10 * minute, action: "deny" } });
    await slack.until(() => slack.messages.size === 1);
    expect(messagesOf(slack).map(buttonsIn)).toEqual([both]);
    await end(story);
    await advanceUntil(story.t, () => hasNoButtons(slack));
    expect(messagesOf(slack).flatMap(buttonsIn)).toEqual([]);
    for (const message of messagesOf(slack)) expect(textIn(message)).toMatch(said);
    // Nobody is told twice: the decision stands where the question stood.
    expect(methodsOf(slack).at(-1)).toBe("chat.update");
    expect(slack.calls.every(({ authorization }) => authorization === "Bearer xoxb-test")).toBe(true);
    expect(slack.calls.filter(({ method }) => method === "chat.update").map(({ channel }) => channel)).toContain(
      channelId,
    );
    await story.t.kernel.stop();
  });

  it("loses its buttons once the gate is edited and names the editor first; a new message has buttons", async () => {
    await using slack = await standForSlack();
    const story = await openGate(botAt(slack), { quorum: { approvals: 2 } });
    await delivered(story.t, slack, 1);
    const edit = { payload: { edit: { id: "other" } } };
    await decide(story.t, story.workflow_id, { gate_id: "gate-s1", decision: "approve", ...edit });
    await delivered(story.t, slack, 3);
    const [before, after] = messagesOf(slack);
    expect([buttonsIn(before), buttonsIn(after)]).toEqual([[], both]);
    for (const message of [before, after]) {
      expect(textIn(message)).toMatch(/^[^\n]*\nedited: Edited by user 1 at [^\n]*\nfrom, to: id: /);
      expect(textIn(message)).toContain('"id": "other"');
    }
    expect(textIn(before)).toContain("This message has no buttons any more.");
    expect(textIn(after)).not.toContain("This message has no buttons any more.");
    await story.t.kernel.stop();
  });

  it("loses its buttons too where the notifier tells of openings alone, and nothing more is posted", async () => {
    await using slack = await standForSlack();
    const story = await openGate(botAt(slack, { kinds: ["opened"] }));
    await delivered(story.t, slack, 1);
    await approve(story);
    await delivered(story.t, slack, 2);
    expect([methodsOf(slack), buttonsIn(messagesOf(slack)[0])]).toEqual([["chat.postMessage", "chat.update"], []]);
    await story.t.kernel.stop();
  });

  it("that comes after the decision has no buttons, says how it was decided and that it is late", async () => {
    let isDown = true;
    await using slack = await standForSlack(() => (isDown ? { status: 503 } : undefined));
    const story = await openGate(botAt(slack));
    await slack.until(() => slack.calls.length === 1);
    await approve(story);
    isDown = false;
    await advanceUntil(story.t, () => slack.messages.size === 2);
    for (const message of messagesOf(slack)) {
      expect(buttonsIn(message)).toEqual([]);
      expect(textIn(message)).toMatch(/^Approved: /);
    }
    expect(textIn(messagesOf(slack)[0])).toMatch(
      /told late: this was asked at [^\n]* and can no longer be decided\ndecided: approve by user 1 at /,
    );
    await story.t.kernel.stop();
  });

  it("with a link only is replaced without a text of the gate", async () => {
    await using slack = await standForSlack();
    const story = await openGate(botAt(slack, { linkOnly: true }));
    await delivered(story.t, slack, 1);
    await story.t.kernel.cancel(story.workflow_id, { ...testCaller, reason: "moonlight" });
    await delivered(story.t, slack, 2);
    expect(textIn(messagesOf(slack)[0])).toMatch(/^No longer to be decided: [^\n]*\ncancelled: by user 1 at /);
    expect(JSON.stringify(slack.calls)).not.toContain("moonlight");
    await story.t.kernel.stop();
  });
});

describe("a button of a bot's message", () => {
  it("decides, and its message and an older one of that gate lose their buttons", async () => {
    await using slack = await standForSlack();
    let t: TestKernel | undefined;
    const clock = { now: () => t?.clock.now() ?? 0, setTimer: () => () => undefined };
    const notifier = botAt(slack, { clock }) as SlackNotifier;
    const story = await openGate(notifier, { remind: { every: minute } });
    t = story.t;
    await delivered(t, slack, 1);
    await t.clock.advance(minute);
    await delivered(t, slack, 2);
    const [action] = messagesOf(slack)[1]?.blocks.flatMap(({ elements = [] }) => elements) ?? [];
    const response_url = slack.apiUrl.replace("/api/", "/actions/T1/1");
    const pressed = { type: "block_actions", user: { id: "U1", team_id: "T1" }, response_url, actions: [action] };
    expect(await press(notifier.callback(t.kernel), pressed, t.clock.now())).toBe(200);
    await advanceUntil(t, () => hasNoButtons(slack));
    await slack.until(() => slack.answers.length === 2);
    for (const message of [...messagesOf(slack), slack.answers[1]?.body])
      expect([buttonsIn(message), textIn(message)]).toEqual([
        [],
        expect.stringMatching(/^Approved: .*\ndecided: approve by user 1 at [^\n]*\ncomment: decided in Slack\n/),
      ]);
    await t.kernel.stop();
  });
});

/** Sends what Slack sends when somebody presses a button, with its signature. Returns the status. */
async function press(callback: (request: Request) => Promise<Response>, pressed: object, now: number): Promise<number> {
  const body = new URLSearchParams({ payload: JSON.stringify(pressed) }).toString();
  const timestamp = String(Math.floor(now / 1000));
  const hex = createHmac("sha256", "a-signing-secret-of-slack").update(`v0:${timestamp}:${body}`).digest("hex");
  const headers = { "x-slack-request-timestamp": timestamp, "x-slack-signature": `v0=${hex}` };
  return (await callback(new Request("http://edge.test/", { method: "POST", headers, body }))).status;
}

describe("a replacement that fails", () => {
  it("is tried again after the pause that Slack asks for, and not before", async () => {
    const at: number[] = [];
    await using slack = await standForSlack(({ method }) => {
      if (method === "chat.update") at.push(story.t.clock.now());
      return at.length === 1 && method === "chat.update"
        ? { status: 429, retryAfter: 60, error: "ratelimited" }
        : undefined;
    });
    const story: Story = await openGate(botAt(slack));
    await delivered(story.t, slack, 1);
    await approve(story);
    await advanceUntil(story.t, () => hasNoButtons(slack));
    expect([at.length, (at[1] ?? 0) - (at[0] ?? 0)]).toEqual([2, 60_000]);
    expect(messagesOf(slack).flatMap(buttonsIn)).toEqual([]);
    await story.t.kernel.stop();
  });

  it("stops at a limit of Slack and continues behind the replaced ones; other failures stop no message", async () => {
    const answers = ["ok", "ratelimited", "internal_error", "ok", "ok"];
    await using slack = await standForSlack(({ method }) => {
      const error = method === "chat.update" ? answers.shift() : "ok";
      if (error === "ratelimited") return { status: 429, retryAfter: 30, error };
      return error === "ok" || error === undefined ? undefined : { error };
    });
    const story = await openGate(botAt(slack), { remind: { every: minute } });
    await slack.until(() => slack.messages.size === 1);
    await story.t.clock.advance(minute);
    await slack.until(() => slack.messages.size === 2);
    await story.t.clock.advance(minute);
    await slack.until(() => slack.messages.size === 3);
    await approve(story);
    await advanceUntil(story.t, () => hasNoButtons(slack));
    const updates = slack.calls.filter(({ method }) => method === "chat.update").map(({ ts }) => ts?.at(-1));
    // The second was refused for now; then it failed, and the third was replaced nevertheless; then the second.
    expect(updates).toEqual(["1", "2", "2", "3", "2"]);
    expect(messagesOf(slack).flatMap(buttonsIn)).toEqual([]);
    await story.t.kernel.stop();
  });

  it("because the message was deleted is none", async () => {
    await using slack = await standForSlack();
    const story = await openGate(botAt(slack));
    await delivered(story.t, slack, 1);
    slack.messages.clear();
    await approve(story);
    await delivered(story.t, slack, 2);
    expect(await story.t.kernel.deliveries()).toMatchObject([{ pending: 0, failed: 0, error: null }]);
    await story.t.kernel.stop();
  });

  it("for good is counted, and redeliver replaces the message after all", async () => {
    let isDown = false;
    await using slack = await standForSlack(({ method }) =>
      isDown && method === "chat.update" ? { error: "fatal_error" } : undefined,
    );
    const story = await openGate(botAt(slack), {}, { limits: { maxDeliveryAttempts: 2 } });
    await delivered(story.t, slack, 1);
    isDown = true;
    await approve(story);
    await advanceUntil(story.t, () => slack.calls.length === 3);
    const said = expect.stringContaining("answered fatal_error to chat.update");
    expect(await story.t.kernel.deliveries()).toMatchObject([{ failed: 1, error: said }]);
    expect(messagesOf(slack).map(buttonsIn)).toEqual([both]);
    isDown = false;
    await story.t.kernel.redeliver("slack");
    await delivered(story.t, slack, 4);
    expect(messagesOf(slack).flatMap(buttonsIn)).toEqual([]);
    await story.t.kernel.stop();
  });
});

describe("a receipt", () => {
  it("of a message survives the process that posted it, and a week in which the gate is open", async () => {
    const path = freshPath();
    const { posted, replaced, methods } = await restartBeforeDecision(() => sqliteLedger({ path }));
    expect([posted?.text, replaced?.text]).toEqual([
      expect.stringMatching(/^Decision wanted: /),
      expect.stringMatching(/^Approved: /),
    ]);
    expect(methods).toEqual(["chat.postMessage", "chat.postMessage", "chat.update"]);
    const kept = withDatabase(path, (db) =>
      db.prepare("SELECT receipt FROM deliveries WHERE receipt IS NOT NULL").all(),
    );
    // That of the gate which is still open.
    expect(kept).toEqual([{ receipt: JSON.stringify({ channel: channelId, ts: "1700000000.000002" }) }]);
  });
});
