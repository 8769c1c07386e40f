/**
 * The package as npm would publish it: built, packed, and installed in a folder of its own, once for all of these
 * tests.
 *
 * Owns: that folder. What else a program of the folder imports is this repository's own, by links: nothing is
 * downloaded.
 */
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestProject } from "vitest/node";
import { stripManifest } from "./publish-manifest.ts";

const root = resolve(import.meta.dirname, "../..");

/** The tarball, and folders with `node_modules/countersign` made of it. */
export interface Packed {
  readonly tarball: string;
  /** Beside the package, it has all packages of this repository. */
  readonly app: string;
  /** Beside the package, it has the package's hard dependencies and nothing else. */
  readonly bare: string;
}

/** What workers are told has no type of its own there: `inject` in the tests reads it. */
const providing = (packed: Packed) => ["packed", packed] as unknown as Parameters<TestProject["provide"]>;

interface Manifest {
  readonly files: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
}

export function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "countersign-package-"));
  project.provide(...providing(install(packInto(folder), folder)));
  return () => rmSync(folder, { recursive: true, force: true });
}

/** The tarball that npm would publish, in `folder`. */
export const packInto = (folder: string): string => pack(stage(folder));

/** What is published, as it would stand here after `npm run build`. */
function stage(folder: string): string {
  const staged = join(folder, "staged");
  mkdirSync(staged);
  const node = (script: string, ...args: readonly string[]) =>
    execFileSync(process.execPath, [join(root, script), ...args], { cwd: root });
  // As `npm run build` makes it; what it checks beside is checked by `npm run types`.
  node("node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json", "--noCheck", "--outDir", join(staged, "dist"));
  node("test/guide/annotate-declarations.ts", join(staged, "dist"));
  node("test/http/declare-api.ts", join(staged, "dist/api.d.ts"));
  for (const path of listPublished()) cpSync(join(root, path), join(staged, path), { recursive: true });
  stripManifest(staged);
  return staged;
}

const readManifest = (): Manifest => JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

function listPublished(): readonly string[] {
  const { files } = readManifest();
  const named = files.filter((name) => name !== "dist").flatMap((name) => globSync(name, { cwd: root }));
  return ["package.json", "README.md", "LICENSE", "dist/console", ...named].filter((path) =>
    existsSync(join(root, path)),
  );
}

function pack(staged: string): string {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", ".."];
  const [made] = JSON.parse(
    execFileSync("npm", args, { cwd: staged, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }),
  );
  return join(staged, "..", made.filename);
}

function install(tarball: string, folder: string): Packed {
  const all = readdirSync(join(root, "node_modules")).filter((name) => name !== "countersign");
  const app = installWith(tarball, join(folder, "app"), all);
  const bare = installWith(tarball, join(folder, "bare"), Object.keys(readManifest().dependencies));
  return { tarball, app, bare };
}

/** Unpacks the tarball into a folder, and links the packages of this repository that it may find beside it. */
function installWith(tarball: string, folder: string, beside: readonly string[]): string {
  const packages = join(folder, "node_modules");
  mkdirSync(join(packages, "countersign"), { recursive: true });
  execFileSync("tar", ["-xzf", tarball, "--strip-components=1", "-C", join(packages, "countersign")]);
  for (const name of beside) symlinkSync(join(root, "node_modules", name), join(packages, name));
  return folder;
}
