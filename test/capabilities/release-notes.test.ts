// The release notes package: its pure functions on random commits, its plan on a real repository.
// Laws: each commit in exactly one group and one entry; any draft passes the check; any lost line fails it.
// Never: runs a kernel; run-plan.ts stands in for it.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { releaseNotes } from "../../src/capabilities/index.ts";
import { checkDraft, isAccepted } from "../../src/capabilities/release-notes/check.ts";
import { classifyCommits } from "../../src/capabilities/release-notes/classify.ts";
import { commitUrl } from "../../src/capabilities/release-notes/commit-link.ts";
import { draftSections } from "../../src/capabilities/release-notes/draft.ts";
import { groupChanges } from "../../src/capabilities/release-notes/group.ts";
import {
  checkOperator,
  classifyOperator,
  draftOperator,
  groupOperator,
} from "../../src/capabilities/release-notes/operators.ts";
import type { Commit } from "../../src/operators/git-log/commit.ts";
import { callOperator } from "../../src/testing/call-operator.ts";
import { operatorContract } from "../../src/testing/operator-contract.ts";
import { commit, git, makeTempFolder } from "../operators/temp-folder.ts";
import { runs } from "../properties/property-runs.ts";
import { commits, remoteUrl } from "./commit-arbitrary.ts";
import { runPlan } from "./run-plan.ts";

const makeCommit = (subject: string, parts: Partial<Commit> = {}): Commit => {
  const base = { hash: "c".repeat(40), short: "ccccccc", author: "Ada", date: "2026-01-02", body: "", parents: [] };
  return { ...base, ...parts, subject };
};
const classifyOne = (subject: string, parts: Partial<Commit> = {}) => classifyCommits([makeCommit(subject, parts)])[0]!;

function draft(list: readonly Commit[], remote: string | null): string {
  const groups = groupChanges(classifyCommits(list));
  const head = { title: "Notes <b>", version: "1.0", since: "v0_9", truncated: false };
  return draftSections({ ...head, groups, remoteUrl: remote }).join("");
}

describe("classify", () => {
  it.each([
    ["feat: add x", "feature", null, "add x"],
    ["feat(api)!: drop y", "feature", "api", "drop y"],
    ["FIX(core): z", "fix", "core", "z"],
    ["chore(deps): bump a", "dependency", "deps", "bump a"],
    ["docs: say so", "documentation", null, "say so"],
    ["Add a thing", "feature", null, "Add a thing"],
    ["Fixed the thing", "fix", null, "Fixed the thing"],
    ["Prevent a crash", "fix", null, "Prevent a crash"],
    ["Bump a from 1 to 2", "dependency", null, "Bump a from 1 to 2"],
    ["Fix typo in README", "fix", null, "Fix typo in README"],
    ["Update README", "documentation", null, "Update README"],
    ["parser: fix a crash", "fix", "parser", "fix a crash"],
    ["src/io: support pipes", "feature", "src/io", "support pipes"],
    ["Make it faster", "performance", null, "Make it faster"],
    ["Rename a to b", "maintenance", null, "Rename a to b"],
    ["Additional words", "other", null, "Additional words"],
    ["constructor: x", "other", "constructor", "x"],
    ['Revert "feat: add x"', "revert", null, "feat: add x"],
    ["revert: feat: add x", "revert", null, "feat: add x"],
    ["v1.2.3", "other", null, "v1.2.3"],
    ["", "other", null, ""],
  ])("%s", (subject, kind, scope, summary) => {
    expect(classifyOne(subject)).toMatchObject({ kind, scope, summary });
  });

  it("a breaking change is marked by `!` or by a footer, whose words are kept", () => {
    expect(classifyOne("feat!: x")).toMatchObject({ breaking: true, breaking_note: null });
    expect(classifyOne("parser!: x")).toMatchObject({ breaking: true, scope: "parser" });
    const body = "text\n\nBREAKING CHANGE: all of\n  it changes\nRefs: #1";
    expect(classifyOne("fix: x", { body })).toMatchObject({ breaking: true, breaking_note: "all of\n  it changes" });
    expect(classifyOne("fix: x", { body: "no BREAKING CHANGE: here" }).breaking).toBe(false);
  });

  it("a merge takes the title of its request, an unnamed one keeps its subject", () => {
    const parents = ["a".repeat(40), "b".repeat(40)];
    const subject = "Merge pull request #12 from a/b";
    expect(classifyOne(subject, { parents, body: "Add pipes\n\nmore" })).toMatchObject({
      kind: "merge",
      summary: "Add pipes (#12)",
    });
    expect(classifyOne("Merge branch 'x'", { parents })).toMatchObject({ kind: "merge", summary: "Merge branch 'x'" });
    expect(classifyOne("Merge two lists")).toMatchObject({ kind: "other" });
  });

  it("a commit undone in the same range says by which", () => {
    const undone = makeCommit("feat: x", { hash: "d".repeat(40), short: "ddddddd" });
    const undoing = makeCommit('Revert "feat: x"', { body: `This reverts commit ${undone.hash}.` });
    expect(classifyCommits([undoing, undone]).map((change) => change.reverted_by)).toEqual([null, "ccccccc"]);
  });
});

