/**
 * Mails, received by a real server: whom they reach, what they say, and that nothing in a gate can become anything
 * else.
 */

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { type MailOptions, mailNotifier } from "../../src/observers/notifiers/index.ts";
import { nameForbidden } from "../../src/protocol/visible-text.ts";
import { refusalOf } from "../fixtures.ts";
import { callWith, hostile, notice, reminder } from "./notices.ts";
import { type MailReceived, receiveMail } from "./receivers.ts";

const base = { from: "gates@countersign.test", consoleUrl: "https://gates.test" } as const;
const roles = { admin: ["boss@example.test"], user: ["ann@example.test", "bob@example.test"] };

const at = (port: number, more: Partial<MailOptions> = {}) =>
  mailNotifier({ ...base, smtp: { host: "127.0.0.1", port }, roles, ...more });

const deliver = (notifier: ReturnType<typeof at>, told = notice()) => notifier.deliver(told, callWith());

describe("a mail", () => {
  it("says what would run, why and until when, as text and as HTML, with a link that decides nothing", async () => {
    await using server = await receiveMail();
    const due = { due_at: "2026-01-03T00:00:00.000Z", expiry_action: "deny" as const, roles: ["admin"] };
    await deliver(at(server.port), notice(due));
    const [got] = await server.inbox.count(1);
    const { mail, to } = got as MailReceived;
    expect(to).toEqual(["boss@example.test"]);
    expect([mail.subject, mail.messageId]).toEqual([
      "Decision wanted: Send the letter",
      "<ntc_0123456789abcdef0123456789abcdef@countersign.test>",
    ]);
    const link = "https://gates.test/#/w/wf_00000000000000000000000001/g/gate-a";
    for (const said of [
      "due       2026-01-03T00:00:00.000Z, if nobody decides, the call is not made",
      '"to": "Ann"',
      "Dear Ann",
      "0".repeat(64),
      link,
    ])
      expect(mail.text).toContain(said);
    for (const said of [
      "2026-01-03T00:00:00.000Z, if nobody decides, the call is not made",
      "Dear Ann",
      `<a href="${link}">`,
    ])
      expect(mail.html).toContain(said);
  });

  it("reminds the addresses of the role, in a thread of its wait, and nobody else", async () => {
    await using server = await receiveMail();
    await at(server.port).remind?.({ ...reminder, role: "admin", title: "Signed\r\nBcc: eve@x" }, callWith());
    const [got] = await server.inbox.count(1);
    const { mail, to } = got as MailReceived;
    expect([to, mail.subject?.startsWith("Still waited for: Signed")]).toEqual([["boss@example.test"], true]);
    expect(mail.text).toContain("waits for the event contract.signed of c-1");
    const nobody = await refusalOf(
      at(server.port).remind?.({ ...reminder, role: "sales" }, callWith()) as Promise<unknown>,
    );
    expect(nobody.code).toBe("T6_NOTICE_NOBODY");
  });

  it.each(hostile)("holds hostile text as text that is seen: %j", async (text) => {
    await using server = await receiveMail();
    const gate = {
      title: text,
      preview: text,
      payload: { [text]: text },
      operator: text,
      reasons: [{ source: "plan" as const, rule: text, reason: text }],
      consequences: { approve: text, reject: text, edit: text },
    };
    await deliver(at(server.port), notice(gate));
    const [got] = await server.inbox.count(1);
    const { mail, raw, to } = got as MailReceived;
    expect([...to].sort()).toEqual(["ann@example.test", "bob@example.test", "boss@example.test"]);
    const head = raw.slice(0, raw.indexOf("\r\n\r\n"));
    const names = head
      .split("\r\n")
      .filter((line) => /^\S/.test(line))
      .map((line) => line.split(":")[0]?.toLowerCase());
    expect(names.sort()).toEqual([
      "auto-submitted",
      "content-type",
      "date",
      "from",
      "message-id",
      "mime-version",
      "references",
      "subject",
      "to",
    ]);
    const html = mail.html as string;
    expect(
      html.replace(/<\/?(html|head|meta|title|body|h1|h2|table|tr|th|td|pre|p|a)\b[^<>]*>|<!doctype html>/gi, ""),
    ).not.toMatch(/[<>]/);
    const tags = (html.match(/<[^>]*>/g) ?? []).join("");
    expect(tags.match(/ (on\w+|src|style|href)=/g)).toEqual([" href="]);
    for (const part of [mail.subject, mail.text, html]) expect(part).toBe(nameForbidden(part as string));
  });

  it("goes to the named approvers by name, to the role that it was escalated to, or to the host's choice", async () => {
    await using server = await receiveMail();
    const approvers = [{ type: "user", id: "carol" }, { id: 7 }, { id: "nobody" }];
    const people = { carol: "carol@example.test", "7": "seven@example.test" };
    await deliver(at(server.port, { people }), notice({ approvers }));
    await deliver(at(server.port), notice({ roles: ["admin"] }, { kind: "escalated" }));
    const recipients = async ({ tenant_id }: { tenant_id: string | number }) => [`t${tenant_id}@example.test`];
    await deliver(at(server.port, { recipients }));
    const got = await server.inbox.count(3);
    expect(got.map(({ to }) => [...to].sort())).toEqual([
      ["carol@example.test", "seven@example.test"],
      ["boss@example.test"],
      ["t1@example.test"],
    ]);
  });

  it("goes to no approver who asked for what is shown, where the gate leaves it to others", async () => {
    await using server = await receiveMail();
    const approvers = [{ type: "user", id: "carol" }, { id: 7 }, { type: "user", id: "dave" }];
    const people = { carol: "carol@example.test", "7": "seven@example.test", dave: "dave@example.test" };
    const requesters = ["carol", "7"].map((id) => ({ type: "user", id }));
    await deliver(at(server.port, { people }), notice({ approvers, requesters, separation: true }));
    await deliver(at(server.port, { people }), notice({ approvers, requesters }));
    const got = await server.inbox.count(2);
    expect(got.map(({ to }) => to.length)).toEqual([1, 3]);
    expect(got[0]?.to).toEqual(["dave@example.test"]);
  });

  it("without anybody to go to fails, and says for whom an address is wanted", async () => {
    await using server = await receiveMail();
    const nobody = await refusalOf(deliver(at(server.port), notice({ roles: ["auditor", "toString"] })));
    expect([nobody.code, nobody.message]).toEqual(["T6_NOTICE_NOBODY", "there is no address for auditor, toString"]);
    const wrong = async () => ["a@example.test, evil@example.test", "x@y\r\nRCPT TO:<evil@example.test>", "ann"];
    expect((await refusalOf(deliver(at(server.port, { recipients: wrong })))).code).toBe("T6_NOTICE_NOBODY");
    expect(server.inbox.items).toEqual([]);
  });

  it("that reached some is delivered, and says whom it did not reach; one that reached nobody is not", async () => {
    await using server = await receiveMail({
      onRcptTo: ({ address }, _session, done) => done(address.startsWith("ann") ? new Error("unknown here") : null),
    });
    const recipients = () => ["ann@example.test", "bob@example.test", "not an address"];
    expect(await deliver(at(server.port, { recipients }))).toEqual({
      remark: "not reached: not an address, ann@example.test",
    });
    expect((await server.inbox.count(1))[0]?.to).toEqual(["bob@example.test"]);
    await expect(deliver(at(server.port, { recipients: () => ["ann@example.test"] }))).rejects.toThrow(/unknown here/);
  });

  it("to a server that hangs fails within its time", async () => {
    const server = createServer(() => undefined).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    await expect(deliver(at(port, { smtpTimeoutMs: 200 }))).rejects.toThrow(/greeting|timeout/i);
    server.close();
  });

  it("of a gate of a megabyte is cut, and says by how much", async () => {
    await using server = await receiveMail();
    await deliver(at(server.port), notice({ payload: { text: "x".repeat(1_000_000) }, preview: "y".repeat(50_000) }));
    const [got] = await server.inbox.count(1);
    expect(got?.raw.length).toBeLessThan(100_000);
    expect(got?.mail.text).toMatch(/… 980\d{3} more characters/);
    expect(got?.mail.text).toMatch(/… 40\d{3} more characters/);
  });

  it("says how it was decided, by whom and with what words", async () => {
    await using server = await receiveMail();
    const decision = {
      decision: "approve" as const,
      principal: { type: "user", id: "ann", role: "admin" },
      at: "2026-01-02T03:04:05.000Z",
      edited: true,
      resolution: null,
      apply_targets: [],
      comment: "fine\nby me",
      carried_by: [],
      signature: null,
    };
    await deliver(at(server.port), notice({ status: "approved", decision }, { kind: "decided" }));
    const [got] = await server.inbox.count(1);
    expect(got?.mail.subject).toBe("Approved: Send the letter");
    expect(got?.mail.text).toContain("decided   approve by user ann at 2026-01-02T03:04:05.000Z, edited");
    expect(got?.mail.text).toContain("comment   fine‹LF›by me");
  });
});

describe("options of a mail notifier", () => {
  const good = { ...base, smtp: { host: "mail.test" }, roles };
  it.each([
    ["a key that nobody knows", { ...good, role: {} }, 'role: there is no such key; did you mean "roles"?'],
    [
      "a key of smtp that nobody knows",
      { ...good, smtp: { host: "a", prot: 25 } },
      'smtp.prot: there is no such key; did you mean "port"?',
    ],
    ["no console", { ...good, consoleUrl: undefined }, "consoleUrl"],
    ["a console that is a script", { ...good, consoleUrl: "javascript:alert(1)" }, "consoleUrl"],
    ["a sender that is a list", { ...good, from: "a@b.test, c@d.test" }, "from: is an address"],
    ["an address that breaks a header", { ...good, roles: { admin: ["a@b.test\r\nBcc: c@d.test"] } }, "roles.admin.0"],
  ])("with %s are refused", async (_what, options, word) => {
    const refused = await refusalOf((async () => mailNotifier(options as never))());
    expect([refused.code, refused.message]).toEqual([
      "T0_VALIDATION_SCHEMA_MISMATCH",
      expect.stringContaining(`mailNotifier: ${word}`),
    ]);
  });
});
