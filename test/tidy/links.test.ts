/**
 * Links of the documents: each leads to a file that is there, and to a heading that it has. Nothing asks the network.
 */
import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import GithubSlugger from "github-slugger";
import { marked, type Token, type Tokens } from "marked";
import { describe, expect, it } from "vitest";
import { listPaths, readSource, root } from "./source-files.ts";

const inRoot = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
const inFolders = ["src", "machines", "test", "visualizations"].flatMap(listPaths);
const documents = [...inRoot, ...inFolders.filter((path) => path.endsWith(".md"))];

interface Document {
  readonly links: readonly string[];
  /** Anchors as code hosts make them of headings. */
  readonly anchors: ReadonlySet<string>;
}

function readDocument(text: string): Document {
  const slugger = new GithubSlugger();
  const links: string[] = [];
  const anchors = new Set<string>();
  marked.walkTokens(marked.lexer(text), (token: Token) => {
    if (token.type === "heading") anchors.add(slugger.slug((token as Tokens.Heading).text.replaceAll("`", "")));
    if (token.type === "link" || token.type === "image") links.push((token as Tokens.Link).href);
  });
  return { links, anchors };
}

const known = new Map(documents.map((path) => [path, readDocument(readSource(path).text)]));

/** Why a link leads nowhere; null where it leads somewhere, or outside. */
function whyBroken(from: string, link: string): string | null {
  if (/^[a-z]+:/.test(link)) return null;
  const [file = "", anchor] = link.split("#");
  const target = file === "" ? from : posix.join(posix.dirname(from), decodeURI(file));
  if (!existsSync(join(root, target))) return `${from}: there is no ${target}`;
  const isHere = anchor === undefined || known.get(target)?.anchors.has(anchor) === true;
  return isHere ? null : `${from}: ${target} has no heading #${anchor}`;
}

describe("the links of the documents", () => {
  it("lead to files and headings that are there", () => {
    const broken = [...known].flatMap(([from, { links }]) => links.map((link) => whyBroken(from, link)));
    expect(broken.filter((why) => why !== null)).toEqual([]);
    expect(broken.length).toBeGreaterThan(50);
  });

  it("would be found out where they do not", () => {
    expect(whyBroken("README.md", "NOWHERE.md")).toBe("README.md: there is no NOWHERE.md");
    expect(whyBroken("src/guide/start.md", "gone.md#x")).toBe("src/guide/start.md: there is no src/guide/gone.md");
    expect(whyBroken("README.md", "ARCHITECTURE.md#no-such-part")).toBe(
      "README.md: ARCHITECTURE.md has no heading #no-such-part",
    );
    expect(whyBroken("README.md", "ARCHITECTURE.md#the-turn")).toBeNull();
  });
});
