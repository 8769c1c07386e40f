/** The digest: each address gets one mail with the gates that wait for its owner, when a schedule says so. */
import { describe, expect, it } from "vitest";
import { type MailDigestOptions, mailDigest } from "../../src/observers/notifiers/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { refusalOf } from "../fixtures.ts";
import { counted, intentType, oneStep } from "../journey/parts.ts";
import { type MailReceived, receiveMail } from "./receivers.ts";

const admin = { tenant_id: 1, principal: { type: "user", id: "root", role: "admin" } } as const;
const hour = 3_600_000;

const digestAt = (port: number, more: Partial<MailDigestOptions> = {}) =>
  mailDigest({
    smtp: { host: "127.0.0.1", port },
    from: "gates@countersign.test",
    consoleUrl: "https://gates.test",
    roles: { admin: ["boss@example.test"], clerk: ["cleo@example.test"] },
    people: { dana: "dana@example.test" },
    ...more,
  });

/** Opens a kernel whose work waits at a gate of this form, and schedules the digest at eight o'clock in Berlin. */
async function openDesk(digest: ReturnType<typeof mailDigest>, gate: object) {
  const pay = counted("Payments.Pay", { effect: "final_write" });
  const capabilities = [
    oneStep(pay, { name: "Pay\r\nBcc: eve@x", gate: { reason: "look", ...gate } }),
    digest.capability,
  ];
  const t = await createTestKernel({ capabilities, policies: [digest.policies] });
  digest.read(t.kernel);
  await t.kernel.setSchedule({
    ...admin,
    name: "digest",
    cron: "0 8 * * *",
    time_zone: "Europe/Berlin",
    intent_type: "Desk.Digest",
    inputs: {},
  });
  return t;
}

const textOf = (inbox: readonly MailReceived[], address: string): string =>
  inbox.find(({ to }) => to.includes(address))?.mail.text ?? "";

describe("a digest by mail", () => {
  it("lists for each address what its owner may decide, once, and asks nobody before it is sent", async () => {
    await using server = await receiveMail();
    await using t = await openDesk(digestAt(server.port), { roles: ["clerk"] });
    const first = await t.run(intentType);
    const second = await t.run(intentType);
    await t.clock.advance(24 * hour);
    const [got] = await server.inbox.count(1);
    expect(server.inbox.items.map(({ to }) => to)).toEqual([["cleo@example.test"]]);
    expect(got?.mail.subject).toBe("2 gates wait for a decision");
    for (const { workflow_id } of [first, second])
      expect(got?.mail.text).toContain(`https://gates.test/#/w/${workflow_id}/g/gate-s1`);
    expect(got?.mail.headers.has("bcc")).toBe(false);
    expect(got?.mail.text).not.toContain("\nBcc:");
    const [digest] = await t.kernel.workflows({ schedule: "digest" });
    expect((await t.rest(digest?.workflow_id ?? "")).state).toBe("completed");
    await t.clock.advance(24 * hour);
    await server.inbox.count(2);
    expect(new Set(server.inbox.items.map(({ mail }) => mail.messageId)).size).toBe(2);
  });

  it("goes to named approvers, and not to a requester who may not decide", async () => {
    await using server = await receiveMail();
    const gate = { approvers: [{ id: "dana" }, { id: "root" }], separation: true };
    await using t = await openDesk(
      digestAt(server.port, { people: { dana: "dana@x.test", root: "root@x.test" } }),
      gate,
    );
    await t.kernel.submit({ ...admin, intent_hint: { intent_type: intentType } });
    await t.clock.advance(24 * hour);
    await server.inbox.count(1);
    expect(server.inbox.items.flatMap(({ to }) => to)).toEqual(["dana@x.test"]);
  });

  it("counts what it does not list, and withholds titles with linkOnly", async () => {
    await using server = await receiveMail();
    await using t = await openDesk(digestAt(server.port, { maxGates: 1, linkOnly: true }), { roles: ["admin"] });
    for (let i = 0; i < 3; i += 1) await t.run(intentType);
    await t.clock.advance(24 * hour);
    await server.inbox.count(1);
    const text = textOf(server.inbox.items, "boss@example.test");
    expect(text).toContain("3 gates wait for a decision");
    expect(text).toContain("2 more, and all that waits: https://gates.test/");
    expect(text).not.toContain("Bcc");
  });

  it("sends nothing where nothing waits", async () => {
    await using server = await receiveMail();
    await using t = await openDesk(digestAt(server.port), { roles: ["clerk"] });
    await t.clock.advance(24 * hour);
    const [digest] = await t.kernel.workflows({ schedule: "digest" });
    expect((await t.rest(digest?.workflow_id ?? "")).state).toBe("completed");
    expect(server.inbox.items).toEqual([]);
  });

  it("sends the others their mails where the server refuses an address, and records the refusal", async () => {
    await using server = await receiveMail({
      onRcptTo: ({ address }, _session, done) => (address.startsWith("boss") ? done(new Error("no such box")) : done()),
    });
    await using t = await openDesk(digestAt(server.port), { roles: ["clerk", "admin"] });
    await t.run(intentType);
    await t.clock.advance(24 * hour);
    await server.inbox.count(1);
    const [digest] = await t.kernel.workflows({ schedule: "digest" });
    const { state, steps } = await t.rest(digest?.workflow_id ?? "");
    expect(state).toBe("completed");
    expect(JSON.parse(steps.find(({ step_id }) => step_id === "send")?.output_text ?? "{}")).toMatchObject({
      total: 2,
      succeeded: 1,
      failed: 1,
    });
  });

  it("without a kernel fails with a code, and refuses unknown options", async () => {
    const digest = digestAt(1);
    await using t = await createTestKernel({ capabilities: [digest.capability], policies: [digest.policies] });
    expect(await t.run("Desk.Digest")).toMatchObject({ state: "failed" });
    const wrong = await refusalOf((async () => digestAt(1, { cron: "0 8 * * *" } as object))());
    expect(wrong.code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  });
});
