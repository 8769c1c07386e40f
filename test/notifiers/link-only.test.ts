/** Notices that say that somebody is asked, and nothing of what. */
import { describe, expect, it } from "vitest";
import type { Gate } from "../../src/contract/gate.ts";
import type { GateNotice } from "../../src/contract/gate-notice.ts";
import { CutGate } from "../../src/contract/listed-gate.ts";
import { mailNotifier, slackNotifier, webhookNotifier } from "../../src/observers/notifiers/index.ts";
import { callWith, notice } from "./notices.ts";
import { receiveHttp, receiveMail } from "./receivers.ts";

const secret = "moonlight-4711";
const consoleUrl = "https://gates.test";
const ann = { type: "human", id: "ann" };
const signature = { jws: secret, jwk: { kty: "OKP", crv: "Ed25519", x: "x" }, kid: null } as const;

/** A gate that holds the secret wherever people, models or programs write. */
const asked = {
  title: secret,
  payload: { [secret]: secret },
  preview: secret,
  diff: secret,
  basis: { [secret]: secret },
  reasons: [{ source: "plan", rule: "declared gate", reason: secret }],
  editable: { target: "payload", defined_by: { name: "N", version: "1" }, value: secret, schema: { title: secret } },
  ui_actions: [{ action: secret, label: secret }],
  votes: [
    {
      ...{ decision: "approve", principal: ann, role: "user", on_behalf_of: null, advisory: false },
      ...{ at: "2026-01-02T03:04:05.000Z", payload_digest: "d", signature, comment: secret },
      ...{ apply_targets: [secret], resolution: "done", result: secret },
    },
  ],
  spent_signatures: [secret],
} as unknown as Partial<Gate>;

const decided = {
  ...{ status: "rejected" },
  decision: {
    ...{ decision: "reject", principal: { ...ann, role: "user" }, at: "2026-01-02T03:04:05.000Z", edited: false },
    ...{
      resolution: "done",
      result_digest: secret,
      apply_targets: [secret],
      comment: secret,
      carried_by: [],
      signature,
    },
  },
} as unknown as Partial<Gate>;

const told: readonly GateNotice[] = [notice(asked), notice({ ...asked, ...decided }, { kind: "decided" })];

const http = { consoleUrl, linkOnly: true, allowPrivate: true } as const;
const webhookAt = (url: string) => webhookNotifier({ url, secret: `whsec_${"A".repeat(40)}`, ...http });
const slackAt = (url: string) =>
  slackNotifier({ url, signingSecret: "s".repeat(32), principalOf: () => null, ...http });

describe.each(told)("a notice with a link only, $kind,", (one) => {
  it.each([webhookAt, slackAt])("is posted without a text of the gate", async (notifierAt) => {
    await using receiver = await receiveHttp();
    await notifierAt(`http://127.0.0.1:${receiver.port}/in`).deliver(one, callWith());
    const [posted] = await receiver.inbox.count(1);
    expect(posted?.body).not.toContain(secret);
    for (const said of [one.gate.gate_id, one.workflow_id, one.gate.operator, one.gate.payload_digest, consoleUrl])
      expect(posted?.body).toContain(said);
    expect(posted?.body).not.toContain("countersign_approve");
  });

  it("is mailed without a text of the gate", async () => {
    await using server = await receiveMail();
    const { port } = server;
    const roles = { user: ["ann@example.test"] };
    const smtp = { host: "127.0.0.1", port };
    await mailNotifier({ from: "gates@test.test", smtp, consoleUrl, roles, linkOnly: true }).deliver(one, callWith());
    const [got] = await server.inbox.count(1);
    expect(got?.raw).not.toContain(secret);
    expect(`${got?.mail.text} ${got?.mail.subject} ${got?.mail.html}`).not.toContain(secret);
    expect(got?.mail.text).toContain(`${consoleUrl}/#/w/`);
    expect(got?.mail.text).toContain("is shown at the gate alone");
  });
});

it("a webhook with a link only holds a gate as lists show it, which says that it is not whole", async () => {
  await using receiver = await receiveHttp();
  await webhookAt(`http://127.0.0.1:${receiver.port}/in`).deliver(notice(), callWith());
  const [posted] = await receiver.inbox.count(1);
  const { data } = JSON.parse(posted?.body ?? "{}") as { data: { gate: unknown } };
  expect(CutGate.parse(data.gate)).toMatchObject({ truncated: true, payload: null, title: notice().gate.operator });
});
