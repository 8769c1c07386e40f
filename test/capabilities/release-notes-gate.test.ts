// The release notes at their gate, by a kernel on a real repository: what is approved is what is written, and over
// nothing else.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { releaseNotes } from "../../src/packages/capabilities/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { decide, gateOf, refusalOf } from "../gates/story.ts";
import { commit, git, makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";

let folder: TempFolder;
const notes = (): string => join(folder.path, "NOTES.md");

beforeEach(() => {
  folder = makeTempFolder();
  git(folder.path, "init", "--quiet");
  commit(folder.path, "feat: read ledgers");
});
afterEach(() => folder[Symbol.dispose]());

const inputs = (out = "NOTES.md") => ({ repo: folder.path, out });
const atGate = async (t: TestKernel): Promise<string> =>
  (await settled(t, await t.submit(releaseNotes.intentType, inputs()))).workflow_id;

/** git answers in its own time, which the virtual clock knows nothing of. */
const settled = (t: TestKernel, id: string) => t.kernel.settled(id);

describe("release notes at their gate", () => {
  it("[GAT-05] are edited in the outcome, and the edit is what is written, to the byte", async () => {
    await using t = await createTestKernel({ capabilities: [releaseNotes] });
    const id = await atGate(t);
    const { editable } = await gateOf(t, id);
    expect(editable).toMatchObject({ target: "outcome", schema: { properties: { markdown: {} } } });
    await decide(t, id, { decision: "approve", payload: { edit: { markdown: "In my words.\n" } } });
    expect((await settled(t, id)).state).toBe("completed");
    expect(readFileSync(notes(), "utf8")).toBe("In my words.\n");
  });

  it("[GAT-05] an edit of what the payload calls the text is refused: nothing is written", async () => {
    await using t = await createTestKernel({ capabilities: [releaseNotes] });
    const id = await atGate(t);
    const asked = decide(t, id, { decision: "approve", payload: { edit: { content: "In my words.\n" } } });
    expect((await refusalOf(asked)).code).toBe("T5_EDIT_WITHOUT_EFFECT");
    expect(existsSync(notes())).toBe(false);
  });

  it("[GAT-05] are not written over a file that somebody changed while the gate was open", async () => {
    writeFileSync(notes(), "as it was\n");
    await using t = await createTestKernel({ capabilities: [releaseNotes] });
    const id = await atGate(t);
    writeFileSync(notes(), "by somebody\n");
    expect((await refusalOf(t.approve(id))).code).toBe("T5_GATE_CONFLICT");
    expect(readFileSync(notes(), "utf8")).toBe("by somebody\n");
    const { diff, basis_digest } = await gateOf(t, id);
    expect(diff).toContain("-by somebody");
    await t.approve(id, "gate-publish", { basis_digest });
    expect((await settled(t, id)).state).toBe("completed");
    expect(readFileSync(notes(), "utf8")).toContain("read ledgers");
  });

  it.each(["/etc/passwd", "../NOTES.md", ".git/hooks/pre-commit", "a/../../NOTES.md"])(
    "[GAT-05] out: %s is refused before anything is read or anybody is asked",
    async (out) => {
      await using t = await createTestKernel({ capabilities: [releaseNotes] });
      const refused = await refusalOf(t.submit(releaseNotes.intentType, inputs(out)));
      expect([refused.code, await t.kernel.gates()]).toEqual(["T1_NORMALIZE_INPUTS_INVALID", []]);
    },
  );
});
