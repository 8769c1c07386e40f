/** The doctor's look at what people see: bare members, facts of members that are not there, and texts that are cut. */
import { expect, it } from "vitest";
import { z } from "zod";
import { type DoctorQuestion, type DoctorReport, defineCapability, defineOperator } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";

const Bare = z.object({ to: z.string(), cents: z.int(), lines: z.array(z.object({ no: z.string() })) });
const Titled = z.object({ to: z.string().meta({ title: "Supplier" }) });
const run = () => 1;

const capabilityOf = (intentType: string, operator: ReturnType<typeof defineOperator>, input: z.ZodType = Titled) =>
  defineCapability({
    ...{ intentType, version: "1.0", input, operators: [operator] },
    plan: ({ input: params }) => ({
      reasoning: "one call",
      steps: [{ step_id: "pay", name: "Pay", operator: operator.metadata.name, params: params as never }],
    }),
  });

async function reportOf(t: TestKernel, asked: DoctorQuestion = {}): Promise<DoctorReport> {
  const found = t.kernel.doctor(asked);
  for (;;) {
    const next = await found.next();
    if (next.done === true) return next.value;
  }
}

const told = ({ presenting }: DoctorReport) => presenting.map(({ what, definition, name }) => [what, definition, name]);

it("finds definitions without present whose members have no title, and leaves the others out", async () => {
  const effect = "final_write";
  const bare = defineOperator({ name: "Bank.Bare", input: Bare, effect, run });
  const titled = defineOperator({ name: "Bank.Titled", input: Titled, effect, run });
  const reads = defineOperator({ name: "Bank.Read", input: Bare, effect: "read", run });
  const present = { title: () => "Pay" };
  const shown = defineOperator({ name: "Bank.Shown", input: Bare, effect, present, run });
  const capabilities = [
    capabilityOf("Bank.A", bare, Bare),
    ...[titled, reads, shown].map((one, i) => capabilityOf(`Bank.T${i}`, one)),
  ];
  await using t = await createTestKernel({ capabilities });
  const report = await reportOf(t);
  expect(report.ok).toBe(true);
  expect(told(report)).toEqual([
    ["raw", "capability", "Bank.A"],
    ["raw", "operator", "Bank.Bare"],
  ]);
  for (const { next } of report.presenting) expect(next).toMatch(/^Give /);
  expect(told(await reportOf(t, { intent_type: "Bank.T0" }))).toEqual([]);
});

it("finds facts that name a member that no input has, at any depth, and none that a schema leaves open", async () => {
  const Open = Bare.extend({ more: z.record(z.string(), z.string()), any: z.unknown(), maybe: Bare.nullable() });
  const paths = [
    "to",
    "lines.*.no",
    "lines.0.no",
    "more.x",
    "any.x",
    "maybe.y",
    "cent",
    "lines.*.nr",
    "to.x",
    "lines.no",
  ];
  const facts = paths.map((value) => ({ label: value, value }));
  const pay = defineOperator({ name: "Bank.Pay", input: Open, effect: "final_write", present: { facts }, run });
  await using t = await createTestKernel({ capabilities: [capabilityOf("Bank.Payment", pay)] });
  const { presenting } = await reportOf(t);
  expect(presenting.map(({ what, reason }) => [what, reason])).toEqual([
    ["missing", 'the fact "cent" names cent, and the input has no cent'],
    ["missing", 'the fact "lines.*.nr" names lines.*.nr, and the input has no nr'],
    ["missing", 'the fact "to.x" names to.x, and the input has no x'],
    ["missing", 'the fact "lines.no" names lines.no, and the input has no no'],
  ]);
});

it("finds what an open gate shows only the beginning of, by its gate; what is decided is left out", async () => {
  const Note = z.object({ text: z.string().meta({ title: "Text" }) });
  const facts = [
    { label: "Text", value: "text" },
    { label: "Lines", value: ({ text }: z.output<typeof Note>) => text.split(" "), format: "list" as const },
  ];
  const pay = defineOperator({ name: "Bank.Pay", input: Note, effect: "final_write", present: { facts }, run });
  // A second gate keeps the workflow from ending.
  const twice = defineCapability({
    ...{ intentType: "Bank.Payment", version: "1.0", input: Note, operators: [pay] },
    plan: ({ input: params, step }) => ({
      reasoning: "two calls",
      steps: ["pay", "later"].map((step_id) =>
        step({ step_id, name: step_id, operator: "Bank.Pay", params: step_id === "pay" ? params : { text: "a" } }),
      ),
    }),
  });
  await using t = await createTestKernel({ capabilities: [twice] });
  const short = await t.submit("Bank.Payment", { text: "a b" });
  const id = await t.submit("Bank.Payment", { text: "word ".repeat(500) });
  for (const one of [short, id]) await t.rest(one);
  const { presenting } = await reportOf(t);
  expect(presenting).toMatchObject([{ what: "cut", name: "Bank.Pay", workflow_id: id, gate_id: "gate-pay" }]);
  expect(presenting[0]?.reason).toContain('only the beginning of the fact "Text", the fact "Lines"');
  expect((await reportOf(t, { workflow_id: short })).presenting).toEqual([]);
  const payload = { comment: "no" };
  const bo = { tenant_id: 1, principal: { type: "user", id: "bo", role: "user" } };
  await t.kernel.decideGate(id, { ...bo, gate_id: "gate-pay", decision: "approve", payload });
  expect((await t.rest(id)).state).toBe("waiting_for_user");
  expect((await reportOf(t)).presenting).toEqual([]);
});
