/** `--host`: a host's own options for every command that runs a kernel, and what is refused in a host's module. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";
import { type Ran, readHere, runHere, runProcess } from "./command-line.ts";
import { serveAt } from "./serve-here.ts";
import { keepAs } from "./workplace.ts";

const sources = (path: string): string => JSON.stringify(fileURLToPath(new URL(`../../src/${path}`, import.meta.url)));

/** A host with its own of everything: packages, roles, rules, budgets, planner, authenticator, ledger, notifier. */
const hostModule = (folder: string): string => `
import { appendFileSync } from "node:fs";
import { defineCapability, defineHost, defineOperator, definePolicy, roleAuthenticator } from ${sources("index.ts")};
import { sqliteLedger } from ${sources("ledger/sqlite/index.ts")};
import { z } from ${JSON.stringify(fileURLToPath(import.meta.resolve("zod")))};

const note = (line: string) => appendFileSync(${JSON.stringify(join(folder, "seen.txt"))}, line + "\\n");
const pay = defineOperator({
  name: "Bank.Pay", input: z.object({ cents: z.int() }), effect: "final_write",
  run: ({ input }) => { note("paid " + input.cents); return input.cents; },
});
const payment = defineCapability({
  intentType: "Bank.Payment", version: "1.0", input: z.object({ cents: z.int() }), operators: [pay],
  plan: ({ input }) => ({
    reasoning: "Pay.", steps: [{ step_id: "pay", name: "Pay", operator: "Bank.Pay", params: input }],
  }),
});
const small = definePolicy({
  name: "pay.small", stages: ["action"], lifts: "default.final_write",
  evaluate: ({ subject }) => subject.payload.cents < 100 ? { decision: "ALLOW", reason: "it is small" } : null,
});
const roles = { clerk: { scopes: ["*"] } };
export const host = defineHost({
  ledger: sqliteLedger({ path: ${JSON.stringify(join(folder, "own.db"))} }),
  capabilities: [payment], policies: [small], roles,
  budgets: { limits: [{ scope: "tenant", invocations: 2 }] },
  notifiers: [{ name: "told", deliver: async () => { note("told"); return { status: "delivered" }; } }],
  initialize: () => note("initialized"),
});
`;

let folder: TempFolder;
let own = "";
const at = (name: string): string => join(folder.path, name);
const seen = (): readonly string[] =>
  existsSync(at("seen.txt")) ? readFileSync(at("seen.txt"), "utf8").trimEnd().split("\n") : [];
const asClerk = (): readonly string[] => ["--host", own, "--role", "clerk"];
const payNow = (cents: number): Promise<Ran> =>
  runHere("run", "Bank.Payment", "--input", JSON.stringify({ cents }), "--wait", ...asClerk(), "--json");

beforeAll(() => {
  folder = makeTempFolder();
  own = keepAs(folder, "app.ts", hostModule(folder.path));
});
afterAll(() => folder[Symbol.dispose]());

describe("a host's own options", () => {
  it("are those of each command: its packages, policies, roles and ledger, and no others", async () => {
    const paid = JSON.parse((await payNow(20)).out) as { state: string; workflow_id: string };
    expect([paid.state, seen()]).toEqual(["completed", ["initialized", "paid 20"]]);
    expect(existsSync(at("own.db"))).toBe(true);
    const explained = await runHere("explain", paid.workflow_id, ...asClerk());
    expect(explained.out).toContain("pay.small lifted default.final_write");
    expect((await runHere("run", "Bank.Payment", "--host", own)).err).toContain("T5_AUTHN_FAILED");
    const foreign = await runHere("run", "Repo.ReleaseNotes.Draft", ...asClerk());
    expect([foreign.code, foreign.err]).toEqual([1, expect.stringContaining("T1_")]);
  });

  it("let a read run, notify and initialize nothing, and a decision go on with its own work", async () => {
    const waiting = JSON.parse((await payNow(5000)).out) as { state: string; workflow_id: string };
    const before = seen();
    expect(waiting.state).toBe("waiting_for_user");
    for (const words of [
      ["gates"],
      ["list"],
      ["show", waiting.workflow_id],
      ["doctor"],
      ["verify", waiting.workflow_id],
    ])
      expect([words[0], (await runHere(...words, ...asClerk())).code]).toEqual([words[0], 0]);
    const replayed = await runHere("replay", waiting.workflow_id, ...asClerk());
    expect([replayed.out, seen()]).toEqual([expect.stringContaining("identical"), before]);
    const approved = await runHere("approve", waiting.workflow_id, ...asClerk());
    expect([approved.code, seen().at(-1)]).toEqual([0, "paid 5000"]);
  });

  it("hold its budgets over commands: a third call of two that it grants is refused", async () => {
    const ran = await payNow(30);
    expect([ran.code, ran.out + ran.err]).toEqual([1, expect.stringContaining("T5_BUDGET_EXHAUSTED")]);
    expect(seen()).not.toContain("paid 30");
  });

  it("stand in the commands that are printed, which name the host and not a ledger beside it", async () => {
    const { out } = await runHere("run", "Bank.Payment", "--input", '{"cents":700}', "--wait", ...asClerk());
    expect(out).toContain(`--host ${own}`);
    expect(out).not.toContain("--db");
  });

  it("serve: the host's packages and ledger answer over HTTP, and its notifiers tell of gates", async () => {
    const served = await serveAt("none", "program", ...asClerk());
    const list = await fetch(`${served.url}/v1/kernel/workflows`, { headers: { authorization: "Bearer program" } });
    expect(JSON.stringify(await list.json())).toContain("Bank.Payment");
    await served.stop();
    expect(seen()).toContain("told");
  });

  it("whatif asks the past under the host's rules where no others are named", async () => {
    const found = await readHere<{ differing: number }>("whatif", ...asClerk());
    expect(found).toMatchObject({ kind: "report", differing: 0 });
  });
});

