/** Many gates, and long words: every gate can be reached, and no word pushes another column out of sight. */
import { describe, expect, it } from "vitest";
import { gatedSteps, intent } from "../gates/story.ts";
import { ann, hashOf, openSite } from "./site.ts";

describe("an inbox of more than a hundred gates", () => {
  it("shows every one of them, page by page, and on a person's word what has waited longest first", async () => {
    await using site = await openSite({ kernel: { capabilities: [gatedSteps(10).capability] } });
    const ids: string[] = [];
    for (let n = 0; n < 15; n += 1) {
      const { workflow_id } = await site.kernel.submit({ ...ann, intent_hint: { intent_type: intent } });
      await site.kernel.settled(workflow_id);
      ids.push(workflow_id);
    }
    await using visitor = await site.enter(ann);
    const { page, complaints } = visitor;
    await page.getByText("150 decisions wait for you.").waitFor();
    await page.getByText("These are 100 of 150.").waitFor();
    const links = () => page.locator(".item a[data-item]").evaluateAll((all) => all.map((a) => a.getAttribute("href")));
    expect((await links()).some((href) => href?.includes(ids[0] as string))).toBe(false);
    await page.getByRole("button", { name: "Show more" }).press("Enter");
    await page.getByText("These are 100 of 150.").waitFor({ state: "detached" });
    expect(new Set(await links()).size).toBe(150);
    await page.getByLabel("First").selectOption("oldest");
    await page.getByText("These are 100 of 150.").waitFor();
    const oldest = await links();
    expect(oldest.slice(0, 10).every((href) => href?.includes(ids[0] as string))).toBe(true);
    await page.getByRole("button", { name: "Show more" }).press("Enter");
    await page.getByText("These are 100 of 150.").waitFor({ state: "detached" });
    expect(new Set(await links()).size).toBe(150);
    expect((await links()).slice(0, 100)).toEqual(oldest);
    expect(complaints).toEqual([]);
  });
});

describe("more actors than the inspector shows", () => {
  it("are counted, paged and found by a text, and the actor that is chosen stays in view", async () => {
    await using site = await openSite({ kernel: { capabilities: [gatedSteps(1).capability] } });
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    const told = Array.from({ length: 503 }, (_, i) => ({
      ...{ type: "@xstate.actor", id: `e${i}`, rootId: "kernel", createdAt: "0", _version: "0.4.0" },
      ...{ sessionId: i === 0 ? "kernel" : `a${i}`, name: `actor ${i}`, definition: "{}" },
      ...(i === 0 ? {} : { parentId: "kernel" }),
      snapshot: { status: "active", value: {}, context: {} },
    }));
    const full = {
      ...{ type: "@xstate.event", id: "full", rootId: "kernel", createdAt: "0", _version: "0.4.0" },
      ...{ sessionId: "kernel", sourceId: "a1", event: { type: "INSPECTOR_FULL" } },
    };
    const body = [...told, full].map((one) => `event: kernel.inspection\ndata: ${JSON.stringify(one)}\n\n`).join("");
    await page.route("**/stream/inspect**", (route) =>
      route.request().method() === "HEAD"
        ? route.fulfill({ status: 204 })
        : route.fulfill({ contentType: "text/event-stream", body }),
    );
    await page.goto(`${site.url}/#/inspect`);
    await page.getByText("3 more actors are not shown.").waitFor();
    await page.getByRole("heading", { name: "500 actors" }).waitFor();
    await page.getByText("More runs are open than are shown").waitFor();
    const list = page.locator("ul.tree").first();
    expect((await list.boundingBox())?.height).toBeLessThan(900);
    expect(await list.locator("li").count()).toBe(100);
    await page.getByRole("button", { name: "Show 100 more of 400 actors" }).press("Enter");
    expect(await list.locator("li").count()).toBe(200);
    await page.getByRole("searchbox").fill("actor 49");
    await page.getByText("12 of 500 actors").waitFor();
    await list.getByRole("button", { name: "actor 499" }).click();
    expect((await page.locator(".board > .charts").boundingBox())?.y).toBeGreaterThanOrEqual(0);
  });
});

describe("one long word", () => {
  it("breaks no table and no page, at a desk's width, a tablet's and a phone's", async () => {
    await using site = await openSite({ kernel: { capabilities: [gatedSteps(1).capability] } });
    const inputs = { order: "x".repeat(150) };
    const request = { ...ann, intent_hint: { intent_type: intent, inputs: { ...inputs, text: "y".repeat(150) } } };
    const { workflow_id } = await site.kernel.submit(request);
    await site.kernel.settled(workflow_id);
    for (const width of [1400, 768, 390]) {
      await using visitor = await site.enter(ann, { viewport: { width, height: 900 } });
      const { page } = visitor;
      for (const [address, drawn] of [
        ["/#/", ".item"],
        ["/#/runs", "tbody tr"],
        [hashOf(workflow_id), ".chart-state.lit"],
      ] as const) {
        await page.goto(site.url + address);
        await page.locator(drawn).first().waitFor();
        expect(
          await page.evaluate("document.documentElement.scrollWidth"),
          `${address} at ${width}`,
        ).toBeLessThanOrEqual(width);
      }
      await page.goto(`${site.url}/#/runs`);
      const state = await page.locator("tbody td:nth-child(2)").first().boundingBox();
      expect((state?.x ?? 0) + (state?.width ?? 0), `the state of a run at ${width}`).toBeLessThanOrEqual(width);
    }
  });
});
