/**
 * A browser's page that looks at the console of a server: what it complains of is kept, and none of it is allowed.
 *
 * Owns: one connection to the browser a worker, a context a visitor. Never: asserts but that nothing was complained of.
 */
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { inject } from "vitest";

let connected: Promise<Browser> | null = null;
const connect = (): Promise<Browser> => {
  connected ??= chromium.connect(inject("chromium" as never));
  return connected;
};

export interface Visitor extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Violations of the page's policy, errors of its scripts, requests to others: empty where all is well. */
  readonly complaints: readonly string[];
}

/** What a page's own scripts see; the tests know no DOM. */
interface ComplainingPage {
  readonly complain: (text: string) => void;
  readonly addEventListener: (name: string, hear: (event: Readonly<Record<string, string>>) => void) => void;
}

/** Resources that fail on purpose: a refusal, a server that is away. */
const expected = /^Failed to load resource: /;

export interface VisitOptions extends BrowserContextOptions {
  /** Whether decisions are held before they are sent; not by default, so that no test waits for that. */
  readonly holds?: boolean;
}

export async function visit(url: string, { holds = false, ...options }: VisitOptions = {}): Promise<Visitor> {
  const context = await (await connect()).newContext({ viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(25_000);
  const complaints: string[] = [];
  const { origin } = new URL(url);
  await context.exposeBinding("complain", (_, text: string) => void complaints.push(text));
  await context.addInitScript(() => {
    const page = globalThis as unknown as ComplainingPage;
    page.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sample }) => {
      page.complain(`policy: ${violatedDirective} ${blockedURI} ${sample}`);
    });
  });
  // A page without an address of its own, such as a sandboxed frame, has no store.
  if (!holds) await context.addInitScript("try { localStorage.setItem('countersign.undo', 'off') } catch {}");
  context.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) complaints.push(`request: ${request.url()}`);
  });
  const page = await context.newPage();
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !expected.test(message.text()))
      complaints.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(url);
  return { page, context, complaints, [Symbol.asyncDispose]: () => context.close() };
}
