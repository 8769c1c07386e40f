/**
 * What the console may weigh and take: bytes, the first picture of a full inbox, memory over a long day, a large
 * payload.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { counted, gatedSteps, intent, publishing, step, story } from "../gates/story.ts";
import { ann, hashOf, openSite, type Site } from "./site.ts";

const folder = join(import.meta.dirname, "../../dist/console");
const built = readdirSync(folder).filter((name) => /\.(js|css)$/.test(name));

describe("the files", () => {
  it("come to 90 kB at most as they are sent, none to more than 300 kB as it is", () => {
    const bytes = built.map((name) => readFileSync(join(folder, name)));
    const sent = bytes.reduce((sum, one) => sum + brotliCompressSync(one).length, 0);
    expect(sent).toBeLessThanOrEqual(90_000);
    expect(Math.max(...bytes.map(({ length }) => length))).toBeLessThanOrEqual(300_000);
  });

  it("hold nothing of the kernel but the rules by which text is shown, and name whose code they hold", () => {
    const code = built.map((name) => readFileSync(join(folder, name), "utf8")).join("");
    expect(code).not.toMatch(/ZodError|createMachine|sqlite|lineNumber/);
    expect(code).not.toContain(join(import.meta.dirname, "../.."));
    expect(code).toContain("RIGHT-TO-LEFT OVERRIDE");
    const licenses = readFileSync(join(folder, "licenses.txt"), "utf8");
    for (const name of ["preact", "@preact/signals", "@preact/signals-core"]) expect(licenses).toContain(`${name}\n`);
  });
});

const expiry = { after_ms: 7_200_000, action: "deny" as const };

/** So many workflows of ten gates each. */
async function fill(site: Site, workflows: number, inputs: object = {}): Promise<void> {
  const all = Array.from({ length: workflows }, () =>
    site.kernel.submit({ ...ann, intent_hint: { intent_type: intent, inputs: { ...inputs } } }),
  );
  for (const { workflow_id } of await Promise.all(all)) await site.kernel.settled(workflow_id);
}

/** How long the machine itself takes for a fixed piece of work in this page, in ms: what a limit is held against. */
const paceOf = (page: Page): Promise<number> =>
  page.evaluate(`(() => {
    const t = performance.now();
    let n = 0;
    for (let i = 0; i < 3e7; i += 1) n += i % 7;
    return performance.now() - t + 0 * n;
  })()`);

/** The page's heap after a collection, in bytes. */
const heapOf = (page: Page): Promise<number> => page.evaluate("(gc(), gc(), performance.memory.usedJSHeapSize)");

