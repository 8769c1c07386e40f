/** Every wire type is one exported zod schema: the seeds' samples pass it unchanged, and wrong types are refused. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import * as face from "../../src/index.ts";
import { samples } from "./schema-samples.ts";

const schemas: readonly (readonly [string, z.ZodType])[] = Object.entries(face).flatMap(([name, value]) =>
  value instanceof z.ZodType ? [[name, value] as const] : [],
);

const hasFunctions = (value: unknown): boolean => value instanceof z.ZodType || typeof value === "function";
/** As it goes over the wire; a package holds schemas, which do not. */
const serialise = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_key, inner: unknown) => (hasFunctions(inner) ? "[schema]" : inner)));

const keysOf = (value: unknown): readonly string[] => {
  if (typeof value !== "object" || value === null || hasFunctions(value)) return [];
  if (Array.isArray(value)) return value.flatMap(keysOf);
  return Object.entries(value).flatMap(([key, inner]) => [key, ...keysOf(inner)]);
};

describe("exported schemas", () => {
  it("[CARD-19] each has a sample, and there is no sample without a schema", () => {
    expect(schemas.map(([name]) => name).toSorted()).toEqual(Object.keys(samples).toSorted());
  });

  it.each(schemas)("[CARD-19] %s takes its sample and gives it back as it was", (name, schema) => {
    const parsed = schema.safeParse(copyOf(samples[name]?.sample));
    expect(parsed.error?.issues).toBeUndefined();
    expect(serialise(parsed.data)).toEqual(serialise(samples[name]?.sample));
  });

  it.each(schemas)("[CARD-19] %s refuses a sample with a field of another type", (name, schema) => {
    expect(schema.safeParse(samples[name]?.wrong).success).toBe(false);
  });

  it("[CARD-19] fields are spelled in snake_case; only options that a host writes are in camelCase", () => {
    const options = ["CapabilityPackage", "Budgets", "QueuePolicy"];
    const wire = Object.keys(samples).filter((name) => !options.includes(name));
    const camel = wire.flatMap((name) => keysOf(samples[name]?.sample).filter((key) => /[a-z][A-Z]/.test(key)));
    const foreign = ["isError"];
    expect(camel.filter((key) => !foreign.includes(key))).toEqual([]);
  });

  it("[CARD-19] parse everything from outside: a wrong type is refused before anything happens", async () => {
    await using kernel = await face.createKernel();
    const claim = { tenant_id: "acme", principal: { type: "user", id: 1, role: "user" } };
    const calls = [
      kernel.submit({ ...claim, input: "text" } as never),
      kernel.decideGate("wf_01KDVDNA0047C4FEZDQK8YZG0N", { ...claim, decision: 5 } as never),
      kernel.retry("wf_01KDVDNA0047C4FEZDQK8YZG0N", { ...claim, step_ids: "s1" } as never),
      kernel.cancel("wf_01KDVDNA0047C4FEZDQK8YZG0N", { ...claim, reason: 5 } as never),
      kernel.memory.write({ ...claim, key: 5 } as never),
      kernel.documents.record({ ...claim, document_id: {} } as never),
    ];
    const codes = await Promise.allSettled(calls);
    for (const call of codes) {
      expect(call).toMatchObject({ reason: { error: { code: "T0_VALIDATION_SCHEMA_MISMATCH", category: "input" } } });
    }
    expect((await kernel.verify()).checked).toBe(0);
  });
});

/** A copy that parsing may freeze; schemas inside stay themselves. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (typeof value !== "object" || value === null || hasFunctions(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copyOf(inner)]));
}
