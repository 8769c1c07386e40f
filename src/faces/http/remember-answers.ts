/**
 * Answers by Idempotency-Key: the same request again gets the answer that the first one got.
 *
 * Owns: the keys of one app, in this process's memory. Repetitions that must outlast it are answered from the ledger: a
 * submit's key, a gate decided twice, a step run twice.
 * 1.  A key counts for one tenant, principal, operation and workflow.
 * 2.  The same key with another body is refused (422); while the first request is under way, so is the same body (409),
 *     unless the kernel joins the two.
 * 3.  At most `maxKeptAnswers` are kept, the newest; one that is under way is never dropped.
 * 4.  A refusal is not kept: it has changed nothing, and the key may be used again with a corrected request.
 */
import { digest } from "../../contract/digest.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { HttpCaller } from "./http-options.ts";

export interface Answer {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Question {
  /** The key; without one nothing is kept. */
  readonly key: string | undefined;
  readonly caller: HttpCaller;
  /** The path. */
  readonly operation: string;
  readonly body: unknown;
  /** Whether the kernel joins this request to one of the same key that is under way. */
  readonly joins?: boolean;
}

export interface Answers {
  /** The kept answer, or that of `work`. @throws KernelErrorException with status 409, 422, or as `work` does. */
  readonly once: (question: Question, work: () => Promise<Answer>) => Promise<Answer>;
}

interface Kept {
  readonly bodyDigest: string;
  /** Null while the request is under way. */
  answer: Answer | null;
}

const keyRef = moduleRef(0, "http", "remember_answers");

export function createAnswers(maxKeptAnswers: number): Answers {
  const kept = new Map<string, Kept>();
  return {
    async once(question, work) {
      if (question.key === undefined) return work();
      const name = nameOf(question.key, question);
      const bodyDigest = digest(question.body);
      const known = kept.get(name);
      if (known !== undefined) {
        requireSameBody(known, bodyDigest);
        return known.answer === null && question.joins === true ? work() : recall(known);
      }
      forgetOldest(kept, maxKeptAnswers);
      const entry: Kept = { bodyDigest, answer: null };
      kept.set(name, entry);
      try {
        entry.answer = await work();
        return entry.answer;
      } finally {
        if (entry.answer === null) kept.delete(name);
      }
    },
  };
}

const nameOf = (key: string, { caller: { tenant_id, principal }, operation }: Question): string =>
  JSON.stringify([tenant_id, principal, operation, key]);

function requireSameBody({ bodyDigest }: Kept, wanted: string): void {
  if (bodyDigest !== wanted)
    raise(kernelError("T4_IDEMPOTENCY_PAYLOAD_MISMATCH", "this key came with another body before", keyRef));
}

function recall({ answer }: Kept): Answer {
  if (answer === null)
    return raise(kernelError("T0_HTTP_KEY_IN_FLIGHT", "the first request with this key is under way", keyRef));
  return { ...answer, headers: { ...answer.headers, "idempotent-replayed": "true" } };
}

function forgetOldest(kept: Map<string, Kept>, most: number): void {
  for (const [name, { answer }] of kept) {
    if (kept.size < most) return;
    if (answer !== null) kept.delete(name);
  }
}
