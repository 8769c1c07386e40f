/**
 * An input schema is tried out on samples when its operator is defined: it gives JSON, and leaves what it gave as it
 * is.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { skill } from "../execution/flow.ts";

let draws = 0;
/** Gives another text each time. */
const drawn = (): string => {
  draws += 1;
  return `draw ${draws}`;
};

describe("an operator's input schema", () => {
  const define = (input: z.ZodType) => () => skill("Probe.Act", () => ({}), { input });

  it.each<readonly [string, z.ZodType]>([
    ["multiplies", z.object({ amount: z.number().transform((euros) => Math.round(euros * 100)) })],
    ["appends", z.object({ name: z.string().transform((text) => `${text}!`) })],
    ["parses text", z.object({ at: z.string().transform(Number) })],
    ["gives a Date", z.object({ at: z.coerce.date() })],
    ["gives a Date of an ISO text", z.object({ at: z.iso.datetime().transform((text) => new Date(text)) })],
    ["gives a Map", z.object({ tags: z.array(z.string()).transform((tags) => new Set(tags)) })],
    [
      "adds to an optional member",
      z.object({
        n: z
          .number()
          .transform((n) => n + 1)
          .optional(),
      }),
    ],
    [
      "changes an example",
      z.object({
        code: z
          .string()
          .regex(/^[A-Z]{3}-\d$/)
          .meta({ examples: ["ABC-1"] })
          .transform((c) => c.toLowerCase()),
      }),
    ],
  ])("that %s is refused when the operator is defined", (_how, input) => {
    expect(define(input)).toThrow(
      expect.objectContaining({ error: expect.objectContaining({ code: "T0_VALIDATION_SCHEMA_MISMATCH" }) }),
    );
  });

  it.each<readonly [string, z.ZodType]>([
    ["coerces", z.object({ n: z.coerce.number(), on: z.coerce.boolean(), s: z.coerce.string() })],
    ["trims", z.object({ s: z.string().trim().toLowerCase() })],
    ["has defaults, also drawn ones", z.object({ reference: z.string().default(drawn) })],
    [
      "is a union",
      z.union([z.object({ kind: z.literal("a"), n: z.int().min(3) }), z.object({ kind: z.literal("b") })]),
    ],
    ["cannot be sampled", z.object({ code: z.string().regex(/^[A-Z]{7}$/) }).refine(() => false)],
    ["is custom", z.custom<object>((value) => typeof value === "object")],
    [
      "is recursive",
      z.object({
        get child() {
          return z.array(z.unknown());
        },
        name: z.string(),
      }),
    ],
    [
      "throws for what it does not know",
      z.unknown().transform(() => {
        throw new Error("no");
      }),
    ],
    ["is asynchronous", z.object({ s: z.string().refine(async () => true) })],
  ])("that %s is taken", (_how, input) => {
    expect(define(input)).not.toThrow();
  });
});
