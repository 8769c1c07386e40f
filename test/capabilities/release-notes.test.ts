/**
 * The release notes package: its pure functions on random commits, its plan on a real repository. Laws: each commit in
 * exactly one group and one entry; any draft passes the check; any lost line fails it.
 *
 * Never: runs a kernel; run-plan.ts stands in for it.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { releaseNotes } from "../../src/packages/capabilities/index.ts";
import type { Section } from "../../src/packages/capabilities/release-notes/change.ts";
import { checkDraft, isAccepted } from "../../src/packages/capabilities/release-notes/check.ts";
import { classifyCommits } from "../../src/packages/capabilities/release-notes/classify.ts";
import { describeAsData } from "../../src/packages/capabilities/release-notes/data.ts";
import { draftSections, versionOf } from "../../src/packages/capabilities/release-notes/draft.ts";
import { groupChanges, sectionsByFolder } from "../../src/packages/capabilities/release-notes/group.ts";
import { commitUrl, compareUrl, referenceUrl } from "../../src/packages/capabilities/release-notes/host-links.ts";
import {
  checkOperator,
  classifyOperator,
  dataOperator,
  draftOperator,
  groupOperator,
} from "../../src/packages/capabilities/release-notes/operators.ts";
import type { Commit } from "../../src/packages/operators/git-log/commit.ts";
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

const range = {
  since: "v0_9",
  until_hash: "f".repeat(40),
  tag: null,
  total: 0,
  shallow: false,
  contributors: [],
} as const;
const groupAll = (list: readonly Commit[], sections?: readonly Section[]) =>
  groupChanges(classifyCommits(list), sections);

function draft(list: readonly Commit[], remote: string | null): string {
  const question = { ...range, ...groupAll(list), title: "Notes <b>", version: "1.0", remote_url: remote };
  return draftSections({ ...question, total: list.length }).join("");
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
    ["Fix typo in README", "documentation", null, "Fix typo in README"],
    ["Update README", "documentation", null, "Update README"],
    ["parser: fix a crash", "fix", "parser", "fix a crash"],
    ["src/io: support pipes", "feature", "src/io", "support pipes"],
    ["Make it faster", "performance", null, "Make it faster"],
    ["Rename a to b", "other", null, "Rename a to b"],
    ["[@a/store] Add events (#7)", "feature", "@a/store", "Add events (#7)"],
    ["[core] fix: a leak", "fix", "core", "a leak"],
    ["Add tests for the queue", "maintenance", null, "Add tests for the queue"],
    ["Add eslint", "maintenance", null, "Add eslint"],
    ["feat: add test for atoms", "maintenance", null, "add test for atoms"],
    ["Add changeset (#7)", "release", null, "Add changeset (#7)"],
    ["Version Packages (#7)", "release", null, "Version Packages (#7)"],
    ["chore: release 1.2.3", "release", null, "release 1.2.3"],
    ["Fix CI", "ci", null, "Fix CI"],
    ["chore(ci): pin", "ci", "ci", "pin"],
    ["Add workflows of tests that users write", "feature", null, "Add workflows of tests that users write"],
    ["Add test runner", "feature", null, "Add test runner"],
    ["Merge commit from fork", "security", null, "Merge commit from fork"],
    ["Improve performance (#244)", "performance", null, "Improve performance (#244)"],
    ["Clarify the docs", "documentation", null, "Clarify the docs"],
    ["Update TypeScript to 5.7.2 (#5128)", "dependency", null, "Update TypeScript to 5.7.2 (#5128)"],
    ["Additional words", "other", null, "Additional words"],
    ["constructor: x", "other", "constructor", "x"],
    ['Revert "feat: add x"', "revert", null, "feat: add x"],
    ["revert: feat: add x", "revert", null, "feat: add x"],
    ["v1.2.3", "release", null, "v1.2.3"],
    ["", "other", null, ""],
  ])("%s", (subject, kind, scope, summary) => {
    expect(classifyOne(subject)).toMatchObject({ kind, scope, summary });
  });

  it("a breaking change is marked by `!` or by a footer, whose words are kept", () => {
    expect(classifyOne("feat!: x")).toMatchObject({ breaking: true, breaking_note: null });
    expect(classifyOne("parser!: x")).toMatchObject({ breaking: true, scope: "parser" });
    const body = "text\n\nBREAKING CHANGE: all of\n  it changes\nRefs: #1";
    expect(classifyOne("fix: x", { body })).toMatchObject({ breaking: true, breaking_note: "all of\n  it changes" });
    expect(classifyOne("Require Node.js 20").breaking).toBe(true);
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
    expect(classifyCommits([undoing, undone]).map((change) => change.undone_by)).toEqual(["ddddddd", "ccccccc"]);
    expect(groupAll([undoing, undone])).toMatchObject({ groups: [], omitted: [{ why: "undone" }, { why: "undone" }] });
  });

  it("an undoing that was undone itself undoes nothing, and a quoted subject is as good as a hash", () => {
    const first = makeCommit("feat: x", { hash: "1".repeat(40), short: "1111111" });
    const second = makeCommit('Revert "feat: x"', { hash: "2".repeat(40), short: "2222222" });
    const third = makeCommit('Revert "Revert "feat: x""', { hash: "3".repeat(40), short: "3333333" });
    expect(classifyCommits([third, second, first]).map((change) => change.undone_by)).toEqual([
      "2222222",
      "3333333",
      null,
    ]);
    expect(classifyCommits([second, first]).map((change) => change.undone_by)).toEqual(["1111111", "2222222"]);
  });
});

describe("group, draft and check", () => {
  it("each commit is in exactly one group or an omission; a scope stays together, in the history's order", () => {
    fc.assert(
      fc.property(commits, fc.constantFrom(undefined, sectionsByFolder), (list, sections) => {
        const { groups, omitted } = groupAll(list, sections);
        const shorts = groups.flatMap((group) => group.changes.map((change) => change.short));
        const all = [...shorts, ...omitted.map(({ short }) => short)];
        expect(all.toSorted()).toEqual(list.map((entry) => entry.short).toSorted());
        for (const group of groups) {
          expect(group.changes.length).toBeGreaterThan(0);
          for (const same of Map.groupBy(group.changes, ({ scope }) => scope).values()) {
            const at = group.changes.indexOf(same[0]!);
            expect(group.changes.slice(at, at + same.length)).toEqual(same);
            expect(same.map(({ hash }) => hash)).toEqual(same.map(({ hash }) => hash).toSorted());
          }
        }
      }),
    );
  });

  it("a draft of any commits passes the check, twice the same", () => {
    fc.assert(
      fc.property(commits, remoteUrl, (list, remote) => {
        const markdown = draft(list, remote);
        expect(markdown).toBe(draft(list, remote));
        expect(checkDraft({ markdown, commits: list, remoteUrl: remote, omitted: groupAll(list).omitted })).toEqual(
          nothing,
        );
      }),
      { numRuns: runs(300) },
    );
  });

  it("without any one of its entries, or with one twice, a draft fails the check", () => {
    fc.assert(
      fc.property(commits, remoteUrl, fc.nat(), (list, remote, pick) => {
        const lines = draft(list, remote).split("\n");
        const entries = lines.flatMap((line, index) => (line.startsWith("- ") ? [index] : []));
        fc.pre(entries.length > 0);
        const { omitted } = groupAll(list);
        const at = entries[pick % entries.length]!;
        const check = (markdown: string) => checkDraft({ markdown, commits: list, remoteUrl: remote, omitted });
        expect(check(lines.toSpliced(at, 1).join("\n")).missing).toHaveLength(1);
        expect(check(lines.toSpliced(at, 0, lines[at]!).join("\n")).repeated).toHaveLength(1);
      }),
    );
  });

  const nothing = { missing: [], repeated: [], unknown: [], count: [], links: [], html: [] };
  const one = makeCommit("feat: x");

  it.each([
    ["unknown", "- something else", null],
    ["unknown", "- something (`ddddddd`)", null],
    ["links", "See [here](https://evil.example).", null],
    ["links", "See [here][1].", null],
    ["html", "A <b>bold</b> word", null],
    ["html", "<!-- hidden -->", null],
  ])("a line too much is a complaint about %s: %s", (complaint, line, remote) => {
    const markdown = `${draft([one], remote)}${line}\n`;
    const complaints = checkDraft({ markdown, commits: [one], remoteUrl: remote, omitted: [] });
    expect(isAccepted(complaints)).toBe(false);
    expect(complaints[complaint as keyof typeof complaints]).toEqual([line]);
  });

  it("a link that leads elsewhere, or stands where no remote is known, is a complaint", () => {
    const remote = "https://github.com/a/b";
    const linked = draft([one], remote);
    const question = { commits: [one], remoteUrl: remote, omitted: [] };
    expect(checkDraft({ ...question, markdown: linked.replace("github.com", "evil.example") }).links).toHaveLength(1);
    expect(checkDraft({ ...question, markdown: linked.replace(one.hash, "d".repeat(40)) }).links).toHaveLength(1);
    expect(checkDraft({ ...question, markdown: linked, remoteUrl: null }).links).toHaveLength(2);
  });

  it("commits without an entry are counted by kind, and a wrong count is a complaint", () => {
    const list = ["v1.2.3", "ci: pin", "ci: pin again", "feat: x"].map((subject, i) =>
      makeCommit(subject, { hash: `${i}`.repeat(40), short: `${i}`.repeat(7) }),
    );
    const markdown = draft(list, null);
    expect(markdown).toContain("\nNot listed: 1 release commit, 2 CI changes.\n");
    const question = { commits: list, remoteUrl: null, omitted: groupAll(list).omitted };
    expect(checkDraft({ ...question, markdown })).toEqual(nothing);
    expect(checkDraft({ ...question, markdown: markdown.replace("2 CI", "1 CI") }).count).toHaveLength(1);
    expect(checkDraft({ ...question, markdown: markdown.replace(/Not listed.*/, "") }).count).toEqual(["none is told"]);
    expect(checkDraft({ ...question, markdown, omitted: question.omitted.slice(1) }).missing).toEqual(["0000000"]);
  });

  it("sections are as configured: the first that fits, one without a title lists nothing, the rest comes last", () => {
    const subjects = ["feat(api): a", "feat: b", "fix(api): c", "docs: d", "perf!: e"];
    const list = subjects.map((subject, i) =>
      makeCommit(subject, { hash: `${i}`.repeat(40), short: `${i}`.repeat(7) }),
    );
    const sections = [
      { title: "Interface", scopes: ["api"] },
      { title: null, kinds: ["documentation" as const] },
      { title: "Better", types: ["feat", "perf"], breaking: false },
      { title: "Interface", breaking: true },
    ];
    const { groups, omitted } = groupChanges(classifyCommits(list), sections);
    expect(groups.map(({ title, changes }) => [title, changes.map(({ summary }) => summary)])).toEqual([
      ["Interface", ["a", "c", "e"]],
      ["Better", ["b"]],
    ]);
    expect(omitted).toEqual([{ short: "3333333", why: "documentation" }]);
    expect(groupAll([makeCommit("Remove it"), makeCommit("docs: x")]).groups[0]?.title).toBe("Changes");
    const rest = groupChanges(classifyCommits(list), sections.slice(0, 1)).groups.at(-1);
    expect(rest).toMatchObject({
      title: "Other changes",
      changes: [{ summary: "b" }, { summary: "d" }, { summary: "e" }],
    });
  });

  it("the document reads as intended: release, range, sections, what is left out, who wrote it", () => {
    const person = { login: null, bot: false, commits: 1, first: false };
    const list = [
      makeCommit("Merge branch 'x'", { hash: "1".repeat(40), short: "1111111", parents: ["a", "b"] }),
      makeCommit("fix(io): read <all> of [it], see #3 (#12)", {
        hash: "2".repeat(40),
        short: "2222222",
        author: "Bo",
        body: "Fixes #12, #7\ncloses #8",
      }),
      makeCommit("feat!: drop `y_*` of @ada/x for @bo", {
        hash: "3".repeat(40),
        short: "3333333",
        body: "BREAKING CHANGE: use z",
      }),
    ];
    const question = {
      ...groupAll(list),
      title: "Release notes",
      version: "2.0",
      since: "v1.0",
      until_hash: "1".repeat(40),
      tag: { name: "v2.0", date: "2026-01-02T03:04:05Z" },
      remote_url: "https://github.com/a/b",
      total: 5,
      shallow: true,
      contributors: [
        { ...person, name: "Ada *L*" },
        { ...person, name: "Bo", login: "bo-1", first: true },
        { ...person, name: "renovate[bot]", bot: true },
      ],
    };
    const [here, mark] = [
      "https://github.com/a/b",
      (n: string) => `([\`${n.repeat(7)}\`](https://github.com/a/b/commit/${n.repeat(40)}))`,
    ];
    expect(draftSections(question).join("")).toBe(
      `# Release notes: 2.0 (2026-01-02)\n\n2 changes since v1.0 ([full comparison](${here}/compare/v1.0...v2.0)).\n` +
        `\n## Breaking changes\n\n- drop \`y_*\` of \`@ada/x\` for @bo ${mark("3")}\n\n  use z\n` +
        `\n## Fixes\n\n- **io:** read &lt;all&gt; of \\[it\\], see [#3](${here}/issues/3) ([#12](${here}/pull/12)), ` +
        `closes [#7](${here}/issues/7), [#8](${here}/issues/8) ${mark("2")}\n` +
        "\nNot listed: 1 merge.\n" +
        "\nThe 2 oldest commits of this range were not read.\n" +
        "\nThe clone that this was read from is shallow: older commits are not in it.\n" +
        `\n## Contributors\n\nAda \\*L\\*, @bo-1.\n\nFirst contributions: @bo-1 in [#12](${here}/pull/12).\n`,
    );
    const data = JSON.parse(describeAsData(question));
    expect(data).toMatchObject({ format: 1, version: "2.0", tag: "v2.0", compare_url: `${here}/compare/v1.0...v2.0` });
    expect(data.sections[1].changes[0]).toMatchObject({ summary: "read <all> of [it], see #3 (#12)", author: "Bo" });
    expect(data.omitted).toEqual([{ short: "1111111", why: "merge" }]);
  });

  it("addresses are the hosting service's, and none is guessed for a service that is not known", () => {
    const [hub, lab, bucket, own] = ["github.com", "gitlab.com", "bitbucket.org", "git.example.org"].map(
      (host) => `https://${host}/a/b`,
    ) as [string, string, string, string];
    expect(commitUrl(lab, "1")).toBe("https://gitlab.com/a/b/-/commit/1");
    expect(commitUrl(bucket, "1")).toBe("https://bitbucket.org/a/b/commits/1");
    expect(commitUrl(own, "1")).toBe("https://git.example.org/a/b/commit/1");
    expect(compareUrl(hub, "x@1", "v/2")).toBe("https://github.com/a/b/compare/x@1...v/2");
    expect(compareUrl(lab, "1", "2")).toBe("https://gitlab.com/a/b/-/compare/1...2");
    expect(compareUrl(own, "1", "2")).toBeNull();
    expect(referenceUrl(lab, "!7", "request")).toBe("https://gitlab.com/a/b/-/merge_requests/7");
    expect(referenceUrl(lab, "#7", "request")).toBe("https://gitlab.com/a/b/-/issues/7");
    expect(referenceUrl(own, "#7", "request")).toBeNull();
  });

  it("what these notes are of is named, or is the tag at hand without its prefix", () => {
    const tag = { name: "core@2.1.0", date: "2026-01-02" };
    expect(versionOf("3.0", tag, "core@")).toBe("3.0");
    expect(versionOf(null, tag, "core@")).toBe("2.1.0");
    expect(versionOf(null, null, "core@")).toBe("unreleased");
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
    expect(written.match(/^## .*$/gm)).toEqual(["## Breaking changes", "## Features", "## Fixes", "## Contributors"]);
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
    const input = { markdown: "- x (`ddddddd`)\n<b>", commits: [one()], omitted: [], remote_url: null };
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
    const input = { ...head, ...groupAll([makeCommit("feat: x"), makeCommit("fix: y", { short: "dddddd" })]) };
    const { chunks, reports } = await callOperator({ operator: draftOperator, input });
    expect(chunks).toHaveLength(3);
    expect(reports).toEqual([33, 66, 100]);
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(callOperator({ operator: draftOperator, input, signal })).rejects.toThrow("enough");
  });

  const one = () => makeCommit("feat: x");
  const markdown = draft([one()], null);
  const head = { ...range, contributors: [], title: "t", version: "1", tag_prefix: "", remote_url: null };
  const drafted = { ...head, ...groupAll([one()]), total: 1 };
  const checked = { markdown, commits: [one()], omitted: [], remote_url: null };
  operatorContract({ it, expect, operator: classifyOperator, input: { commits: [one()] } });
  operatorContract({ it, expect, operator: groupOperator, input: { changes: classifyCommits([one()]) } });
  operatorContract({ it, expect, operator: draftOperator, input: drafted });
  operatorContract({ it, expect, operator: dataOperator, input: drafted });
  operatorContract({ it, expect, operator: checkOperator, input: checked });
});
