/**
 * The id of an interrupt: what was asked, of whom, in which thread and until when, under a seal.
 *
 * 1.  Nobody makes or changes an id, and none is good for another caller, thread or question.
 * 2.  The id alone carries all of it: a client that gives back nothing but the id can answer.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import type { ScopedCaller } from "../../../contract/auth-context.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { WorkflowId } from "../../../contract/ids.ts";
import { raise } from "../../../contract/kernel-error.ts";
import { moduleRef } from "../../../contract/module-ref.ts";

/** The content of an id. `question` names the question of a gate; null where somebody else has to act. */
const Sealed = z.strictObject({ workflow_id: WorkflowId, question: z.string().nullable(), expires_at: z.int() });
export type SealedInterrupt = z.output<typeof Sealed>;

export interface Sealing {
  readonly key: Uint8Array;
  readonly caller: ScopedCaller;
  readonly threadId: string;
}

const sealRef = moduleRef(0, "agui", "seal_interrupt");

/** Returns the id of an interrupt. */
export function sealInterrupt(sealing: Sealing, interrupt: SealedInterrupt): string {
  const body = Buffer.from(JSON.stringify(interrupt)).toString("base64url");
  return `${body}.${sign(sealing, body).toString("base64url")}`;
}

/** Returns what an id names. @throws KernelErrorException T0_AGUI_RESUME_FORGED. */
export function openInterrupt(sealing: Sealing, id: string): SealedInterrupt {
  const [body = "", seal = "", ...more] = id.split(".");
  const given = Buffer.from(seal, "base64url");
  const wanted = sign(sealing, body);
  const isGenuine = more.length === 0 && given.length === wanted.length && timingSafeEqual(given, wanted);
  // One value has one spelling: the last bits of base64url could otherwise be changed.
  if (!isGenuine || given.toString("base64url") !== seal) refuse();
  return Sealed.parse(JSON.parse(Buffer.from(body, "base64url").toString("utf8")));
}

const refuse = (): never =>
  raise(kernelError("T0_AGUI_RESUME_FORGED", "no interrupt of this caller and thread has that id", sealRef));

function sign({ key, caller, threadId }: Sealing, body: string): Buffer {
  const { tenant_id, principal } = caller;
  const bound = JSON.stringify([tenant_id, principal.type, principal.id, threadId, body]);
  return createHmac("sha256", key).update(bound).digest();
}
