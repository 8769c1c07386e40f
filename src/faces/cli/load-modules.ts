/**
 * Loads `--capabilities` and `--policies`: packages, operators and policies from the exports of a module, and rule sets
 * from YAML and JSON files.
 *
 * Owns: recognizing exports by their shape, and resolving a module by its path or package name from the current folder.
 * Never: checks the contents of an export; the kernel does so when it registers it.
 * A module may also export resources that must be closed, such as the operators of an MCP server; these are returned
 * too.
 * 1.  A rule file with any error is wrong usage: the error names file, rule and field, and none of its rules applies.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { CapabilityDefinition } from "../../contract/capability.ts";
import type { Operator } from "../../contract/operator.ts";
import type { PolicyRule, RuleSet } from "../../contract/policy.ts";
import { definePolicySet } from "../../define/define-policy-set.ts";
import type { Notifier } from "../../ports/notifier.ts";
import { decodeUtf8 } from "../../protocol/decode-utf8.ts";
import { readYaml } from "../../protocol/read-yaml.ts";
import { UsageError } from "./report-error.ts";

export interface Loaded {
  readonly capabilities: readonly CapabilityDefinition[];
  readonly operators: readonly Operator[];
  readonly policies: readonly (PolicyRule | RuleSet)[];
  /** Open resources of modules; they are closed when the command ends. */
  readonly closables: readonly AsyncDisposable[];
}

/**
 * Loads all modules. If one fails, the resources of the others are closed. @throws UsageError for a module that cannot
 * be loaded or exports nothing of use.
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
  return {
    capabilities: loaded.flatMap((one) => one.capabilities),
    operators: loaded.flatMap((one) => one.operators),
    policies: loaded.flatMap((one) => one.policies),
    closables,
  };
}

/** Closes every resource, even if closing another one fails. */
export async function closeAll(closables: readonly AsyncDisposable[]): Promise<void> {
  await Promise.allSettled(closables.map((one) => one[Symbol.asyncDispose]()));
}

/**
 * Loads rules and rule sets from files and modules. @throws UsageError for a file or module that cannot be loaded or
 * has none.
 */
export async function loadPolicies(names: readonly string[]): Promise<Loaded["policies"]> {
  return (await Promise.all(names.map(loadPolicyFile))).flat();
}

/** Loads notifiers from modules. @throws UsageError for a module that cannot be loaded or has none. */
export async function loadNotifiers(names: readonly string[]): Promise<readonly Notifier[]> {
  return (await Promise.all(names.map(loadNotifierModule))).flat();
}

async function loadNotifierModule(name: string): Promise<readonly Notifier[]> {
  const exported = [...new Set(Object.values(await importModule(name)).flat() as readonly unknown[])];
  const notifiers = exported.filter((value): value is Notifier => has(value, "name", "deliver"));
  if (notifiers.length > 0) return notifiers;
  throw new UsageError(`${name} exports no notifier`);
}

async function loadPolicyFile(name: string): Promise<Loaded["policies"]> {
  if (/\.(ya?ml|json)$/i.test(name)) return [await readRules(name)];
  const { policies } = sortExports(await importModule(name));
  if (policies.length > 0) return policies;
  throw new UsageError(`${name} exports no policy`);
}

/** The largest size of a rule file in bytes, which is enough for thousands of rules. */
const maxRuleBytes = 2 ** 20;

async function readRules(path: string): Promise<RuleSet> {
  try {
    if (statSync(path).size > maxRuleBytes) throw new Error(`rules take at most ${maxRuleBytes} bytes`);
    return definePolicySet(await readYaml(decodeUtf8(readFileSync(path))));
  } catch (error) {
    throw new UsageError(`${path}: ${(error as Error).message.trimEnd()}`);
  }
}

async function loadModule(name: string): Promise<Loaded> {
  const found = sortExports(await importModule(name));
  if (found.capabilities.length + found.operators.length + found.policies.length > 0) return found;
  throw new UsageError(`${name} exports no capability package, operator or policy`);
}

/** Loads a module by its path or its package name, from the current folder. */
export const importNamed = async (name: string): Promise<object> => (await import(locateModule(name))) as object;

async function importModule(name: string): Promise<object> {
  try {
    return await importNamed(name);
  } catch (error) {
    throw new UsageError(`${name} cannot be loaded: ${(error as Error).message}`);
  }
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
