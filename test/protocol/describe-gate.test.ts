/** A gate is described once: each face shows every fact of the description. */
import { describe, expect, it } from "vitest";
import { Gate } from "../../src/contract/gate.ts";
import type { GateNotice } from "../../src/contract/gate-notice.ts";
import { renderGate } from "../../src/faces/cli/render-gate.ts";
import { describeNotice } from "../../src/observers/notifiers/describe-notice.ts";
import { describeGate, factsWithout, type GateSectionId } from "../../src/protocol/describe-gate.ts";
import { tellStanding } from "../../src/protocol/gate-standing.ts";
import { renderGate as renderMcpGate } from "../../src/protocol/tell-gate.ts";
import { sampleGate } from "../cli/sample-gate.ts";

const ann = { type: "user", id: "ann" } as const;
const digest = "0".repeat(64);

/** A gate that says something in every section. */
const fullGate: Gate = Gate.parse({
  ...sampleGate,
  kind: "in_doubt",
  planned_title: "Publish",
  basis: [{ name: "N.md", digest }],
  basis_digest: digest,
  roles: ["editor"],
  added_roles: ["admin"],
  principal_types: ["user"],
  approvers: [ann],
  advisors: ["legal"],
  quorum: { approvals: 2, rejections: 1 },
  separation: true,
  signed: true,
  confirm: "type",
  requester: { type: "user", id: "bob" },
  delegations: [{ from: ann, to: { type: "user", id: "cat" }, expires_at: "2025-01-03T00:00:00.000Z" }],
  due_at: "2025-01-02T00:00:00.000Z",
  expiry_action: "deny",
  doubt: { called_at: "2025-01-01T11:50:00.000Z", error: null },
  edits: [{ by: ann, at: "2025-01-01T11:55:00.000Z", changes: [{ path: "content", from: "a", to: "b" }] }],
  votes: [
    {
      ...{ decision: "approve", principal: ann, role: "editor", on_behalf_of: null, advisory: false },
      ...{ at: "2025-01-01T11:56:00.000Z", payload_digest: digest, signature: null, comment: "fine" },
      apply_targets: ["wiki"],
    },
  ],
  decision: {
    ...{ decision: "approve", principal: { ...ann, role: "editor" }, at: "2025-01-01T11:57:00.000Z", edited: true },
    ...{ resolution: "done", apply_targets: [], comment: "go" },
  },
});

const { tenant_id, workflow_id } = fullGate;
const notice: GateNotice = {
  ...{ notice_id: "ntc_1", kind: "decided", at: "2025-01-01T11:57:00.000Z" },
  ...{ tenant_id, workflow_id, intent_type: "Draft.Notes", gate: fullGate, gate_now: fullGate },
  cancelled: null,
};

const telling = { maxSubject: 200, maxPreview: 2000, maxPayload: 2000, linkOnly: false };
const look = { paint: (_style: unknown, text: string) => text, now: () => Date.parse("2025-01-01T12:00:00.000Z") };

const faces: readonly (readonly [string, string, readonly GateSectionId[]])[] = [
  // The command line and MCP show edits as a text, and MCP offers two answers.
  ["the command line", renderGate(fullGate, look), ["edits"]],
  ["MCP", renderMcpGate(fullGate), ["edits", "effects"]],
  [
    "a notice",
    describeNotice(notice, telling)
      .facts.map(([name, value]) => `${name}: ${value}`)
      .join("\n"),
    ["standing", "votes", "effects"],
  ],
];

describe("the description of a gate", () => {
  const sections = describeGate(fullGate);

  it("has every section for a gate that says something in each", () => {
    expect(sections.map(({ id }) => id)).toEqual([
      ...["edits", "standing", "facts", "why", "what", "doubt", "cost", "who", "votes", "due", "decision"],
      ...["preview", "changes", "payload", "effects", "bound"],
    ]);
  });

  it.each(faces)("is shown by %s with each of its facts", (_face, shown, apart) => {
    const facts = factsWithout(sections, ...apart);
    expect(facts.length).toBeGreaterThan(15);
    expect(facts.filter(({ text }) => !shown.includes(text))).toEqual([]);
  });

  it.each(faces)("leads to what each answer does in %s", (_face, shown) => {
    expect(shown).toContain(fullGate.consequences.approve);
    expect(shown).toContain(fullGate.consequences.reject);
  });

  it("leaves out a section that would say nothing", () => {
    const ids = describeGate({ ...sampleGate, diff: null }).map(({ id }) => id);
    expect(ids).toEqual(["standing", "facts", "why", "what", "cost", "who", "preview", "payload", "effects", "bound"]);
  });
});

const at = "2025-01-01T10:14:00Z";
const quorum = { approvals: 2, rejections: 2 };
const voteOf = (id: string, more: object = {}) => ({
  ...{ decision: "approve" as const, principal: { type: "user", id }, role: "user", on_behalf_of: null },
  ...{ advisory: false, at, payload_digest: digest, signature: null, comment: null },
  ...more,
});
const standing = (more: Partial<Gate>): string => tellStanding({ ...sampleGate, ...more }, () => "10:14");

describe("the standing of a gate", () => {
  it("says the votes that are given, and whom it still waits for", () => {
    expect(standing({})).toBe("It waits for a decision by anybody who may approve.");
    expect(standing({ roles: ["finance"], quorum })).toBe("It waits for 2 approvals by finance.");
    const votes = [voteOf("dana"), voteOf("eve", { advisory: true }), voteOf("bo", { decision: "reject" })];
    const approvers = ["dana", "bo", "cy", "ann"].map((id) => ({ id }));
    const requester = { type: "user", id: "ann" };
    expect(standing({ quorum, votes, approvers, separation: true, requester })).toBe(
      "1 of 2 approvals: user dana approved at 10:14; 1 of 2 rejections: user bo rejected at 10:14. " +
        "It waits for 1 more approval by cy.",
    );
    const missing = [{ role: "finance", approvals: 1 }];
    expect(standing({ quorum, votes: [voteOf("dana", { part: "risk" })], missing })).toBe(
      "1 of 2 approvals: user dana approved at 10:14. It waits for 1 of finance.",
    );
  });

  it("counts the votes of the present stage alone, and says its end once it is decided", () => {
    const stage = { roles: ["legal"], quorum: { approvals: 1, rejections: 1 } };
    const votes = [voteOf("dana", { stage: 1 })];
    expect(standing({ stages: [stage, stage], stage: 2, ...stage, votes })).toBe(
      "Stage 2 of 2: it waits for an approval by legal.",
    );
    const { decision } = fullGate;
    const carried_by = [{ principal: { type: "user", id: "dana" }, on_behalf_of: null }];
    expect(standing({ status: "approved", decision: decision && { ...decision, resolution: null, carried_by } })).toBe(
      "Approved by user ann at 10:14, with user dana, with changes.",
    );
    expect(standing({ status: "expired", due_at: at })).toBe(
      "Nobody decided: its time was over at 10:14, and it ended.",
    );
  });
});
