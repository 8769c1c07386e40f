/**
 * Before the tests of the console: it is built, and one Chromium is started, which all workers share.
 *
 * B1  The browser is unpacked once, whole or not at all, into a folder of this checkout.
 * B2  A machine that cannot run it says what it lacks.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type BrowserServer, chromium } from "playwright-core";
import type { TestProject } from "vitest/node";

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await run(process.execPath, [join(root, "visualizations/build-console.mjs")]);
  const server = await launch(await findChromium());
  project.provide(...providing(server.wsEndpoint()));
  return () => server.close();
}

/** What workers are told has no type of its own here: `inject` in browser.ts reads it. */
const providing = (address: string) => ["chromium", address] as unknown as Parameters<TestProject["provide"]>;

/** The path of the program. It is unpacked beside its place, and moved there when it is whole. */
export async function findChromium(): Promise<string> {
  const manifest = join(root, "node_modules/@sparticuz/chromium/package.json");
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { readonly version: string };
  const folder = join(root, "node_modules/.cache", `chromium-${version}`);
  if (!existsSync(folder)) {
    const part = `${folder}.${process.pid}`;
    mkdirSync(part, { recursive: true });
    // Where it unpacks to is the folder for temporary files, and nothing else says so.
    const script = 'import("@sparticuz/chromium").then(({ default: chromium }) => chromium.executablePath())';
    await run(process.execPath, ["-e", script], { cwd: root, env: { ...process.env, TMPDIR: part } });
    if (existsSync(folder)) rmSync(part, { recursive: true });
    else renameSync(part, folder);
  }
  return join(folder, "chromium");
}

const args = [
  "--no-sandbox",
  "--no-zygote",
  "--disable-dev-shm-usage",
  "--font-render-hinting=none",
  "--js-flags=--expose-gc",
];

async function launch(executablePath: string): Promise<BrowserServer> {
  try {
    return await chromium.launchServer({ executablePath, args, chromiumSandbox: false });
  } catch (thrown) {
    const { message } = thrown as Error;
    const missing = /error while loading shared libraries: (\S+?):/.exec(message)?.[1];
    const lack =
      missing === undefined ? message : `the system has no ${missing}; Chromium needs nss, nspr and fontconfig`;
    throw new Error(`The tests of the console need a browser, and Chromium did not start: ${lack}`);
  }
}
