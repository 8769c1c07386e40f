// Deciding together on the command line: votes and their tally, withdrawal, delegation, signatures made and checked.
// Laws: each word is a process's own, with only the ledger file between them; a broken signature ends verify with exit
// 1.

import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exportJWK, exportPKCS8, generateKeyPair } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { WorkflowState } from "../../src/contract/workflow-state.ts";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";
import { makePerson, readHere, readLines, runAt, runHere } from "./command-line.ts";

let folder: TempFolder;
let at: readonly string[] = [];
const path = (name: string): string => join(folder.path, name);

const define = JSON.stringify(join(import.meta.dirname, "../../src/define/define-capability.ts"));
const operator = JSON.stringify(join(import.meta.dirname, "../../src/define/define-operator.ts"));
const pack = `
import { z } from "zod";
import { defineCapability } from ${define};
import { defineOperator } from ${operator};
const send = defineOperator({
  name: "Vote.Send", input: z.looseObject({}), effect: "write_draft", run: () => ({ sent: true }),
});
export const votes = defineCapability({
  intentType: "Vote.Send.Once", version: "1.0", input: z.object({}), operators: [send],
  plan: { reasoning: "two must agree", steps: [{ step_id: "send", name: "Send", operator: "Vote.Send",
    gate: { quorum: { approvals: 2, rejections: 2 }, signed: true } }] },
});
`;

