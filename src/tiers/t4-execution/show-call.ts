/**
 * What an operator says of a call before it is made: whether it could be, what it would do, and what that rests on.
 *
 * Owns: asking it, with a limit. Never: makes the call, opens a gate.
 * S1  What an operator says on purpose (an operator error) is told as it is; a plain throw of its `check` is a failed check.
 */
import { z } from "zod";
import { Basis } from "../../contract/basis.ts";
import type { ErrorCode } from "../../contract/error-codes.ts";
import type { OperatorQuestion } from "../../contract/operator.ts";
import { callWithin, messageOf } from "../../runtime/within.ts";
import { keepMeant } from "./invoke-operator.ts";
import { operatorContext } from "./operator-context.ts";
import type { Prepared } from "./prepare-step.ts";
import { oodaRef, type Run } from "./run.ts";

const Shown = z.object({
  preview: z.string(),
  diff: z.string().nullable().default(null),
  basis: Basis.default([]),
});
export type Shown = Readonly<z.infer<typeof Shown>>;

const withinFor = (run: Run, what: string) =>
  ({
    clock: run.kit.clock,
    timeoutMs: run.kit.limits.previewTimeoutMs,
    source: oodaRef("preview"),
    onTimeout: "T4_TOOL_TIMEOUT" satisfies ErrorCode,
    onThrow: "T4_TOOL_EXECUTION_FAILED" satisfies ErrorCode,
    what,
  }) as const;

const questionOf = (run: Run, { step, operator, input }: Prepared): OperatorQuestion<never> => ({
  input: input as never,
  context: operatorContext(run, step, operator),
  signal: run.signal,
});

/** Asks the operator whether the call could be made. @throws KernelErrorException why not, in the operator's own words. */
export function checkCall(run: Run, prepared: Prepared): void | Promise<void> {
  const { check = null, metadata } = prepared.operator;
  if (check === null) return undefined;
  const ask = (): unknown => keepMeant(() => check(questionOf(run, prepared)));
  return callWithin(ask, withinFor(run, `the check of ${metadata.name}`)) as void | Promise<void>;
}

/** What the operator shows of the call; the payload where it shows nothing. @throws KernelErrorException where it fails to. */
export async function showCall(run: Run, prepared: Prepared): Promise<Shown> {
  const { preview, metadata } = prepared.operator;
  if (preview === null) return { preview: plainOf(prepared), diff: null, basis: [] };
  const within = withinFor(run, `the preview of ${metadata.name}`);
  return callWithin(async () => Shown.parse(await keepMeant(() => preview(questionOf(run, prepared)))), within);
}

/** As `showCall`; the payload also where the operator fails to show it. */
export const showCallOrPayload = (run: Run, prepared: Prepared): Promise<Shown> =>
  showCall(run, prepared).catch((thrown: unknown) => ({
    preview: `${plainOf(prepared)}\n\n(no preview: ${messageOf(thrown)})`,
    diff: null,
    basis: [],
  }));

const plainOf = ({ payload }: Prepared): string => JSON.stringify(payload, null, 2);
