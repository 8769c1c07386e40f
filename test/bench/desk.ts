/**
 * `npm run bench:desk`: does the five tasks of an approver over 1,000 runs and 600 open gates, and prints how long the
 * page took from each key, click or touch to the next picture (Event Timing), at a desk and on a phone.
 *
 * The browser reports interactions of 16 ms and more; shorter ones are counted by `interactionCount` and taken as 16.
 */
import { type Browser, chromium, type Page } from "playwright-core";
import * as day from "../console/desk-day.ts";
import { ann } from "../console/site.ts";
import { findChromium } from "../console/start-browser.ts";

/** Collects the longest duration of each interaction, ms, across pages of one tab. */
const observe = `(() => {
  window.slow = new Map();
  new PerformanceObserver((list) => {
    for (const { interactionId, duration } of list.getEntries())
      if (interactionId > 0) slow.set(interactionId, Math.max(duration, slow.get(interactionId) ?? 0));
  }).observe({ type: "event", durationThreshold: 16, buffered: true });
})()`;

interface Told {
  readonly count: number;
  readonly slow: readonly number[];
}

/** Lets the browser report the last interactions, and returns all of them. */
const readTimes = (page: Page): Promise<Told> =>
  page.evaluate(
    `new Promise((told) => setTimeout(told, 500)).then(() => {
      return { count: performance.interactionCount, slow: [...slow.values()] };
    })`,
  );

/** Goes through the list by keys and types a search, letter by letter. */
async function browse({ page }: day.Seat): Promise<void> {
  await page
    .getByRole("link", { name: /^Inbox/ })
    .first()
    .press("Enter");
  await page
    .getByText(/decisions wait for you/)
    .first()
    .waitFor();
  for (let n = 0; n < 40; n += 1) await page.keyboard.press(n % 3 === 2 ? "k" : "j");
  await page.getByLabel("Search").first().pressSequentially("supplier 31", { delay: 40 });
  await page
    .getByText(/^1?\d decisions/)
    .first()
    .waitFor();
}

const tasks = [browse, day.approvePayment, day.readEdit, day.approveBatch, day.readWhy, day.answerDoubt] as const;
const quantile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;

async function work(browser: Browser, desk: day.Desk, place: day.Place): Promise<void> {
  const context = await browser.newContext(day.places[place]);
  await context.addInitScript(observe);
  const page = await context.newPage();
  await page.goto(await desk.site.link(ann));
  await page.getByRole("button", { name: "Sign in" }).click();
  const seat = day.sitAt(place, page);
  for (const task of tasks) {
    const began = performance.now();
    await task(seat);
    console.log(`${place}: ${task.name}: done in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  }
  const { count, slow } = await readTimes(page);
  const all = [...Array.from({ length: Math.max(0, count - slow.length) }, () => 16), ...slow].sort((a, b) => a - b);
  const [p50, p95] = [quantile(all, 0.5), quantile(all, 0.95)];
  console.log(`${place}: ${all.length} interactions, p50 ${p50} ms, p95 ${p95} ms, longest ${all.at(-1)} ms`);
  await context.close();
}

const desk = await day.openDesk({ runs: 1_000, gates: 600 });
const args = ["--no-sandbox", "--no-zygote", "--disable-dev-shm-usage"];
const browser = await chromium.launch({ executablePath: await findChromium(), args, chromiumSandbox: false });
await work(browser, desk, "desk");
await work(browser, desk, "phone");
await browser.close();
await desk.site[Symbol.asyncDispose]();
