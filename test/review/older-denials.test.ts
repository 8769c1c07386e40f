/** A denial in the ledger of an older kernel, which did not say which rule had decided, still says who blocked. */
import { describe, expect, it } from "vitest";
import type { LedgerEvent } from "../../src/contract/event.ts";
import { projectAudit } from "../../src/tiers/t6-metacognition/project-audit.ts";

const denied = (payload: object): LedgerEvent =>
  ({
    event_id: "evt_1",
    event_type: "POLICY_DECIDED",
    sequence: 1,
    step_id: "s1",
    payload: { stage: "action", decision: "DENY", reason: "no", ...payload },
  }) as unknown as LedgerEvent;

describe("a denial", () => {
  it.each([
    [{ policies: ["one", "other"], decided_by: "other" }, "other"],
    [{ policies: ["one", "other"] }, "one"],
    [{ policies: [] }, "unnamed"],
    [{}, "unnamed"],
  ])("[RLH-02] with %j is Blocked by %s", (payload, policy) => {
    expect(projectAudit([denied(payload)]).map(({ outcome }) => outcome)).toEqual([{ type: "Blocked", policy }]);
  });
});
