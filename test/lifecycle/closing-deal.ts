/** A package whose only step waits for a contract to be signed, and the event that ends the wait. */
import { z } from "zod";
import { defineCapability } from "../../src/index.ts";
import { counted } from "../gates/story.ts";

export const closing = defineCapability({
  intentType: "Deal.Close",
  version: "1.0",
  input: z.looseObject({}),
  operators: [counted("Deal.Note").operator],
  plan: ({ wait }) => ({
    reasoning: "sign",
    steps: [
      wait({
        step_id: "sign",
        name: "Signed",
        event: "contract.signed",
        key: "c-1",
        token: true,
        schema: z.object({ by: z.string() }),
      }),
    ],
  }),
});

export const signed = { name: "contract.signed", key: "c-1", payload: { by: "ada" }, event_id: "e-1" };
