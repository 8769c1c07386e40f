/** The focus goes to the heading of a view that appears, and is never taken from a reader who has moved on. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { gatedSteps, intent } from "../gates/story.ts";
import { ann, openSite } from "./site.ts";

const focused = (page: Page) => page.evaluate("document.activeElement.textContent.trim()");

/** Gives the focus to the link as soon as it stands in the document, before the page's own scripts go on. */
const focusAtOnce = `new MutationObserver((_, observer) => {
  const link = document.querySelector("nav a[href='#/runs']");
  if (link === null) return;
  observer.disconnect();
  link.focus();
}).observe(document, { childList: true, subtree: true });`;

describe("the focus", () => {
  it("stays where a reader put it while the view that appears still loads", async () => {
    await using site = await openSite({ kernel: { capabilities: [gatedSteps(2).capability] } });
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    const { workflow_id } = await site.kernel.submit({ ...ann, intent_hint: { intent_type: intent } });
    await site.kernel.settled(workflow_id);
    await page.addInitScript(focusAtOnce);
    await page.reload();
    // The list is asked for after the heading was shown.
    await page.locator(".item").first().waitFor();
    expect(await focused(page)).toBe("Runs");
  });
});