describe("a full inbox", () => {
  it("of 1,000 gates is painted within a second, says how many there are, and is decided from", async () => {
    await using site = await openSite({ kernel: { capabilities: [gatedSteps(10).capability] } });
    await fill(site, 100);
    await using visitor = await site.enter(ann);
    const { page, complaints } = visitor;
    await page.getByText("1,000 decisions wait for you.").waitFor({ timeout: 30_000 });
    // The page anew, as a person who is signed in opens it.
    await page.reload();
    await page.locator(".item").first().waitFor();
    const painted = Number(await page.evaluate("performance.now()"));
    const slow = Math.max(1, (await paceOf(page)) / 30);
    expect(painted).toBeLessThan(1000 * slow);
    expect(await page.locator(".item").count()).toBe(50);
    await page.getByText("These are 50 of 1,000").waitFor();
    for (const box of (await page.getByRole("checkbox", { name: /^Select/ }).all()).slice(0, 3)) await box.check();
    await page.getByRole("button", { name: "Approve all 3" }).press("Enter");
    await page.getByText("997 decisions wait for you.").waitFor({ timeout: 30_000 });
    expect(complaints).toEqual([]);
  });

  it("of 10,000 gates is shown with their number, first what falls due, in as many as one can look at", async () => {
    const send = counted("Note.Send", { effect: "write_draft" });
    const stepsOf = (gate: object) =>
      Array.from({ length: 10 }, (_, i) => step(`s${i}`, send, { gate, params: { i } }));
    const plan = ({ input }: { readonly input: unknown }) => ({
      reasoning: "ten decisions",
      steps: stepsOf((input as { readonly dated?: boolean }).dated === true ? { expiry } : {}),
    });
    // One principal asks for all of them at once.
    const limits = { inFlightTenantPercent: 100, inFlightPrincipalPercent: 100 };
    await using site = await openSite({ kernel: { capabilities: [story([send], [], { plan })], limits } });
    await fill(site, 1, { dated: true });
    await fill(site, 999);
    await using visitor = await site.enter(ann);
    const { page, complaints } = visitor;
    await page.getByText("10,000 decisions wait for you.").waitFor({ timeout: 60_000 });
    await page.getByText("These are 50 of 10,000").waitFor();
    expect(await page.locator(".item").first().textContent()).toMatch(/due in/);
    expect(complaints).toEqual([]);
  });

  it("is looked at all day: 10,000 changes told by the feed leave no more in memory", async () => {
    await using site = await openSite({ kernel: { capabilities: [publishing().capability] } });
    await using visitor = await site.enter(ann);
    const { page, complaints } = visitor;
    await page.getByText("Nothing waits for you.").waitFor();
    const tell = (from: number, n: number) =>
      page.evaluate(`(() => {
        const gate = {
          gate_id: "gate-x", step_id: "x", kind: "approval", status: "open", title: "x", operator: "X",
          risk_level: "low", roles: null, opened_at: "2026-01-01T00:00:00Z", due_at: null, votes: 0,
        };
        for (let i = ${from}; i < ${from + n}; i += 1) {
          const gates = [{ ...gate, change: i % 2 ? "opened" : "closed" }];
          const item = { type: "workflow", position: i, workflow_id: "wf_" + i, gates };
          const message = { data: JSON.stringify(item), lastEventId: String(i) };
          window.feed.dispatchEvent(new MessageEvent("kernel.feed", message));
        }
      })()`);
    await page.addInitScript(
      "window.EventSource = class extends EventSource { constructor(url) { super(url); window.feed = this; } };",
    );
    await page.reload();
    await page.getByText("live", { exact: true }).waitFor();
    await tell(1e6, 1000);
    const before = await heapOf(page);
    for (let round = 0; round < 10; round += 1) await tell(2e6 + 1000 * round, 1000);
    const after = await heapOf(page);
    expect(after - before).toBeLessThan(1_000_000);
    expect(complaints).toEqual([]);
  });
});

describe("a payload of a megabyte", () => {
  it("is shown in part and says so, whole on a word, and is approved to its digest", async () => {
    const text = `begin ${"word ".repeat(190_000)}end`;
    const story = publishing({ params: { text, to: "board" } });
    await using site = await openSite({
      kernel: { capabilities: [story.capability] },
    });
    const { workflow_id: id } = await site.kernel.submit({ ...ann, intent_hint: { intent_type: intent } });
    const state = await site.kernel.settled(id);
    expect(state.state).toBe("waiting_for_user");
    await using visitor = await site.enter(ann);
    const { page, complaints } = visitor;
    await page.goto(site.url + hashOf(id, "/g/gate-publish"));
    const more = page.getByRole("button", { name: /^Show the rest: [\d,]+ characters$/ });
    await more.first().waitFor();
    await more.first().press("Enter");
    await page.locator("pre", { hasText: " end" }).first().waitFor();
    await page.getByRole("button", { name: "Approve", exact: true }).press("Enter");
    await page.getByRole("heading", { name: "Approved. The work goes on." }).waitFor();
    await site.kernel.settled(id);
    expect(story.publish.calls.map(({ input }) => (input as { text: string }).text.length)).toEqual([text.length]);
    expect(complaints).toEqual([]);
  });
});
