// Records the golden ledgers of this release: `npm run golden`. Each scenario is one workflow on the virtual clock,
// from a seed, and leaves one export in test/replay/golden/<version>/. Never: overwrites the ledgers of another
// release.
import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KernelOptions, Operator } from "../../src/index.ts";
import { createTestKernel, memoryLedger, type TestKernel, testCaller } from "../../src/testing/index.ts";

const root = join(import.meta.dirname, "../..");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
const folder = join(import.meta.dirname, "golden", version);
const { rules } = (await import(join(folder, "rules.ts"))) as { rules: KernelOptions };

const note = (t: TestKernel, about: string): Promise<string> => rested(t, "Golden.Note.Publish", { about });
const sent = (t: TestKernel, how: string): Promise<string> => rested(t, "Golden.Send", { how });

async function rested(t: TestKernel, intent: string, inputs: Readonly<Record<string, unknown>>): Promise<string> {
  return (await t.run(intent, inputs)).workflow_id;
}

/** Each plays one workflow to where its golden ledger ends, and gives its id. */
const scenarios: Readonly<Record<string, (t: TestKernel) => Promise<string>>> = {
  async approved(t) {
    const id = await note(t, "approval");
    await t.approve(id);
    return (await t.rest(id)).workflow_id;
  },
  async edited(t) {
    const id = await note(t, "edits");
    await t.approve(id, undefined, { edit: { text: "in a person's words" }, comment: "better so" });
    return (await t.rest(id)).workflow_id;
  },
  async rejected(t) {
    const id = await note(t, "rejection");
    await t.reject(id);
    return (await t.rest(id)).workflow_id;
  },
  waiting: (t) => note(t, "waiting"),
  async cancelled(t) {
    const id = await note(t, "cancellation");
    await t.kernel.cancel(id, { ...testCaller, reason: "not needed" });
    return (await t.rest(id)).workflow_id;
  },
  async regenerated(t) {
    const id = await note(t, "regeneration");
    await t.kernel.retry(id, { ...testCaller, mode: "regenerate", step_ids: ["draft"] });
    const { payload_digest } = (await t.rest(id)).gates[0] ?? {};
    await t.approve(id, undefined, { payload_digest });
    return (await t.rest(id)).workflow_id;
  },
  async retried(t) {
    const id = await sent(t, "flaky");
    await t.approve(id);
    return (await t.rest(id)).workflow_id;
  },
  async replanned(t) {
    const id = await sent(t, "broken");
    await t.approve(id);
    await t.rest(id);
    await t.approve(id);
    return (await t.rest(id)).workflow_id;
  },
  async "in-doubt"(t) {
    const id = await sent(t, "hangs");
    await t.approve(id);
    const { gates } = await t.rest(id);
    const open = gates.find((gate) => gate.status === "open")?.gate_id;
    await t.approve(id, open, { resolution: "done", result: { seen: "by a person" } });
    return (await t.rest(id)).workflow_id;
  },
  "over-budget": (t) => rested(t, "Golden.Costly", {}),
  "release-notes": playReleaseNotes,
};

async function playReleaseNotes(t: TestKernel): Promise<string> {
  const id = await rested(t, "Repo.ReleaseNotes.Draft", { repo: ".", out: "NOTES.md" });
  await t.approve(id);
  return (await t.rest(id)).workflow_id;
}

const commitOf = (subject: string, digit: string) => ({
  ...{ hash: digit.repeat(40), short: digit.repeat(7), author: "Ada", date: "2026-01-02", body: "", parents: [] },
  subject,
});
const history = {
  ...{ since: null, since_hash: null, until: "HEAD", until_hash: "b".repeat(40), remote_url: null, truncated: false },
  ...{ tag: null, total: 2, shallow: false, contributors: [] },
  commits: [commitOf("feat: read ledgers", "a"), commitOf("fix(api): name the first difference", "b")],
};
const written = { path: "NOTES.md", bytes: 9, sha256: "c".repeat(64), written: true, unchanged: false };

/** What reaches outside is stood in for: nothing of this machine gets into a golden ledger. */
const standIns: Readonly<Record<string, unknown>> = { "Git.Log": history, "File.Write": written };

const standIn = (operator: Operator | string): Operator | string => {
  const answer = typeof operator === "string" ? undefined : standIns[operator.metadata.name];
  if (typeof operator === "string" || answer === undefined) return operator;
  return { ...operator, run: () => answer, preview: () => ({ preview: "as drafted", diff: null }) };
};

const capabilities = (rules.capabilities ?? []).map((one) => ({ ...one, operators: one.operators.map(standIn) }));

for (const [name, play] of Object.entries(scenarios)) {
  await using t = await createTestKernel({ ...rules, capabilities, ledger: memoryLedger() });
  const id = await play(t);
  const lines: string[] = [];
  for await (const row of t.kernel.export(id)) lines.push(`${JSON.stringify(row)}\n`);
  const text = lines.join("");
  for (const path of [tmpdir(), root]) if (text.includes(path)) throw new Error(`${name} names a path of this machine`);
  writeFileSync(join(folder, `${name}.jsonl`), text);
  console.log(`${name}: ${(await t.kernel.workflow(id)).state}, ${(await t.types(id)).length} events`);
}
