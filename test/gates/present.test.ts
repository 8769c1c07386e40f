/** How operators and packages present calls and requests to people, and what is shown of those that present nothing. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Gate } from "../../src/contract/gate.ts";
import { maxFacts } from "../../src/contract/present.ts";
import { defineOperator, type OperatorOptions } from "../../src/define/define-operator.ts";
import { nameRun } from "../../src/protocol/name-run.ts";
import { sumFacts, tellFact } from "../../src/protocol/present-facts.ts";
import { readMail } from "../../src/protocol/read-mail.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { counted, decide, eventsOf, gateOf, intent, payloads, refusalOf, step, story } from "./story.ts";

type Present = NonNullable<OperatorOptions<z.ZodType, z.ZodType>["present"]>;
interface Bill {
  readonly to: { readonly name: string };
  readonly amount: number;
  readonly lines: readonly { readonly what: string }[];
}

const input = z.object({
  to: z.object({ name: z.string().meta({ title: "Who is paid" }) }),
  amount: z.number(),
  lines: z.array(z.object({ what: z.string() })).default([]),
  payDay: z.iso.date().optional(),
});
const inputs = { to: { name: "Miller" }, amount: 61_000.5, lines: [{ what: "paper" }, { what: "ink" }] };
const bill = (given: unknown) => given as Bill;

const present: Present = {
  title: (given) => `Pay ${bill(given).to.name} ${bill(given).amount}`,
  summary: (given) => `${bill(given).lines.length} lines`,
  facts: [
    { label: "Amount", value: "amount", format: "money", currency: "EUR", total: true },
    { label: "Lines", value: "lines.*.what", format: "list" },
    { label: "To", value: (given) => ({ type: "firm", id: bill(given).to.name }), format: "person" },
    { label: "Absent", value: "nothing.here" },
  ],
};

/** A package with one payment that waits for a person; its step's name is `pay`. */
function paying(given: Present | undefined, more: object = {}) {
  const pay = counted("Bank.Pay", { effect: "final_write", input, ...(given && { present: given }) });
  return story([pay], [step("pay", pay, { params: inputs, ...more })]);
}

const gateId = "gate-pay";
const facts = ({ facts: all = [] }: Gate) => all.map((one) => `${one.label}: ${tellFact(one)}`);

