/** Answers that did not reach the server: what the page says of them, and how they are sent again. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { gatedSteps, intent, publishing } from "../gates/story.ts";
import { ann, bo, hashOf, openSite, type Site } from "./site.ts";

async function begin({ kernel }: Site): Promise<string> {
  const { workflow_id } = await kernel.submit({ ...ann, intent_hint: { intent_type: intent } });
  await kernel.settled(workflow_id);
  return workflow_id;
}

const openStory = () => openSite({ kernel: { capabilities: [publishing().capability] } });

/** Cuts the way to the server for decisions alone: the feed stays, so the page's mark says "live". */
const cutDecisions = (page: Page) => page.route(/\/(gate|decisions|withdraw|delegate)$/, (route) => route.abort());
const mendDecisions = (page: Page) => page.unroute(/\/(gate|decisions|withdraw|delegate)$/);

const approve = (page: Page) => page.getByRole("button", { name: "Approve", exact: true }).press("Enter");
const notSent = (page: Page) => page.getByText("Your answer was not sent:");

describe("an answer that was not sent", () => {
  it("says so while the page is live, keeps what was entered, and counts once it is sent again", async () => {
    await using site = await openStory();
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page, complaints } = visitor;
    await page.goto(site.url + hashOf(id, "/g/gate-publish"));
    await page.getByLabel(/^Comment/).fill("as we agreed");
    await cutDecisions(page);
    await approve(page);
    await notSent(page).waitFor();
    await page.getByText("“Approve”, with the comment “as we agreed”").waitFor();
    await page.getByText("live", { exact: true }).waitFor();
    expect(await page.getByText(/tries again|by itself\./).allTextContents()).toEqual([
      "Nothing is sent again by itself. If your answer did arrive after all, sending it again counts once.",
    ]);
    expect(await page.getByLabel(/^Comment/).inputValue()).toBe("as we agreed");
    expect((await site.kernel.workflow(id)).state).toBe("waiting_for_user");
    // It stays while its author looks elsewhere, and after a reload.
    await page.goto(`${site.url}/#/`);
    await page.getByText("1 answer of yours was not sent.").waitFor();
    await page.reload();
    await page.getByRole("link", { name: "publish" }).first().press("Enter");
    await notSent(page).waitFor();
    expect(await page.getByLabel(/^Comment/).inputValue()).toBe("as we agreed");
    await mendDecisions(page);
    await page.getByRole("button", { name: "Send it again" }).press("Enter");
    await page.getByRole("heading", { name: "Approved. The work goes on." }).waitFor();
    expect(await notSent(page).count()).toBe(0);
    const { decision } = await site.kernel.gate(id, "gate-publish");
    expect(decision).toMatchObject({ decision: "approve", comment: "as we agreed" });
    expect(complaints).toEqual([]);
  });

  it("stands on the page of its gate while the server is away, and beside the gate once it is back", async () => {
    await using site = await openStory();
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page, complaints } = visitor;
    await page.goto(site.url + hashOf(id, "/g/gate-publish"));
    await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
    await site.leave();
    await approve(page);
    await notSent(page).waitFor();
    for (const hash of ["#/runs", hashOf(id, "/g/gate-publish").slice(1)]) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      await page.getByText("The server cannot be reached.", { exact: true }).waitFor();
      await page.getByText("1 answer of yours was not sent.").waitFor();
    }
    await site.comeBack();
    await page.getByRole("heading", { name: "publish", level: 1 }).waitFor();
    expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
    expect(await page.getByText("1 answer of yours was not sent.").count()).toBe(0);
    await page.getByRole("button", { name: "Send it again" }).press("Enter");
    await page.getByRole("heading", { name: "Approved. The work goes on." }).waitFor();
    expect((await site.kernel.settled(id)).state).toBe("completed");
    expect(complaints).toEqual([]);
  });

  it("is sent by nobody else who signs in in the same tab, and is gone once it was dismissed", async () => {
    await using site = await openStory();
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page, context } = visitor;
    await page.goto(site.url + hashOf(id, "/g/gate-publish"));
    await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
    await context.clearCookies();
    await approve(page);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    const enter = async (who: typeof ann) => {
      await page.goto(await site.link(who));
      await page.getByRole("button", { name: "Sign in" }).press("Enter");
      await page.goto(site.url + hashOf(id, "/g/gate-publish"));
      await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
    };
    await enter(bo);
    expect(await notSent(page).count()).toBe(0);
    await context.clearCookies();
    await enter(ann);
    await notSent(page).waitFor();
    await page.getByRole("button", { name: "Dismiss it" }).press("Enter");
    await notSent(page).waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
    expect(await notSent(page).count()).toBe(0);
    expect((await site.kernel.workflow(id)).state).toBe("waiting_for_user");
  });

  it.each([
    ["before", "no longer"],
    ["after", "not"],
  ])("whose reply was lost %s the record of it arrived is %s called unsent", async (lost) => {
    await using site = await openStory();
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    await page.goto(site.url + hashOf(id, "/g/gate-publish"));
    await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
    await page.route(/\/gate$/, async (route) => {
      await route.fetch();
      if (lost === "after") await page.locator(".decided").waitFor();
      await route.abort();
    });
    await approve(page);
    await page.getByRole("heading", { name: "Your answer did arrive, and counts." }).waitFor();
    expect(await notSent(page).count()).toBe(0);
    expect((await site.kernel.settled(id)).state).toBe("completed");
  });

  it("stands with all others of several at the top of the inbox, and all are sent again by one button", async () => {
    await using site = await openSite({ kernel: { capabilities: [gatedSteps(2).capability] } });
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page, complaints } = visitor;
    await page.getByText("2 decisions wait for you.").waitFor();
    await page.locator(".item").first().waitFor();
    for (const box of await page.getByRole("checkbox", { name: /^Select/ }).all()) await box.check();
    await cutDecisions(page);
    await page.getByLabel("Comment on each, for the record").fill("all as agreed");
    await page.getByRole("button", { name: "Approve all 2" }).press("Enter");
    await page.getByText("2 answers of yours were not sent.").waitFor();
    await mendDecisions(page);
    await page.getByRole("button", { name: "Send all 2 again" }).press("Enter");
    await page.getByText("Nothing waits for you.").waitFor();
    const { state, gates } = await site.kernel.settled(id);
    expect([state, ...gates.map(({ decision }) => decision?.comment)]).toEqual([
      "completed",
      ...Array(2).fill("all as agreed"),
    ]);
    expect(complaints).toEqual([]);
  });

  it("among several is kept where the ledger could not take it, and a refusal of one is shown", async () => {
    await using site = await openSite({ kernel: { capabilities: [gatedSteps(2).capability] } });
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    await page.locator(".item").first().waitFor();
    for (const box of await page.getByRole("checkbox", { name: /^Select/ }).all()) await box.check();
    const refused = (message: string, retry_eligible: boolean) => ({
      ...{ workflow_id: id, ok: false },
      error: { code: "T0_LEDGER_UNAVAILABLE", message, retry_eligible },
    });
    const results = [refused("The disk is full.", true), refused("It shows another payload.", false)];
    await page.route(/\/decisions$/, (route) => route.fulfill({ json: { results, taken: 0, refused: 2 } }));
    await page.getByRole("button", { name: "Approve all 2" }).press("Enter");
    await page.getByText("It shows another payload.").waitFor();
    await page.getByText("1 answer of yours was not sent.").waitFor();
  });

  it("includes one that a failing or refusing server did not take, but no refusal of the answer itself", async () => {
    await using site = await openStory();
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    await page.goto(site.url + hashOf(id, "/g/gate-publish"));
    await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
    for (const status of [429, 503]) {
      await page.route(/\/gate$/, (route) => route.fulfill({ status, json: { detail: `The proxy says ${status}.` } }));
      await approve(page);
      await page.getByText(`The proxy says ${status}.`).waitFor();
      expect(await notSent(page).count()).toBe(1);
      await page.unroute(/\/gate$/);
    }
    await page.route(/\/gate$/, (route) =>
      route.fulfill({ status: 409, json: { detail: "It shows another payload." } }),
    );
    await page.getByRole("button", { name: "Send it again" }).press("Enter");
    await page.getByText("It shows another payload.").waitFor();
    expect(await notSent(page).count()).toBe(0);
  });
});
