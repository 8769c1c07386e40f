/** Whoever sees little, nothing, no colours, or has a small screen, can do what others can. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Visitor, visit } from "./browser.ts";
import { type Gallery, openGallery } from "./gallery.ts";
import { ann } from "./site.ts";

/** Where only the colours are others, only what colours can break is judged again. */
const looks = [
  ["light", { colorScheme: "light", forcedColors: "none" }, 1280, null],
  ["dark", { colorScheme: "dark", forcedColors: "none" }, 1280, "color-contrast"],
  ["forced colours", { colorScheme: "light", forcedColors: "active" }, 1280, "color-contrast"],
  ["320 pixels wide", { colorScheme: "light", forcedColors: "none" }, 320, null],
] as const;

let gallery: Gallery;
let visitor: Visitor;
beforeAll(async () => {
  gallery = await openGallery();
  visitor = await gallery.site.enter(ann);
});
afterAll(async () => {
  await visitor[Symbol.asyncDispose]();
  await gallery[Symbol.asyncDispose]();
});

async function violationsOf(page: Page, rule: string | null) {
  const axe = new AxeBuilder({ page }).setLegacyMode();
  return (await (rule === null ? axe : axe.withRules([rule])).analyze()).violations;
}

/** What is wrong, in each look. Pictures are kept where SHOTS names a folder. */
async function judge(page: Page, name: string): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const [look, media, width, rule] of looks) {
    await page.emulateMedia({ ...media, reducedMotion: "reduce" });
    await page.setViewportSize({ width, height: 900 });
    for (const { id, nodes } of await violationsOf(page, rule))
      wrong.push(`${look}: ${id}: ${nodes.map(({ html }) => html).join(" ")}`);
    const beyond = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
    if (Number(beyond) > 0) wrong.push(`${look}: the page is ${beyond} pixels wider than its window`);
    const { SHOTS: folder } = process.env;
    if (folder !== undefined) await page.screenshot({ path: `${folder}/${name} ${look}.png`, fullPage: true });
  }
  return wrong;
}

describe("WCAG 2.2, as axe-core judges it, in light, dark, forced colours and 320 pixels", () => {
  const names = [
    "inbox",
    "gate",
    "decided gate",
    "run",
    "run before",
    "timeline",
    "why",
    "runs",
    "home",
    "new run",
    "what if",
    "budgets",
    "inspect",
    "compare",
    "no such page",
  ];
  it.each(names)("%s", async (name) => {
    const view = gallery.views.find(([one]) => one === name);
    const { page } = visitor;
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(gallery.site.url + view?.[1]);
    await page
      .locator(view?.[2] ?? "")
      .first()
      .waitFor();
    expect(await judge(page, name)).toEqual([]);
    expect(visitor.complaints).toEqual([]);
  });

  it("sign in", async () => {
    await using stranger = await visit(`${gallery.site.url}/`);
    await stranger.page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await judge(stranger.page, "sign in")).toEqual([]);
    expect(stranger.complaints).toEqual([]);
  });

  it("is really judged: an image without words and grey on grey are found", async () => {
    const { page } = visitor;
    await page.goto(`${gallery.site.url}/#/nowhere`);
    await page.evaluate("document.querySelector('main').append(document.createElement('img'))");
    await page.evaluate("document.querySelector('main p').style.color = '#bbb'");
    expect((await violationsOf(page, null)).map(({ id }) => id).sort()).toEqual(["color-contrast", "image-alt"]);
  });
});

describe("what is read aloud", () => {
  const drawn = async (name: string) => {
    const [, address = "", ready = ""] = gallery.views.find(([one]) => one === name) ?? [];
    await visitor.page.goto(gallery.site.url + address);
    await visitor.page.locator(ready).first().waitFor();
    // Instants, spans and ids differ from run to run.
    const told = await visitor.page.locator("main").ariaSnapshot();
    const timeless = told.replace(/\w{3}, \w{3} \d+, \d{4}, \d+:\d+ [AP]M \w+/g, "INSTANT");
    return timeless.replace(/wf_\w+/g, "WF").replace(/just now|(\d+ (second|minute|min|s)s?( ago)?)/g, "TIME");
  };

  it("of the inbox and of a gate is what it was", async () => {
    await visitor.page.setViewportSize({ width: 1280, height: 900 });
    await expect(await drawn("inbox")).toMatchFileSnapshot("aria/inbox.yaml");
    await expect(await drawn("gate")).toMatchFileSnapshot("aria/gate.yaml");
  });

  it("follows this order by Tab at a gate, which begins at the heading; Approve is never focused first", async () => {
    await drawn("gate");
    const { page } = visitor;
    await page.locator("h1:focus").waitFor();
    const focused = () =>
      page.evaluate("(document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent).trim()");
    expect(await focused()).toBe("publish");
    const order: unknown[] = [];
    for (let presses = 0; presses < 13; presses += 1) {
      await page.keyboard.press("Tab");
      order.push(await focused());
    }
    expect(order).toEqual([
      "the whole run",
      "Look after it",
      "Comment or ask",
      "Assign, snooze or watch",
      "draft",
      "Exactly this will run",
      "Particulars",
      "",
      "Approve",
      "Reject",
      "Change something first",
      "Let somebody else decide for me",
      "Keyboard",
    ]);
  });

  it("is reached by single keys, which can be switched off and decide nothing; the guide is a link away", async () => {
    await drawn("gate");
    const { page } = visitor;
    for (const key of ["d", "a", "r", "y", "Enter"]) await page.keyboard.press(key);
    expect(await page.locator("#decision:focus").count()).toBe(1);
    await page.keyboard.press("u");
    await page.getByRole("heading", { name: "Runs" }).waitFor();
    await page.locator("tbody tr").first().waitFor();
    await page.keyboard.press("j");
    expect(await page.locator("tbody a:focus").count()).toBe(1);
    expect(await page.getByRole("link", { name: "Guide" }).getAttribute("href")).toBe("/guide");
    await page.getByRole("button", { name: "Keyboard" }).click();
    await page.getByLabel("Single-key shortcuts").uncheck();
    await page.getByRole("button", { name: "Close" }).press("Enter");
    await page.locator("h1").focus();
    await page.keyboard.press("i");
    expect(new URL(page.url()).hash).toBe("#/runs");
    await page.getByRole("button", { name: "Keyboard" }).click();
    await page.getByLabel("Single-key shortcuts").check();
  });
});