describe("group, draft and check", () => {
  it("each commit lands in exactly one group, in the history's order", () => {
    fc.assert(
      fc.property(commits, (list) => {
        const groups = groupChanges(classifyCommits(list));
        const hashes = groups.flatMap((group) => group.changes.map((change) => change.hash));
        expect(hashes.toSorted()).toEqual(list.map((entry) => entry.hash).toSorted());
        for (const group of groups) {
          const own = group.changes.map((change) => change.hash);
          expect(own).toEqual(own.toSorted());
          expect(own.length).toBeGreaterThan(0);
        }
      }),
    );
  });

  it("a draft of any commits passes the check, twice the same", () => {
    fc.assert(
      fc.property(commits, remoteUrl, (list, remote) => {
        const markdown = draft(list, remote);
        expect(markdown).toBe(draft(list, remote));
        expect(checkDraft({ markdown, commits: list, remoteUrl: remote })).toEqual(nothing);
      }),
      { numRuns: runs(300) },
    );
  });

  it("without any one of its entries, or with one twice, a draft fails the check", () => {
    fc.assert(
      fc.property(commits, remoteUrl, fc.nat(), (list, remote, pick) => {
        fc.pre(list.length > 0);
        const lines = draft(list, remote).split("\n");
        const entries = lines.flatMap((line, index) => (line.startsWith("- ") ? [index] : []));
        const at = entries[pick % entries.length]!;
        const check = (markdown: string) => checkDraft({ markdown, commits: list, remoteUrl: remote });
        expect(check(lines.toSpliced(at, 1).join("\n")).missing).toHaveLength(1);
        expect(check(lines.toSpliced(at, 0, lines[at]!).join("\n")).repeated).toHaveLength(1);
      }),
    );
  });

  const nothing = { missing: [], repeated: [], unknown: [], links: [], html: [] };
  const one = makeCommit("feat: x");

  it.each([
    ["unknown", "- something else", null],
    ["unknown", "- something (`ddddddd`)", null],
    ["links", "See [here](https://evil.example).", null],
    ["links", "See [here][1].", null],
    ["html", "A <b>bold</b> word", null],
    ["html", "<!-- hidden -->", null],
  ])("a line too much is a complaint about %s: %s", (complaint, line, remote) => {
    const complaints = checkDraft({ markdown: `${draft([one], remote)}${line}\n`, commits: [one], remoteUrl: remote });
    expect(isAccepted(complaints)).toBe(false);
    expect(complaints[complaint as keyof typeof complaints]).toEqual([line]);
  });

  it("a link that leads elsewhere, or stands where no remote is known, is a complaint", () => {
    const remote = "https://github.com/a/b";
    const linked = draft([one], remote);
    const question = { commits: [one], remoteUrl: remote };
    expect(checkDraft({ ...question, markdown: linked.replace("github.com", "evil.example") }).links).toHaveLength(1);
    expect(checkDraft({ ...question, markdown: linked.replace(one.hash, "d".repeat(40)) }).links).toHaveLength(1);
    expect(checkDraft({ ...question, markdown: linked, remoteUrl: null }).links).toHaveLength(1);
  });

  it("breaking changes come first, merges last, and the document reads as intended", () => {
    const list = [
      makeCommit("Merge branch 'x'", { hash: "1".repeat(40), short: "1111111", parents: ["a", "b"] }),
      makeCommit("fix(io): read <all> of [it]", { hash: "2".repeat(40), short: "2222222" }),
      makeCommit("feat!: drop y", { hash: "3".repeat(40), short: "3333333", body: "BREAKING CHANGE: use z" }),
    ];
    const groups = groupChanges(classifyCommits(list));
    const question = { groups, title: "Release notes", version: "2.0", since: "v1.0", truncated: true };
    const url = `https://github.com/a/b/commit/${"3".repeat(40)}`;
    expect(draftSections({ ...question, remoteUrl: null }).join("")).toBe(
      "# Release notes: 2.0\n\n3 changes since v1.0.\n\nOlder changes of this range are not listed.\n" +
        "\n## Breaking changes\n\n- drop y (`3333333`)\n\n  use z\n" +
        "\n## Fixes\n\n- **io:** read &lt;all&gt; of \\[it\\] (`2222222`)\n" +
        "\n## Merges\n\n- Merge branch 'x' (`1111111`)\n",
    );
    expect(draftSections({ ...question, remoteUrl: "https://github.com/a/b" })[1]).toContain(
      `- drop y ([\`3333333\`](${url}))`,
    );
  });

  it("the address of a commit is the hosting service's", () => {
    expect(commitUrl("https://gitlab.com/a/b", "1")).toBe("https://gitlab.com/a/b/-/commit/1");
    expect(commitUrl("https://bitbucket.org/a/b", "1")).toBe("https://bitbucket.org/a/b/commits/1");
    expect(commitUrl("https://git.example.org/a/b", "1")).toBe("https://git.example.org/a/b/commit/1");
  });
});

