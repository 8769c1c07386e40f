/**
 * The spine of one gated run: every call and every append, in the order in which they happened, each at a time of its
 * own.
 */
import { describe, expect, it } from "vitest";
import { roleAuthenticator } from "../../src/adapters/role-authenticator.ts";
import { templatePlanner } from "../../src/adapters/template-planner.ts";
import { definePolicy } from "../../src/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel, createVirtualClock, memoryLedger, type VirtualClock } from "../../src/testing/index.ts";
import { counted, intent, payloads, step, story } from "../gates/story.ts";
import { rowOpener } from "../ledgers/reseal.ts";

interface Happened {
  readonly what: string;
  readonly at: number;
}

/** A clock on which no two looks show the same time. */
function tickingClock(): VirtualClock {
  const clock = createVirtualClock();
  let looks = 0;
  return {
    ...clock,
    now: () => {
      looks += 1;
      return clock.now() + looks;
    },
  };
}

/** A ledger that tells what was appended once it is committed. */
function toldLedger(tell: (what: string) => void): LedgerStore {
  const store = memoryLedger();
  const open = rowOpener();
  return {
    ...store,
    async append(batch) {
      const receipts = await store.append(batch);
      for (const { row } of batch) for (const e of open(row)) tell(`append ${e.event_type} ${e.step_id ?? ""}`.trim());
      return receipts;
    },
  };
}

async function recordRun() {
  const clock = tickingClock();
  const log: Happened[] = [];
  const tell = (what: string): void => void log.push({ what, at: clock.now() });
  const draft = counted("Note.Draft", {}, () => {
    tell("operator draft");
    return { text: "a" };
  });
  const publish = counted("Note.Publish", { effect: "final_write" }, ({ input }) => {
    tell("operator publish");
    return input;
  });
  const rows = [
    step("draft", draft, { outcome: "Draft.Note" }),
    step("publish", publish, { applies: "draft", params: { text: "{{draft.output.text}}" } }),
  ];
  const roles = roleAuthenticator();
  const rule = definePolicy({
    name: "told",
    stages: ["action"],
    evaluate: ({ subject }) => {
      tell(`policy ${subject.name}`);
      return null;
    },
  });
  const t = await createTestKernel({
    capabilities: [story([draft, publish], rows, { uiActions: { publish: [{ action: "apply", label: "Publish" }] } })],
    clock,
    ledger: toldLedger(tell),
    // By default a call without effect may come before its row.
    durability: "full",
    policies: [rule],
    authenticator: {
      authorize: (who) => {
        tell("authorize");
        return roles.authorize(who);
      },
    },
    planner: {
      plan: (question) => {
        tell("plan");
        return templatePlanner.plan(question);
      },
    },
  });
  t.kernel.bus.items.subscribe((item) => {
    if ("to" in item && item.to === 1 && item.signal.body["schema"] === "SubmitRequest") tell("normalise");
    if ("to" in item && item.to === 2) tell("context");
  });
  return { t, log, tell };
}

describe("the spine", () => {
  it("[EXE-10] is followed by a gated run, call by call and append by append", async () => {
    const { t, log, tell } = await recordRun();
    tell("submit");
    const id = await t.submit(intent);
    const following = (async () => {
      for await (const e of t.kernel.events(id)) tell(`stream ${e.event_type} ${e.step_id ?? ""}`.trim());
    })();
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    tell("decide");
    await t.approve(id);
    expect((await t.rest(id)).state).toBe("completed");
    await following;

    const spine = [
      "submit",
      "authorize",
      "normalise",
      "append INTENT_RECEIVED",
      "context",
      "plan",
      // The turn that made the plan derives all it can: policy is asked, then one commit holds both, then the call.
      "policy draft",
      "append PLAN_CREATED",
      "operator draft",
      "append ACTION_SUCCEEDED draft",
      "append OUTCOME_DRAFTED draft",
      "stream STEP_SUCCEEDED draft",
      "decide",
      "append USER_APPROVED publish",
      "operator publish",
      "append ACTION_SUCCEEDED publish",
      "append OUTCOME_FINALIZED publish",
      "stream STEP_SUCCEEDED publish",
      "append WORKFLOW_COMPLETED",
    ];
    const whats = log.map((l) => l.what);
    expect(spine.filter((w) => !whats.includes(w))).toEqual([]);
    const firsts = whats.filter((w, i) => spine.includes(w) && whats.indexOf(w) === i);
    const late = (w: string): boolean => w === "append WORKFLOW_COMPLETED";
    // A step's end and the workflow's share a row, so the stream hears of both after it.
    expect(firsts.filter((w) => !late(w))).toEqual(spine.filter((w) => !late(w)));

    const types = await t.types(id);
    const order = ["INTENT_RECEIVED", "CONTEXT_BUILT", "PLAN_CREATED", "STEP_STARTED", "ACTION_STARTED"];
    expect(order.map((type) => types.indexOf(type))).toEqual(
      order.map((type) => types.indexOf(type)).toSorted((a, b) => a - b),
    );
    const judged = types.indexOf("POLICY_DECIDED", types.indexOf("STEP_STARTED"));
    expect(judged).toBeLessThan(types.indexOf("ACTION_STARTED"));

    const at = (what: string): number => log.find((l) => l.what === what)?.at ?? Number.NaN;
    for (const name of ["draft", "publish"]) {
      const times = [
        at(`policy ${name}`),
        at(`operator ${name}`),
        at(`append ACTION_SUCCEEDED ${name}`),
        at(`stream STEP_SUCCEEDED ${name}`),
      ];
      expect(times.every((time, i) => i === 0 || time > (times[i - 1] as number))).toBe(true);
    }
    expect(at("append GATE_OPENED publish")).toBeGreaterThan(at("policy publish"));
    expect(at("append GATE_OPENED publish")).toBeLessThan(at("decide"));
    const opened = (await payloads(t, id, "GATE_OPENED"))[0];
    expect(opened?.gate.ui_actions).toEqual([{ action: "apply", label: "Publish" }]);
    await t.kernel.stop({ drainMs: 0 });
  });
});
