/** Gates of other kinds: in doubt, signed, lent, many at once; and what a what-if and a proof say on the page. */
import { exportJWK, generateKeyPair } from "jose";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { counted, gatedSteps, intent, publishing, step, story } from "../gates/story.ts";
import { ann, bo, hashOf, openSite, type Site } from "./site.ts";

async function begin({ kernel }: Site): Promise<string> {
  const { workflow_id } = await kernel.submit({ ...ann, intent_hint: { intent_type: intent } });
  await kernel.settled(workflow_id);
  return workflow_id;
}

describe("a gate", () => {
  it("of a call in doubt shows what the call threw, asks in plain words, needs a person who has looked", async () => {
    const send = counted("Note.Send", { effect: "final_write", policyTags: [] }, () => {
      const reset = Object.assign(new Error("connection reset by \u202epeer"), { code: "ECONNRESET" });
      throw new TypeError("fetch failed", { cause: reset });
    });
    const steps = [step("send", send)];
    await using site = await openSite({ kernel: { capabilities: [story([send], steps)], defaultPolicies: false } });
    const id = await begin(site);
    const [gate] = await site.kernel.gates({ workflow_id: id }, ann);
    expect(gate?.kind).toBe("in_doubt");
    await using visitor = await site.enter(ann);
    const { page, complaints } = visitor;
    await page.getByText("nobody knows whether it happened").waitFor();
    await page.goto(site.url + hashOf(id, `/g/${gate?.gate_id}`));
    await page.getByText("user ann asked for work that called Note.Send").waitFor();
    await page.getByRole("heading", { name: "What was sent" }).waitFor();
    await page.getByText("TypeError: fetch failed", { exact: true }).waitFor();
    await page
      .getByText("caused by: Error (ECONNRESET): connection reset by ‹U+202E RIGHT-TO-LEFT OVERRIDE›peer")
      .waitFor();
    await page.getByText("Whether it took effect. It may have happened, wholly or in part, or not at all.").waitFor();
    const asked = await page
      .locator(".answers :is(button, textarea)")
      .evaluateAll((all) => all.map((one) => one.id || one.textContent));
    expect(asked).toEqual(["It happened", "It did not happen: try again", "It did not happen: give up", ""]);
    const result = page.getByLabel(/What it gave \(optional/);
    const happened = page.getByRole("button", { name: "It happened", exact: true });
    await page.getByText("The step counts as done without a result").waitFor();
    await result.fill('{"sent": ');
    expect(await happened.isDisabled()).toBe(true);
    await result.fill('{"sent": 1e3, "to": "\u202eeve"}');
    await page.getByText('{"sent":1000,"to":"‹U+202E RIGHT-TO-LEFT OVERRIDE›eve"}').waitFor();
    await happened.press("Enter");
    await page.getByRole("heading", { name: "Approved. The work goes on." }).waitFor();
    await page.getByText(/“It happened”/).waitFor();
    const settled = await site.kernel.settled(id);
    expect(settled.state).toBe("completed");
    expect(settled.steps[0]?.output_text).toBe('{"sent":1000,"to":"\u202eeve"}');
    expect(send.calls).toHaveLength(1);
    expect(complaints).toEqual([]);
  });

  it("of a call in doubt asks for its result by the form of the operator, and says what came of it", async () => {
    const output = z.object({ transfer_id: z.string(), paid: z.boolean() });
    const pay = counted("Bank.Pay", { effect: "final_write", policyTags: [], output }, () => {
      throw new Error("connection reset");
    });
    const capability = story([pay], [step("pay", pay)]);
    await using site = await openSite({ kernel: { capabilities: [capability], defaultPolicies: false } });
    const id = await begin(site);
    const [gate] = await site.kernel.gates({ workflow_id: id }, ann);
    await using visitor = await site.enter(ann);
    const { page, complaints } = visitor;
    await page.goto(site.url + hashOf(id, `/g/${gate?.gate_id}`));
    await page.getByRole("group", { name: /^What it gave/ }).waitFor();
    const happened = page.getByRole("button", { name: "It happened", exact: true });
    await page.getByLabel("paid", { exact: true }).selectOption("yes");
    await happened.press("Enter");
    await page.getByText("transfer_id is required").waitFor();
    await page.getByLabel("transfer_id", { exact: true }).fill("T-17");
    await happened.press("Enter");
    await page.getByRole("heading", { name: "What came of it" }).waitFor();
    await page.getByText('{"transfer_id":"T-17","paid":true}').waitFor();
    await page.getByText(/^It happened by user ann at/).waitFor();
    expect(await page.getByText(/would now run|if nobody decides/).count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it("that wants signatures has no buttons, and tells the command that signs what is shown", async () => {
    const { publicKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
    const key = await exportJWK(publicKey);
    const { capability } = publishing({ gate: { signed: true } });
    await using site = await openSite({ kernel: { capabilities: [capability], approverKeys: () => key } });
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    await page.goto(site.url + hashOf(id, "/g/gate-publish"));
    const { payload_digest } = await site.kernel.gate(id, "gate-publish");
    await page.getByText(`countersign approve ${id} gate-publish --digest ${payload_digest} --sign KEYFILE`).waitFor();
    expect(await page.getByRole("button", { name: /Approve|Reject/ }).count()).toBe(0);
  });

  it("is lent by who has a seat to somebody who has none, and they decide in that place", async () => {
    const gated = publishing({ gate: { approvers: [{ id: "ann" }] } });
    await using site = await openSite({ kernel: { capabilities: [gated.capability] } });
    const id = await begin(site);
    await using lender = await site.enter(ann);
    await lender.page.goto(site.url + hashOf(id, "/g/gate-publish"));
    await lender.page.getByText("Let somebody else decide for me").press("Enter");
    await lender.page.getByLabel("Who (their user id)").fill("bo");
    await lender.page.getByRole("button", { name: "Lend my seat" }).press("Enter");
    await lender.page.getByText("This gate names no user bo, and nobody checks that there is one.").waitFor();
    await lender.page.getByRole("button", { name: "Lend it to this id" }).press("Enter");
    await lender.page.getByText("Your seat is lent.").first().waitFor();
    await using borrower = await site.enter(bo);
    await borrower.page.getByText("1 decision waits for you.").waitFor();
    await borrower.page.goto(site.url + hashOf(id, "/g/gate-publish"));
    await borrower.page.getByText("You decide for user ann").waitFor();
    await borrower.page.getByRole("button", { name: "Approve", exact: true }).press("Enter");
    await borrower.page.getByRole("heading", { name: "Approved. The work goes on." }).waitFor();
    expect((await site.kernel.settled(id)).state).toBe("completed");
    expect([...lender.complaints, ...borrower.complaints]).toEqual([]);
  });

  it("is not among those that are decided together where it makes something final, or is of another kind", async () => {
    const { capability } = gatedSteps(2);
    await using site = await openSite({ kernel: { capabilities: [capability] } });
    await begin(site);
    await using other = await openSite({ kernel: { capabilities: [publishing().capability] } });
    await begin(other);
    await using alike = await site.enter(ann);
    await alike.page.getByRole("checkbox").first().waitFor();
    expect(await alike.page.getByRole("checkbox").count()).toBe(2);
    await using final = await other.enter(ann);
    await final.page.locator(".item").waitFor();
    expect(await final.page.getByRole("checkbox", { name: /^Select/ }).count()).toBe(0);
  });

  it("that shows something else meanwhile is no longer selected; one that takes several votes never is", async () => {
    const { capability } = gatedSteps(2, { gate: { separation: true } });
    await using site = await openSite({ kernel: { capabilities: [capability] } });
    const id = await begin(site);
    await using visitor = await site.enter(bo);
    const { page } = visitor;
    await page.getByText("2 decisions wait for you.").waitFor();
    await page.locator(".item").first().waitFor();
    for (const box of await page.getByRole("checkbox", { name: /^Select/ }).all()) await box.check();
    await page.getByRole("button", { name: "Approve all 2" }).waitFor();
    const { payload_digest } = await site.kernel.gate(id, "gate-s1");
    const payload = { payload_digest, edit: { id: "another" } };
    const cy = { ...bo, principal: { ...bo.principal, id: "cy" } };
    const { status } = await site.kernel.decideGate(id, { ...cy, gate_id: "gate-s1", decision: "approve", payload });
    expect(status).toBe("revised");
    await page.getByRole("button", { name: "Approve all 1" }).waitFor();
    expect(await page.getByRole("checkbox", { name: /^Select/ }).count()).toBe(2);

    await using voted = await openSite({
      kernel: { capabilities: [gatedSteps(2, { gate: { quorum: { approvals: 2 } } }).capability] },
    });
    await begin(voted);
    await using elsewhere = await voted.enter(ann);
    await elsewhere.page.getByText("2 decisions wait for you.").waitFor();
    await elsewhere.page.locator(".item").first().waitFor();
    expect(await elsewhere.page.getByRole("checkbox", { name: /^Select/ }).count()).toBe(0);
  });

  it("that was decided between the page and the button says so, and what kind of principal did it", async () => {
    await using site = await openSite({ kernel: { capabilities: [publishing().capability] } });
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    // The feed is cut off: the page cannot know.
    await page.route("**/stream/**", (route) => route.abort());
    await page.reload();
    await page.goto(site.url + hashOf(id, "/g/gate-publish"));
    await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
    const { payload_digest } = await site.kernel.gate(id, "gate-publish");
    const robot = { ...bo, principal: { ...bo.principal, type: "service" as const, id: "robot" } };
    await site.kernel.decideGate(id, { ...robot, decision: "reject", payload: { payload_digest, comment: "no" } });
    await page.getByRole("button", { name: "Approve", exact: true }).press("Enter");
    await page.getByText("Decided elsewhere: rejected by service robot").waitFor();
    await page.goto(site.url + hashOf(id, "/why"));
    await page.reload();
    await page.getByText(/^Audit: how/).click();
    await page
      .getByRole("listitem")
      .filter({ hasText: /^rejected.*: service robot/ })
      .waitFor();
    expect((await site.kernel.settled(id)).state).toBe("cancelled");
  });
});

describe("what shows that a record holds", () => {
  it("is asked for on the page of reasons: verified, replayed, and exported as others can verify it", async () => {
    await using site = await openSite({ kernel: { capabilities: [publishing().capability] } });
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page, complaints } = visitor;
    await page.goto(site.url + hashOf(id, "/why"));
    const publish = page.locator(".causes > li").last();
    await publish.getByText("awaiting approval").waitFor();
    await publish.getByText("No call was made.").waitFor();
    // First the summary, as `explain` has it; the rules and causes of a step stand behind a fold.
    const { summary } = await site.kernel.explain(id);
    const region = page.getByRole("region", { name: "What was decided, and by whom" });
    expect(await region.getByRole("listitem").allTextContents()).toEqual(summary);
    expect(await page.locator("main h2").first().textContent()).toBe("What was decided, and by whom");
    expect((await page.locator("main").innerText()).match(/no rule matched/g)).toHaveLength(1);
    await publish.getByText("The rules and each cause").click();
    await publish.getByText(/^Rules: /).waitFor();
    await page.getByRole("button", { name: "Verify the record" }).press("Enter");
    await page
      .getByText(/The record is sound: \d+ rows checked/)
      .first()
      .waitFor();
    await page.getByRole("button", { name: "Replay it" }).press("Enter");
    await page
      .getByText(/all 18 events came out the same, byte for byte/)
      .first()
      .waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByText("Export the evidence").click(),
    ]);
    expect(download.suggestedFilename()).toBe(`${id}.jsonl`);
    expect(complaints).toEqual([]);
  });

  it("is judged by other rules on the what-if page, which links each decision and reports wrong rules", async () => {
    await using site = await openSite({ kernel: { capabilities: [publishing().capability] } });
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page, complaints } = visitor;
    await page.goto(`${site.url}/#/what-if`);
    await page.getByRole("button", { name: "Ask" }).press("Enter");
    await page.getByRole("heading", { name: /^1 of \d+ decisions in 1 run would/ }).waitFor();
    await page.getByRole("link", { name: "draft" }).press("Enter");
    await page.getByText("Event 9 of 18: POLICY_DECIDED draft").waitFor();
    expect(new URL(page.url()).hash).toBe(`#/w/${id}?at=9`);
    await page.goto(`${site.url}/#/what-if`);
    await page.getByLabel("Rules (YAML)").fill("version: x\nrules: [{ name: a, stagse: [action] }]");
    await page.getByRole("button", { name: "Ask" }).press("Enter");
    await page
      .getByText(/stagse/)
      .last()
      .waitFor();
    expect(complaints).toEqual([]);
  });
});
