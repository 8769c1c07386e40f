/** V8's precise coverage: how often each function, or each block, of the loaded scripts was entered. */
import { Session } from "node:inspector/promises";

export interface CoveredScript {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
  }[];
}

export interface Coverage {
  /** Returns the counts since the last taking, and begins anew. */
  readonly take: () => Promise<readonly CoveredScript[]>;
  readonly stop: () => void;
}

/**
 * Begins to count. @param detailed true counts blocks, false functions; blocks of scripts that are loaded already are
 * not seen.
 */
export async function startCoverage(detailed: boolean): Promise<Coverage> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed });
  return {
    take: async () => (await session.post("Profiler.takePreciseCoverage")).result,
    stop: () => session.disconnect(),
  };
}
