/**
 * A notice that comes after the decision, or after a change, asks for nothing; what a notifier gave is given back to
 * it.
 */
import { describe, expect, it } from "vitest";
import { GateNotice } from "../../src/contract/gate-notice.ts";
import { mailNotifier, slackNotifier, webhookNotifier } from "../../src/observers/notifiers/index.ts";
import { composeReplacement } from "../../src/observers/notifiers/slack-message.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { decide, gatedSteps, intent } from "../gates/story.ts";
import { callWith, notice } from "./notices.ts";
import { receiveHttp, receiveMail } from "./receivers.ts";
import { recordingNotifier } from "./recording-notifier.ts";

const consoleUrl = "https://gates.test";
const asked = notice();
const ann = { type: "user", id: "ann", role: "user" };
const decision = {
  ...{ decision: "approve", principal: ann, at: "2026-01-02T04:00:00.000Z", edited: false, comment: null },
  ...{ resolution: null, apply_targets: [], carried_by: [], signature: null },
} as const;
const decided = GateNotice.parse({ ...asked, gate_now: { ...asked.gate, status: "approved", decision } });
const changed = { ...asked, gate_now: { ...asked.gate, payload_digest: "1".repeat(64) } };
const late = "this was asked at 2026-01-02T03:04:05.000Z and can no longer be decided";

describe("a notice that asks, told after the gate was", () => {
  it.each([
    ["decided", decided, "Approved: Send the letter", "approve by user ann at 2026-01-02T04:00:00.000Z"],
    ["changed", changed, "Changed since: Send the letter", late],
  ])("%s says so in its subject and first of its facts, as mail", async (_what, one, subject, said) => {
    await using server = await receiveMail();
    const roles = { user: ["ann@example.test"] };
    const smtp = { host: "127.0.0.1", port: server.port };
    await mailNotifier({ from: "gates@test.test", smtp, consoleUrl, roles }).deliver(one, callWith());
    const [got] = await server.inbox.count(1);
    expect(got?.mail.subject).toBe(subject);
    for (const text of [late, said])
      expect([got?.mail.text, got?.mail.html].every((body) => `${body}`.includes(text))).toBe(true);
    expect(got?.mail.text?.indexOf("told late")).toBeLessThan(got?.mail.text?.indexOf("digest") ?? 0);
  });

  it.each([
    ["decided", decided],
    ["changed", changed],
  ])("%s has no buttons in a webhook's channel of Slack", async (_what, one) => {
    await using slack = await receiveHttp();
    const buttons = { signingSecret: "a-signing-secret-of-slack", principalOf: () => null, allowPrivate: true };
    await slackNotifier({ url: `http://127.0.0.1:${slack.port}/`, consoleUrl, ...buttons }).deliver(one, callWith());
    const [posted] = await slack.inbox.count(1);
    expect(posted?.body).toContain(late);
    expect(posted?.body).not.toContain("countersign_approve");
  });

  it("revised and decided since sends nobody to a newer message in Slack", () => {
    const options = { consoleUrl, linkOnly: false, hasButtons: true };
    const revised = { ...asked, kind: "revised" as const };
    const newer = "What is asked now is decided at a newer message";
    expect(JSON.stringify(composeReplacement(revised, options))).toContain(newer);
    expect(JSON.stringify(composeReplacement({ ...revised, gate_now: decided.gate_now }, options))).not.toContain(
      newer,
    );
  });

  it("decided tells a webhook's receiver how the gate stands, and by whom it was decided", async () => {
    await using receiver = await receiveHttp();
    const url = `http://127.0.0.1:${receiver.port}/`;
    const hook = webhookNotifier({ url, secret: `whsec_${"A".repeat(40)}`, allowPrivate: true });
    await hook.deliver(decided, callWith());
    const [posted] = await receiver.inbox.count(1);
    const { data } = JSON.parse(posted?.body ?? "{}") as { data: Record<"gate" | "gate_now", object> };
    expect(data.gate).toMatchObject({ status: "open", decision: null });
    expect(data.gate_now).toEqual({
      status: "approved",
      payload_digest: asked.gate.payload_digest,
      decision: { decision: "approve", principal: ann, at: decision.at },
    });
  });
});

describe("a notice as a kernel makes it", () => {
  it("carries the gate as it stands while it is told, also after a cancellation, and by whom that was", async () => {
    let isDown = true;
    const notifier = recordingNotifier({}, () => {
      if (isDown) throw new Error("away");
    });
    await using t = await createTestKernel({ capabilities: [gatedSteps(1).capability], notifiers: [notifier] });
    const { workflow_id } = await t.run(intent);
    await t.clock.settle();
    await t.kernel.cancel(workflow_id, { ...testCaller, reason: "not needed" });
    isDown = false;
    await t.clock.advance(2_000);
    expect(notifier.told.map(({ kind, gate, gate_now }) => [kind, gate.status, gate_now.status])).toEqual([
      ["opened", "open", "voided"],
      ["decided", "voided", "voided"],
    ]);
    const cancelled = { principal: testCaller.principal, reason: "not needed", at: expect.any(String) };
    expect(notifier.told.map((one) => GateNotice.parse(one).cancelled)).toEqual([cancelled, cancelled]);
  });
});

describe("receipts", () => {
  /** The receipts that come with each notice of a gate that is opened, edited and decided. */
  async function receiptsTold(kinds: readonly ("opened" | "revised" | "decided")[], answer: (n: number) => unknown) {
    const given: (readonly string[])[] = [];
    const deliver = async (_: GateNotice, { receipts }: { readonly receipts: readonly string[] }) => {
      given.push(receipts);
      return answer(given.length) as { receipt?: string };
    };
    const { capability } = gatedSteps(1, { gate: { quorum: { approvals: 2 } } });
    const notifiers = [{ name: "own", kinds, deliver }];
    await using t = await createTestKernel({ capabilities: [capability], notifiers });
    const { workflow_id } = await t.run(intent);
    const edit = { payload: { edit: { id: "other" } } };
    await decide(t, workflow_id, { gate_id: "gate-s1", decision: "approve", ...edit });
    await t.clock.settle();
    await t.kernel.cancel(workflow_id, testCaller);
    await t.clock.settle();
    return { given, logged: t.logged.map(({ message }) => message) };
  }

  it("of a gate come with its later notices, the oldest first", async () => {
    const { given } = await receiptsTold(["opened", "revised", "decided"], (n) => ({ receipt: `r${n}` }));
    expect(given).toEqual([[], ["r1"], ["r1", "r2"]]);
  });

  it("are kept for no notifier that is not told of decisions: nothing would ever end them", async () => {
    const { given } = await receiptsTold(["opened", "revised"], (n) => ({ receipt: `r${n}` }));
    expect(given).toEqual([[], []]);
  });

  it("that are none are logged, and the notice counts as delivered", async () => {
    const { given, logged } = await receiptsTold(["opened", "revised", "decided"], () => ({
      receipt: "x".repeat(2_001),
    }));
    expect(given).toEqual([[], [], []]);
    expect(logged).toContain("a notifier gave neither a remark nor a receipt");
  });
});
