/** inspectKernel: late is as good as early, nothing costs without viewers, and nobody sees what is another's. */
import { describe, expect, it } from "vitest";
import type { Inspection } from "../../src/contract/inspection.ts";
import { type InspectOptions, type Inspector, inspectKernel, playEvents } from "../../src/observers/inspect/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { errand, gated, intentType, oneStep, operator, step } from "../actors/fixture.ts";
import { eventsOf, refusalOf } from "../fixtures.ts";
import { countingLedger } from "../streams/counting-ledger.ts";
import { pictureOf, statesIn } from "./story.ts";

/** All that a viewer is told until the picture holds, or the feed ends. */
async function watchUntil(
  viewer: AsyncIterator<Inspection, void, void>,
  isOver: (told: readonly Inspection[]) => boolean,
): Promise<readonly Inspection[]> {
  const told: Inspection[] = [];
  while (!isOver(told)) {
    const next = await viewer.next();
    if (next.done === true) break;
    told.push(next.value);
  }
  return told;
}

const isOf = (told: readonly Inspection[], type: string): boolean =>
  told.some((message) => message.type === "@xstate.event" && message.event.type === type);

const isSnapshot = (last: Inspection | undefined, id: string, value: string): boolean =>
  last?.type === "@xstate.snapshot" && last.sessionId === id && last.snapshot.value === value;

const withoutHosts = (told: readonly Inspection[]): readonly Inspection[] =>
  told.filter(({ sessionId, ...rest }) => !("name" in rest && /^(kernel|t\d)$/.test(sessionId)));

async function approveAndEnd(t: TestKernel, id: string): Promise<void> {
  await t.approve(id);
  await t.rest(id);
}

const watchAll = (inspector: Inspector): Promise<readonly Inspection[]> => Array.fromAsync(inspector.watch());

describe("a viewer of one workflow", () => {
  it.each(["at once", "while it waits for a person", "after it has ended"])(
    "who comes %s is told the same, as a player of its ledger tells it",
    async (when) => {
      await using t = await createTestKernel({ capabilities: [gated()] });
      const id = await t.submit(intentType);
      const options: InspectOptions = { workflows: [id], tiers: false };
      const begun = when === "at once" ? watchAll(inspectKernel(t.kernel, options)) : null;
      await t.rest(id);
      const parked = when === "while it waits for a person" ? watchAll(inspectKernel(t.kernel, options)) : null;
      await approveAndEnd(t, id);
      const told = await (begun ?? parked ?? watchAll(inspectKernel(t.kernel, options)));
      const played = await Array.fromAsync(playEvents(await eventsOf(t, id)));
      expect(withoutHosts(told)).toEqual(withoutHosts(played));
    },
  );

  it("sees the tiers speak: questions and answers, by name, between tiers that were told", async () => {
    await using t = await createTestKernel({ capabilities: [gated()] });
    const { workflow_id } = await t.run(intentType);
    const viewer = inspectKernel(t.kernel, { workflows: [workflow_id] }).watch();
    const began = await watchUntil(viewer, (told) => isOf(told, "WORKFLOW_WAITING"));
    expect(pictureOf(began).get("t4")?.name).toBe("T4 execution");
    await approveAndEnd(t, workflow_id);
    const told = await watchUntil(viewer, () => false);
    const arrows = told.flatMap((m) =>
      m.type === "@xstate.event" ? [`${m.sourceId} → ${m.sessionId}: ${m.event.type}`] : [],
    );
    expect(arrows).toEqual(
      expect.arrayContaining([`user:1 → ${workflow_id}/s2: USER_APPROVED`, `t4 → t5: CALL_QUESTION`]),
    );
  });

  it("is refused a workflow that there is not, and options that are none", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep()] });
    const other = { tenant_id: 2, principal: testCaller.principal };
    const id = await t.submit(intentType);
    const refused = async (options: InspectOptions): Promise<string> =>
      (await refusalOf((async () => watchAll(inspectKernel(t.kernel, options)))())).code;
    expect(await refused({ workflows: [id], caller: other })).toBe("T4_WORKFLOW_NOT_FOUND");
    expect(await refused({ workflows: ["wf_none"] })).toBe("T4_WORKFLOW_NOT_FOUND");
    const wrong: readonly object[] = [
      { workflow: [id] },
      { workflows: id },
      { sample: 2 },
      { maxActors: 0 },
      { speed: 0 },
      { show: ["all"] },
      { tiers: true, caller: testCaller },
    ];
    for (const options of wrong) expect(await refused(options)).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    expect(t.kernel.vitals().listeners).toBe(1);
  });
});

describe("what viewing costs", () => {
  it("is nothing without viewers, and nothing again once the last has left, also while it waits", async () => {
    await using t = await createTestKernel({ capabilities: [gated()] });
    const { workflow_id } = await t.run(intentType);
    const before = t.kernel.vitals();
    const inspector = inspectKernel(t.kernel, { workflows: "awake" });
    expect(t.kernel.vitals()).toEqual(before);
    const viewer = inspector.watch();
    await watchUntil(viewer, (told) => isOf(told, "WORKFLOW_WAITING"));
    const waiting = watchUntil(viewer, () => false);
    await t.clock.settle();
    expect([inspector.viewers(), t.kernel.vitals().listeners > before.listeners]).toEqual([1, true]);
    await viewer.return?.();
    await waiting;
    await t.clock.settle();
    expect([inspector.viewers(), t.kernel.vitals()]).toEqual([0, before]);
    expect(workflow_id).toBeDefined();
  });
});

