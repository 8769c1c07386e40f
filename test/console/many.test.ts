/** Many gates, and long words: every gate can be reached, and no word pushes another column out of sight. */
import { describe, expect, it } from "vitest";
import { counted, gatedSteps, intent, step, story } from "../gates/story.ts";
import { ann, bo, hashOf, openSite } from "./site.ts";

describe("an inbox of more than a hundred gates", () => {
  it("reaches every one by search, order, filter and page, all in the address, and keeps named views", async () => {
    await using site = await openSite({ kernel: { capabilities: [gatedSteps(10).capability] } });
    const ids: string[] = [];
    for (let n = 0; n < 11; n += 1) {
      const who = n === 5 ? bo : ann;
      const input = { mode: "data" as const, text: `Order ${n}` };
      const { workflow_id } = await site.kernel.submit({ ...who, input, intent_hint: { intent_type: intent } });
      await site.kernel.settled(workflow_id);
      ids.push(workflow_id);
    }
    await using visitor = await site.enter(ann);
    const { page, complaints } = visitor;
    await page.getByText("110 decisions wait for you.").waitFor();
    await page.getByText("These are 50 of 110.").waitFor();
    const gates = () => page.locator(".item a[data-item]").evaluateAll((all) => all.map((a) => a.getAttribute("href")));
    for (const shown of ["These are 100 of 110.", null]) {
      await page.getByRole("button", { name: "Show more" }).press("Enter");
      if (shown !== null) await page.getByText(shown).waitFor();
    }
    await page.getByText(/^These are/).waitFor({ state: "detached" });
    expect(new Set(await gates()).size).toBe(110);
    await page.getByLabel("Order").selectOption("newest");
    await page.getByText("These are 50 of 110.").waitFor();
    await page.locator(".item").first().locator(`a[href*="${ids[10]}"]`).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { name: "Inbox" }).focus();
    await page.keyboard.press("/");
    await page.keyboard.type("ORDER 5");
    await page.getByText("10 decisions.", { exact: true }).waitFor();
    expect(new URL(page.url()).hash).toBe("#/?sort=newest&text=ORDER+5");
    await page.reload();
    await page.getByText("10 decisions.", { exact: true }).waitFor();
    expect((await gates()).every((href) => href?.includes(ids[5] as string))).toBe(true);
    await page.getByText("Filters").press("Enter");
    await page.getByLabel("Name of this view").fill("The fifth");
    await page.getByRole("button", { name: "Save view" }).press("Enter");
    await page.getByLabel("Asked by").fill("ann");
    await page.getByLabel("Asked by").press("Tab");
    await page.getByText("No decision is like that.").waitFor();
    await page.getByRole("button", { name: "Clear all" }).press("Enter");
    await page.getByText("110 decisions wait for you.").waitFor();
    await page.getByRole("link", { name: "The fifth" }).press("Enter");
    await page.getByText("10 decisions.", { exact: true }).waitFor();
    expect(complaints).toEqual([]);
  });
});

describe("the search of the inbox", () => {
  it("keeps what is typed as soon as another list is shown", async () => {
    await using site = await openSite({ kernel: { capabilities: [gatedSteps(2).capability] } });
    const { workflow_id } = await site.kernel.submit({ ...ann, intent_hint: { intent_type: intent } });
    await site.kernel.settled(workflow_id);
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    await page.goto(`${site.url}/#/?text=nothing+like+it`);
    await page.getByText("No decision is like that.").waitFor();
    // The list of the new address is drawn, and nothing was painted yet.
    await page.evaluate(`(async () => {
      const shown = new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
      location.hash = "#/";
      await shown;
      for (let n = 0; n < 20; n += 1) await null;
      const field = document.querySelector("[aria-label=Search]");
      field.value = "${workflow_id}";
      field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    })()`);
    await expect.poll(() => new URL(page.url()).hash).toBe(`#/?text=${workflow_id}`);
    expect(await page.getByLabel("Search").inputValue()).toBe(workflow_id);
  });
});

