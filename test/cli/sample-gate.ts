/** A gate as the terminal shows it. */

import { plainGate } from "../../src/contract/events.ts";
import type { Gate } from "../../src/contract/gate.ts";

export const sampleGate: Gate = {
  ...plainGate,
  gate_id: "gate-publish",
  tenant_id: 1,
  workflow_id: "wf_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  step_id: "publish",
  kind: "approval",
  status: "open",
  title: "Publish the notes",
  operator: "File.Write",
  reasons: [{ source: "plan", rule: "gate", reason: "publishing writes a file" }],
  target: { type: "Draft.ReleaseNotes", outcome_id: "out_01ARZ3NDEKTSV4RRFFQ69G5FAV", version: 1 },
  payload: { content: "# Notes" },
  payload_digest: "abc123",
  policy_version: "1",
  preview: "# Notes\n- one\n- two\n- three",
  diff: "--- a/N.md\n+++ b/N.md\n@@ -0,0 +1 @@\n+# Notes",
  risk_level: "medium",
  estimated_cost: 2,
  effect: "final_write",
  consequences: { approve: "It is written.", reject: "Nothing is written.", edit: "A new version." },
  ui_actions: [],
  roles: null,
  opened_at: "2025-01-01T11:57:00Z",
  due_at: null,
  expiry_action: null,
  escalate_to: null,
  decision: null,
};
