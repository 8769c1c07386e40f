/**
 * The laws of every shipped package, read from its plan alone. Laws: at most ten steps, only listed operators, no
 * reference without a dependency, no final write without a gate.
 *
 * Never: runs a step; the test of each package does.
 */
import { expect, it } from "vitest";
import type { CapabilityDefinition } from "../../src/contract/capability.ts";
import * as exported from "../../src/packages/capabilities/index.ts";
import { planOf } from "./run-plan.ts";

const { releaseNotes, folderInventory, projectHandover } = exported;
const packages: readonly (readonly [string, CapabilityDefinition, object])[] = [
  ["release notes", releaseNotes, { repo: "." }],
  ["folder inventory", folderInventory, { folder: ".", shards: 7, extensions: [".ts"] }],
  ["handover", projectHandover, { folder: "." }],
];

it.each(packages)(
  "%s: a plan has at most 10 steps, each by a listed operator, each reference among its dependencies",
  async (_name, pkg, input) => {
    const { steps, reasoning } = await planOf(pkg, { input });
    const listed = pkg.operators.map((operator) => (typeof operator === "string" ? operator : operator.metadata.name));
    expect(reasoning).not.toBe("");
    expect(steps.length).toBeLessThanOrEqual(10);
    for (const step of steps) {
      expect(listed).toContain(step.operator);
      const named = [...JSON.stringify(step.params).matchAll(/\{\{([\w-]+)\.output/g)].map((match) => match[1]);
      expect(step.depends_on).toEqual(expect.arrayContaining(named));
      expect(steps.map((other) => other.step_id)).toEqual(expect.arrayContaining([...step.depends_on]));
      if (step.outcome !== undefined) expect(Object.keys(pkg.outcomes)).toContain(step.outcome);
    }
  },
);

it.each(packages)(
  "%s: every final write applies an outcome behind a gate and offers apply, edit and discard",
  async (_name, pkg, input) => {
    const { steps } = await planOf(pkg, { input });
    const writes = steps.filter((step) => step.operator === "File.Write");
    expect(writes.length).toBeGreaterThan(0);
    for (const write of writes) {
      expect(write.gate?.reason).toBeTruthy();
      expect(steps.find((step) => step.step_id === write.applies)?.outcome).toBeDefined();
      expect(pkg.uiActions[write.step_id]?.map((button) => button.action)).toEqual(["apply", "edit", "discard"]);
    }
    expect(Object.keys(pkg.weights)).toEqual(expect.arrayContaining(steps.map((step) => step.step_id)));
  },
);

it.each(packages)("[PLN-10] %s: planning needs no model and is repeatable", async (_name, pkg, input) => {
  expect(await planOf(pkg, { input })).toEqual(await planOf(pkg, { input }));
});
