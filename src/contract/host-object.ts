/**
 * Members of option schemas that a host brings as code: checked for the functions that are called, whatever class they
 * have, and passed on as they are.
 *
 * Owns: schemas of functions, ports, host objects and limits. Never: copies or calls what a host brings.
 */
import { z } from "zod";
import { isPlainObject } from "./json.ts";
import { explainKeys, type Reading, readStrictly } from "./known-keys.ts";

/** Makes the schema of a function of the host. */
export const hostFunction = <F = (...args: never) => unknown>() =>
  z.custom<F>((value) => typeof value === "function", "must be a function");

const isObject = (value: unknown): value is Readonly<Record<PropertyKey, unknown>> =>
  (typeof value === "object" && value !== null) || typeof value === "function";

/** Makes the schema of an object, or a function, that has these functions. */
export const objectWith = <T = object>(...functions: readonly PropertyKey[]) =>
  z.custom<T>(
    (value) => isObject(value) && functions.every((name) => typeof value[name] === "function"),
    functions.length === 0 ? "must be an object" : `must be an object with ${functions.map(String).join(", ")}`,
  );

/**
 * Makes the schema of a host's own object from the schemas of its members. A plain object has no other keys; one with a
 * class of its own may have any members.
 */
export const hostObject = <T extends object>(members: Readonly<Record<keyof T, z.ZodType>>) =>
  z.custom<T>(isObject, { error: "must be an object", abort: true }).superRefine((value, context) => {
    const shape = isPlainObject(value) ? z.strictObject(members) : z.object(members);
    const { error } = shape.safeParse(value, { error: explainKeys });
    for (const issue of error?.issues ?? []) context.issues.push({ ...issue, input: value } as z.core.$ZodRawIssue);
  });

/**
 * Makes the schema of limits: whole numbers by name, of which those left out have their default. All but `mayBeNone`
 * are at least 1.
 */
export function limitsOf<T extends object>(
  defaults: T,
  mayBeNone: readonly (keyof T)[] = [],
): z.ZodPrefault<z.ZodType<T, Partial<T>>> {
  const shape = Object.entries(defaults).map(([name, usual]) => {
    const least = mayBeNone.includes(name as keyof T) ? 0 : 1;
    return [
      name,
      z
        .int("must be a whole number")
        .min(least, `must be at least ${least}`)
        .default(usual as number),
    ];
  });
  return z.strictObject(Object.fromEntries(shape)).prefault({}) as never;
}

const KernelPart = z.object({ kernel: objectWith("submit", "workflow", "events", "authorize") });

/** Checks that a value is a kernel. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH if it is not. */
export const requireKernel = (kernel: unknown, reading: Reading): void =>
  void readStrictly(KernelPart, { kernel }, reading);
