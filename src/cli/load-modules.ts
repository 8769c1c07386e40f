/**
 * What `--capabilities` brings: packages, operators and policies out of a module's exports.
 *
 * Owns: telling the three apart by their shape, and finding a module by path or package name from the current folder.
 * Never: checks what is inside them; the kernel does when it registers them.
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { CapabilityDefinition } from "../contract/capability.ts";
import type { Operator } from "../contract/operator.ts";
import type { PolicyRule } from "../contract/policy.ts";
import { UsageError } from "./report-error.ts";

export interface Loaded {
  readonly capabilities: readonly CapabilityDefinition[];
  readonly operators: readonly Operator[];
  readonly policies: readonly PolicyRule[];
}

/** @throws UsageError for a module that cannot be loaded or exports nothing of use. */
export async function loadModules(names: readonly string[]): Promise<Loaded> {
  const loaded = await Promise.all(names.map(loadModule));
  return {
    capabilities: loaded.flatMap((one) => one.capabilities),
    operators: loaded.flatMap((one) => one.operators),
    policies: loaded.flatMap((one) => one.policies),
  };
}

async function loadModule(name: string): Promise<Loaded> {
  const found = sortExports(await importModule(name));
  if (found.capabilities.length + found.operators.length + found.policies.length > 0) return found;
  throw new UsageError(`${name} exports no capability package, operator or policy`);
}

async function importModule(name: string): Promise<object> {
  try {
    return (await import(locateModule(name))) as object;
  } catch (error) {
    throw new UsageError(`${name} cannot be loaded: ${(error as Error).message}`);
  }
}

function locateModule(name: string): string {
  const path = resolve(name);
  if (existsSync(path)) return pathToFileURL(path).href;
  return pathToFileURL(createRequire(join(process.cwd(), "package.json")).resolve(name)).href;
}

/** The default and the named exports, each once; lists of them too. */
export function sortExports(module: object): Loaded {
  const values = [...new Set(Object.values(module).flat() as readonly unknown[])];
  return {
    capabilities: values.filter(isCapability),
    operators: values.filter(isOperator),
    policies: values.filter(isPolicy),
  };
}

const has = (value: unknown, ...keys: readonly string[]): boolean =>
  typeof value === "object" && value !== null && keys.every((key) => key in value);
const isCapability = (value: unknown): value is CapabilityDefinition => has(value, "intentType", "operators", "plan");
const isOperator = (value: unknown): value is Operator => has(value, "metadata", "run");
const isPolicy = (value: unknown): value is PolicyRule => has(value, "evaluate", "stages");
