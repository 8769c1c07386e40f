/** Workflows of types that other processes drive: recorded here, and continued there. */
import { expect, it } from "vitest";
import { createWorld, job, ledgerPaths, minute, openProcess, step, work } from "../recovery/shared-file.ts";

const freshPath = ledgerPaths();

function gated() {
  const world = createWorld();
  const steps = [step("s1", "Test.Work", { gate: { reason: "look first" } })];
  return { world, capabilities: [job(steps, [work(world, "Test.Work")])] };
}

it("records a request and a decision, and calls nothing, however long nobody drives it", async () => {
  const path = freshPath();
  const { world, capabilities } = gated();
  const elsewhere = ["Test.Job"];
  await using driver = await openProcess(path, { capabilities });
  await using desk = await openProcess(path, { capabilities, elsewhere, at: minute });
  const id = await desk.submit("Test.Job");
  await desk.clock.advance(minute);
  expect(await desk.types(id)).toEqual(["INTENT_RECEIVED"]);
  await driver.clock.advance(minute);
  expect((await driver.rest(id)).state).toBe("waiting_for_user");
  await driver.kernel.stop();
  await desk.approve(id);
  await desk.clock.advance(10 * minute);
  expect([(await desk.kernel.workflow(id)).gates[0]?.status, world.stepsCalled()]).toEqual(["approved", []]);
  await using again = await openProcess(path, { capabilities, at: 20 * minute });
  expect((await again.rest(id)).state).toBe("completed");
  expect(world.stepsCalled()).toEqual(["s1"]);
});

it("continues all other workflows, before and after one that is left to others", async () => {
  const path = freshPath();
  const { world, capabilities } = gated();
  await using desk = await openProcess(path, { capabilities, elsewhere: ["Test.Other"] });
  const id = await desk.submit("Test.Job");
  expect((await desk.rest(id)).state).toBe("waiting_for_user");
  await desk.approve(id);
  expect((await desk.rest(id)).state).toBe("completed");
  expect(world.stepsCalled()).toEqual(["s1"]);
});