describe("a viewer of all that have not ended", () => {
  it("is told what waits and what begins, each from its first event on, and lets go of what has ended", async () => {
    await using t = await createTestKernel({ capabilities: [gated()] });
    const first = (await t.run(intentType)).workflow_id;
    const viewer = inspectKernel(t.kernel, { tiers: false }).watch();
    const began = await watchUntil(viewer, (told) => isOf(told, "WORKFLOW_WAITING"));
    expect(pictureOf(began).has(first)).toBe(true);
    const second = (await t.run(intentType)).workflow_id;
    await approveAndEnd(t, first);
    const more = await watchUntil(viewer, (told) => isSnapshot(told.at(-1), first, "completed"));
    const picture = pictureOf([...began, ...more]);
    expect(statesIn(picture, second)[second]).toBe("waiting_for_user");
    await viewer.return?.();
  });

  it("reads no log again for what is committed while it views", async () => {
    const readsOf = async (isViewed: boolean): Promise<number> => {
      const { store, counts } = countingLedger();
      await using t = await createTestKernel({ ledger: store, capabilities: [gated()] });
      const viewer = inspectKernel(t.kernel, { tiers: false }).watch();
      const seen = isViewed ? watchUntil(viewer, (told) => isOf(told, "WORKFLOW_COMPLETED")) : null;
      await t.clock.settle();
      const before = counts.read;
      await approveAndEnd(t, (await t.run(intentType)).workflow_id);
      await seen;
      await viewer.return?.();
      return counts.read - before;
    };
    expect(await readsOf(true)).toBe(await readsOf(false));
  });

  it("is told no more actors at once than it may be, is told so, and gets the next workflow whole", async () => {
    await using t = await createTestKernel({ capabilities: [gated()] });
    const first = (await t.run(intentType)).workflow_id;
    const viewer = inspectKernel(t.kernel, { tiers: false, maxActors: 4 }).watch();
    const began = await watchUntil(viewer, (told) => isOf(told, "WORKFLOW_WAITING"));
    const second = (await t.run(intentType)).workflow_id;
    const full = await watchUntil(viewer, (told) => isOf(told, "INSPECTOR_FULL"));
    expect(pictureOf([...began, ...full]).has(second)).toBe(false);
    await approveAndEnd(t, first);
    await watchUntil(viewer, (told) => isOf(told, "WORKFLOW_COMPLETED"));
    await approveAndEnd(t, second);
    const whole = await watchUntil(viewer, (told) => isOf(told, "WORKFLOW_COMPLETED"));
    expect(isOf(whole, "INTENT_RECEIVED")).toBe(true);
    await viewer.return?.();
  });

  it("keeps of a sample whole workflows, the same for every viewer", async () => {
    await using t = await createTestKernel({ capabilities: [gated()] });
    for (let run = 0; run < 12; run += 1) await t.run(intentType);
    const seen = async (): Promise<readonly string[]> => {
      const stop = new AbortController();
      const viewer = inspectKernel(t.kernel, { tiers: false, sample: 0.5 }).watch(stop.signal);
      const told = watchUntil(viewer, () => false);
      await t.clock.settle();
      stop.abort();
      const shown = (await told).flatMap((m) =>
        m.type === "@xstate.actor" && m.parentId === "t4" ? [m.sessionId] : [],
      );
      return shown;
    };
    const once = await seen();
    expect(once.length).toBeGreaterThan(0);
    expect(once.length).toBeLessThan(12);
    expect(await seen()).toEqual(once);
  });

  it("never hears of another tenant", async () => {
    await using t = await createTestKernel({ capabilities: [gated()] });
    const mine = (await t.run(intentType)).workflow_id;
    const theirs = (await t.run(intentType, {}, { tenant_id: 2 })).workflow_id;
    const stop = new AbortController();
    const viewer = inspectKernel(t.kernel, { caller: testCaller }).watch(stop.signal);
    const told = watchUntil(viewer, () => false);
    await t.clock.settle();
    const later = (await t.run(intentType, {}, { tenant_id: 2 })).workflow_id;
    await t.clock.settle();
    stop.abort();
    const text = JSON.stringify(await told);
    expect([mine, theirs, later].map((id) => text.includes(id))).toEqual([true, false, false]);
  });
});

describe("what is shown by default", () => {
  const secret = "s3cret-Zebra";
  const leaky = () =>
    errand(
      [
        step("s1", "Test.Leaks", {
          name: `title ${secret}`,
          params: { status: secret, operator: secret, key: secret },
        }),
        step("s2", "Test.Fails", {
          depends_on: ["s1"],
          params: { principal: { id: secret, type: secret } },
          gate: { reason: secret },
        }),
      ],
      [
        operator("Test.Leaks", () => ({ status: secret, decision: secret, text: secret })),
        operator("Test.Fails", () => Promise.reject(new Error(secret)), { retry: "NONE" }),
      ],
    );

  it("holds no payload, no title, no message and no Signal's body", async () => {
    await using t = await createTestKernel({ capabilities: [leaky()] });
    const stop = new AbortController();
    const told = watchUntil(inspectKernel(t.kernel, {}).watch(stop.signal), () => false);
    await t.clock.settle();
    const id = await t.submit(intentType, { note: secret, status: secret });
    await t.rest(id);
    await t.approve(id, undefined, { comment: secret });
    await t.rest(id);
    await t.clock.settle();
    stop.abort();
    const text = JSON.stringify(await told);
    expect(JSON.stringify(await eventsOf(t, id))).toContain(secret);
    expect(text).toContain(id);
    expect(text).not.toContain(secret);
  });
});
