/**
 * Samples of the schemas of federated memory, audit and evidence, for schema-samples.ts.
 */
const outcome = { type: "Blocked", policy: "rule" };
const entry = { interaction_id: "evt_01KDVDNA0047C4FEZDQK8YZG0N", outcome, policies: ["rule"], decided_by: 42 };
const queued = { type: "QueuedForReview", review_id: "gate-s3", reviewer: "admin" };
const change = { origin: "replica-a", key: "fact", value: { any: [1] }, version: 3, capability: "memory.facts" };
const report = { applied: 1, stale: ["old"], rejected: [{ key: "k", reason: "replica b is not registered" }] };
const closing = {
  evidence: "closing",
  stream: "wf_01KDVDNA0047C4FEZDQK8YZG0N",
  rows: 3,
  audit_entries: 2,
  reports: 0,
  head: { sequence: 9, hash: "0".repeat(64) },
  hash: "f".repeat(64),
};

export const evidenceSamples = {
  AuditEntry: { sample: entry, wrong: { ...entry, outcome: { type: "Blocked" } } },
  AuditOutcome: { sample: queued, wrong: { ...queued, reviewer: 5 } },
  EvidenceLine: { sample: closing, wrong: { ...closing, rows: "3" } },
  FederatedChange: { sample: change, wrong: { ...change, version: -1 } },
  FederatedSyncReport: { sample: report, wrong: { ...report, stale: "old" } },
};
