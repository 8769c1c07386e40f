/** Webhooks: signed so that any receiver of Standard Webhooks can tell, to the host's address and to no other. */

import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { type WebhookOptions, webhookNotifier } from "../../src/observers/notifiers/index.ts";
import { isPrivate } from "../../src/observers/notifiers/post-text.ts";
import { refusalOf } from "../fixtures.ts";
import { callWith, hostile, notice, reminder } from "./notices.ts";
import { receiveHttp } from "./receivers.ts";

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const older = `whsec_${Buffer.alloc(24, 9).toString("base64")}`;

const at = (port: number, more: Partial<WebhookOptions> = {}) =>
  webhookNotifier({ url: `http://127.0.0.1:${port}/in?token=hidden`, secret, allowPrivate: true, ...more });

const { at: _at, kind: _kind, ...shown } = reminder;

const deliver = (notifier: ReturnType<typeof at>, signal = callWith().signal) =>
  notifier.deliver(notice(), { signal, receipts: [] });

describe("a webhook", () => {
  it("carries the notice's id, the time, and a signature that the standard's own library accepts", async () => {
    await using receiver = await receiveHttp();
    const notifier = at(receiver.port, { secret: [secret, older], consoleUrl: "https://gates.test/console" });
    await notifier.deliver(notice({ title: hostile.join(" ") }), callWith());
    const [posted] = await receiver.inbox.count(1);
    const { headers, body, path } = posted!;
    expect([path, headers["webhook-id"], headers["content-type"]]).toEqual([
      "/in?token=hidden",
      notice().notice_id,
      "application/json",
    ]);
    for (const key of [secret, older]) {
      const told = new Webhook(key).verify(body, headers as Record<string, string>) as { data: { gate: object } };
      expect(told).toMatchObject({
        type: "gate.opened",
        timestamp: notice().at,
        data: {
          notice_id: notice().notice_id,
          workflow_id: notice().workflow_id,
          link: "https://gates.test/console/#/w/wf_00000000000000000000000001/g/gate-a",
          gate: { gate_id: "gate-a", truncated: false, payload_digest: "0".repeat(64) },
        },
      });
    }
    expect(() => new Webhook(secret).verify(`${body} `, headers as Record<string, string>)).toThrow();
  });

  it("of a reminder says what is waited for, and withholds the plan's words with linkOnly", async () => {
    await using receiver = await receiveHttp();
    for (const linkOnly of [false, true])
      await at(receiver.port, { linkOnly, consoleUrl: "https://gates.test" }).remind?.(reminder, callWith());
    const [whole, withheld] = (await receiver.inbox.count(2)).map(({ body }) => JSON.parse(body));
    const link = `https://gates.test/#/w/${reminder.workflow_id}`;
    expect(whole).toMatchObject({ type: "wait.reminded", timestamp: reminder.at, data: { ...shown, link } });
    expect(withheld).toMatchObject({ data: { ...shown, title: "", key: "" } });
  });

  it("of a gate of a megabyte is cut, and says so", async () => {
    await using receiver = await receiveHttp();
    await at(receiver.port).deliver(notice({ payload: { text: "x".repeat(1_000_000) } }), callWith());
    const [posted] = await receiver.inbox.count(1);
    expect(posted!.body.length).toBeLessThan(70_000);
    expect(JSON.parse(posted!.body)).toMatchObject({ data: { gate: { truncated: true, payload: null } } });
  });

  it.each([301, 302, 303, 307, 308])("is not sent on to another host (%i)", async (status) => {
    await using elsewhere = await receiveHttp();
    await using receiver = await receiveHttp((response) =>
      response.writeHead(status, { location: `http://127.0.0.1:${elsewhere.port}/in` }).end(),
    );
    const refused = await refusalOf(deliver(at(receiver.port)));
    expect([refused.code, refused.message]).toEqual([
      "T6_NOTICE_REDIRECTED",
      `127.0.0.1:${receiver.port} redirects to 127.0.0.1:${elsewhere.port} (${status})`,
    ]);
    expect(elsewhere.inbox.items).toEqual([]);
  });

  it("follows where its own host keeps method and body, and not for ever", async () => {
    await using receiver = await receiveHttp((response, { path }) =>
      path === "/there" ? response.writeHead(200).end() : response.writeHead(308, { location: "/there" }).end(),
    );
    await deliver(at(receiver.port));
    expect(receiver.inbox.items.map(({ path }) => path)).toEqual(["/in?token=hidden", "/there"]);
    expect(receiver.inbox.items[1]?.body).toBe(receiver.inbox.items[0]?.body);
    await using circle = await receiveHttp((response) => response.writeHead(307, { location: "/again" }).end());
    expect((await refusalOf(deliver(at(circle.port)))).code).toBe("T6_NOTICE_REDIRECTED");
    expect(circle.inbox.items).toHaveLength(4);
    await using seeOther = await receiveHttp((response) => response.writeHead(303, { location: "/x" }).end());
    expect((await refusalOf(deliver(at(seeOther.port)))).code).toBe("T6_NOTICE_REDIRECTED");
  });

  it.each([
    [500, {}, {}],
    [404, {}, {}],
    [429, { "retry-after": "7" }, { retry_after_ms: 7000 }],
    [
      503,
      { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT", date: "Wed, 21 Oct 2026 07:27:15 GMT" },
      { retry_after_ms: 45_000 },
    ],
    [503, { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT", date: "Wed, 21 Oct 2026 08:00:00 GMT" }, {}],
    [503, { "retry-after": "soon" }, {}],
  ])(
    "answered with %i is refused, and says when to come again; the secret part of its address is not told",
    async (status, headers, more) => {
      await using receiver = await receiveHttp((response) => response.writeHead(status, headers).end("why"));
      const refused = await refusalOf(deliver(at(receiver.port)));
      expect([refused.code, refused.detail]).toEqual(["T6_NOTICE_REFUSED", { status, ...more }]);
      expect(JSON.stringify(refused)).not.toContain("hidden");
    },
  );

  it("that is not answered ends when it is told to", async () => {
    await using receiver = await receiveHttp(() => undefined);
    const cut = new AbortController();
    const told = deliver(at(receiver.port), cut.signal);
    await receiver.inbox.count(1);
    cut.abort();
    await expect(told).rejects.toThrow(/abort/i);
  });

  it("reaches no private address unless the host allows it: by number, by name, or by redirect", async () => {
    await using receiver = await receiveHttp();
    for (const host of ["127.0.0.1", "localhost", "[::1]", "0x7f000001", "127.1", "[::ffff:127.0.0.1]"]) {
      const notifier = webhookNotifier({ url: `https://${host}:${receiver.port}/`, secret });
      expect([host, (await refusalOf(deliver(notifier))).code]).toEqual([host, "T6_NOTICE_ADDRESS"]);
    }
    expect(receiver.inbox.items).toEqual([]);
  });

  it.each([
    ["10.0.0.1", true],
    ["169.254.169.254", true],
    ["172.31.255.255", true],
    ["172.32.0.0", false],
    ["100.64.0.1", true],
    ["8.8.8.8", false],
    ["255.255.255.255", true],
    ["::", true],
    ["::ffff:10.0.0.1", true],
    ["::ffff:8.8.8.8", false],
    ["64:ff9b::a00:1", true],
    ["2002:a00:1::", true],
    ["fd00::1", true],
    ["fe80::1", true],
    ["2606:4700::1111", false],
  ])("takes %s for private: %s", (address, expected) => expect(isPrivate(address)).toBe(expected));
});

describe("options of a webhook", () => {
  const good = { url: "https://hooks.test/x", secret };
  it.each([
    ["a key that nobody knows", { ...good, secrets: secret }, 'secrets: there is no such key; did you mean "secret"?'],
    ["plain http to the world", { ...good, url: "http://hooks.test/x" }, "url: is https"],
    ["another protocol", { ...good, url: "ftp://hooks.test/x" }, "url: "],
    ["no address", { ...good, url: "hooks" }, "url: "],
    ["a password in the address", { ...good, url: "https://a:b@hooks.test/" }, "url: carries no name"],
    ["a short secret", { ...good, secret: "whsec_c2hvcnQ=" }, "secret.0: has 24 to 64 bytes"],
    ["a secret in another form", { ...good, secret: "hello" }, "secret.0: is whsec_ and base64"],
    ["a header of its own", { ...good, headers: { "Webhook-Id": "1" } }, "headers: names a header of its own"],
    ["a header that breaks its line", { ...good, headers: { "x-a": "1\r\nx-b: 2" } }, "headers.x-a"],
    ["a kind that there is not", { ...good, kinds: ["opend"] }, "kinds.0"],
    ["a name with spaces", { ...good, name: "my hook" }, "name: has letters, digits and _.-"],
    ["a console with a query", { ...good, consoleUrl: "https://gates.test/?a=1" }, "consoleUrl: "],
  ])("with %s are refused", async (_what, options, word) => {
    const refused = await refusalOf((async () => webhookNotifier(options as never))());
    expect([refused.code, refused.message]).toEqual([
      "T0_VALIDATION_SCHEMA_MISMATCH",
      expect.stringContaining(`webhookNotifier: ${word}`),
    ]);
  });
});
