/**
 * What comes from outside is shown as it is and does nothing: markup, links, marks that hide, move or look like others.
 * Whatever of it ran, asked another host or broke the page's policy would be a complaint.
 */
import { describe, expect, it } from "vitest";
import { createHttpApp } from "../../src/faces/http/index.ts";
import { createKernel } from "../../src/index.ts";
import { counted, intent, step, story } from "../gates/story.ts";
import { visit } from "./browser.ts";
import { ann, hashOf, openSite } from "./site.ts";

const markup = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "<svg onload=alert(1)>",
  "</pre><iframe src='javascript:alert(1)'>",
  "<a href='javascript:alert(1)'>click</a>",
  "javascript:alert(1)",
  "https://evil.test/?q=1",
  "{{constructor.constructor('alert(1)')()}}",
  "&lt;b&gt; &amp; <!-- -->",
  "]]><x/>",
].join("\n");

const hidden = "pay\u202e0001\u2066 to \u200bbob\u0000 \u00adnow\ufeff e\u0301 ‹fake›";

describe("text from outside", () => {
  it("stays text: no markup in titles, payloads, reasons, outputs, comments and errors runs", async () => {
    const draft = counted("Note.Draft", { effect: "write_draft" }, () => ({ text: markup }));
    const fails = counted("Note.Fail", { effect: "write_draft" }, () => {
      throw new Error(markup);
    });
    const gate = { reason: markup };
    const steps = [
      step("draft", draft, { name: markup.slice(0, 250) }),
      step("send", draft, {
        name: markup.slice(0, 250),
        gate,
        params: { [markup.slice(0, 40)]: markup },
        depends_on: ["draft"],
      }),
      step("fail", fails, { name: "fail" }),
    ];
    await using site = await openSite({ kernel: { capabilities: [story([draft, fails], steps)] } });
    const request = { ...ann, intent_hint: { intent_type: intent, inputs: { note: markup } } };
    const { workflow_id: id } = await site.kernel.submit(request);
    await site.kernel.settled(id);
    await using visitor = await site.enter(ann);
    const { page, complaints } = visitor;
    for (const [address, drawn] of [
      ["/#/", ".item"],
      [hashOf(id, "/g/gate-send"), ".answers"],
      [hashOf(id), ".chart-state.lit"],
      [hashOf(id, "/time"), ".events li"],
      [hashOf(id, "/why"), ".causes li"],
      ["/#/runs", "tbody tr"],
      [`/#/inspect?workflow=${id}`, ".sequence li"],
    ] as const) {
      await page.goto(site.url + address);
      await page.locator(drawn).first().waitFor();
      await page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true");
      expect([
        address,
        await page.locator("main script, main img, main iframe, main a[href^='javascript' i]").count(),
      ]).toEqual([address, 0]);
      expect([address, await page.locator("a[href*='evil']").count()]).toEqual([address, 0]);
    }
    await page.goto(site.url + hashOf(id, "/g/gate-send"));
    await page.locator(".facts dd", { hasText: "<img src=x onerror=alert(1)>" }).first().waitFor();
    await page.getByRole("textbox", { name: /^Comment/ }).fill(markup);
    await page.getByRole("button", { name: "Reject", exact: true }).press("Enter");
    await page.locator("blockquote", { hasText: "<script>alert(1)</script>" }).waitFor();
    expect(complaints).toEqual([]);
  });

  it("is shown to the last character: what hides, moves or looks like something else is named", async () => {
    const send = counted("Note.Send", { effect: "write_draft" });
    const steps = [step("send", send, { gate: { reason: hidden }, params: { text: hidden } })];
    await using site = await openSite({ kernel: { capabilities: [story([send], steps)] } });
    const { workflow_id: id } = await site.kernel.submit({ ...ann, intent_hint: { intent_type: intent } });
    await site.kernel.settled(id);
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    await page.goto(site.url + hashOf(id, "/g/gate-send"));
    const reason = page.locator("li", { hasText: "the plan:" }).locator("bdi").first();
    await reason.waitFor();
    const named = await reason.locator("mark").allTextContents();
    expect(named).toEqual([
      "‹U+202E RIGHT-TO-LEFT OVERRIDE›",
      "‹U+2066 LEFT-TO-RIGHT ISOLATE›",
      "‹U+200B ZERO WIDTH SPACE›",
      "‹U+0000 NULL›",
      "‹U+00AD SOFT HYPHEN›",
      "‹U+FEFF ZERO WIDTH NO-BREAK SPACE›",
      "‹U+0301›",
      "‹U+2039›",
    ]);
    expect(await reason.textContent()).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(visitor.complaints).toEqual([]);
  });
});

describe("the page", () => {
  it("is served under its policy with its files, and tells nothing to a page of another origin", async () => {
    await using site = await openSite();
    const page = await fetch(site.url);
    expect(page.headers.get("content-security-policy")).toMatch(/default-src 'none'.*trusted-types 'none'$/);
    expect(page.headers.get("cache-control")).toBe("no-cache");
    const html = await page.text();
    expect(html).not.toMatch(/<style|<script>| on\w+=|https?:/);
    const files = [...html.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, path]) => path as string);
    expect(files.length).toBeGreaterThanOrEqual(3);
    for (const path of files) {
      const file = await fetch(site.url + path, { headers: { "accept-encoding": "br" } });
      expect([path, file.status, file.headers.get("cache-control")]).toEqual([
        path,
        200,
        "public, max-age=31536000, immutable",
      ]);
      expect(file.headers.get("content-encoding")).toBe("br");
      const again = await fetch(site.url + path, { headers: { "if-none-match": file.headers.get("etag") ?? "" } });
      expect(again.status).toBe(304);
    }
    for (const path of [
      "/console/../package.json",
      "/console/..%2f..%2fpackage.json",
      "/console/nothing.js",
      "/console/index.html.br",
    ])
      expect([path, [401, 404].includes((await fetch(site.url + path)).status)]).toEqual([path, true]);
  });

  it("is there only where the host asks for it", async () => {
    const kernel = await createKernel();
    const app = createHttpApp(kernel, { sessions: {} });
    expect((await app.fetch(new Request("http://edge.test/"))).status).toBe(401);
    expect(() => createHttpApp(kernel, { sessions: {}, console: "yes" as never })).toThrow("createHttpApp: console: ");
    await kernel.stop();
  });

  it("cannot be framed, and its session is not used by another origin's page", async () => {
    await using site = await openSite();
    await using framed = await site.enter(ann);
    const other = await visit(`data:text/html,<iframe src="${site.url}/"></iframe>`);
    await other.page.waitForLoadState("networkidle");
    const [, frame] = other.page.frames();
    expect(await frame?.content()).not.toContain("Countersign");
    await other[Symbol.asyncDispose]();
    expect(framed.complaints).toEqual([]);
  });
});
