/**
 * Loads `--capabilities` and `--policies`: packages, operators and policies from the exports of a module, and rule sets
 * from YAML, JSON and Cedar files, and from compiled Rego.
 *
 * Owns: recognizing exports by their shape, and resolving a module by its path or package name from the current folder.
 * A folder stands for the modules that lie in it and export something of use.
 * Never: checks the contents of an export; the kernel does so when it registers it.
 * A module may also export resources that must be closed, such as the operators of an MCP server; these are returned
 * too.
 * 1.  A module that is there and cannot be loaded is refused with T0_MODULE_INVALID, or with the code of the kernel's
 *     error that it throws, such as that of a definition.
 * 2.  A rule file with any error is refused: the error names file, rule and field, and none of its rules applies.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { CapabilityDefinition } from "../../contract/capability.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { isKernelError, KernelErrorException, messageOf } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Operator } from "../../contract/operator.ts";
import type { PolicyRule, RuleSet } from "../../contract/policy.ts";
import { definePolicySet } from "../../define/define-policy-set.ts";
import type { Kernel } from "../../index.ts";
import type { Notifier } from "../../ports/notifier.ts";
import { decodeUtf8 } from "../../protocol/decode-utf8.ts";
import { readYaml } from "../../protocol/read-yaml.ts";
import { refuseFile } from "./refuse-file.ts";
import { resolveOwnPackages } from "./resolve-own.ts";

export interface Loaded {
  readonly capabilities: readonly CapabilityDefinition[];
  readonly operators: readonly Operator[];
  readonly policies: readonly (PolicyRule | RuleSet)[];
  /** Open resources of modules; they are closed when the command ends. */
  readonly closables: readonly AsyncDisposable[];
}

/**
 * Loads all modules. If one fails, the resources of the others are closed. @throws T0_CLI_FILE_INVALID for a module
 * that cannot be loaded or exports nothing of use.
 */
export async function loadModules(names: readonly string[]): Promise<Loaded> {
  const settled = await Promise.allSettled(names.map(loadModule));
  const loaded = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const closables = loaded.flatMap((one) => one.closables);
  const failed = settled.find((one) => one.status === "rejected");
  if (failed !== undefined) {
    await closeAll(closables);
    throw failed.reason;
  }
  const { capabilities, operators, policies } = joinLoaded(loaded);
  return { capabilities, operators, policies, closables };
}

/** Joins the exports of several modules. What two of them export, such as a list and its member, counts once. */
const joinLoaded = (loaded: readonly Loaded[]): Loaded => ({
  capabilities: [...new Set(loaded.flatMap((one) => one.capabilities))],
  operators: [...new Set(loaded.flatMap((one) => one.operators))],
  policies: [...new Set(loaded.flatMap((one) => one.policies))],
  closables: [...new Set(loaded.flatMap((one) => one.closables))],
});

/** Closes every resource, even if closing another one fails. */
export async function closeAll(closables: readonly AsyncDisposable[]): Promise<void> {
  await Promise.allSettled(closables.map((one) => one[Symbol.asyncDispose]()));
}

/**
 * Loads rules and rule sets from files and modules. @throws T0_CLI_FILE_INVALID for a file or module that cannot be
 * loaded or has none.
 */
export async function loadPolicies(names: readonly string[]): Promise<Loaded["policies"]> {
  return (await Promise.all(names.map(loadPolicyFile))).flat();
}

/** The exports of modules that tell people: notifiers, and digests, which list the gates of the kernel. */
export interface Telling {
  readonly notifiers: readonly Notifier[];
  readonly digests: readonly Digest[];
}

/** A digest, such as `mailDigest` makes; its capability and its rules come by `--capabilities`. */
interface Digest {
  readonly read: (kernel: Kernel) => void;
}

/** Loads notifiers and digests from modules. @throws T0_CLI_FILE_INVALID for a module without any, or none at all. */
export async function loadTelling(names: readonly string[]): Promise<Telling> {
  const loaded = await Promise.all(names.map(loadTellingModule));
  return { notifiers: loaded.flatMap((one) => one.notifiers), digests: loaded.flatMap((one) => one.digests) };
}

async function loadTellingModule(name: string): Promise<Telling> {
  const exported = [...new Set(Object.values(await importModule(name)).flat() as readonly unknown[])];
  const notifiers = exported.filter((value): value is Notifier => has(value, "name", "deliver"));
  const digests = exported.filter((value): value is Digest => has(value, "capability", "read"));
  if (notifiers.length + digests.length > 0) return { notifiers, digests };
  return refuseFile(name, "it exports no notifier");
}

async function loadPolicyFile(name: string): Promise<Loaded["policies"]> {
  if (/\.(ya?ml|json)$/i.test(name)) return [await readRules(name)];
  if (/\.cedar$/i.test(name)) return [await readCedar(name)];
  if (/\.(wasm|tar\.gz)$/i.test(name)) return [await readRego(name)];
  const { policies } = sortExports(await importModule(name));
  if (policies.length > 0) return policies;
  return refuseFile(name, "it exports no policy");
}

/** The largest size of a rule file in bytes, which is enough for thousands of rules. */
const maxRuleBytes = 2 ** 20;

const readRules = (path: string): Promise<RuleSet> =>
  reading(path, async () => definePolicySet(await readYaml(readText(path))));

