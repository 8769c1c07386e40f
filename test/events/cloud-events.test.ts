/** Events arrive as CloudEvents, once, in each mode; sources sign them; and notices go out as CloudEvents. */
import { CloudEvent, HTTP, type Message } from "cloudevents";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability } from "../../src/define/define-capability.ts";
import { createEventReceiver, type EventReceiverOptions } from "../../src/faces/events/index.ts";
import { createHttpApp } from "../../src/faces/http/index.ts";
import { webhookNotifier } from "../../src/observers/notifiers/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { counted } from "../fixtures.ts";
import { tokens } from "../http/edge-fixture.ts";
import { callWith, notice, reminder } from "../notifiers/notices.ts";
import { receiveHttp } from "../notifiers/receivers.ts";

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const older = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;
const principal = { type: "service", id: "signatures", role: "admin" };
const source = { path: "/hooks/signatures", secret, tenant_id: 1, principal };

/** Files a contract once it is signed. */
function filing() {
  const file = counted("Deals.File");
  const capability = defineCapability({
    intentType: "Deals.Closing",
    version: "1.0",
    input: z.object({ contract: z.string() }),
    operators: [file.operator],
    plan: ({ input, step, wait }) => {
      const schema = z.object({ by: z.string() });
      const sign = wait({ step_id: "sign", name: "Signed", event: "contract.signed", key: input.contract, schema });
      return {
        reasoning: "File it once it is signed.",
        steps: [sign, step({ step_id: "file", name: "File", operator: "Deals.File", params: { by: sign.output.by } })],
      };
    },
  });
  return { file, capability };
}

async function open(options: EventReceiverOptions = {}) {
  const { file, capability } = filing();
  const t = await createTestKernel({ capabilities: [capability] });
  const receiver = createEventReceiver(t.kernel, { clock: t.clock, ...options });
  const app = createHttpApp(t.kernel, {
    tokens: [...tokens, { token: "sender", tenant_id: 1, principal }],
    mounts: { "/events": receiver.handle },
    callbacks: receiver.callbacks,
  });
  const post = async (path: string, { headers, body }: Message, as = "sender") => {
    const own = { ...(headers as Record<string, string>), ...(as !== "" && { authorization: `Bearer ${as}` }) };
    const init = { method: "POST", headers: own, body: body as string };
    const response = await app.fetch(new Request(`http://127.0.0.1:1${path}`, init));
    const told = (await response.json()) as Readonly<Record<string, unknown>>;
    return { status: response.status, told, code: (told["extensions"] as { code?: string } | undefined)?.code };
  };
  const closing = async (contract: string) => {
    const request = { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } };
    const hint = { intent_type: "Deals.Closing", inputs: { contract } };
    const { workflow_id } = await t.kernel.submit({ ...request, intent_hint: hint });
    await t.clock.settle();
    return workflow_id;
  };
  return { t, file, post, closing, [Symbol.asyncDispose]: () => t[Symbol.asyncDispose]() };
}

const signed = (more: object = {}) =>
  new CloudEvent({
    id: "sig-1",
    source: "/signatures",
    type: "contract.signed",
    subject: "c-1",
    data: { by: "Bo" },
    ...more,
  });

