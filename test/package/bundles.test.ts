/**
 * The package in a bundle, and under compilers that are strict. A bundle in CommonJS has no `import.meta.url`, as
 * esbuild makes it.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ts as older } from "@ts-morph/common";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createHost } from "../guide/typed-program.ts";
import type { Packed } from "./pack-package.ts";

const { app } = inject("packed" as never) as Packed;
interface Manifest {
  readonly exports: Readonly<Record<string, { readonly default?: string } | string>>;
}
const { exports } = JSON.parse(readFileSync(join(app, "node_modules/countersign/package.json"), "utf8")) as Manifest;
/** By the names under which they are imported. */
const entries = Object.entries(exports)
  .filter(([, entry]) => typeof entry !== "string" && entry.default !== undefined)
  .map(([name]) => name.replace(/^\./, "countersign"));

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(app, "bundles-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const program = `
import { createKernel } from "countersign";
import { createHttpApp } from "countersign/http";
${entries.map((name, i) => `import * as entry${i} from ${JSON.stringify(name)};`).join("\n")}
globalThis.entries = [${entries.map((_, i) => `entry${i}`).join(", ")}];

async function main() {
  const kernel = await createKernel();
  const app = createHttpApp(kernel, { console: true, authenticate: () => null });
  const answers = [];
  for (const path of ["/guide", "/guide/gates", "/"]) {
    const answer = await app.fetch(new Request("http://127.0.0.1" + path, { headers: { accept: "application/json" } }));
    answers.push([path, answer.status, (await answer.json()).extensions]);
  }
  await kernel.stop();
  console.log(JSON.stringify(answers));
}
main();
`;

/** Peers that a host brings, drivers that are loaded when a ledger is opened, and what reads a file beside itself. */
const external = ["pg", "@cedar-policy/cedar-wasm", "@restatedev/restate-sdk", "@restatedev/restate-sdk-clients"];

async function bundle(format: "cjs" | "es"): Promise<string> {
  const entry = join(folder, `${format}.js`);
  writeFileSync(entry, program);
  const fileName = `bundle.${format === "cjs" ? "cjs" : "mjs"}`;
  await build({
    root: app,
    configFile: false,
    logLevel: "silent",
    define: format === "cjs" ? { "import.meta.url": "undefined" } : {},
    ssr: { noExternal: true, external },
    build: {
      ssr: entry,
      outDir: join(folder, `out-${format}`),
      rolldownOptions: { output: { format, entryFileNames: fileName, codeSplitting: false } },
    },
  });
  return join(folder, `out-${format}`, fileName);
}

describe("in a bundle", () => {
  it.each(["cjs", "es"] as const)(
    "(%s) every entry loads, and what does not lie beside the program is told by a code",
    async (format) => {
      // From elsewhere, as where it is deployed: nothing of the package lies around it.
      const deployed = mkdtempSync(join(tmpdir(), "countersign-deployed-"));
      const printed = execFileSync(process.execPath, [await bundle(format)], { cwd: deployed, encoding: "utf8" });
      rmSync(deployed, { recursive: true });
      const missing = (code: string) => expect.objectContaining({ code, next: expect.stringContaining("bundle") });
      expect(JSON.parse(printed)).toEqual([
        ["/guide", 503, missing("T0_HTTP_GUIDE_MISSING")],
        ["/guide/gates", 503, missing("T0_HTTP_GUIDE_MISSING")],
        ["/", 503, missing("T0_HTTP_CONSOLE_MISSING")],
      ]);
    },
  );
});

describe("the declarations, read without skipLibCheck and with exactOptionalPropertyTypes", () => {
  const source = [...entries, "countersign/api"].map((name, i) => `export type * as e${i} from "${name}";`).join("\n");
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    target: "es2024",
    lib: ["esnext"],
    types: ["node"],
    module: "nodenext",
  };
  beforeAll(() => {
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(join(folder, "strict.ts"), source);
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["strict.ts"] }));
  });

  it("compile with the TypeScript of this repository", () => {
    const compiler = join(app, "node_modules/typescript/bin/tsc");
    const { stdout } = spawnSync(process.execPath, [compiler, "-p", folder, "--pretty", "false"], { encoding: "utf8" });
    const complaints = stdout.split("\n").filter((line) => /^\S.*: error|^error/.test(line));
    // What dependencies declare is not ours; that it is complained of shows that declarations were read.
    const isForeign = (line: string): boolean => /^\S*node_modules\/(?!countersign\/)/.test(line);
    expect(complaints.filter((line) => !isForeign(line))).toEqual([]);
    expect(complaints.length).toBeGreaterThan(0);
  });

  it("compile with the TypeScript of before, whose compiler is written in JavaScript", () => {
    const { options, errors } = older.convertCompilerOptionsFromJson(compilerOptions, folder);
    const program = older.createProgram([join(folder, "strict.ts")], options, createHost(options));
    const isOurs = (place: string): boolean => !/node_modules\/(?!countersign\/)/.test(place);
    // Checking what dependencies declare would be most of the work, and its outcome is not ours.
    const ours = program.getSourceFiles().filter(({ fileName }) => isOurs(fileName));
    const inFiles = ours.flatMap((file) => [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ]);
    expect(ours.length).toBeGreaterThan(entries.length);
    const told = [...errors, ...program.getOptionsDiagnostics(), ...inFiles, ...program.getGlobalDiagnostics()];
    expect(told.map(({ messageText }) => older.flattenDiagnosticMessageText(messageText, "\n"))).toEqual([]);
  });
});