describe("the inbox at a desk", () => {
  it("sums the facts that an operator says are summed, exactly and with their currency", async () => {
    const facts = [{ label: "Amount", value: "amount", format: "money" as const, currency: "EUR", total: true }];
    const pay = counted("Bill.Pay", { effect: "write_draft", present: { facts } });
    const steps = [10.1, 10.1, 10.1].map((amount, i) => step(`s${i}`, pay, { gate: {}, params: { amount } }));
    await using site = await openSite({ kernel: { capabilities: [story([pay], steps)] } });
    await site.kernel.settled((await site.kernel.submit({ ...ann, intent_hint: { intent_type: intent } })).workflow_id);
    await using visitor = await site.enter(ann, { viewport: { width: 1400, height: 900 } });
    const { page, complaints } = visitor;
    for (const name of ["s0", "s1", "s2"]) await page.getByRole("checkbox", { name: `Select ${name}` }).check();
    await page.locator(".sums", { hasText: "Sum of Amount" }).getByText("30.30 EUR").waitFor();
    expect(complaints).toEqual([]);
  });

  it("keeps a gate open that was opened while the search was still typed", async () => {
    await using site = await openSite({ kernel: { capabilities: [gatedSteps(2).capability] } });
    await site.kernel.settled((await site.kernel.submit({ ...ann, intent_hint: { intent_type: intent } })).workflow_id);
    await using visitor = await site.enter(ann, { viewport: { width: 1400, height: 900 } });
    const { page, complaints } = visitor;
    const first = page.locator(".item").first().getByRole("link");
    const title = (await first.textContent()) ?? "";
    await page.getByLabel("Search").fill(title.trim());
    await first.click();
    await expect.poll(() => new URL(page.url()).hash).toMatch(/text=.*gate=/);
    await page.getByText("1 decision", { exact: false }).first().waitFor();
    await page.locator("#detail h1", { hasText: title }).waitFor();
    expect(complaints).toEqual([]);
  });

  it("has the gate beside the list, shows the next after each answer, and is gone through by keys alone", async () => {
    const { capability } = gatedSteps(4);
    await using site = await openSite({ kernel: { capabilities: [capability] } });
    const { workflow_id } = await site.kernel.submit({ ...ann, intent_hint: { intent_type: intent } });
    await site.kernel.settled(workflow_id);
    await using visitor = await site.enter(ann, { viewport: { width: 1400, height: 900 } });
    const { page, complaints } = visitor;
    const focused = () => page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()");
    const titles = async () => (await page.locator(".item h2").allTextContents()).map((title) => title.trim());
    await page.locator(".item").nth(3).waitFor();
    const [first, second, third, fourth] = await titles();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.locator("#detail h1", { hasText: second as string }).waitFor();
    expect(await focused()).toBe(second);
    await page.keyboard.press("a");
    expect(await focused()).toBe("decision");
    await page.getByRole("button", { name: "Approve", exact: true }).press("Enter");
    await page.locator("#detail h1:focus", { hasText: third as string }).waitFor();
    await page.locator("#detail .note.good", { hasText: "Approved. The work goes on." }).waitFor();
    await page.getByText("3 decisions wait for you.").waitFor();
    await page.getByRole("checkbox", { name: `Select ${first}` }).focus();
    await page.keyboard.press("x");
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.getByRole("heading", { name: "2 decisions selected" }).waitFor();
    await page.getByRole("button", { name: "Select all like these" }).press("Enter");
    const approve = page.getByRole("button", { name: "Approve all 3" });
    await approve.waitFor();
    const box = await approve.boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(900);
    await approve.press("Enter");
    await page.getByText("Nothing waits for you.").waitFor();
    expect(await focused()).toBe("Inbox");
    expect((await site.kernel.settled(workflow_id)).state).toBe("completed");
    expect(fourth).not.toBe(third);
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.getByLabel("Go to a page, decision or run").fill("budg");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Budgets" }).waitFor();
    expect(complaints).toEqual([]);
  });
});

describe("the runs", () => {
  it("are found by what one types, in an order, by state: all in the address, which a reload keeps", async () => {
    await using site = await openSite({ kernel: { capabilities: [gatedSteps(1).capability] } });
    for (const text of ["Order A-7", "Order B-8"]) {
      const input = { mode: "data" as const, text };
      const { workflow_id } = await site.kernel.submit({ ...ann, input, intent_hint: { intent_type: intent } });
      await site.kernel.settled(workflow_id);
    }
    await using visitor = await site.enter(ann);
    const { page, complaints } = visitor;
    await page.goto(`${site.url}/#/runs`);
    await page.getByText("2 runs").waitFor();
    await page.getByRole("combobox", { name: "Order" }).selectOption("oldest");
    await page.getByRole("combobox", { name: "State" }).selectOption("waiting_for_user");
    const first = page.locator("tbody tr").first();
    await first.getByText("Order A-7").waitFor();
    await page.getByLabel("Search").pressSequentially("b-8");
    await page.getByText("1 run", { exact: true }).waitFor();
    expect(new URL(page.url()).hash).toBe("#/runs?text=b-8&state=waiting_for_user&sort=oldest");
    await page.reload();
    await page.getByText("1 run", { exact: true }).waitFor();
    await first.getByRole("link", { name: "Order B-8" }).press("Enter");
    await page.getByRole("heading", { name: "Order B-8" }).waitFor();
    await page.goBack();
    await page.getByText("1 run", { exact: true }).waitFor();
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
