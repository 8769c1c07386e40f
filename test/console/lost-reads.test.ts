/** Reads that fail when a page starts: the page says what failed and offers to try again; nothing loads for ever. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { intent, publishing } from "../gates/story.ts";
import { ann, hashOf, openSite, type Site } from "./site.ts";

const openStory = () => openSite({ kernel: { capabilities: [publishing().capability] } });

async function begin({ kernel }: Site): Promise<string> {
  const { workflow_id } = await kernel.submit({ ...ann, intent_hint: { intent_type: intent } });
  await kernel.settled(workflow_id);
  return workflow_id;
}

const loading = (page: Page) => page.getByText("Loading…", { exact: true });

describe("a read that fails when the page starts", () => {
  it.each([
    ["is cut off", (page: Page) => page.route("**/v1/session", (route) => route.abort()), /cannot be reached/],
    [
      "is answered with an error",
      (page: Page) => page.route("**/v1/session", (route) => route.fulfill({ status: 503, body: "" })),
      /answered 503/,
    ],
    [
      "is answered with half of an answer",
      (page: Page) => page.route("**/v1/session", (route) => route.fulfill({ status: 200, body: '{"princ' })),
      /broke off, or cannot be read/,
    ],
  ] as const)(
    "says so where the question who is signed in %s, and goes on once it is asked again",
    async (...given) => {
      const [, fail, words] = given;
      await using site = await openStory();
      await begin(site);
      await using visitor = await site.enter(ann);
      const { page, complaints } = visitor;
      await fail(page);
      await page.reload();
      await page.getByRole("heading", { name: "The page could not find out who is signed in" }).waitFor();
      await page.getByRole("alert").getByText(words).waitFor();
      expect(await loading(page).count()).toBe(0);
      await page.unroute("**/v1/session");
      await page.getByRole("button", { name: "Try again" }).press("Enter");
      await page.getByRole("navigation", { name: "Console" }).waitFor();
      expect(complaints).toEqual([]);
    },
  );

  it("says so where the server takes the question and does not answer", async () => {
    await using site = await openStory();
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    await page.clock.install();
    await page.route("**/v1/session", () => undefined);
    await page.reload();
    await loading(page).waitFor();
    await page.clock.fastForward(31_000);
    await page.getByRole("alert").getByText("The server does not answer.").waitFor();
    await page.unroute("**/v1/session");
    await page.getByRole("button", { name: "Try again" }).press("Enter");
    await page.getByRole("navigation", { name: "Console" }).waitFor();
  });

  it("says so in each view, and shows the view once it is asked again", async () => {
    await using site = await openStory();
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    const reads = /\/v1\/kernel\/(workflows|gates|budgets)/;
    for (const place of ["/#/", "/#/runs", "/#/budgets", hashOf(id), hashOf(id, "/g/gate-publish")]) {
      await page.route(reads, (route) => route.fulfill({ status: 503, body: "" }));
      await page.goto(site.url + place);
      await page.reload();
      const again = page.getByRole("button", { name: "Try again" }).first();
      await again.waitFor();
      expect(await loading(page).count()).toBe(0);
      await page.unroute(reads);
      await again.press("Enter");
      await again.waitFor({ state: "detached" });
    }
  });

  it("says that the events of a run could not be read, and reads the rest once it is told to", async () => {
    await using site = await openStory();
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    await page.route(/\/events\?/, (route) => route.abort());
    await page.goto(site.url + hashOf(id, "/time"));
    await page.getByText("Not all events of this run could be read.").waitFor();
    await page.unroute(/\/events\?/);
    await page.getByRole("button", { name: "Read them again" }).press("Enter");
    await page.getByRole("heading", { name: /Where the time went/ }).waitFor();
  });
});

describe("the picture of a run in the console", () => {
  it("shows the gate of each step, and on the step who decided it and what they said", async () => {
    await using site = await openStory();
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page, complaints } = visitor;
    await page.goto(site.url + hashOf(id));
    await page.getByText("Gate: open", { exact: true }).waitFor();
    await page.getByText("Rules on the call: require human approval, because a final write waits").waitFor();
    expect(await page.locator(".chips code").allTextContents()).toEqual([id]);
    await site.kernel.decideGate(id, { ...ann, decision: "approve", payload: { comment: "as we agreed" } });
    await page.getByText("Gate: approved by user ann", { exact: true }).waitFor();
    await page.getByText(/^approved by user ann \(user\) at \S+Z, "as we agreed"$/).waitFor();
    expect(complaints).toEqual([]);
  });
});
