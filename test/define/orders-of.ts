/** One order, its answer and its note in three libraries that follow Standard Schema. */
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";

export interface Order {
  readonly item: string;
  readonly total: number;
  readonly note: string;
}

export const libraries = {
  zod: {
    order: z.strictObject({ item: z.string(), total: z.int().min(1), note: z.string().default("none") }),
    answer: z.strictObject({ rush: z.boolean(), floor: z.int().min(0) }),
    bill: z.object({ text: z.string().min(1) }),
  },
  valibot: {
    order: toStandardJsonSchema(
      v.strictObject({
        item: v.string(),
        total: v.pipe(v.number(), v.integer(), v.minValue(1)),
        note: v.optional(v.string(), "none"),
      }),
    ),
    answer: toStandardJsonSchema(
      v.strictObject({ rush: v.boolean(), floor: v.pipe(v.number(), v.integer(), v.minValue(0)) }),
    ),
    bill: toStandardJsonSchema(v.object({ text: v.pipe(v.string(), v.minLength(1)) })),
  },
  arktype: {
    order: type({ item: "string", total: "number.integer >= 1", note: "string = 'none'", "+": "reject" }),
    answer: type({ rush: "boolean", floor: "number.integer >= 0", "+": "reject" }),
    bill: type({ text: "string >= 1" }),
  },
} as const;
export type Library = keyof typeof libraries;
export const names = Object.keys(libraries) as Library[];
