/**
 * Nobody is asked about what cannot run, and nobody's approval of it is taken: the gate stays open for who can run it.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type CapabilityDefinition, type LedgerStore, operatorError, toExecutorError } from "../../src/index.ts";
import { createTestKernel, createVirtualClock, memoryLedger, type TestKernel } from "../../src/testing/index.ts";
import { ann, approve, reject, waiting } from "./people.ts";
import { anyObject, type Counted, counted, decide, gateOf, intent, refusalOf, step, steps, story } from "./story.ts";

const gateId = "gate-publish";
const Text = z.object({ text: z.string() });

/** `publish` behind a gate, then `tell`. */
function published(publish: Counted, tell: Counted = counted("Note.Tell"), version = "1.0") {
  const plan = [
    step("publish", publish, { params: { text: "a note" } }),
    step("tell", tell, { depends_on: ["publish"] }),
  ];
  return { publish, tell, capability: story([publish, tell], plan, { version }) };
}

const writer = (more: Parameters<typeof counted>[1] = {}) =>
  counted("Note.Publish", { effect: "final_write", ...more });

/** Stops without closing the ledger, which the next kernel goes on with. */
const kept = (ledger: LedgerStore): LedgerStore =>
  Object.assign(Object.create(ledger), { close: async () => undefined });

let opened = 1;
async function open(ledger: LedgerStore, capability: CapabilityDefinition, policyVersion = "1") {
  opened += 1;
  const clock = createVirtualClock(Date.UTC(2026, 0, opened));
  const host = { capabilities: [capability], policyVersion, seed: opened, clock };
  const t = await createTestKernel({ ...host, ledger: kept(ledger) });
  return t;
}

/** A workflow of this package that waits at its gate in a ledger that other processes then open. */
async function left(capability: CapabilityDefinition) {
  const ledger = memoryLedger();
  await using first = await open(ledger, capability);
  return { ledger, id: await waiting(first) };
}

async function expectRefused(t: TestKernel, id: string, reason: string): Promise<void> {
  const before = await gateOf(t, id, gateId);
  const refused = await refusalOf(approve(t, id, ann));
  expect(refused).toMatchObject({ code: "T5_GATE_NOT_RUNNABLE", detail: { gate_id: gateId, reason } });
  expect(refused.cause === null ? null : toExecutorError(refused.cause).code).toBe(reason);
  await t.clock.settle();
  expect(await gateOf(t, id, gateId)).toEqual(before);
  expect((await t.kernel.workflow(id)).state).toBe("waiting_for_user");
}