describe("what an operator presents", () => {
  it("is recorded with the gate, is part of what lists give, and is read from the record by a replay", async () => {
    let asked = 0;
    const title: Present["title"] = (given) => {
      asked += 1;
      return `Pay ${bill(given).to.name}`;
    };
    await using t = await createTestKernel({ capabilities: [paying({ ...present, title })] });
    const { workflow_id: id } = await t.run(intent);
    const [opened] = await payloads(t, id, "GATE_OPENED");
    const shown = ["Amount: 61,000.50 EUR", "Lines: paper, ink", "To: firm Miller"];
    expect(facts(opened?.gate as Gate)).toEqual(shown);
    const [listed] = await t.kernel.gates({}, testCaller);
    expect(listed).toMatchObject({ title: "Pay Miller", planned_title: "pay", summary: "2 lines" });
    expect(facts(listed as Gate)).toEqual(shown);
    const { length } = await eventsOf(t, id);
    const before = asked;
    expect((await t.kernel.replay(id)).difference).toBeNull();
    expect([asked, (await eventsOf(t, id)).length]).toEqual([before, length]);
  });

  it("follows an edit of the payload", async () => {
    await using t = await createTestKernel({ capabilities: [paying(present, { gate: { separation: true } })] });
    const { workflow_id: id } = await t.run(intent);
    const { payload_digest } = await gateOf(t, id, gateId);
    const by = { tenant_id: 1, principal: { type: "user", id: "bo", role: "user" } };
    const payload = { payload_digest, edit: { amount: 610 } };
    await t.kernel.decideGate(id, { ...by, gate_id: gateId, decision: "approve", payload });
    const gate = await gateOf(t, id, gateId);
    expect([gate.title, gate.planned_title, facts(gate)[0]]).toEqual(["Pay Miller 610", "pay", "Amount: 610.00 EUR"]);
    expect((await t.kernel.replay(id)).difference).toBeNull();
  });

  it("falls back to the payload's own members where it fails, says why, and stops nothing", async () => {
    const broken: Present = { ...present, summary: () => "".repeat(-1) };
    await using t = await createTestKernel({ capabilities: [paying(broken)] });
    const { workflow_id: id } = await t.run(intent);
    const gate = await gateOf(t, id, gateId);
    expect([gate.title, gate.summary]).toEqual(["pay", undefined]);
    expect(gate.preview).toMatch(/\(no facts: .*Invalid count value: -1\)$/);
    expect(facts(gate)[0]).toBe("To: Who is paid: Miller");
    await decide(t, id, { gate_id: gateId, decision: "approve" });
    expect((await t.rest(id)).state).toBe("completed");
    expect((await t.kernel.replay(id)).difference).toBeNull();
  });

  it("is bounded, whatever it gives", async () => {
    const long = "x".repeat(100_000);
    const many = Array.from({ length: maxFacts }, () => ({ label: "y", value: () => long }));
    const image = () => `data:image/png;base64,${long}`;
    const first = { label: "Picture", value: image, format: "image" } as const;
    const given: Present = { title: () => `${long}\n`, summary: () => long, facts: [first, ...many.slice(1)] };
    await using t = await createTestKernel({ capabilities: [paying(given)] });
    const { workflow_id: id } = await t.run(intent);
    const [opened] = await payloads(t, id, "GATE_OPENED");
    const { title, summary = "", facts: all = [] } = (opened as NonNullable<typeof opened>).gate;
    expect([title.length, summary.length, all.length]).toEqual([200, 500, maxFacts]);
    expect(JSON.stringify(all).length).toBeLessThan(maxFacts * 2_200);
    expect(all[0]?.value).toBe("an image of 100022 characters, which is too large to be shown here");
  });

  it("writes a mail as its headers and its body, of which no subject makes another header", async () => {
    const mail = (value: object) => ({ label: "Mail", value: () => value, format: "mail" }) as const;
    const subject = "Your order\nBcc: everybody@a.org\n\nA body";
    const good = mail({ from: "shop@a.org", to: ["ann@a.org", "bo@a.org"], subject, html: "<p>Thanks</p>" });
    const pdf = { label: "Bill", value: () => "https://a.org/bill.pdf", format: "pdf" } as const;
    for (const [given, shown] of [
      [{ facts: [good, pdf] }, "Bill: https://a.org/bill.pdf"],
      [{ facts: [mail({ subject, text: "x" })] }, "a mail has no text"],
      [{ facts: [mail({ subject, body: "x", html: "y" })] }, "a mail has one text"],
      [{ facts: [{ ...pdf, value: () => "file:///etc/passwd" }] }, "a PDF is its address"],
    ] as const) {
      await using t = await createTestKernel({ capabilities: [paying(given)] });
      const gate = await gateOf(t, (await t.run(intent)).workflow_id, gateId);
      expect(`${gate.preview} ${facts(gate).join("; ")}`).toContain(shown);
      if (given.facts[0] !== good) continue;
      const { headers, body, isHtml } = readMail(String(gate.facts?.[0]?.value));
      expect(headers.map(({ name }) => name)).toEqual(["From", "To", "Subject"]);
      expect([headers[1]?.value, body, isHtml]).toEqual(["ann@a.org, bo@a.org", "<p>Thanks</p>", true]);
      const [listed] = await t.kernel.gates({}, testCaller);
      expect(listed?.facts?.some(({ format }) => format === "mail")).toBe(false);
    }
  });

  it("is refused when it is defined, if a part is unknown or does not fit", () => {
    const define = (fact: object) => () =>
      defineOperator({ name: "A.B", input, run: () => null, present: { facts: [fact] } as never });
    for (const [fact, problem] of [
      [{ label: "a", value: "b", formt: "money" }, "format"],
      [{ label: "a", value: "b", format: "colour" }, "format"],
      [{ label: "a", value: "b", total: true }, "only money is summed"],
      [{ label: "a", value: "b", format: "money", currency: "euro" }, "EUR"],
    ] as const)
      expect(define(fact)).toThrow(problem);
  });
});

describe("a call that nobody presents", () => {
  it("shows the members of its payload by the titles of their schema", async () => {
    await using t = await createTestKernel({ capabilities: [paying(undefined)] });
    const { workflow_id: id } = await t.run(intent);
    const shown = ["To: Who is paid: Miller", "Amount: 61000.5", 'Lines: [{"what":"paper"},{"what":"ink"}]'];
    expect(facts(await gateOf(t, id, gateId))).toEqual(shown);
    const [opened] = await payloads(t, id, "GATE_OPENED");
    expect(opened?.gate.facts).toBeUndefined();
  });
});

describe("sums of facts", () => {
  it("are exact, by label and currency, of those that may be summed", () => {
    const amount = (value: number, currency = "EUR", total = true) => ({
      facts: [{ label: "Amount", format: "money" as const, value, currency, ...(total && { total: true as const }) }],
    });
    const gates = [amount(0.1), amount(0.2), amount(5, "USD"), amount(7, "EUR", false), {}];
    expect(sumFacts(gates)).toEqual([
      { label: "Amount", currency: "EUR", amount: 0.3, count: 2 },
      { label: "Amount", currency: "USD", amount: 5, count: 1 },
    ]);
  });
});

describe("the title of a run", () => {
  it("is what the package gives; a failure of that leaves the request's own", async () => {
    const named = (title: (given: never) => string) => ({ ...paying(undefined), present: { title } });
    const titlesOf = async (title: (given: never) => string) => {
      await using t = await createTestKernel({ capabilities: [named(title) as never] });
      const asked = { intent_type: intent, inputs: { who: "Miller", pay: 9 } };
      const { workflow_id } = await t.kernel.submit({ ...testCaller, intent_hint: asked });
      const [listed] = await t.kernel.workflows({}, testCaller);
      return [listed?.title, nameRun((await t.kernel.workflow(workflow_id)).intent)];
    };
    const byPackage = await titlesOf(({ who }: { readonly who: string }) => `Pay\n${who}`);
    expect(byPackage).toEqual(["Pay Miller", "Pay Miller"]);
    expect(await titlesOf(() => undefined as never)).toEqual(["who Miller", intent]);
    expect(await titlesOf(() => refusalOf as never)).toEqual(["who Miller", intent]);
  });
});
