// The words of the token kernel: the schema of a token, of its events, and the hash of a context.

import { describe, expect, it } from "vitest";
import {
  CapabilityLimits,
  contextHash,
  GovernorLimits,
  KernelToken,
  TokenEvent,
  TokenKind,
  tokenEventKinds,
  tokenEventToJson,
  withCapability,
} from "../../src/index.ts";
import { draft } from "./kernels.ts";

const minimal = { id: 1, kind: "Reason", priority: 3, context_hash: "abc" } as const;

describe("a token", () => {
  it("[TOK-01] has twelve fields, and defaults fill the optional ones", () => {
    expect(KernelToken.parse(minimal)).toEqual({
      id: 1,
      priority: 3,
      cost: 0,
      kind: "Reason",
      capability: null,
      granted_capabilities: [],
      context_hash: "abc",
      goal: null,
      dependencies: [],
      budget: { limit: null, consumed: 0 },
      resources: { cpu_time: 0, memory_bytes: 0, network_bytes: 0, tokens: 0 },
      payload: null,
    });
    expect(Object.keys(KernelToken.shape)).toHaveLength(12);
  });

  it.each([
    ["priority", 256],
    ["priority", -1],
    ["priority", 1.5],
    ["cost", -1],
    ["cost", 0.5],
    ["cost", Number.NaN],
    ["cost", 2 ** 53],
    ["context_hash", undefined],
    ["context_hash", ""],
    ["id", 0],
    ["id", 1.5],
    ["capability", 0],
    ["granted_capabilities", ["search"]],
    ["dependencies", [-1]],
    ["budget", { limit: -1 }],
    ["budget", { limit: 10, consumed: -1 }],
    ["resources", { tokens: -1 }],
    ["resources", { cpu_time: 0.1 }],
  ])("[TOK-01] a %s of %s is refused", (field, value) => {
    expect(KernelToken.safeParse({ ...minimal, [field]: value }).success).toBe(false);
  });

  it("[TOK-01] every priority from 0 to 255 is one", () => {
    for (const priority of [0, 255]) expect(KernelToken.safeParse({ ...minimal, priority }).success).toBe(true);
  });

  it("[TOK-02] is of one of five kinds", () => {
    const kinds = ["Perception", "Reason", "Plan", "Act", "Reflect"];
    expect(kinds.every((kind) => TokenKind.safeParse(kind).success)).toBe(true);
    expect(["act", "Dream", "", null].some((kind) => TokenKind.safeParse(kind).success)).toBe(false);
  });

  it("[TOK-10] withCapability binds a handle, and leaves the draft that it was given", () => {
    const plain = draft({ goal: "find it" });
    expect(withCapability(plain, 7)).toEqual({ ...plain, capability: 7 });
    expect(plain.capability).toBeUndefined();
  });
});

describe("the hash of a context", () => {
  it("[TOK-09] does not depend on the order of keys, and does on every value", () => {
    expect(contextHash({ a: 1, b: 2 })).toBe(contextHash({ b: 2, a: 1 }));
    expect(contextHash({ a: 1, b: 2 })).not.toBe(contextHash({ a: 1, b: 3 }));
    expect(contextHash({ a: [1, 2] })).not.toBe(contextHash({ a: [2, 1] }));
    expect(contextHash({ a: 1, b: 2 })).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe("a token event", () => {
  const sample = { token_id: 7, timestamp: 33, kind: "custom", label: "execution", detail: { ok: true } } as const;

  it("[EVT-01] prints as the seed's sample, its five keys in order and no other", () => {
    const { detail, label, kind, timestamp, token_id } = TokenEvent.parse(sample);
    const shuffled = { detail, label, kind, timestamp, token_id, more: 1 };
    expect(JSON.stringify(tokenEventToJson(shuffled))).toBe(
      '{"token_id":7,"timestamp":33,"kind":"custom","label":"execution","detail":{"ok":true}}',
    );
  });

  it("[EVT-03] is of one of eleven kinds, and only custom has a label", () => {
    expect(tokenEventKinds).toHaveLength(11);
    for (const kind of tokenEventKinds)
      expect(TokenEvent.safeParse({ ...sample, kind, label: kind === "custom" ? "x" : null }).success).toBe(true);
    expect(TokenEvent.safeParse({ ...sample, kind: "finished", label: null }).success).toBe(false);
    expect(TokenEvent.safeParse({ ...sample, label: null }).success).toBe(false);
    expect(TokenEvent.safeParse({ ...sample, kind: "started" }).success).toBe(false);
    expect(TokenEvent.safeParse({ ...sample, more: 1 }).success).toBe(false);
  });
});

describe("limits", () => {
  it("[CAP-02] [GOV-01] what is left out has no ceiling, and a name that no limit has is refused", () => {
    expect(CapabilityLimits.parse({ max_tokens: 5 })).toEqual({ max_invocations: null, max_tokens: 5 });
    expect(GovernorLimits.parse({})).toEqual({ cpu_time: null, memory_bytes: null, network_bytes: null, tokens: null });
    expect(CapabilityLimits.safeParse({ max_calls: 5 }).success).toBe(false);
    expect(GovernorLimits.safeParse({ cpu: 5 }).success).toBe(false);
  });
});
