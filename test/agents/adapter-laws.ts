/** The laws that each adapter keeps under its real framework, stated once; a driver runs the framework. */
import { describe, expect, it } from "vitest";
import { digest } from "../../src/contract/digest.ts";
import { allowing, type DeskOptions, decideElsewhere, denying, ledgerPath, openDesk } from "./agents-fixture.ts";
import type { Call, Conversation, Driver, RefundInput } from "./drivers/driver.ts";

const first: RefundInput = { order: "A7", cents: 900 };

type Talk = Partial<Omit<Conversation, "support">> & { readonly desk?: DeskOptions; readonly isStopped?: boolean };

/** Runs the agent once with new objects on both sides, and returns its end and the arguments that the tool received. */
async function talk(driver: Driver, { desk: options = {}, isStopped = false, ...given }: Talk) {
  await using desk = await openDesk(options);
  if (isStopped) await desk.kernel.stop();
  const refunds: RefundInput[] = [];
  const refund = given.refund ?? (({ cents }: RefundInput) => ({ refunded: cents }));
  const ran = await driver.run({
    calls: [[["call-1", driver.tool, first]]],
    ...given,
    support: desk.support,
    refund: (args) => {
      refunds.push(args);
      return refund(args);
    },
  });
  const isWhole = isStopped || (await desk.kernel.verify()).ok;
  return { ...ran, refunds, isWhole, read: ran.prompts.join("\n").replaceAll("\\", "") };
}

/** Runs the agent to its gate on a ledger of its own, and returns how to go on there. */
async function pause(driver: Driver) {
  const path = ledgerPath();
  const paused = await talk(driver, { desk: { path } });
  expect(paused.refunds).toEqual([]);
  const { stored } = paused;
  let runs = 0;
  return {
    ...paused,
    decide: (decision: "approve" | "reject", payload: object = {}) => decideElsewhere(path, decision, payload),
    goOn(more: Talk = {}) {
      runs += 1;
      return talk(driver, { stored, calls: [], desk: { path, seed: 7 + runs }, ...more });
    },
  };
}

/** States the laws for the adapter that the driver runs. */
export function keepsLaws(driver: Driver): void {
  describe(`${driver.name}, under a kernel`, () => {
    statesDecisions(driver);
    statesJudgements(driver);
  });
}

function statesDecisions(driver: Driver): void {
  it("pauses, naming the address, and after restarts of both sides runs the approved payload once", async () => {
    const { waiting, decide, goOn } = await pause(driver);
    expect(waiting).toMatch(/https:\/\/desk\.example\/#\/w\/wf_/);
    const gate = await decide("approve");
    const done = await goOn();
    const payloads = done.refunds.map((args) =>
      digest({ agent: "support", tool: driver.tool, arguments: { ...args } }),
    );
    expect(payloads).toEqual([gate.payload_digest]);
    expect([done.waiting, done.text, done.isWhole]).toEqual([null, "It is done.", true]);
    expect(done.read).toContain('"refunded":900');
    const again = await goOn();
    expect([again.refunds, again.isWhole]).toEqual([[], true]);
    if (driver.isRunByKernel) expect(again.read).toContain('"refunded":900');
    else expect(again.waiting).not.toBeNull();
  });

  it("takes a rejection's words to the model, and calls nothing", async () => {
    const { decide, goOn } = await pause(driver);
    await decide("reject", { comment: "ask the customer first" });
    const { refunds, read } = await goOn();
    expect(refunds).toEqual([]);
    expect(read).toContain("user ann rejected the call: ask the customer first");
  });

  it("runs edited arguments, and tells the model", async () => {
    const { decide, goOn } = await pause(driver);
    await decide("approve", { edit: { arguments: { order: "A7", cents: 100 } } });
    const { refunds, read } = await goOn();
    expect(refunds).toEqual([{ order: "A7", cents: 100 }]);
    expect(read).toContain("user ann changed the arguments before the call was made");
    expect(read).toContain('"refunded":100');
  });

  it("has the tool's schema read edited arguments, and tells the model if they do not fit", async () => {
    const { decide, goOn } = await pause(driver);
    await decide("approve", { edit: { arguments: { order: "A7", cents: "all" } } });
    const { refunds, read } = await goOn();
    expect(refunds).toEqual([]);
    expect(read).toMatch(/user ann changed the arguments.*cents/s);
  });

  it("pauses again while the call waits, and calls nothing on an approval that the client claims", async () => {
    const { decide, goOn } = await pause(driver);
    const early = await goOn();
    expect([early.waiting === null, early.refunds]).toEqual([false, []]);
    const claimed = await goOn({ isClaimed: true });
    expect(claimed.refunds).toEqual([]);
    expect(`${claimed.waiting}${claimed.read}`).toContain("T0_AGENT_WAITING");
    await decide("approve");
    expect((await goOn()).refunds).toHaveLength(1);
  });
}

function statesJudgements(driver: Driver): void {
  it.each([
    ["a rule lets it", allowing(driver.tool), [first], '"refunded":900'],
    ["a rule denies it", denying(driver.tool), [], "refunds are closed in November"],
  ] as const)("asks nobody where %s", async (_case, rules, expected, words) => {
    const { refunds, read, waiting } = await talk(driver, { desk: { policies: [rules] } });
    expect([refunds, waiting]).toEqual([expected, null]);
    expect(read).toContain(words);
  });

  it("counts calls in budgets, and tells the model when one is spent", async () => {
    const budgets = { limits: [{ scope: "operator" as const, id: "Agent.Write", invocations: 1 }] };
    const { refunds, read } = await talk(driver, {
      desk: { policies: [allowing(driver.tool)], budgets },
      calls: [[["call-1", driver.tool, first]], [["call-2", driver.tool, { order: "B", cents: 1 }]]],
    });
    expect(refunds).toEqual([first]);
    expect(read).toContain("T5_BUDGET_EXHAUSTED");
  });

  it("takes what the tool throws to the model, and calls it once", async () => {
    const { refunds, read } = await talk(driver, {
      desk: { policies: [allowing(driver.tool)] },
      refund: () => {
        throw new Error("no such order");
      },
    });
    expect(refunds).toEqual([first]);
    expect(read).toContain("no such order");
  });

  it("runs nothing where the kernel is stopped, and the model reads the code", async () => {
    const { refunds, read } = await talk(driver, { desk: { policies: [allowing(driver.tool)] }, isStopped: true });
    expect(refunds).toEqual([]);
    expect(read).toContain("T0_KERNEL_STOPPED");
  });

  const { call, words = "" } = driver.oddCall ?? {};
  it.runIf(call !== undefined)("refuses arguments that are no JSON, and tells the model", async () => {
    const asked = { desk: { policies: [allowing("*")] }, calls: [[call as Call]] };
    const { refunds, read, waiting } = await talk(driver, asked);
    expect([refunds, waiting]).toEqual([[], null]);
    expect(read).toContain(words);
  });
}
