/**
 * A file that should be text and is not UTF-8 is refused where it is read: no byte of it is replaced by another
 * character.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Gate } from "../../src/contract/gate.ts";
import { readApproverKeys, readSigningKey } from "../../src/faces/cli/approver-keys.ts";
import { editGate } from "../../src/faces/cli/edit-gate.ts";
import { loadPolicies } from "../../src/faces/cli/load-modules.ts";
import { readJson } from "../../src/faces/cli/options.ts";
import type { Terminal } from "../../src/faces/cli/terminal.ts";
import { readForm } from "../../src/faces/http/read-body.ts";
import { replayModel } from "../../src/packages/operators/llm/index.ts";

const folder = mkdtempSync(join(tmpdir(), "countersign-text-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A file whose one letter is written as Latin-1. */
function latin1(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, Buffer.from(text, "latin1"));
  return path;
}

const rules = 'version: "1"\nrules:\n  - { name: müde, stages: [plan], decision: DENY, reason: no }\n';

describe("a file in another encoding", () => {
  it.each<readonly [string, () => unknown]>([
    ["rules as YAML (--policies)", () => loadPolicies([latin1("rules.yaml", rules)])],
    ["rules as JSON (--policies)", () => loadPolicies([latin1("rules.json", '{"version":"ü","rules":[]}')])],
    ["inputs (@file)", () => readJson(`@${latin1("inputs.json", '{"name":"Jürg"}')}`)],
    ["public keys (--keys)", () => readApproverKeys(latin1("keys.json", '{"user:jürg":{}}'))],
    ["a private key (--sign)", () => readSigningKey(latin1("key.json", '{"kid":"jürg"}'))],
    ["a recorded conversation (replayModel)", () => replayModel(latin1("model.json", '{"says":"für"}'))],
  ])("is refused, and the reason names the encoding: %s", async (_what, read) => {
    await expect((async () => read())()).rejects.toThrow(/it is not UTF-8 text; save it as UTF-8/);
  });

  it("is read where it is UTF-8, letter for letter", async () => {
    const path = join(folder, "good.yaml");
    writeFileSync(path, rules);
    const [set] = await loadPolicies([path]);
    expect(JSON.stringify(set)).toContain("müde");
  });

  it("changes nothing where a person edited a gate into it, and the person is told", async () => {
    const told: string[] = [];
    const path = latin1("edited.txt", "für alle");
    const terminal = {
      editor: null,
      ask: () => Promise.resolve(path),
      print: (text: string) => told.push(text),
    } as unknown as Terminal;
    const gate = { editable: { target: "payload", value: { text: "for all" } } } as unknown as Gate;
    expect(await editGate(gate, terminal, { edit: null, unread: null })).toBeNull();
    expect(told.join()).toMatch(/edited\.txt cannot be read: it is not UTF-8 text.* Nothing is changed\./);
  });
});

it("a form whose bytes are not UTF-8 is refused as a bad request", async () => {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const body = Buffer.from("code=für", "latin1");
  const request = new Request("http://127.0.0.1/login", { method: "POST", headers, body });
  await expect(readForm(request, { maxBodyBytes: 4096 } as never)).rejects.toMatchObject({
    error: { code: "T0_VALIDATION_SCHEMA_MISMATCH", message: expect.stringContaining("not UTF-8") },
  });
});
