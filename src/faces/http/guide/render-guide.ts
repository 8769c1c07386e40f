/**
 * A page of the guide as HTML: its Markdown, the list of all pages, and its own headings.
 *
 * 1.  Only Markdown becomes markup; HTML in the source is text, and its comments are left out.
 * 2.  Links between pages lead to pages, whether they are read as files or here. A link leads on by https, or stays
 *     here.
 * 3.  Headings have the anchors that code hosts give them.
 */
import GithubSlugger from "github-slugger";
import { html, raw } from "hono/html";
import { Marked, type RendererObject, type Tokens } from "marked";
import { type Html, plainPage } from "../plain-page.ts";
import { type GuideFile, indexName } from "./read-guide.ts";

interface Heading {
  readonly level: number;
  readonly text: string;
  readonly anchor: string;
}

/** Returns the address of a page. */
export const addressOf = (name: string): string => (name === indexName ? "/guide" : `/guide/${name}`);

/** The address of its pictures. */
export const picturesPath = "/guide/pictures/";

export function renderGuidePage(page: GuideFile, all: readonly GuideFile[]): string {
  const headings: Heading[] = [];
  const body = new Marked({ renderer: rendererInto(headings) }).parse(page.text, { async: false });
  const title = titleOf(page);
  return plainPage(
    page.name === indexName ? title : `${title} – Countersign`,
    html`<div class="guide">${renderNav(page, all, headings)}<main>${raw(body)}</main></div>`,
  );
}

const titleOf = ({ name, text }: GuideFile): string => /^# (.+)$/m.exec(text)?.[1] ?? name;

function renderNav({ name: shown }: GuideFile, all: readonly GuideFile[], headings: readonly Heading[]): Html {
  const sections = headings.filter(({ level }) => level === 2);
  const link = (page: GuideFile): Html =>
    page.name === shown
      ? html`<li><a href="${addressOf(page.name)}" aria-current="page">${titleOf(page)}</a></li>`
      : html`<li><a href="${addressOf(page.name)}">${titleOf(page)}</a></li>`;
  const items = sections.map(({ text, anchor }) => html`<li><a href="#${anchor}">${text}</a></li>`);
  const own = sections.length < 2 ? "" : html`<b>On this page</b><ul>${items}</ul>`;
  return html`<nav aria-label="Guide"><ul>${all.map(link)}</ul>${own}</nav>`;
}

/** Returns the differences from the default renderer: everything that becomes an attribute or might be markup. */
function rendererInto(headings: Heading[]): RendererObject {
  const slugger = new GithubSlugger();
  return {
    heading({ tokens, depth, text }: Tokens.Heading) {
      const plain = text.replaceAll("`", "");
      const anchor = slugger.slug(plain);
      headings.push({ level: depth, text: plain, anchor });
      return `<h${depth} id="${anchor}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    link({ href, tokens }: Tokens.Link) {
      const inner = raw(this.parser.parseInline(tokens));
      const target = targetOf(href);
      return target === null ? String(inner) : String(html`<a href="${target}">${inner}</a>`);
    },
    image: ({ href, text }: Tokens.Image) => String(html`<img src="${picturesPath}${href}" alt="${text}">`),
    html: ({ text }: Tokens.HTML | Tokens.Tag) => (/^<!--[\s\S]*-->\s*$/.test(text) ? "" : String(html`${text}`)),
  };
}

/** Returns the target of a link; null if it is not allowed. */
function targetOf(href: string): string | null {
  const [, page, anchor = ""] = /^([\w-]+)\.md(#.*)?$/.exec(href) ?? [];
  if (page !== undefined) return `${addressOf(page)}${anchor}`;
  return /^(#|\/|https:)/.test(href) ? href : null;
}
