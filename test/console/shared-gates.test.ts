/** Gates that several people decide, in a browser: a colleague's edit, votes of several, and what waits no longer. */
import { describe, expect, it } from "vitest";
import { counted, intent, step, story } from "../gates/story.ts";
import { ann, bo, hashOf, openSite, type Site } from "./site.ts";

const cy = { ...bo, principal: { ...bo.principal, id: "cy" } };

/** A payment that three people may decide, two of them together; its title names the amount that the plan gave it. */
function paying() {
  const pay = counted("Bank.Pay", { effect: "write_draft" });
  const approvers = [{ id: "bo" }, { id: "cy" }, { id: "dana" }];
  const gate = { approvers, quorum: { approvals: 2 }, separation: true };
  const params = { to: "Miller", amount_eur: 61_000 };
  return story([pay], [step("pay", pay, { name: "Pay 61,000 EUR to Miller", gate, params })]);
}

async function begin({ kernel }: Site): Promise<string> {
  const { workflow_id } = await kernel.submit({ ...ann, intent_hint: { intent_type: intent } });
  await kernel.settled(workflow_id);
  return workflow_id;
}

describe("a gate that several people decide", () => {
  it("shows a colleague's edit first, in the inbox and on its page, under a title of what would run", async () => {
    await using site = await openSite({ kernel: { capabilities: [paying()] } });
    const id = await begin(site);
    const { payload_digest } = await site.kernel.gate(id, "gate-pay");
    const payload = { payload_digest, edit: { amount_eur: 6100 } };
    await site.kernel.decideGate(id, { ...bo, gate_id: "gate-pay", decision: "approve", payload });
    await using visitor = await site.enter(cy);
    const { page, complaints } = visitor;
    const card = page.locator(".item").first();
    await card.getByText(/Edited by user bo on \w{3} \d+, \d{4}, .*\); amount_eur: 61000 → 6100/).waitFor();
    expect(await card.getByRole("heading").textContent()).toBe("Bank.Pay, edited: amount_eur 6100");
    await page.goto(site.url + hashOf(id, "/g/gate-pay"));
    await page.getByRole("heading", { name: "Bank.Pay, edited: amount_eur 6100" }).waitFor();
    expect(await page.locator(".content h2").first().textContent()).toBe("This was edited");
    await page.getByText("amount_eur: 61000 → 6100").waitFor();
    await page.getByText("user bo, who edited what it shows").waitFor();
    await page.getByText("user ann, who asked for the work").waitFor();
    expect(complaints).toEqual([]);
  });

  it("shows the facts that its operator presents, then the rest of the payload, the JSON behind a fold", async () => {
    const facts = [
      { label: "Amount", value: "amount_eur", format: "money" as const, currency: "EUR" },
      { label: "Note", value: () => "# Why\nIt is *due*.", format: "markdown" as const },
    ];
    const present = { title: () => "Pay Miller", summary: () => "the invoice of May", facts };
    const pay = counted("Bank.Pay", { effect: "write_draft", present });
    const params = { to: "Miller", amount_eur: 61_000, iban: "DE02 1203" };
    const steps = [step("pay", pay, { name: "Pay", gate: { reason: "two of three" }, params })];
    await using site = await openSite({ kernel: { capabilities: [story([pay], steps)] } });
    const id = await begin(site);
    await using visitor = await site.enter(bo);
    const { page, complaints } = visitor;
    await page.goto(site.url + hashOf(id, "/g/gate-pay"));
    await page.getByRole("heading", { name: "Pay Miller" }).waitFor();
    await page.getByText("the invoice of May").waitFor();
    const shown = await page.locator(".content .card").first().locator("dt, dd, h3").allTextContents();
    const [exact, button] = ["Also in the payload", "Show the exact text"];
    expect(shown).toEqual([
      ...["Amount", "61,000.00 EUR", "Note", `WhyIt is due.${button}`],
      ...[exact, "To", "Miller", "Iban", "DE02 1203"],
    ]);
    await page.getByRole("button", { name: button }).press("Enter");
    await page.getByText("It is *due*.").waitFor();
    expect(await page.getByText('"iban": "DE02 1203"').isVisible()).toBe(false);
    await page.getByText("Exactly this will run").click();
    await page.getByText('"iban": "DE02 1203"').waitFor();
    expect(complaints).toEqual([]);
  });

  it("shows a mail in a frame that runs no script and loads nothing, and its exact text on request", async () => {
    const html = "<p>Thanks<script>parent.document.title = 'run'</script><img src='https://a.org/x.png'></p>";
    const mail = { from: "shop@a.org", to: "ann@a.org", subject: "Your order", html };
    const present = { facts: [{ label: "Mail", value: () => mail, format: "mail" as const }] };
    const pay = counted("Mail.Send", { effect: "write_draft", present });
    const steps = [step("pay", pay, { name: "Send it", gate: { reason: "two of three" } })];
    await using site = await openSite({ kernel: { capabilities: [story([pay], steps)] } });
    const id = await begin(site);
    await using visitor = await site.enter(bo);
    const { page, complaints } = visitor;
    const refused: unknown[] = [];
    page.on("requestfailed", (request) => void refused.push([request.url(), request.failure()?.errorText]));
    await page.goto(site.url + hashOf(id, "/g/gate-pay"));
    await page.frameLocator("iframe[title=Mail]").getByText("Thanks").waitFor();
    expect(await page.locator("iframe").getAttribute("sandbox")).toBe("");
    expect(await page.locator(".mail dd").allTextContents()).toEqual(["shop@a.org", "ann@a.org", "Your order"]);
    await page.getByRole("button", { name: "Show the exact text" }).press("Enter");
    await page.locator(".mail pre").getByText("parent.document.title").waitFor();
    expect(await page.title()).not.toBe("run");
    // The browser says what it has kept from being loaded and from running.
    expect(refused).toEqual([["https://a.org/x.png", "csp"]]);
    const others = complaints.filter(
      (one) => !/sandboxed|Content Security Policy|^request: https:\/\/a\.org/.test(one),
    );
    expect([others, complaints.some((one) => one.includes("Blocked script execution"))]).toEqual([[], true]);
  });

  it("says that an answer is one vote, and waits no longer for who gave it", async () => {
    await using site = await openSite({ kernel: { capabilities: [paying()] } });
    const id = await begin(site);
    await using visitor = await site.enter(bo);
    const { page } = visitor;
    await page.getByText("1 decision waits for you.").waitFor();
    await page.goto(site.url + hashOf(id, "/g/gate-pay"));
    await page.getByText("One vote: 1 of 2 approvals are then given").waitFor();
    await page.getByRole("button", { name: "Approve", exact: true }).press("Enter");
    await page.getByText("Your seat has voted to approve already: this adds no vote.").waitFor();
    await page
      .getByText(/^1 of 2 approvals: user bo approved at .*It waits for 1 more approval by cy or dana\.$/)
      .waitFor();
    for (const name of ["Approve", "Reject"])
      expect(await page.getByRole("button", { name, exact: true }).isDisabled()).toBe(true);
    await page.goto(`${site.url}/#/`);
    await page.getByText("Nothing waits for you.").waitFor();
    await page.goto(site.url + hashOf(id, "/g/gate-pay"));
    await page.getByRole("button", { name: "Withdraw my vote" }).press("Enter");
    await page.getByText("One vote: 1 of 2 approvals are then given").waitFor();
    await page.goto(`${site.url}/#/`);
    await page.getByText("1 decision waits for you.").waitFor();
  });
});
