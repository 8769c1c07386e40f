/**
 * Words that came with an edit, of which the ledger need not hold what the person typed: they replay for what they are.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { PolicyRule } from "../../src/contract/policy.ts";
import { definePolicy } from "../../src/index.ts";
import { createTestKernel, createVirtualClock, memoryLedger, type TestKernel } from "../../src/testing/index.ts";
import { letRun } from "../../src/testing/let-run.ts";
import {
  anyObject,
  counted,
  decide,
  eventsOf,
  gateOf,
  held,
  intent,
  Note,
  payloads,
  publishing,
  refusalOf,
  step,
  story,
} from "../gates/story.ts";

const approve = (t: TestKernel, id: string, edit?: object) =>
  decide(t, id, { decision: "approve", payload: edit === undefined ? {} : { edit: edit as never } });

/** The rows as they are stored: events, inputs and answers. */
const textOf = async (t: TestKernel, id: string): Promise<string> =>
  JSON.stringify(await Array.fromAsync(t.kernel.export(id)));

const ruling = (stage: "action" | "outcome", rule: (text: string) => ReturnType<PolicyRule["evaluate"]>) =>
  definePolicy({
    name: "ruling",
    stages: [stage],
    evaluate: ({ subject }) => rule(JSON.stringify(subject.payload)),
  });

