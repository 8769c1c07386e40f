/**
 * `npm run screens`: takes a picture of each view of the console, at three sizes, over a ledger that is the same each
 * time. The pictures are kept in `visualizations/screens`, with the digest of what they are made of.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { createHttpApp, serveHttp } from "../../src/faces/http/index.ts";
import { playerPage, recordRuns } from "../../src/observers/inspect/index.ts";
import { digestOfScreens, mostScreenBytes, screenFolder, screenSizes } from "./screen-sources.ts";
import { type Office, openOffice, person } from "./screen-story.ts";
import { findChromium } from "./start-browser.ts";

/** Returns the views: a name, the address after the host, and what is there once the view is drawn. */
const viewsOf = ({ waiting, paid, undone }: Office): readonly (readonly [string, string, string])[] => [
  ["inbox", "/#/", ".item"],
  ["gate", `/#/w/${waiting}/g/gate-pay`, ".answers"],
  ["runs", "/#/runs", "tbody tr"],
  ["run", `/#/w/${undone}`, ".chart-state.lit"],
  ["timeline", `/#/w/${paid}/time`, ".events li"],
  ["why", `/#/w/${paid}/why`, "h1"],
  ["compare", `/#/compare/${paid}/${waiting}`, ".compared"],
  ["what-if", "/#/what-if", "form"],
  ["budgets", "/#/budgets", "meter"],
  ["inspect", `/#/inspect?workflow=${undone}`, ".sequence li"],
];

const qualities = [0.82, 0.6, 0.4, 0.25, 0.12] as const;

/** Returns a picture as WebP, in the best quality that is small enough. The browser itself encodes it. */
async function encode(painter: Page, png: Buffer): Promise<Buffer> {
  for (const quality of qualities) {
    const text = await painter.evaluate(
      `(async () => {
        const image = new Image();
        image.src = "data:image/png;base64,${png.toString("base64")}";
        await image.decode();
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [image.width, image.height];
        canvas.getContext("2d").drawImage(image, 0, 0);
        return canvas.toDataURL("image/webp", ${quality}).split(",")[1];
      })()`,
    );
    const made = Buffer.from(String(text), "base64");
    if (made.length <= mostScreenBytes || quality === qualities.at(-1)) return made;
  }
  return png;
}

async function launch(): Promise<Browser> {
  const args = ["--no-sandbox", "--no-zygote", "--disable-dev-shm-usage", "--font-render-hinting=none"];
  return chromium.launch({ executablePath: await findChromium(), args, chromiumSandbox: false });
}

async function takeAll(): Promise<void> {
  const office = await openOffice();
  const { t } = office;
  const app = createHttpApp(t.kernel, { sessions: { home: "/" }, console: true, clock: t.clock });
  const server = await serveHttp(app, { port: 0 });
  const browser = await launch();
  rmSync(screenFolder, { recursive: true, force: true });
  mkdirSync(screenFolder, { recursive: true });
  const painter = await browser.newPage();
  const context = await browser.newContext({ reducedMotion: "reduce", timezoneId: "UTC", locale: "en" });
  const page = await context.newPage();
  const keep = async (name: string, width: number, height: number): Promise<void> => {
    await page.setViewportSize({ width, height });
    // Charts scroll to what is lit once their place has its width.
    await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))");
    const picture = await encode(painter, await page.screenshot());
    writeFileSync(join(screenFolder, `${name}-${width}x${height}.webp`), picture);
  };
  await page.clock.setFixedTime(t.clock.now());
  await page.goto(`${server.url}${await app.loginPath(person("ann"))}`);
  await page.getByRole("button", { name: "Sign in" }).press("Enter");
  await page.getByRole("navigation", { name: "Console" }).waitFor();
  for (const [name, address, drawn] of viewsOf(office))
    for (const [width, height] of screenSizes) {
      await page.setViewportSize({ width, height });
      await page.goto("about:blank");
      await page.goto(server.url + address);
      await page.locator(drawn).first().waitFor();
      await keep(name, width, height);
    }
  const events = await Array.fromAsync(t.kernel.events(office.undone, { live: false }));
  await page.goto("about:blank");
  await page.setContent(playerPage(recordRuns([events], { madeAt: new Date(t.clock.now()).toISOString() })).html);
  await page.locator(".chart-state.lit").first().waitFor();
  for (const [width, height] of screenSizes) await keep("player", width, height);
  writeFileSync(join(screenFolder, "sources.json"), `${JSON.stringify({ digest: digestOfScreens() })}\n`);
  await browser.close();
  await server.close();
  await t[Symbol.asyncDispose]();
}

await takeAll();