describe("a host's module", () => {
  it("may export its options as they are", async () => {
    const plain = keepAs(
      folder,
      "plain.ts",
      "export const host = { capabilities: [], roles: { user: { scopes: ['*'] } } };",
    );
    const ran = await runHere("run", "Repo.ReleaseNotes.Draft", "--host", plain, "--db", at("plain.db"));
    expect([ran.code, ran.err]).toEqual([1, expect.stringContaining("T1_")]);
  });

  it.each([
    ["no host", "export const app = {};", "T0_HOST_INVALID", "exports no host"],
    ["a host that is a default export", "export default { host: {} };", "T0_HOST_INVALID", "exports no host"],
    [
      "an unknown key",
      "export const host = { polices: [] };",
      "T0_VALIDATION_SCHEMA_MISMATCH",
      'did you mean "policies"',
    ],
    ["a key that is each command's", "export const host = { recover: true };", "T0_HOST_INVALID", "recover"],
    ["an error of its own", "throw new Error('no database');", "T0_HOST_INVALID", "no database"],
    ["a module that is not there", null, "T0_HOST_INVALID", "cannot be loaded"],
  ])("with %s is refused with a code and a next step, before anything is opened", async (what, text, code, message) => {
    const name = `${what.replaceAll(" ", "-")}.ts`;
    const path = text === null ? at("nowhere.ts") : keepAs(folder, name, text);
    const ran = await runHere("list", "--host", path, "--db", at("none.db"));
    expect([ran.code, ran.err]).toEqual([1, expect.stringContaining(code)]);
    expect(ran.err).toContain(message);
    expect(ran.err).toMatch(/ {2}next {5}\w/);
    expect(existsSync(at("none.db"))).toBe(false);
  });

  it("refuses a second ledger, a second set of keys, and a role that it does not have", async () => {
    expect(await runHere("list", ...asClerk(), "--db", at("other.db"))).toMatchObject({ code: 2 });
    const keyed = keepAs(folder, "keyed.ts", "export const host = { approverKeys: () => null };");
    const keys = keepAs(folder, "keys.json", "{}");
    const twice = await runHere("run", "A.B", "--host", keyed, "--db", at("keyed.db"), "--keys", keys);
    expect([twice.code, twice.err]).toEqual([2, expect.stringContaining("leave --keys out")]);
    const unknown = await runHere("serve", "--host", own, "--role", "user");
    expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining("there are clerk")]);
  });

  it("is not what `serve` listens on: an address is named with --listen", async () => {
    const ran = await runHere("serve", "--host", "0.0.0.0");
    expect([ran.code, ran.err]).toEqual([2, expect.stringContaining("--listen 0.0.0.0")]);
  });

  it("is loaded by the program itself, from a path as it is typed", async () => {
    const ran = await runProcess(folder.path, "list", "--host", "app.ts", "--role", "clerk", "--json");
    expect([ran.code, ran.err, ran.out]).toEqual([0, "", expect.stringContaining("Bank.Payment")]);
  });
});
