// Run as a process of its own: workflows that end badly, in a kernel whose every way out is a trap. No operator here
// reaches for the outside, so that whatever is sprung is the kernel's. Prints how each ended, and the traps, as JSON.
import { z } from "zod";
import { defineCapability } from "../../src/define/define-capability.ts";
import { defineOperator, type OperatorOptions, operatorError } from "../../src/define/define-operator.ts";
import { definePolicy } from "../../src/index.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { setTraps, tell } from "./traps.ts";

const anything = z.record(z.string(), z.unknown());
type More = Partial<OperatorOptions<typeof anything, z.ZodType<unknown>>>;

/** A package of one step, named by how it goes wrong. */
function packageOf(intentType: string, run: () => unknown, { gate, ...more }: More & { readonly gate?: object } = {}) {
  const operator = defineOperator({ name: `${intentType}.Do`, input: anything, effect: "read", ...more, run });
  const step = { step_id: "s1", name: "the only one", operator: operator.metadata.name, ...(gate && { gate }) };
  const plan = { reasoning: "go wrong", steps: [step] };
  return defineCapability({ intentType, version: "1.0", input: anything, operators: [operator], plan });
}

const throwing = (): never => {
  throw new TypeError("x is not a function");
};
const failing = (): never => {
  throw operatorError({ code: "GONE", category: "dependency", message: "the other side is gone" });
};
const broken = (): never => {
  throw new Error("no plan today");
};
const done = () => "done";
const planless = { ...packageOf("Bad.Planless.Run", done), plan: broken };
const capabilities = [
  packageOf("Bad.Throwing.Run", throwing),
  packageOf("Bad.Failing.Run", failing),
  packageOf("Bad.Silent.Run", () => new Promise(() => undefined), { timeoutSec: 1 }),
  packageOf("Bad.Denied.Run", done),
  planless,
  packageOf("Bad.Gated.Run", done, { gate: { reason: "look first" } }),
];
const denying = definePolicy({
  name: "denying",
  stages: ["action"],
  evaluate: ({ intent }) => (intent.type === "Bad.Denied.Run" ? { decision: "DENY", reason: "no" } : null),
});
const options = { capabilities, policies: [denying], limits: { maxReplans: 1 }, notify: () => undefined };

// What is loaded when it is first needed is loaded before the traps.
await using before = await createTestKernel(options);
await before.run("Bad.Throwing.Run");
setTraps();

const t = await createTestKernel(options);
const ended: Record<string, string> = {};
async function endOf(what: string, id: string): Promise<void> {
  const { state, error } = await t.rest(id);
  ended[what] = state === "failed" ? `${state} ${error?.code}` : state;
}

const threw = await t.submit("Bad.Throwing.Run");
await endOf("throws every time", threw);
await endOf("fails with intent", await t.submit("Bad.Failing.Run"));
await endOf("never answers", await t.submit("Bad.Silent.Run"));
await endOf("is denied by policy", await t.submit("Bad.Denied.Run"));
await endOf("has no such plan", await t.submit("Bad.Planless.Run"));
const { workflow_id: rejected } = await t.run("Bad.Gated.Run");
await t.reject(rejected);
await endOf("is rejected by a person", rejected);
const { workflow_id: cancelled } = await t.run("Bad.Gated.Run");
await t.kernel.cancel(cancelled, testCaller);
await endOf("is cancelled", cancelled);
await t.kernel.retry(threw, testCaller);
await endOf("fails again on retry", threw);
await t.submit("Bad.Silent.Run");
await t.kernel.stop({ drainMs: 0 });
tell({ ended });
