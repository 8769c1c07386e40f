/**
 * ModuleRef: the tier, module and function that made a Signal, a Result or an error.
 *
 * Owns: the schema and the frozen maker. It is provenance only; the one place where it is a target is a COMMAND
 * Signal.
 */
import { z } from "zod";

/** {tier 0..7, module, function}, all required. */
export const ModuleRef = z
  .object({
    tier: z.int().min(0).max(7),
    module: z.string().min(1),
    function: z.string().min(1),
  })
  .readonly();
export type ModuleRef = z.infer<typeof ModuleRef>;

/**
 * Returns a frozen ModuleRef. Throws a ZodError for a tier outside 0..7 or an empty name, which is a programmer's
 * mistake.
 */
export function moduleRef(tier: number, module: string, fn: string): ModuleRef {
  const ref = { tier, module, function: fn };
  return isModuleRef(ref) ? Object.freeze(ref) : ModuleRef.parse(ref);
}

/** Returns whether a value has the shape of a ModuleRef, without allocation, for hot paths. */
export function isModuleRef(value: unknown): value is ModuleRef {
  if (typeof value !== "object" || value === null) return false;
  const ref = value as Partial<ModuleRef>;
  return isTier(ref.tier) && isName(ref.module) && isName(ref.function);
}

function isTier(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 7;
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value.length > 0;
}