/** Reads Cedar policies. A file of the same name that ends in `.cedarschema` is their schema. */
const readCedar = (path: string): Promise<RuleSet> =>
  reading(path, async () => {
    const { cedar } = await import("../../packages/policies/cedar/entry.ts");
    const schema = `${path}schema`;
    return cedar({ policies: readText(path), ...(existsSync(schema) && { schema: readText(schema) }) });
  });

/** Reads Rego as `opa build -t wasm` compiles it: a bundle, or the module alone. */
const readRego = (path: string): Promise<RuleSet> =>
  reading(path, async () => {
    const { opa } = await import("../../packages/policies/opa/entry.ts");
    const bytes = readBytes(path, maxModuleBytes);
    return opa(/\.wasm$/i.test(path) ? { wasm: bytes } : { bundle: bytes });
  });

/** The largest size of compiled policies in bytes, which leaves room for their data. */
const maxModuleBytes = 2 ** 24;

function readBytes(path: string, most: number): Uint8Array {
  if (statSync(path).size > most) throw new Error(`rules take at most ${most} bytes`);
  return readFileSync(path);
}

const readText = (path: string): string => decodeUtf8(readBytes(path, maxRuleBytes));

async function reading(path: string, read: () => Promise<RuleSet>): Promise<RuleSet> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof KernelErrorException && error.error.code === "T0_PACKAGE_MISSING") throw error;
    return refuseFile(path, messageOf(error));
  }
}

async function loadModule(name: string): Promise<Loaded> {
  const isFolder = statSync(name, { throwIfNoEntry: false })?.isDirectory() === true;
  const found = isFolder ? await loadFolder(name) : sortExports(await importModule(name));
  if (found.capabilities.length + found.operators.length + found.policies.length > 0) return found;
  if (isFolder) return refuse(`${name} holds no module that exports a capability package, operator or policy`);
  return refuseFile(name, "it exports no capability package, operator or policy");
}

/** Loads the modules of a folder one after another, so that the first broken one is the one that is named. */
async function loadFolder(folder: string): Promise<Loaded> {
  const loaded: Loaded[] = [];
  for (const file of listModules(folder)) loaded.push(sortExports(await importModule(file)));
  return joinLoaded(loaded);
}

/**
 * Lists the modules of a folder that may be packages: sources with an export, by name, without tests and declarations.
 * A program, which exports nothing, is not among them and is not run.
 */
export const listModules = (folder: string): readonly string[] =>
  readdirSync(folder)
    .filter((name) => /\.m?[jt]s$/.test(name) && !/\.(test|spec|d|config)\.m?[jt]s$/.test(name))
    .sort()
    .map((name) => join(folder, name))
    .filter((path) => /^\s*export\b/m.test(readFileSync(path, "utf8")));

/** Loads a module by its path or its package name, from the current folder. */
export async function importNamed(name: string): Promise<object> {
  resolveOwnPackages();
  return (await import(locateModule(name))) as object;
}

async function importModule(name: string): Promise<object> {
  try {
    return await importNamed(name);
  } catch (thrown) {
    if (!existsSync(resolve(name))) return refuseFile(name, `it cannot be loaded: ${messageOf(thrown)}`);
    // The error is recognized by its shape, because the module may bring its own copy of the package.
    const error = thrown instanceof Error && "error" in thrown ? thrown.error : null;
    if (isKernelError(error)) return raise({ ...error, message: `${name}: ${error.message}` });
    return refuse(`${name} cannot be loaded: ${messageOf(thrown)}${placeOf(thrown)}`);
  }
}

const refuse = (message: string): never =>
  raise(kernelError("T0_MODULE_INVALID", message, moduleRef(0, "cli", "load_modules"), { retry: false }));

/** Returns the line of a syntax error, which its message does not name. */
function placeOf(thrown: unknown): string {
  const place = thrown instanceof SyntaxError ? /^.*:(\d+)\n/.exec(thrown.stack ?? "") : null;
  return place === null ? "" : `, line ${place[1]}`;
}

function locateModule(name: string): string {
  const path = resolve(name);
  if (existsSync(path)) return pathToFileURL(path).href;
  return pathToFileURL(createRequire(join(process.cwd(), "package.json")).resolve(name)).href;
}

/**
 * Sorts the default and named exports of a module by their kind, each once; the members of exported lists count as
 * exports.
 */
export function sortExports(module: object): Loaded {
  const exported = [...new Set(Object.values(module).flat() as readonly unknown[])];
  const closables = exported.filter(isClosable);
  const values = [...new Set([...exported, ...closables.flatMap(({ operators }) => operators ?? [])])];
  return {
    capabilities: values.filter(isCapability),
    operators: values.filter(isOperator),
    policies: values.filter((value) => isPolicy(value) || isRuleSet(value)),
    closables,
  };
}

const has = (value: unknown, ...keys: readonly (string | symbol)[]): boolean =>
  typeof value === "object" && value !== null && keys.every((key) => key in value);
const isCapability = (value: unknown): value is CapabilityDefinition => has(value, "intentType", "operators", "plan");
const isOperator = (value: unknown): value is Operator => has(value, "metadata", "run");
const isPolicy = (value: unknown): value is PolicyRule => has(value, "evaluate", "stages");
const isRuleSet = (value: unknown): value is RuleSet => has(value, "version", "rules");

/** Recognizes an open resource, which may list the operators that work through it. */
const isClosable = (value: unknown): value is AsyncDisposable & { readonly operators?: readonly unknown[] } =>
  has(value, Symbol.asyncDispose);
