/** The options of A2A: the name of the agent, its address, who may answer gates, and notifications. */
import { z } from "zod";
import { objectWith } from "../../../contract/host-object.ts";
import { JsonObject } from "../../../contract/json.ts";
import type { PushStore } from "../../../index.ts";
import { WebhookSecrets } from "../../../observers/notifiers/standard-webhooks.ts";
import { agentOptions } from "../agent-options.ts";
import { createMemoryPushStore } from "./push-store.ts";

const bearer = { bearer: { httpAuthSecurityScheme: { scheme: "Bearer", description: "A token of this API." } } };

export const A2aShape = z.strictObject({
  ...agentOptions,
  /** The name of the agent on its card; "countersign" by default. */
  name: z.string().min(1).default("countersign"),
  /** The description of the agent on its card. */
  description: z.string().default("Accountable workflows: policy, budgets and people decide before anything happens."),
  /** The version of the agent on its card; "0" by default. */
  version: z.string().min(1).default("0"),
  /** The address of the agent as its clients know it; by default `/a2a` of the address at which the card is read. */
  url: z.url({ protocol: /^https?$/, error: "is an address such as https://agents.example/a2a" }).optional(),
  /** True: the card names the capabilities to strangers too. Off by default: callers read them on the extended card. */
  publicSkills: z.boolean().default(false),
  /** The security schemes of the card, in the form of A2A; a bearer token by default. */
  securitySchemes: z.record(z.string(), JsonObject).readonly().default(bearer),
  /**
   * True: people answer gates by messages to their tasks. It requires a principal of type `user` with `gate:approve`.
   * Off by default: an agent's credential answers no gate.
   */
  answersGates: z.boolean().default(false),
  /** Notifications of tasks to addresses that clients name; none by default. */
  push: z
    .strictObject({
      /** `whsec_` and 24 to 64 bytes in base64: notifications are signed by the Standard Webhooks specification. */
      secret: WebhookSecrets,
      /** True: private addresses and plain http may be notified. */
      allowPrivate: z.boolean().default(false),
      /** The store of the addresses: `pushes` of a ledger, to outlive the process; by default this process's memory. */
      store: objectWith<PushStore>("keep", "list", "drop").default(() => createMemoryPushStore()),
    })
    .optional(),
});
/** The options of an A2A handler. */
export interface A2aHandlerOptions extends Readonly<z.input<typeof A2aShape>> {}
export type A2aOptions = z.output<typeof A2aShape>;
