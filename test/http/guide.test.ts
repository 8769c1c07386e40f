/** The guide as it is served. */
import { describe, expect, it } from "vitest";
import { type GuideFile, indexName, readGuide } from "../../src/faces/http/guide/read-guide.ts";
import { addressOf, picturesPath, renderGuidePage } from "../../src/faces/http/guide/render-guide.ts";
import { listPaths } from "../tidy/source-files.ts";
import { codeOf, openEdge } from "./edge-fixture.ts";

const { pages, pictures } = readGuide() ?? { pages: [], pictures: new Map<string, string>() };
const rendered = new Map(pages.map((page) => [addressOf(page.name), renderGuidePage(page, pages)]));

const attributesOf = (html: string, name: string): readonly string[] =>
  [...html.matchAll(new RegExp(` ${name}="([^"]*)"`, "g"))].map(([, value = ""]) => value);

describe("the guide that is served", () => {
  it("has every page that lies in its folder, for anybody, under a policy that lets no script run", async () => {
    const files = listPaths("src/guide").filter((path) => path.endsWith(".md"));
    expect(pages.map(({ name }) => `src/guide/${name}.md`).toSorted()).toEqual(files);
    await using edge = await openEdge();
    for (const [address, page] of rendered) {
      const answer = await edge.fetch(address, { as: null });
      expect([answer.status, await answer.text()]).toEqual([200, page]);
      expect(answer.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-[^']+';/);
      const again = await edge.fetch(address, {
        as: null,
        headers: { "if-none-match": answer.headers.get("etag") ?? "" },
      });
      expect(again.status).toBe(304);
    }
  });

  it("links to pages, headings and pictures that are there, and loads nothing from elsewhere", () => {
    for (const [address, html] of rendered) {
      const wrong = attributesOf(html, "href").filter((href) => {
        const [page = "", anchor] = href.split("#");
        const target = page === "" ? html : rendered.get(page);
        if (page.startsWith("https:")) return false;
        return target === undefined || (anchor !== undefined && !attributesOf(target, "id").includes(anchor));
      });
      expect([address, wrong]).toEqual([address, []]);
      for (const src of attributesOf(html, "src")) expect(pictures.has(src.replace(picturesPath, ""))).toBe(true);
      expect(html).not.toMatch(/<script|<link|<iframe|\bstyle=|@import|\burl\(|<!--/i);
    }
  });

  it("lists the sections of a page beside it, as links", () => {
    for (const { name, text } of pages) {
      const sections = text.replace(/^```[\s\S]*?^```/gm, "").match(/^## /gm) ?? [];
      const nav = /<nav[^>]*>[\s\S]*<\/nav>/.exec(rendered.get(addressOf(name)) ?? "")?.[0] ?? "";
      const [, list = ""] = /<b>On this page<\/b><ul>(.*?)<\/ul>/s.exec(nav) ?? [];
      const expected = sections.length < 2 ? 0 : sections.length;
      expect([name, list.match(/<li><a href="#[^"]+">[^<]+<\/a><\/li>/g)?.length ?? 0]).toEqual([name, expected]);
      expect([name, nav.match(/&lt;/)]).toEqual([name, null]);
    }
  });

  it("shows code, and whatever HTML a page holds, as text", () => {
    const html = "<!-- a mark -->\n\n<img src=x onerror=alert(1)>\n\nOne <b>two</b> [go](javascript:alert(1)) `<i>`";
    const text = `# A & B\n\n${html}\n\n\`\`\`ts\nif (a < b) "</pre><script>";\n\`\`\`\n`;
    const page: GuideFile = { name: indexName, text };
    const [, main = ""] = /<main>([\s\S]*)<\/main>/.exec(renderGuidePage(page, [page])) ?? [];
    expect(main).not.toMatch(/<(img|b|i|script|a)\b|<!--/);
    expect(main).toContain("&lt;b&gt;two&lt;/b&gt; go <code>&lt;i&gt;</code>");
    expect(main).toContain("&lt;/pre&gt;&lt;script&gt;");
  });

  it("is left out where the host wants none, and has no other names", async () => {
    await using without = await openEdge({}, { guide: false });
    await using edge = await openEdge();
    expect(codeOf(await without.ask("/guide", { as: "own" }))).toBe("T0_HTTP_ROUTE_UNKNOWN");
    for (const name of ["nothing", "..%2fpackage.json", "start.md"])
      expect(codeOf(await edge.ask(`/guide/${name}`, { as: null }))).toBe("T0_HTTP_NAME_UNKNOWN");
    const picture = await edge.fetch("/guide/pictures/concepts.svg", { as: null });
    expect([picture.status, picture.headers.get("content-type")]).toEqual([200, "image/svg+xml"]);
  });
});
