/** Who asks something of a process, and what becomes of it: an answer, or a refusal with a code. */
import { KernelErrorException } from "../../src/contract/error.ts";
import type { Kernel } from "../../src/kernel/kernel-interface.ts";
import type { Stage } from "./play-story.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import { otherNames } from "./story-persons.ts";

export const people = [
  { type: "user", id: 1, role: "user" },
  { type: "user", id: 2, role: "user" },
  { type: "user", id: 3, role: "user" },
  { type: "user", id: 4, role: "admin" },
] as const;

export const at = <T>(list: readonly T[], n: number): T | undefined => list[n % Math.max(1, list.length)];
/** From `otherNames` on it is a person by their other name. */
export const callerOf = (n: number) => {
  const person = at(people, n) as (typeof people)[number];
  return { tenant_id: 1, principal: n < otherNames ? person : ({ ...person, type: "service" } as const) };
};

/** Who decides at a gate is told that this process cannot run it, and no less. */
const unknown: ReadonlySet<string> = new Set(["T4_OPERATOR_UNKNOWN", "T1_NORMALIZE_UNKNOWN_INTENT"]);

/** A process that does not know a package takes no message to its work, and neither retries nor forks it. */
const isDeciding = (what: string): boolean => !/^(retry|fork|message)/.test(what);

interface Asking {
  readonly process: SimulatedProcess;
  readonly what: string;
  /** May take as long as the work does. */
  readonly patient?: boolean;
}

/** Asks a process and goes on: what it says to that, it says when it can. */
export function ask(
  stage: Stage,
  { process, what, patient = false }: Asking,
  command: (kernel: Kernel) => Promise<unknown>,
): undefined {
  const answer: Promise<unknown> = command(process.kernel).then(
    () => stage.world.mark(`${what} done`),
    (thrown: unknown) => {
      if (!(thrown instanceof KernelErrorException)) stage.broken.push(`refusal without a code: ${what}: ${thrown}`);
      else stage.world.mark(`${what} ${thrown.error.code}`);
      if (thrown instanceof KernelErrorException && isDeciding(what) && unknown.has(thrown.error.code))
        stage.broken.push(`runnable: ${what}: ${thrown.message}`);
      if (thrown instanceof KernelErrorException && thrown.error.code === "T0_TIER_CRASHED")
        stage.broken.push(`crashed: ${what}: ${thrown.message}`);
    },
  );
  if (patient) return undefined;
  stage.asked.set(answer, { process, what });
  void answer.finally(() => stage.asked.delete(answer));
  return undefined;
}