describe("Repo.ReleaseNotes.Draft", () => {
  function makeRepository(folder: string): void {
    git(folder, "init", "--quiet");
    git(folder, "remote", "add", "origin", "git@github.com:ada/engine.git");
    commit(folder, "chore: begin");
    git(folder, "tag", "v1.0.0");
    commit(folder, "feat(ui): <script>alert(1)</script> & [x](y) 🎉");
    commit(folder, "Fix the engine", "long words");
    git(folder, "checkout", "--quiet", "-b", "side");
    commit(folder, "feat!: drop the old way", "BREAKING CHANGE: use the new way");
    git(folder, "checkout", "--quiet", "-");
    git(folder, "merge", "--quiet", "--no-ff", "-m", "Merge branch 'side'", "side");
  }

  it("drafts the notes of a real repository and writes them", async () => {
    using folder = makeTempFolder();
    makeRepository(folder.path);
    const run = await runPlan(releaseNotes, { input: { repo: folder.path, version: "1.1.0" } });
    expect(run.failed).toEqual([]);
    const written = readFileSync(join(folder.path, "RELEASE_NOTES.md"), "utf8");
    expect(run.outputs["draft"]).toEqual({ markdown: written, version: "1.1.0", commits: 4 });
    expect(run.chunks.join("")).toBe(written);
    expect(written.match(/^## .*$/gm)).toEqual(["## Breaking changes", "## Features", "## Fixes", "## Merges"]);
    expect(written).toContain("- **ui:** &lt;script&gt;alert(1)&lt;/script&gt; &amp; \\[x\\](y) 🎉 ([`");
    expect(written).toContain("](https://github.com/ada/engine/commit/");
  });

  it("what a person made of the draft is what is written", async () => {
    using folder = makeTempFolder();
    makeRepository(folder.path);
    const edit = (_id: string, outcome: unknown) => ({ ...(outcome as object), markdown: "edited\n" });
    await runPlan(releaseNotes, { input: { repo: folder.path, out: "docs/notes.md" }, edit });
    expect(readFileSync(join(folder.path, "docs/notes.md"), "utf8")).toBe("edited\n");
  });

  it("where the history cannot be read nothing is written", async () => {
    using folder = makeTempFolder();
    const run = await runPlan(releaseNotes, { input: { repo: folder.path } });
    expect(run.failed).toMatchObject([{ step_id: "collect", code: "GIT_NOT_A_REPOSITORY" }]);
    expect(existsSync(join(folder.path, "RELEASE_NOTES.md"))).toBe(false);
  });

  it("a refused draft fails with all that is wrong with it, and a retry is not promised to help", async () => {
    const input = { markdown: "- x (`ddddddd`)\n<b>", commits: [one()], remote_url: null };
    await expect(callOperator({ operator: checkOperator, input })).rejects.toMatchObject({
      message: expect.stringContaining("commits without an entry: ccccccc"),
      executorError: {
        code: "RELEASE_NOTES_NOT_ACCEPTED",
        retryable: false,
        details: { missing: ["ccccccc"], unknown: ["- x (`ddddddd`)"], html: ["<b>"] },
      },
    });
  });

  it("a long draft is streamed section by section with growing percents, and honours an abort", async () => {
    const groups = groupChanges(classifyCommits([makeCommit("feat: x"), makeCommit("fix: y", { short: "dddddd" })]));
    const input = { groups, title: "t", version: "1", since: null, remote_url: null, truncated: false };
    const { chunks, reports } = await callOperator({ operator: draftOperator, input });
    expect(chunks).toHaveLength(3);
    expect(reports).toEqual([33, 66, 100]);
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(callOperator({ operator: draftOperator, input, signal })).rejects.toThrow("enough");
  });

  const one = () => makeCommit("feat: x");
  const groups = groupChanges(classifyCommits([one()]));
  const markdown = draft([one()], null);
  const head = { title: "t", version: "1", since: null, remote_url: null, truncated: false };
  operatorContract({ it, expect, operator: classifyOperator, input: { commits: [one()] } });
  operatorContract({ it, expect, operator: groupOperator, input: { changes: classifyCommits([one()]) } });
  operatorContract({ it, expect, operator: draftOperator, input: { groups, ...head } });
  operatorContract({ it, expect, operator: checkOperator, input: { markdown, commits: [one()], remote_url: null } });
});
