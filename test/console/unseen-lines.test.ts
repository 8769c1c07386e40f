/** An approval of what is not shown whole: the page names what was not shown before it counts. */
import { describe, expect, it } from "vitest";
import { intent, publishing } from "../gates/story.ts";
import { ann, hashOf, openSite, type Site } from "./site.ts";

/** A gate whose preview and changes have so many lines. */
async function openLong(preview: number, changes: number): Promise<{ readonly site: Site; readonly id: string }> {
  const lines = (n: number, sign = "") => Array.from({ length: n }, (_, i) => `${sign}line ${i + 1}`).join("\n");
  const shown = { preview: lines(preview), diff: changes === 0 ? null : lines(changes, "+") };
  const site = await openSite({ kernel: { capabilities: [publishing({}, {}, { preview: () => shown }).capability] } });
  const { workflow_id: id } = await site.kernel.submit({ ...ann, intent_hint: { intent_type: intent } });
  await site.kernel.settled(id);
  return { site, id };
}

describe("an approval at a gate that asks for care", () => {
  it("is sent once the word is typed, and a rejection at once", async () => {
    const { capability } = publishing({ gate: { confirm: "type" } });
    await using site = await openSite({ kernel: { capabilities: [capability] } });
    const { workflow_id: id } = await site.kernel.submit({ ...ann, intent_hint: { intent_type: intent } });
    await site.kernel.settled(id);
    await using visitor = await site.enter(ann);
    const { page, complaints } = visitor;
    await page.goto(site.url + hashOf(id, "/g/gate-publish"));
    await page.getByRole("button", { name: "Approve", exact: true }).press("Enter");
    await page.getByText("This gate asks for a second step.").waitFor();
    const sure = page.getByRole("button", { name: "Approve, I am sure" });
    expect(await sure.isDisabled()).toBe(true);
    await page.getByLabel("Type approve to go on").fill("aprove");
    await page.getByLabel("Type approve to go on").press("Enter");
    expect((await site.kernel.workflow(id)).state).toBe("waiting_for_user");
    await page.getByLabel("Type approve to go on").fill("Approve");
    await sure.press("Enter");
    await page.getByRole("heading", { name: "Approved. The work goes on." }).waitFor();
    expect(complaints).toEqual([]);
  });
});

describe("an approval with lines that were not shown", () => {
  it("counts only after a second confirmation that names how many lines there are", async () => {
    const { site, id } = await openLong(6000, 305);
    await using _ = site;
    await using visitor = await site.enter(ann);
    const { page, complaints } = visitor;
    await page.goto(site.url + hashOf(id, "/g/gate-publish"));
    const approve = page.getByRole("button", { name: "Approve", exact: true });
    await approve.press("Enter");
    await page.getByText(/^[\d,]+ lines of this were not shown to you yet\./).waitFor();
    // The same key once more confirms nothing.
    await approve.press("Enter");
    expect((await site.kernel.workflow(id)).state).toBe("waiting_for_user");
    await page.getByRole("button", { name: "Approve with 6,225 lines not shown" }).waitFor();
    // What is shown meanwhile is counted no more.
    await page.getByRole("button", { name: "Show the rest: 265 lines" }).press("Enter");
    const confirm = page.getByRole("button", { name: "Approve with 5,960 lines not shown" });
    await confirm.press("Enter");
    await page.getByRole("heading", { name: "Approved. The work goes on." }).waitFor();
    expect(complaints).toEqual([]);
  });

  it("needs no second one once all was shown, and a rejection never does", async () => {
    const { site, id } = await openLong(100, 0);
    await using _ = site;
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    await page.goto(site.url + hashOf(id, "/g/gate-publish"));
    await page.getByRole("button", { name: "Approve", exact: true }).press("Enter");
    await page.getByText("60 lines of this were not shown to you yet.").waitFor();
    await page.getByRole("button", { name: "Show the rest: 60 lines" }).press("Enter");
    await page.getByText("were not shown to you yet").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Approve", exact: true }).press("Enter");
    await page.getByRole("heading", { name: "Approved. The work goes on." }).waitFor();
    const other = await openLong(100, 0);
    await using __ = other.site;
    await using rejecting = await other.site.enter(ann);
    await rejecting.page.goto(other.site.url + hashOf(other.id, "/g/gate-publish"));
    await rejecting.page.getByRole("button", { name: "Reject", exact: true }).press("Enter");
    await rejecting.page.getByRole("heading", { name: "Rejected. It will not run." }).waitFor();
  });
});
