/**
 * `npm run reference`: the reference of every entry in package.json, made of the docstrings, as pages under
 * `reference/` (`-- FOLDER`: elsewhere). With `--check` it writes no pages, and prints as JSON what has no docstring.
 *
 * Owns: what counts as documented: a name of an entry, by a docstring at its value or at its type.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { getLibFiles, ts } from "@ts-morph/common";
import type { DeclarationReflection as Declaration, ProjectReflection, SomeType } from "typedoc";
import "./older-compiler.ts";
import { sources } from "./resolve-package.ts";

/** What `--check` prints. */
export interface ReferenceCheck {
  readonly exported: number;
  /** Names of exports without a docstring, with their file. */
  readonly undocumented: readonly string[];
  /** Members without one of what hosts write and read, as `KernelOptions.clock`. */
  readonly members: readonly string[];
  /** Types that public ones name and no entry exports. */
  readonly unexported: readonly string[];
}

const root = fileURLToPath(new URL("../../", import.meta.url));
const { Application, DeclarationReflection, LogLevel, ReflectionKind } = await import("typedoc");
const { Function: aFunction, Class, Interface, Variable, TypeAlias, Module } = ReflectionKind;
const kinds = aFunction | Class | Interface | Variable | TypeAlias;

/** The compiler that typedoc reads with finds its own library in a folder that goes away. */
const libraries = mkdtempSync(join(tmpdir(), "countersign-reference-"));
for (const { fileName, text } of getLibFiles()) writeFileSync(join(libraries, basename(fileName)), text);
ts.sys.getExecutingFilePath = () => join(libraries, "typescript.js");

const [, , asked = join(root, "reference")] = process.argv;
const complaints: string[] = [];
try {
  const app = await openTypedoc();
  app.logger.warn = (message: string) => void complaints.push(message);
  const project = await app.convert();
  if (project === undefined) throw new Error("typedoc could not read the entries");
  if (asked === "--check") console.log(JSON.stringify(check(project, () => app.validate(project))));
  else await app.generateDocs(project, asked);
} finally {
  rmSync(libraries, { recursive: true, force: true });
}

function openTypedoc() {
  return Application.bootstrap({
    name: "Countersign",
    entryPoints: [...sources.values()].map((url) => fileURLToPath(url)),
    tsconfig: join(root, "tsconfig.build.json"),
    projectDocuments: [join(root, "src/guide/*.md")],
    readme: "none",
    skipErrorChecking: true,
    excludeExternals: true,
    disableSources: true,
    githubPages: false,
    logLevel: LogLevel.Warn,
  });
}

function check(project: ProjectReflection, validate: () => void): ReferenceCheck {
  const all = project.getReflectionsByKind(kinds).filter((one) => one instanceof DeclarationReflection);
  const exported = all.filter(({ parent }) => parent?.kindOf(Module));
  const nameOf = ({ parent, name }: Declaration): string => `${parent?.name}: ${name}`;
  const documented = new Set(exported.filter(isDocumented).map(nameOf));
  const names = [...new Set(exported.map(nameOf))];
  validate();
  const unexported = complaints.flatMap((message) => /^(\S+), defined in .* is referenced/.exec(message)?.[1] ?? []);
  return {
    exported: names.length,
    undocumented: names.filter((name) => !documented.has(name)),
    members: [...new Set(exported.filter(isChosenFrom).flatMap(undocumentedMembers))].toSorted(),
    unexported: [...new Set(unexported)].toSorted(),
  };
}

/** A sentence, beside what it may throw. Of a function its signatures have the docstring. */
function isDocumented({ comment, signatures = [] }: Declaration): boolean {
  const told = [comment, ...signatures.map((signature) => signature.comment)];
  return told.some((one) => (one?.summary.length ?? 0) > 0);
}

/** What hosts write, and what they read most. */
function isChosenFrom({ name }: Declaration): boolean {
  return (
    /(Options|Limits|Spec)$/.test(name) ||
    /^(Submit|Gate|Withdrawal|Delegation|Retry|Cancel)Request$/.test(name) ||
    ["Kernel", "Principal", "WorkflowState", "StepView", "StepDraft", "ExecutionPlan", "Gate", "Budgets"].includes(name)
  );
}

function undocumentedMembers({ name, type, children }: Declaration): readonly string[] {
  const own = (children ?? membersOf(type)).filter((member) => !/^(\[|__)/.test(member.name));
  return own.filter((member) => !isDocumented(member)).map((member) => `${name}.${member.name}`);
}

/** Of a schema those of the record that it reads: `ZodReadonly<ZodObject<{ … }>>`. */
function membersOf(type: SomeType | undefined): readonly Declaration[] {
  if (type?.type === "reflection") return type.declaration.children ?? [];
  return type?.type === "reference" ? membersOf(type.typeArguments?.[0]) : [];
}
