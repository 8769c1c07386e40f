/** Samples of the token kernel's schemas, of the same form as the others in schema-samples.ts. */
import type { Sample } from "./schema-samples.ts";

const over = (sample: object, wrong: object): Sample => ({ sample, wrong: { ...sample, ...wrong } });
const plain = (sample: unknown, wrong: unknown): Sample => ({ sample, wrong });

const budget = { limit: 10, consumed: 8 };
const resources = { cpu_time: 3, memory_bytes: 0, network_bytes: 0, tokens: 2 };
const draft = {
  priority: 5,
  cost: 400,
  kind: "Reason",
  capability: 1,
  granted_capabilities: [1, 2],
  context_hash: "0".repeat(64),
  goal: "find it",
  dependencies: [6],
  budget,
  resources,
  payload: { question: "where" },
};
const token = { id: 7, ...draft };
const event = { token_id: 7, timestamp: 33, kind: "custom", label: "execution", detail: { ok: true } };

const limits = { max_invocations: 100, max_tokens: 20_000 };
const usage = { invocations: 3, tokens: 1200 };
const entry = { handle: 1, name: "lookup", limits, usage };
const ceilings = { cpu_time: 12, memory_bytes: null, network_bytes: null, tokens: 20 };
const governor = {
  cpu: { limit: 12, consumed: 3 },
  memory: { limit: null, consumed: 0 },
  network: { limit: null, consumed: 0 },
  tokens: { limit: 20, consumed: 2 },
};
const bounds = {
  max_queued: 10,
  max_submitted: 100,
  max_payload_chars: 1000,
  max_memory_keys: 10,
  max_snapshots: 5,
};
const snapshot = {
  index: 0,
  token_id: 7,
  timestamp: 33,
  events_hash: "0".repeat(64),
  executor_state: { step: 1 },
  restores: null,
  state: {
    last_id: 8,
    queue: [{ token: { ...token, id: 8 }, waits_for: [7] }],
    running: [{ token, checkpoint: { step: 1 }, draws: 2 }],
    failed: [1],
    refused: [2],
    cancelled: [3],
    yielded: [{ token_id: 4, tokens: [5] }],
    capabilities: [entry],
    governor,
    memory: [{ key: "place", value: "here" }],
  },
  previous_hash: "0".repeat(64),
  hash: "1".repeat(64),
};

export const tokenSamples: Readonly<Record<string, Sample>> = {
  CapabilityEntry: over(entry, { name: 1 }),
  CapabilityHandle: plain(1, "1"),
  CapabilityLimits: over(limits, { max_tokens: "many" }),
  CapabilityUsage: over(usage, { tokens: "many" }),
  GovernorLimits: over(ceilings, { cpu_time: "12" }),
  GovernorUsage: over(governor, { cpu: 3 }),
  KernelToken: over(token, { priority: "high" }),
  ResourceRequest: over(resources, { tokens: "2" }),
  TokenBudget: over(budget, { consumed: "8" }),
  TokenCapture: over(
    { seed: 1, limits: { ...ceilings, ...bounds }, events: [event], snapshots: [snapshot] },
    { events: event },
  ),
  TokenDraft: over(draft, { dependencies: 6 }),
  TokenEvent: over(event, { detail: "ok" }),
  TokenEventKind: plain("yielded", 1),
  TokenKernelLimits: over({ ...ceilings, ...bounds }, { max_queued: "10" }),
  TokenKind: plain("Reflect", 5),
  TokenSnapshot: over(snapshot, { state: [] }),
};
