/**
 * The options of all notifiers: name, kinds, addresses. Owns: the check of these.
 */
import { z } from "zod";
import { NoticeKind } from "../../contract/gate-notice.ts";

/** Returns the schema of what every notifier may be told; `name` is the one that it has by default. */
export const notifierOptions = (name: string) =>
  z.strictObject({
    /** The name under which its deliveries are kept; two notifiers of one kernel need two names. */
    name: z
      .string()
      .regex(/^[\w.-]{1,64}$/, "has letters, digits and _.-")
      .default(name),
    /** The kinds of notices; all by default. */
    kinds: z.array(NoticeKind).min(1).readonly().optional(),
    /**
     * True: no title, payload, preview, reason or comment is sent, only that a gate is open, of which operator, and the
     * link.
     */
    linkOnly: z.boolean().default(false),
  });

/** The options of every notifier. */
export interface NotifierOptions extends Readonly<z.input<ReturnType<typeof notifierOptions>>> {}

const httpUrl = /^https?$/;

/** An address that may be posted to. */
export const PostUrl = z
  .url({ protocol: httpUrl, error: "is an address such as https://hooks.example/path" })
  .transform((text) => new URL(text))
  .refine(({ username, password }) => username === "" && password === "", "carries no name and no password");

/** The refusal of a plain http address that is not meant to be private. */
export const needsHttps = "is https; plain http is for private addresses, with allowPrivate";

/** Returns whether an address is https, or may be plain http because private addresses are meant; an absent one may. */
export const isHttpsWhereNeeded = (url: URL | undefined, allowPrivate: boolean): boolean =>
  url === undefined || url.protocol === "https:" || allowPrivate;
