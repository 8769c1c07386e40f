/** Samples of what the doctor and a what-if report, as schema-samples.ts holds them of the other records. */
import type { Sample } from "./schema-samples.ts";

const ulid = "01KDVDNA0047C4FEZDQK8YZG0N";
const [wf, evt] = ["wf", "evt"].map((prefix) => `${prefix}_${ulid}`);

const obstacle = {
  what: "operator",
  code: "T4_OPERATOR_UNKNOWN",
  name: "Files.Write",
  version: "1.0",
  registered: ["2.0"],
  step_id: "s1",
  gate_id: null,
  reason: "The operator Files.Write@1.0 is not registered.",
};
const done = { step_id: "s1", operator: "Files.Write", operator_version: "1.0" };
const remedy = { kind: "pin", version: "1.0", what: "Register Files.Write@1.0 beside 2.0." };
const finding = {
  workflow_id: wf,
  tenant_id: "acme",
  intent_type: "Repo.ReleaseNotes.Draft",
  version: "1.0",
  state: "waiting_for_user",
  obstacles: [obstacle],
  done: [done],
  remedies: [remedy],
};

const decision = {
  decision: "ALLOW",
  reason: "reads are allowed",
  transform: null,
  redactions: [],
  policies: ["default.read"],
  policy_version: "default-1",
};
const whatIfFinding = {
  kind: "differs",
  workflow_id: wf,
  sequence: 3,
  event_id: evt,
  timestamp: "2026-01-01T00:00:00.000Z",
  stage: "action",
  step_id: "s1",
  subject: "Files.Write",
  was: decision,
  would_be: null,
  reason: "nobody may write",
};
const whatIfReport = {
  policy_version: "strict-1",
  workflows: 1,
  decisions: 4,
  differing: 1,
  unknown: 0,
  changes: { "ALLOW → DENY": 1 },
};

const sampleOf = (sample: object, wrong: object): Sample => ({ sample, wrong: { ...sample, ...wrong } });

const presenting = {
  ...{ what: "raw", definition: "operator", name: "Bank.Pay", version: "1.0", workflow_id: null, gate_id: null },
  ...{ reason: "no member of its input has a title", next: "Give its members titles" },
};

export const reportSamples: Readonly<Record<string, Sample>> = {
  DoctorFinding: sampleOf(finding, { obstacles: obstacle }),
  DoctorQuestion: sampleOf({ workflow_id: wf, intent_type: "Repo.ReleaseNotes.Draft" }, { workflow: wf }),
  DoctorReport: sampleOf({ ok: false, workflows: 3, stranded: 1, presenting: [presenting] }, { ok: "no" }),
  EffectDone: sampleOf(done, { step_id: 1 }),
  Obstacle: sampleOf(obstacle, { what: "weather" }),
  Remedy: sampleOf(remedy, { kind: "wait" }),
  WhatIfFinding: sampleOf(whatIfFinding, { kind: "same" }),
  WhatIfReport: sampleOf(whatIfReport, { changes: { "ALLOW → DENY": "once" } }),
};
