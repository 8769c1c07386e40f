/**
 * The package in a folder that contains its hard dependencies and nothing else, as `npm install countersign` leaves it:
 * the kernel runs, and what needs an optional package names the command that installs it.
 */
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { guardedEntries, namedPeers } from "./entry-peers.ts";
import type { Packed } from "./pack-package.ts";

const { bare } = inject("packed" as never) as Packed;
const root = join(import.meta.dirname, "../..");
const launcher = join(bare, "node_modules/countersign/src/faces/cli/bin.mjs");

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(bare, "run-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const run = (...args: readonly string[]): Promise<Ran> =>
  new Promise((resolve) => {
    execFile(process.execPath, [...args], { cwd: folder }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });

/** Runs a program that imports the entry, and prints the code and the message of what it throws. */
const importOf = (entry: string, use = ""): Promise<Ran> => {
  const program = join(folder, `${entry.replaceAll("/", "-")}.mjs`);
  const work = `const entry = await import("${entry}"); ${use} console.log("loaded");`;
  writeFileSync(program, `try { ${work} } catch (thrown) { console.log(thrown.message); }`);
  return run(program);
};

const commandOf = (path: string): string =>
  `npm install ${[...namedPeers(path)].map(([name, version]) => `${name}@${version}`).join(" ")}`;

describe("with its hard dependencies alone", () => {
  it("a host embeds the kernel: the example runs as it does beside all packages", async () => {
    const example = join(root, "test/examples");
    for (const part of ["refund-quorum", "shop"]) cpSync(join(example, part), join(bare, part), { recursive: true });
    const printed = readFileSync(join(example, "refund-quorum/expected.txt"), "utf8");
    expect(await run(join(bare, "refund-quorum/main.ts"))).toEqual({ code: 0, out: printed, err: "" });
  });

  it.each(["", "/machines", "/sqlite", "/postgres", "/llm", "/inspect", "/notifiers", "/testing"])(
    "the entry countersign%s loads",
    async (entry) => {
      expect((await importOf(`countersign${entry}`)).out).toBe("loaded\n");
    },
  );

  it.each([...guardedEntries])("the entry %s names the command that installs its packages", async (entry, path) => {
    const { out } = await importOf(entry);
    const problem = `${entry} needs packages that are not all installed`;
    expect(out).toBe(`T0_PACKAGE_MISSING: ${problem}; this command installs them: ${commandOf(path)}\n`);
  });

  it("serveInspector names its package when it is called", async () => {
    const { out } = await importOf(
      "countersign/inspect",
      "await entry.serveInspector((async function* () {})(), { port: 0 });",
    );
    expect(out).toMatch(/^T0_PACKAGE_MISSING: serveInspector needs .*: npm install ws@8\n$/);
  });

  it("a ledger in Postgres names its driver when it is opened", async () => {
    const open = 'await entry.postgresLedger({ url: "postgres://ann@127.0.0.1:1/shop" }).open();';
    const { out } = await importOf("countersign/postgres", open);
    expect(out).toMatch(/^T0_PACKAGE_MISSING: a ledger in Postgres needs .*: npm install pg@8\n$/);
  });

  it("a mail notifier names its package when it delivers", async () => {
    const notice = '{ gate: { approvers: [] }, kind: "opened" }';
    const server = 'smtp: { host: "127.0.0.1" }, consoleUrl: "http://127.0.0.1:1/"';
    const options = `{ from: "a@b.example", ${server}, recipients: () => ["c@d.example"] }`;
    const use = `await entry.mailNotifier(${options}).deliver(${notice});`;
    const { out } = await importOf("countersign/notifiers", use);
    expect(out).toMatch(/^T0_PACKAGE_MISSING: mailNotifier needs .*: npm install nodemailer@10\n$/);
  });
});

describe("the command line with the hard dependencies alone", () => {
  it.each([["--version"], ["--help"], ["create", "made"], ["completion", "bash"]])(
    "countersign %s works without a ledger",
    async (...words) => {
      expect(await run(launcher, ...words)).toMatchObject({ code: 0, err: "" });
    },
  );

  it.each([["list"], ["gates"], ["verify"], ["doctor"]])("countersign %s reads a ledger", async (word) => {
    const open =
      'const kernel = await entry.createKernel({ ledger: sqliteLedger({ path: "read.db" }) }); await kernel.stop();';
    await importOf("countersign", `const { sqliteLedger } = await import("countersign/sqlite"); ${open}`);
    expect(await run(launcher, word, "--db", "read.db")).toMatchObject({ code: 0, err: "" });
  });

  it("serve names all packages that it needs in one line, and makes no ledger", async () => {
    const { code, err } = await run(launcher, "serve", "--port", "0", "--db", "served.db");
    const needed = ["countersign/telemetry", "countersign/http", "countersign/mcp"].map((entry) =>
      commandOf(guardedEntries.get(entry) ?? "").replace("npm install ", ""),
    );
    expect([code, err.split("\n")[0]]).toEqual([1, expect.stringContaining(`: npm install ${needed.join(" ")}`)]);
    expect(err).toContain("code     T0_PACKAGE_MISSING");
    expect(existsSync(join(folder, "served.db"))).toBe(false);
  });

  it("mcp names the packages that it needs", async () => {
    const { code, err } = await run(launcher, "mcp", "--db", "mcp.db");
    expect([code, err]).toEqual([1, expect.stringContaining(commandOf(guardedEntries.get("countersign/mcp") ?? ""))]);
    expect(existsSync(join(folder, "mcp.db"))).toBe(false);
  });

  it("rules in YAML name the package that reads them", async () => {
    writeFileSync(join(folder, "rules.yaml"), "version: one\nrules: []\n");
    const { code, err } = await run(launcher, "whatif", "--policies", "rules.yaml");
    expect([code, err]).toEqual([1, expect.stringContaining("npm install yaml@2")]);
  });

  it("a folder of `countersign create` depends on all packages that its scripts need", async () => {
    const template = join(root, "src/faces/cli/template/package.json");
    const { dependencies } = JSON.parse(readFileSync(template, "utf8")) as {
      readonly dependencies: Readonly<Record<string, string>>;
    };
    const { err } = await run(launcher, "serve", "--json");
    const { packages } = JSON.parse(err).extensions.chain[0].detail as { readonly packages: readonly string[] };
    const ranges = Object.entries(dependencies).map(([name, range]) => `${name}${range}.`);
    const isThere = (each: string) => ranges.some((range) => range.startsWith(`${each.replace(/(?<=.)@/, "^")}.`));
    expect(packages.filter((each) => !isThere(each))).toEqual([]);
  });
});