describe("a word that came with an edit", () => {
  it("[INV-12] is judged again in a replay though its person has voted and its edit was refused", async () => {
    const gate = { reason: "two look", quorum: { approvals: 2 } };
    const { capability } = publishing({ gate });
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await approve(t, workflow_id);
    const same = await refusalOf(approve(t, workflow_id, { text: "draft 1" }));
    expect(same.code).toBe("T5_EDIT_WITHOUT_EFFECT");
    const last = (await eventsOf(t, workflow_id)).at(-1);
    expect([last?.event_type, last?.payload["stage"]]).toEqual(["POLICY_DECIDED", "gate"]);
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
  });

  it.each([
    ["a payload", () => payloadAlone(), { iban: "DE02" }, "action"],
    ["an outcome", () => publishing().capability, { text: "DE02" }, "outcome"],
  ] as const)(
    "[INV-12] of which policy masks some replays by its digest, and stands unmasked in no row: %s",
    async (_of, make, edit, stage) => {
      const masks = { decision: "ALLOW_WITH_REDACTION", redactions: Object.keys(edit) } as const;
      const mask = ruling(stage, (text) => (text.includes("DE02") ? masks : null));
      await using t = await createTestKernel({ capabilities: [make()], policies: [mask] });
      const { workflow_id } = await t.run(intent);
      await approve(t, workflow_id, edit);
      expect((await t.rest(workflow_id)).state).toBe("completed");
      expect(await textOf(t, workflow_id)).not.toContain("DE02");
      expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
    },
  );

  it.each(["at once", "late"])(
    "[INV-12] of which policy masks some replays though nothing came of it, where the call is judged %s",
    async (when) => {
      const masks = { decision: "ALLOW_WITH_REDACTION" as const, redactions: ["text"] };
      const later = <T>(said: T) => (when === "late" ? new Promise<T>((resolve) => setImmediate(resolve, said)) : said);
      const mask = ruling("outcome", (text) => (text.includes("DE02") ? masks : null));
      const slow = { ...ruling("action", (text) => (text.includes("redacted") ? later(null) : null)), name: "slow" };
      const preview = ({ input }: { readonly input: { readonly text: string } }) =>
        input.text === "[redacted]" ? new Promise(() => undefined) : { preview: input.text };
      const { capability } = publishing({}, {}, { preview: preview as never });
      const capabilities = [capability];
      const policies = [mask, slow];
      const ledger = Object.assign(Object.create(memoryLedger()), { close: async () => undefined });
      const first = await createTestKernel({ capabilities, policies, ledger });
      const { workflow_id } = await first.run(intent);
      void approve(first, workflow_id, { text: "DE02" }).catch(() => undefined);
      await letRun();
      const stages = (await eventsOf(first, workflow_id)).slice(-3).map((event) => event.payload["stage"]);
      await first.kernel.stop({ drainMs: 0 });
      expect(stages).toEqual(["gate", "outcome", "action"]);
      await using t = await createTestKernel({ capabilities, policies, ledger, seed: 2 });
      await approve(t, workflow_id);
      await t.clock.advance(60_000);
      expect((await t.rest(workflow_id)).state).toBe("completed");
      expect(await textOf(t, workflow_id)).not.toContain("DE02");
      expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
    },
  );

  it.each([
    ["that takes anything", Note.loose()],
    ["that takes nothing unknown", Note.strict()],
  ])(
    "[INV-12] that policy denies stands as it was denied, and in no row, under a schema %s",
    async (_which, schema) => {
      const deny = ruling("outcome", (text) =>
        text.includes("secret") ? { decision: "DENY", reason: "secret" } : null,
      );
      const { capability } = publishing({}, { outcomes: { "Draft.Note": schema } });
      await using t = await createTestKernel({ capabilities: [capability], policies: [deny] });
      const { workflow_id } = await t.run(intent);
      expect((await refusalOf(approve(t, workflow_id, { text: "a secret" }))).code).toBe("T5_POLICY_DENIED");
      expect(await textOf(t, workflow_id)).not.toContain("a secret");
      expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
      await approve(t, workflow_id, { text: "better" });
      expect((await t.rest(workflow_id)).state).toBe("completed");
      expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
    },
  );

  it("[INV-12] is read apart from the plain word that its person said while it was prepared", async () => {
    const shown = held<{ preview: string }>();
    const preview = ({ input }: { input: object }) => ("edited" in input ? shown.promise : { preview: "plain" });
    const send = counted("Note.Send", { effect: "write_draft", input: anyObject, preview: preview as never });
    const gate = { reason: "two look", quorum: { approvals: 2 } };
    await using t = await createTestKernel({ capabilities: [story([send], [step("s", send, { gate })])] });
    const { workflow_id } = await t.run(intent);
    const edited = decide(t, workflow_id, {
      decision: "approve",
      payload: { edit: { edited: true }, comment: "as edited" },
    });
    await letRun();
    await decide(t, workflow_id, { decision: "approve", payload: { comment: "as it was" } });
    shown.release({ preview: "edited" });
    await edited;
    const votes = await payloads(t, workflow_id, "GATE_VOTED");
    expect(votes.map(({ comment }) => comment)).toEqual(["as it was", "as edited"]);
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
  });

  it("[INV-12] refused for changing nothing is refused again when another process decides it", async () => {
    const ledger = Object.assign(Object.create(memoryLedger()), { close: async () => undefined });
    const clock = createVirtualClock();
    const throws = counted("Note.Lost", { effect: "write_draft" }, () => Promise.reject(new Error("reset")));
    const busy = counted("Note.Busy", { effect: "none" }, () => new Promise(() => undefined));
    const send = counted("Note.Send", { effect: "write_draft", input: anyObject });
    const rows = [
      step("lost", throws),
      step("busy", busy),
      step("s", send, { gate: { reason: "look" }, params: { text: "a" } }),
      step("after", busy, { depends_on: ["lost"] }),
    ];
    const options = { capabilities: [story([throws, busy, send], rows)], ledger, clock };
    await using owner = await createTestKernel(options);
    await using other = await createTestKernel({ ...options, seed: 2, recover: false });
    const workflow_id = await owner.submit(intent);
    await letRun();
    await other.approve(workflow_id, "gate-lost_doubt1", { resolution: "done" });
    const edited = { gate_id: "gate-s", decision: "approve", payload: { edit: { text: "a" } } } as const;
    expect((await refusalOf(decide(owner, workflow_id, edited))).code).toBe("T5_EDIT_WITHOUT_EFFECT");
    const left = (await eventsOf(owner, workflow_id))
      .slice(-5)
      .map(({ event_type: type, step_id }) => `${type} ${step_id}`);
    expect(left.slice(0, 2)).toEqual(["POLICY_DECIDED s", "STEP_SUCCEEDED lost"]);
    expect((await owner.kernel.replay(workflow_id)).difference).toBeNull();
  });

  it("[INV-12] masked as an outcome and denied as a call is refused again", async () => {
    const mask = ruling("outcome", (text) =>
      text.includes("DE02") ? { decision: "ALLOW_WITH_REDACTION", redactions: ["text"] } : null,
    );
    const deny = {
      ...ruling("action", (text) => (text.includes("redacted") ? { decision: "DENY", reason: "no" } : null)),
    };
    const policies = [mask, { ...deny, name: "no masks" }];
    await using t = await createTestKernel({ capabilities: [publishing().capability], policies });
    const { workflow_id } = await t.run(intent);
    expect((await refusalOf(approve(t, workflow_id, { text: "DE02" }))).code).toBe("T5_POLICY_DENIED");
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
  });

  it.each([0, 300])(
    "[INV-12] of which a rule masks some that takes %d ms replays by what policy was asked of",
    async (ms) => {
      const clock = createVirtualClock();
      const mask = ruling("action", async (text) => {
        if (!text.includes("DE02")) return null;
        if (ms > 0) await new Promise<void>((end) => clock.setTimer(clock.now() + ms, end));
        return { decision: "ALLOW_WITH_REDACTION", redactions: ["iban"] };
      });
      await using t = await createTestKernel({ clock, capabilities: [payloadAlone()], policies: [mask] });
      const { workflow_id } = await t.run(intent);
      const said = approve(t, workflow_id, { iban: "DE02", text: "b" });
      await letRun();
      await t.clock.advance(ms);
      await said;
      expect((await t.rest(workflow_id)).state).toBe("completed");
      expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
    },
  );

  it("[INV-12] that is masked to the gate's text is not taken for the edit that made it", async () => {
    const mask = ruling("action", (text) =>
      text.includes("DE0") ? { decision: "ALLOW_WITH_REDACTION", redactions: ["iban"] } : null,
    );
    const gate = { reason: "two look", quorum: { approvals: 2 } };
    const capability = payloadAlone({ gate });
    await using t = await createTestKernel({ capabilities: [capability], policies: [mask] });
    const { workflow_id } = await t.run(intent);
    expect((await approve(t, workflow_id, { iban: "DE02" })).status).toBe("voted");
    const { payload_digest } = await gateOf(t, workflow_id, "gate-w");
    const another = { payload_digest, edit: { iban: "DE03" } };
    const refused = await refusalOf(decide(t, workflow_id, { decision: "approve", payload: another }));
    expect(refused.code).toBe("T5_EDIT_WITHOUT_EFFECT");
    expect(await textOf(t, workflow_id)).not.toMatch(/DE0[23]/);
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
  });

  it.each([
    ["on what the call rests on since", true],
    ["as policy knew it already", false],
  ])("[INV-12] refused since it leaves another gate to nobody is refused again, %s", async (_how, moves) => {
    let shown = 0;
    const preview = () => {
      shown += 1;
      return { preview: "a write", ...(moves && shown > 1 ? { basis: [{ name: "it", digest: "1" }] } : {}) };
    };
    const write = counted("Note.Write", { effect: "final_write", input: anyObject, preview });
    const bob = { type: "user", id: "bob" };
    const rows = [
      step("w", write, { params: { text: "a" } }),
      step("x", write, { gate: { reason: "apart", separation: true, approvers: [bob] } }),
    ];
    await using t = await createTestKernel({ capabilities: [story([write], rows)] });
    const { workflow_id } = await t.run(intent);
    const said = {
      tenant_id: 1,
      principal: { ...bob, role: "admin" },
      gate_id: "gate-w",
      decision: "approve",
    } as const;
    for (let i = 0; i < 2; i += 1) {
      const edited = t.kernel.decideGate(workflow_id, { ...said, payload: { edit: { text: "b" } } });
      expect((await refusalOf(edited)).code).toBe("T5_GATE_CONFLICT");
    }
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
  });
});

function payloadAlone(more: object = {}) {
  const input = z.record(z.string(), z.unknown());
  const write = counted("Note.Write", { effect: "final_write", input });
  return story([write], [step("w", write, { params: { text: "a" }, ...more })]);
}
