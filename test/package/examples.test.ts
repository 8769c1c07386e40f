/** Each example runs against the packed package, prints what its `expected.txt` says, and leaves nothing behind. */
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { findChromium } from "../console/start-browser.ts";
import { canServe } from "../postgres/can-serve.ts";
import { guardedEntries, namedPeers } from "./entry-peers.ts";
import type { Packed } from "./pack-package.ts";
import { packagesIn } from "./packages-in.ts";

const examples = join(import.meta.dirname, "../examples");
const names = readdirSync(examples).filter((name) => existsSync(join(examples, name, "main.ts")));
/** Left out where its server cannot run. */
const runnable = names.filter((name) => name !== "postgres" || canServe());
const { app } = inject("packed" as never) as Packed;

/** As a reader would run it, with the browser that the tests have unpacked already. */
let env = process.env;
beforeAll(async () => {
  env = { ...env, CHROME: await findChromium() };
});
async function run(args: readonly string[], cwd: string) {
  const child = spawn(process.execPath, [...args], { cwd, env, timeout: 60_000 });
  const [printed, complained, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((ends) => child.once("close", ends)),
  ]);
  return { code, printed, complained };
}
type Named = Readonly<Record<string, string>>;
interface Dependencies {
  readonly dependencies: Named;
  readonly devDependencies?: Named;
}
const compiler = join(app, "node_modules/typescript/bin/tsc");

describe("an example", () => {
  cpSync(examples, app, { recursive: true });

  it("has the types of the package that it imports, as all of them have", async () => {
    expect(await run([compiler, "-p", app], app)).toMatchObject({ printed: "", code: 0 });
  });

  it.each(runnable)("%s prints what it says it does", async (name) => {
    const printed = readFileSync(join(examples, name, "expected.txt"), "utf8");
    const empty = mkdtempSync(join(app, "run-"));
    expect(await run([join(app, name, "main.ts")], empty)).toEqual({ code: 0, printed, complained: "" });
  });

  it.each(names)("%s names all that it imports, and what the entries need, as its dependencies", (name) => {
    const manifest = JSON.parse(readFileSync(join(examples, name, "package.json"), "utf8")) as Dependencies;
    const declared = { ...manifest.dependencies, ...manifest.devDependencies };
    const files = readdirSync(join(examples, name), { recursive: true, encoding: "utf8" });
    const programs = files.filter((path) => /\.tsx?$/.test(path));
    const texts = programs.map((file) => readFileSync(join(examples, name, file), "utf8"));
    const entries = [...guardedEntries].filter(([entry]) => texts.some((each) => each.includes(`from "${entry}"`)));
    const peers = entries.flatMap(([, path]) => [...namedPeers(path).keys()]);
    const needed = [...texts.flatMap(packagesIn), ...peers];
    expect(needed.filter((one) => declared[one] === undefined)).toEqual([]);
  });
});

describe("what `create` makes", () => {
  const made = join(app, "made");
  const launcher = join(app, "node_modules/countersign/src/faces/cli/bin.mjs");

  it("compiles, keeps the laws it states, and runs to an approval", async () => {
    expect(await run([launcher, "create", made], app)).toMatchObject({ code: 0, complained: "" });
    expect(await run([compiler, "-p", made], app)).toMatchObject({ printed: "", code: 0 });
    expect(await run(["--test"], made)).toMatchObject({ code: 0 });
    const { printed } = await run(["main.ts", "--yes"], made);
    expect(printed).toMatch(/^Pay it back: .*\ncompleted .*\nnpx countersign explain wf_/);
    expect(await run([launcher, "verify", "--db", "workflows.db"], made)).toMatchObject({ code: 0 });
  });

  it("is told commands that run as they are printed", async () => {
    const asked = ["run", "Shop.Refund", "--input", '{"order":"B-2","cents":5}', "--wait"];
    const { printed } = await run([launcher, ...asked, "--db", "workflows.db", "--capabilities", "refund.ts"], made);
    const [, approve = ""] = /Approve: +node (\S+ approve .*)/.exec(printed) ?? [];
    expect((await run(approve.split(" "), made)).printed).toMatch(/^wf_\S+ +Shop\.Refund +completed/m);
  });

  it("asks somebody in a terminal, or stops and says how to go on", async () => {
    expect(await run(["main.ts"], made)).toMatchObject({ code: 1, complained: expect.stringContaining("--yes") });
  });

  it("is refused where something is", async () => {
    expect(await run([launcher, "create", made], app)).toMatchObject({
      code: 2,
      complained: expect.stringContaining("not empty"),
    });
  });
});
