/** The options of AG-UI: the work that a run begins, who may answer gates, and the key of interrupts. */
import { z } from "zod";
import type { AgentContext } from "../agent-context.ts";
import { agentOptions } from "../agent-options.ts";

const minKeyBytes = 32;

export const AgUiShape = z
  .strictObject({
    ...agentOptions,
    /**
     * The capability that a run begins with the text of its user; without it the text is classified, unless the page
     * names an intent type.
     */
    intentType: z.string().min(1).max(256).optional(),
    /** The input of `intentType` that the text becomes, such as `question`. */
    textInput: z.string().min(1).max(128).optional(),
    /** False: no gate is answered here, by anybody. By default people (principals of type `user`) answer them. */
    answersGates: z.boolean().default(true),
    /**
     * The key that seals interrupts, at least 32 bytes that only the servers of one address know. It is random by
     * default: an interrupt is then answered only at the server that sent it, while that runs.
     */
    stateKey: z
      .custom<Uint8Array>(
        (key) => key instanceof Uint8Array && key.length >= minKeyBytes,
        `has at least ${minKeyBytes} bytes`,
      )
      .default(() => crypto.getRandomValues(new Uint8Array(minKeyBytes))),
  })
  .refine(({ intentType, textInput }) => textInput === undefined || intentType !== undefined, {
    path: ["textInput"],
    error: "belongs to an intentType",
  });
/** The options of an AG-UI handler. */
export interface AgUiHandlerOptions extends Readonly<z.input<typeof AgUiShape>> {}
export type AgUiOptions = z.output<typeof AgUiShape>;
/** The parts that a run shares. */
export type RunContext = AgentContext<AgUiOptions>;