describe("a CloudEvent of a caller", () => {
  it.each(["structured", "binary"] as const)(
    "of %s mode resumes the step that waits for its type and subject, once",
    async (mode) => {
      await using s = await open();
      const id = await s.closing("c-1");
      const first = await s.post("/events", HTTP[mode](signed()));
      expect([first.status, first.told]).toMatchObject([200, { status: "resumed", duplicate: false }]);
      await s.t.rest(id);
      expect(s.file.calls.map(({ input }) => input)).toEqual([{ by: "Bo" }]);
      const second = await s.closing("c-1");
      const again = await s.post("/events", HTTP[mode === "binary" ? "structured" : "binary"](signed()));
      expect(again.told).toMatchObject({ duplicate: true });
      await s.t.clock.settle();
      expect((await s.t.kernel.workflow(second)).state).toBe("waiting");
      expect((await s.post("/events", HTTP[mode](signed({ source: "/other" })))).told).toMatchObject({
        status: "resumed",
      });
    },
  );

  it("of a batch arrives with the others, and a batch with one that is unreadable brings none", async () => {
    await using s = await open();
    const batch = (...events: readonly object[]) => ({
      headers: { "content-type": "application/cloudevents-batch+json; charset=utf-8" },
      body: JSON.stringify(events),
    });
    const [one, two] = [signed({ id: "1", subject: "c-1" }), signed({ id: "2", subject: "c-2" })];
    expect((await s.post("/events", batch(one, { specversion: "1.0" }))).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    expect((await s.post("/events", batch(one, two))).told).toMatchObject({
      results: [
        { status: "kept", duplicate: false },
        { status: "kept", duplicate: false },
      ],
    });
    expect((await s.post("/events", batch(one))).told).toMatchObject({ results: [{ duplicate: true }] });
    for (const contract of ["c-1", "c-2"]) await s.t.rest(await s.closing(contract));
    expect(s.file.calls).toHaveLength(2);
  });

  it("has an attribute beyond ASCII in a header, as the binding writes it", async () => {
    await using s = await open();
    const id = await s.closing("Vertrag Ä 5%");
    const headers = { "content-type": "application/json", "ce-specversion": "1.0", "ce-id": "1", "ce-source": "/s" };
    const subject = "Vertrag%20%C3%84%205%25";
    const own = { ...headers, "ce-type": "contract.signed", "ce-subject": subject };
    expect((await s.post("/events", { headers: own, body: '{"by":"Bo"}' })).told).toMatchObject({ status: "resumed" });
    await s.t.rest(id);
  });

  it.each([
    ["another version", { specversion: "0.3" }, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["no id", { id: undefined }, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["data that are no JSON", { datacontenttype: "text/xml" }, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["data in base64", { data_base64: "AAAA" }, "T0_EVENT_UNREADABLE"],
    ["an attribute that has no name of one", { "My-Extension": 1 }, "T0_EVENT_UNREADABLE"],
    ["a type that is no name", { type: "a b" }, "T0_VALIDATION_SCHEMA_MISMATCH"],
  ])("with %s is refused: %o", async (_what, more, code) => {
    await using s = await open();
    const body = JSON.stringify({ ...signed().toJSON(), ...more });
    const told = await s.post("/events", { headers: { "content-type": "application/cloudevents+json" }, body });
    expect([told.status, told.code]).toEqual([400, code]);
  });

  it("is refused without event:emit, as no CloudEvent, as too large, and with another content", async () => {
    await using s = await open({ limits: { maxBodyBytes: 1000 } });
    const sent = HTTP.structured(signed());
    expect((await s.post("/events", sent, "reader")).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await s.post("/events", sent, "")).status).toBe(401);
    expect((await s.post("/events", { headers: { "content-type": "application/json" }, body: "{}" })).code).toBe(
      "T0_HTTP_MEDIA_TYPE",
    );
    const large = HTTP.structured(signed({ data: { by: "x".repeat(2000) } }));
    expect((await s.post("/events", large)).code).toBe("T0_VALIDATION_PAYLOAD_TOO_LARGE");
    expect((await s.post("/events", sent)).status).toBe(200);
    expect((await s.post("/events", HTTP.structured(signed({ data: { by: "Al" } })))).code).toBe("T4_EVENT_ID_REUSED");
  });
});

describe("a signed webhook", () => {
  const write = (now: number, body: string, { id = "msg-1", key = secret, type = "application/json" } = {}) => {
    const at = new Date(now);
    const signature = new Webhook(key).sign(id, at, body);
    const own = {
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(now / 1000)),
      "webhook-signature": signature,
    };
    return { headers: { "content-type": type, ...own }, body };
  };
  const body = JSON.stringify({
    type: "contract.signed",
    timestamp: "2026-01-01T00:00:00Z",
    data: { by: "Bo", on: "c-1" },
  });

  it("needs no credential, arrives under its key, and once, also with a secret that is being replaced", async () => {
    await using s = await open({ sources: [{ ...source, secret: [secret, older], key: "/on" }] });
    const id = await s.closing("c-1");
    const now = s.t.clock.now();
    expect((await s.post(source.path, write(now, body), "")).told).toMatchObject({ status: "resumed" });
    await s.t.rest(id);
    await s.closing("c-1");
    expect((await s.post(source.path, write(now, body, { key: older }), "")).told).toMatchObject({ duplicate: true });
    expect((await s.post(source.path, write(now, body, { id: "msg-2", key: older }), "")).told).toMatchObject({
      status: "resumed",
    });
  });

  it("may be a CloudEvent, whose subject is the key", async () => {
    await using s = await open({ sources: [source] });
    const id = await s.closing("c-1");
    const type = "application/cloudevents+json";
    const sent = write(s.t.clock.now(), JSON.stringify(signed()), { type });
    expect((await s.post(source.path, sent, "")).told).toMatchObject({ status: "resumed" });
    await s.t.rest(id);
  });

  it("is refused if it is unsigned, altered, of another secret, too old, too early, or without a key", async () => {
    await using s = await open({ sources: [{ ...source, key: "/on" }] });
    const now = s.t.clock.now();
    const code = async (sent: Message) => (await s.post(source.path, sent, "")).code;
    const good = write(now, body);
    for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"])
      expect(await code({ ...good, headers: { ...good.headers, [name]: "" } })).toBe("T0_WEBHOOK_REFUSED");
    expect(await code({ ...good, body: `${body} ` })).toBe("T0_WEBHOOK_REFUSED");
    expect(await code({ ...good, headers: { ...good.headers, "webhook-id": "msg-2" } })).toBe("T0_WEBHOOK_REFUSED");
    expect(await code(write(now, body, { key: older }))).toBe("T0_WEBHOOK_REFUSED");
    expect(await code(write(now - 301_000, body))).toBe("T0_WEBHOOK_REFUSED");
    expect(await code(write(now + 301_000, body))).toBe("T0_WEBHOOK_REFUSED");
    expect(await code(write(now, "[]"))).toBe("T0_EVENT_UNREADABLE");
    expect(await code(write(now, JSON.stringify({ type: "contract.signed", data: {} })))).toBe("T0_EVENT_UNREADABLE");
    expect(await code(good)).toBeUndefined();
  });
});

describe("a notice as a CloudEvent", () => {
  it.each(["structured", "binary"] as const)(
    "of %s mode is read by the standard's own library, and signed",
    async (mode) => {
      await using receiver = await receiveHttp();
      const url = `http://127.0.0.1:${receiver.port}/`;
      const cloudEvents = { source: "https://gates.example/käse", mode };
      const notifier = webhookNotifier({ url, secret, allowPrivate: true, cloudEvents });
      await notifier.deliver(notice(), callWith());
      await notifier.remind?.(reminder, callWith());
      const [gate, wait] = (await receiver.inbox.count(2)).map(({ headers, body }) => {
        const at = new Date(Number(headers["webhook-timestamp"]) * 1000);
        expect(headers["webhook-signature"]).toBe(new Webhook(secret).sign(String(headers["webhook-id"]), at, body));
        return HTTP.toEvent({ headers, body }) as CloudEvent<Readonly<Record<string, unknown>>>;
      });
      expect(gate).toMatchObject({ specversion: "1.0", id: notice().notice_id, type: "gate.opened" });
      expect(gate?.subject).toBe(`${notice().workflow_id}/gate-a`);
      expect(gate?.data).toMatchObject({ notice_id: notice().notice_id, gate: { gate_id: "gate-a" } });
      expect(mode === "binary" ? decodeURIComponent(gate?.source ?? "") : gate?.source).toBe(
        "https://gates.example/käse",
      );
      expect(wait).toMatchObject({ type: "wait.reminded", subject: `${reminder.workflow_id}/${reminder.step_id}` });
    },
  );
});
