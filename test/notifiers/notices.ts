/** Notices to tell, as a kernel makes them, with whatever a gate may hold. */
import type { Gate } from "../../src/contract/gate.ts";
import type { GateNotice, WaitNotice } from "../../src/contract/gate-notice.ts";
import { testGate, testStream } from "../../src/testing/ledger-turns.ts";

const plain = testGate(testStream(1), "a");

/** `gate_now` is the same gate where nothing is said. */
export const notice = (gate: Partial<Gate> = {}, more: Partial<GateNotice> = {}): GateNotice => ({
  notice_id: "ntc_0123456789abcdef0123456789abcdef",
  kind: "opened",
  at: "2026-01-02T03:04:05.000Z",
  tenant_id: 1,
  workflow_id: "wf_00000000000000000000000001",
  intent_type: "Story.Note.Publish",
  gate: { ...plain, ...gate },
  gate_now: { ...plain, ...gate },
  cancelled: null,
  ...more,
});

export const reminder: WaitNotice = {
  ...{ notice_id: "ntc_1123456789abcdef0123456789abcdef", kind: "wait_reminded", at: "2026-01-02T03:04:05.000Z" },
  ...{ tenant_id: 1, workflow_id: "wf_00000000000000000000000001", intent_type: "Deal.Close", step_id: "sign" },
  ...{ title: "Contract signed", event: "contract.signed", key: "c-1", role: "sales", sent: 1, due_at: null },
};

/** What somebody may try to hide, to break out of a line with, or to have run. */
export const hostile = [
  "<script>alert(1)</script><img src=x onerror=alert(1)>",
  "a\r\nBcc: everybody@evil.test\r\n\r\nbody",
  "‮txt.exe​⁦",
  "javascript:alert(1) & \"quoted\" 'single' <!channel> <@U1> *bold* `code`",
  "\u001b[31mred\u0007\u0000",
] as const;

const never = new AbortController().signal;

/** What a notifier is given beside a notice: earlier messages, if there were any. */
export const callWith = (...receipts: readonly string[]) => ({ signal: never, receipts });
