/** Objects that a host passes as code: checked for the functions by which they are called, whatever their class. */
import { z } from "zod";
import { type Reading, readStrictly } from "./known-keys.ts";

export const hostFunction = z.custom<unknown>((value) => typeof value === "function", "must be a function");

/** Makes a schema of an object, or a function, that has these functions. */
export const objectWith = (...functions: readonly PropertyKey[]) =>
  z.custom<object>(
    (value) =>
      ((typeof value === "object" && value !== null) || typeof value === "function") &&
      functions.every((name) => typeof (value as Readonly<Record<PropertyKey, unknown>>)[name] === "function"),
    functions.length === 0 ? "must be an object" : `must be an object with ${functions.map(String).join(", ")}`,
  );

const KernelPart = z.object({ kernel: objectWith("submit", "workflow", "events", "authorize") });

/** Checks that a value is a kernel. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH if it is not. */
export const requireKernel = (kernel: unknown, reading: Reading): void =>
  void readStrictly(KernelPart, { kernel }, reading);

/**
 * Returns options that are about to be destructured. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH if they
 * are no object.
 */
export const takeOptions = <T extends object>(given: T, reading: Reading): T =>
  readStrictly(z.looseObject({}), given, reading) as T;