describe("an approval of what this process cannot run", () => {
  it("[GAT-04] for want of the operator's version is refused; where it is registered, it is taken", async () => {
    const { capability, publish } = published(writer());
    const { ledger, id } = await left(capability);
    const other = published(writer({ version: "2.0" }));
    await using without = await open(ledger, other.capability);
    await expectRefused(without, id, "T4_OPERATOR_UNKNOWN");
    expect((await gateOf(without, id, gateId)).editable).toMatchObject({ target: "payload", schema: null });
    await using t = await open(ledger, capability);
    await approve(t, id, ann);
    expect((await t.rest(id)).state).toBe("completed");
    expect([publish.calls.length, other.publish.calls.length]).toEqual([1, 0]);
  });

  it("[GAT-04] for want of the operator of a later step is refused before the first has taken effect", async () => {
    const { capability, publish } = published(writer());
    const { ledger, id } = await left(capability);
    const other = published(publish, counted("Note.Tell", { version: "2.0" }));
    await using t = await open(ledger, other.capability);
    await expectRefused(t, id, "T4_OPERATOR_UNKNOWN");
    expect(publish.calls).toEqual([]);
  });

  it("[GAT-04] for want of the package's version is refused", async () => {
    const { capability, publish, tell } = published(writer());
    const { ledger, id } = await left(capability);
    await using t = await open(ledger, published(publish, tell, "2.0").capability);
    await expectRefused(t, id, "T1_NORMALIZE_UNKNOWN_INTENT");
  });

  it("[GAT-04] because its payload is no longer valid is refused; an edit may mend it", async () => {
    const { capability } = published(writer());
    const { ledger, id } = await left(capability);
    const strict = published(writer({ input: z.object({ text: z.string().max(3) }) }));
    await using t = await open(ledger, strict.capability);
    await expectRefused(t, id, "T4_PARAMS_INVALID");
    await approve(t, id, ann, { edit: { text: "ok" } });
    expect((await t.rest(id)).state).toBe("completed");
    expect(strict.publish.calls.map(({ input }) => input)).toEqual([{ text: "ok" }]);
  });

  it("[GAT-04] because its operator says so is refused, with the operator's own code", async () => {
    const place = { isFull: false };
    const check = (): void => {
      if (place.isFull) throw operatorError({ code: "BOARD_FULL", message: "no room", category: "validation" });
    };
    const { capability, publish } = published(writer({ check }));
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    place.isFull = true;
    await expectRefused(t, id, "BOARD_FULL");
    place.isFull = false;
    await approve(t, id, ann);
    expect((await t.rest(id)).state).toBe("completed");
    expect(publish.calls).toHaveLength(1);
  });

  it("[GAT-04] a rejection needs nothing that could run", async () => {
    const { capability } = published(writer());
    const { ledger, id } = await left(capability);
    await using t = await open(ledger, published(writer({ version: "2.0" })).capability);
    expect((await reject(t, id, ann)).status).toBe("rejected");
    expect((await t.rest(id)).state).toBe("cancelled");
  });

  it.each([
    ["the operator", "1.0"],
    ["the package", "2.0"],
  ])("[GAT-04] nor what another policy would let through, where %s is not known", async (_what, version) => {
    const { ledger, id } = await left(published(writer()).capability);
    const without = published(writer({ version: "2.0" }), undefined, version).capability;
    await using t = await open(ledger, without, "2");
    expect((await refusalOf(approve(t, id, ann))).code).toBe("T5_GATE_NOT_RUNNABLE");
    expect((await refusalOf(reject(t, id, ann, { edit: { text: "no" } }))).code).toBe("T5_GATE_NOT_RUNNABLE");
    expect((await reject(t, id, ann)).status).toBe("rejected");
    expect((await t.rest(id)).state).toBe("cancelled");
  });
});

describe("nobody is asked about what cannot run", () => {
  it("[GAT-05] a call that its operator's check refuses fails its step, and no gate opens", async () => {
    const check = ({ input }: { readonly input: unknown }): void => {
      const { text } = Text.parse(input);
      throw operatorError({ code: "BOARD_FULL", message: `no room for ${text}`, category: "validation" });
    };
    const { capability, publish } = published(writer({ check, input: Text }));
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
    const end = await t.run(intent);
    const said = end.steps[0]?.error;
    expect([end.state, said && toExecutorError(said).code, end.gates]).toEqual(["failed", "BOARD_FULL", []]);
    expect(await steps(t, end.workflow_id, ["ACTION_STARTED"])).toEqual([]);
    expect(publish.calls).toEqual([]);
  });

  it("[GAT-05] a check that may pass another time ends its step too: a further attempt would ask nobody", async () => {
    const check = (): void => {
      throw operatorError({ code: "BUSY", message: "not now", category: "transient" });
    };
    const { capability, publish } = published(writer({ check, retry: "STANDARD" }));
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
    const end = await t.run(intent);
    expect([end.state, end.gates, publish.calls]).toEqual(["failed", [], []]);
  });

  it("[GAT-05] a check that never answers is given up in time", async () => {
    const check = (): Promise<void> => new Promise(() => undefined);
    const { capability } = published(writer({ check }));
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
    const end = await t.run(intent);
    expect([end.state, end.steps[0]?.error?.code]).toEqual(["failed", "T4_TOOL_TIMEOUT"]);
  });

  it("[GAT-05] an edit to what the operator's check refuses is refused, and the gate stays as it was", async () => {
    const check = ({ input }: { readonly input: unknown }): void => {
      if (Text.parse(input).text.length > 10)
        throw operatorError({ code: "TOO_LONG", message: "too long", category: "validation" });
    };
    const { capability, publish } = published(writer({ check, input: anyObject }));
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    const before = await gateOf(t, id, gateId);
    const edit = { text: "far too long a text" };
    const refused = await refusalOf(decide(t, id, { decision: "approve", payload: { edit } }));
    expect(toExecutorError(refused).code).toBe("TOO_LONG");
    expect(await gateOf(t, id, gateId)).toEqual(before);
    expect([await steps(t, id, ["GATE_REVISED", "USER_APPROVED"]), publish.calls]).toEqual([[], []]);
  });
});