beforeAll(async () => {
  folder = makeTempFolder();
  writeFileSync(path("votes.ts"), pack.replace('"zod"', JSON.stringify(import.meta.resolve("zod"))));
  const known: Record<string, object> = {};
  for (const who of ["ann", "bob", "cat"]) {
    const { publicKey, privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
    known[`user:${who}`] = await exportJWK(publicKey);
    const secret = who === "bob" ? await exportPKCS8(privateKey) : JSON.stringify(await exportJWK(privateKey));
    writeFileSync(path(`${who}.key`), secret);
  }
  writeFileSync(path("keys.json"), JSON.stringify(known));
  at = ["--db", path("votes.db"), "--capabilities", path("votes.ts"), "--keys", path("keys.json")];
});
afterAll(() => folder[Symbol.dispose]());

const as = (who: string): readonly string[] => [...at, "--principal", who];
const submit = async (): Promise<string> =>
  (await readHere<WorkflowState>("run", "Vote.Send.Once", "--wait", ...at)).workflow_id;
const signed = (word: "approve" | "reject", id: string, who: string) =>
  runHere(word, id, ...as(who), "--sign", path(`${who}.key`));

describe("deciding together", () => {
  it("where one vote names where it is applied, the next names the same, signed", async () => {
    const id = await submit();
    const targets = ["--targets", "board,archive"];
    expect((await runHere("approve", id, ...as("ann"), "--sign", path("ann.key"), ...targets)).code).toBe(0);
    const other = await signed("approve", id, "bob");
    expect(other.code).not.toBe(0);
    expect(other.err).toContain("apply_targets");
    expect((await runHere("show", id, ...at)).out).toContain('applied to ["board","archive"]');
    const ran = await runHere("approve", id, ...as("bob"), "--sign", path("bob.key"), ...targets, "--json");
    expect([ran.err, ran.code]).toEqual(["", 0]);
    expect((await runHere("verify", id, ...at)).code).toBe(0);
  });

  it("review shows where a vote would have it applied, and signs that with the approval", async () => {
    const id = await submit();
    const first = await runHere("approve", id, ...as("ann"), "--sign", path("ann.key"), "--targets", "board");
    expect([first.err, first.code]).toEqual(["", 0]);
    const person = makePerson(["space", "a", "y"]);
    const ran = await runAt(person.terminal, "review", ...as("bob"), "--sign", path("bob.key"));
    expect([ran.err, ran.code]).toEqual(["", 0]);
    expect(person.screens.join("\n")).toContain('applied to ["board"]');
    expect((await readHere<WorkflowState>("show", id, ...at)).state).toBe("completed");
  });

  it("tells where the votes stand after each, and goes on with the last", async () => {
    const id = await submit();
    const first = await signed("approve", id, "ann");
    expect([first.err, first.code]).toEqual(["", 0]);
    expect(first.out).toContain("voted: 1 of 2 to approve, 0 of 2 to reject");
    const shown = await runHere("show", id, ...at);
    for (const part of ["takes     2 to approve, 2 to reject", "voted     user ann to approve, signed"])
      expect(shown.out).toContain(part);
    expect((await runHere("withdraw", id, ...as("ann"))).out).toContain("withdrawn: 0 of 2 to approve");
    for (const who of ["ann", "bob"]) expect((await signed("approve", id, who)).code).toBe(0);
    expect((await readHere<WorkflowState>("show", id, ...at)).state).toBe("completed");
  });

  it("lends a seat until an instant", async () => {
    const id = await submit();
    const lent = await runHere("delegate", id, "gate-send", ...as("ann"), "--to", "cat", "--until", "2099-01-01");
    expect([lent.err, lent.code]).toEqual(["", 0]);
    expect((await runHere("show", id, ...at)).out).toContain("lent      user ann to user cat until 2099-01-01T00:00");
    const past = await runHere("delegate", id, ...as("ann"), "--to", "cat", "--until", "2020-01-01");
    expect([past.code, past.err]).toEqual([1, expect.stringContaining("T5_DELEGATION_REFUSED")]);
  });

  it.each(["soon", "12/11/2026", "1", "2027-02-31", "2027-01-01T25:00:00Z", "2027-01-01T12:00"])(
    "lends no seat until %s, which is no instant in ISO 8601",
    async (until) => {
      const ran = await runHere("delegate", "wf_none", ...as("ann"), "--to", "cat", "--until", until);
      expect([ran.code, ran.err]).toEqual([2, expect.stringContaining("It must be an instant such as 2026-")]);
    },
  );

  it("signs no revised gate unseen: what is named is what is signed, and another is refused", async () => {
    const id = await submit();
    const digestOf = async () => (await readHere<WorkflowState>("show", id, ...at)).gates[0]?.payload_digest ?? "";
    const first = await digestOf();
    const edited = await runHere("approve", id, ...as("bob"), "--edit", '{"text":"b"}');
    expect([edited.err, edited.code]).toEqual(["", 0]);
    // What is printed of the decision is what would run now, and no longer what it was before the edit.
    const told = `approve, revised: Vote.Send, payload ${(await digestOf()).slice(0, 12)}`;
    expect(edited.out).toContain(told);
    const unseen = await signed("approve", id, "ann");
    expect([unseen.code, unseen.err]).toEqual([2, expect.stringContaining("was revised; look again")]);
    const before = await runHere("approve", id, ...as("ann"), "--sign", path("ann.key"), "--digest", first);
    expect([before.code, before.err]).toEqual([1, expect.stringContaining("T5_GATE_CONFLICT")]);
    const seen = await runHere("approve", id, ...as("ann"), "--sign", path("ann.key"), "--digest", await digestOf());
    expect([seen.err, seen.code]).toEqual(["", 0]);
  });

  it("refuses a vote without a signature, or with somebody else's key", async () => {
    const id = await submit();
    const bare = await runHere("approve", id, ...as("ann"));
    expect([bare.code, bare.err]).toEqual([1, expect.stringContaining("T5_SIGNATURE_REQUIRED")]);
    const stolen = await runHere("approve", id, ...as("ann"), "--sign", path("bob.key"));
    expect([stolen.code, stolen.err]).toEqual([1, expect.stringContaining("T5_SIGNATURE_INVALID")]);
    expect((await runHere("approve", id, ...as("ann"), "--sign", path("none.key"))).code).toBe(2);
  });

  it("verify checks the signatures of a ledger and of an export, and names the first broken entry", async () => {
    const id = await submit();
    for (const who of ["ann", "bob"]) await signed("approve", id, who);
    expect((await runHere("verify", id, ...at)).code).toBe(0);
    const exported = (await runHere("export", id, ...at)).out;
    writeFileSync(path("export.jsonl"), exported);
    expect((await runHere("verify", "--import", path("export.jsonl"), "--keys", path("keys.json"))).code).toBe(0);
    const keys = JSON.parse(readFileSync(path("keys.json"), "utf8"));
    writeFileSync(path("other.json"), JSON.stringify({ ...keys, "user:ann": keys["user:bob"] }));
    const broken = await runHere("verify", "--import", path("export.jsonl"), "--keys", path("other.json"));
    const voted = readLines(exported).find((row) => String(row["body"]).includes("GATE_VOTED"));
    expect(broken.code).toBe(1);
    expect(broken.out).toContain(`${id} at sequence`);
    expect(broken.out).toContain("signature");
    expect(Number(/at sequence (\d+)/.exec(broken.out)?.[1])).toBeGreaterThanOrEqual(Number(voted?.["first_sequence"]));
  });

  it.each([
    ["a file that is not there", null, "cannot be read"],
    ["YAML", "user: ann\n", "position 0"],
    ["null", "null", "must be a JSON object"],
    ["a list", "[]", "must be a JSON object"],
  ])("tells that %s holds no keys, before a ledger is made", async (_what, text, told) => {
    const [keys, db] = [path("wrong.json"), path("never.db")];
    rmSync(keys, { force: true });
    if (text !== null) writeFileSync(keys, text);
    for (const words of [["serve"], ["run", "A.B"], ["verify", "--import", path("keys.json")]]) {
      const ran = await runHere(...words, "--db", db, "--keys", keys);
      expect([ran.code, ran.out, existsSync(db)]).toEqual([2, "", false]);
      expect(ran.err).toContain(`error: --keys ${keys}: `);
      expect(ran.err).toContain(told);
    }
  });
});
