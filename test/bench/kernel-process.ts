/**
 * A process with a kernel on the ledger it is told of, which runs the bench's workload when asked and says what that
 * took.
 */

import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { answerParent } from "./in-child.ts";
import { quantile } from "./measure.ts";
import { ledgerAt, type Place } from "./place.ts";
import { openWorkload, type Workload } from "./workload.ts";

export interface Spell {
  readonly kind: "plain" | "gated";
  readonly concurrency: number;
  readonly ms: number;
}

/** What a spell of work came to. CPU is this process's alone. */
export interface Done {
  readonly workflows: number;
  readonly took_ms: number;
  readonly cpu_ms: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

let workload: Workload;
const asked: Record<string, number> = {};
let serial = 0;

/** The store itself, which counts what it is asked. */
function counting<S extends LedgerStore>(store: S): S {
  return new Proxy(store, {
    get(target, name: keyof S & string) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        asked[name] = (asked[name] ?? 0) + 1;
        return Reflect.apply(value, target, given) as unknown;
      };
    },
  });
}

async function runOne(kind: Spell["kind"]): Promise<void> {
  serial += 1;
  const id = `${process.pid}-${serial}`;
  if (kind === "plain") await workload.plain(id);
  else await workload.gateApprove(await workload.gateStart(id));
}

async function work({ kind, concurrency, ms }: Spell): Promise<Done> {
  const took: number[] = [];
  const [start, used] = [performance.now(), process.cpuUsage()];
  const goOn = async (): Promise<void> => {
    while (performance.now() - start < ms) {
      const at = performance.now();
      await runOne(kind);
      took.push(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, goOn));
  const { user, system } = process.cpuUsage(used);
  return {
    workflows: took.length,
    took_ms: performance.now() - start,
    cpu_ms: (user + system) / 1000,
    p50_ms: quantile(took, 0.5),
    p99_ms: quantile(took, 0.99),
  };
}

answerParent({
  async open(place: Place) {
    const ledger = counting<LedgerStore>(ledgerAt(place));
    workload = await openWorkload(ledger);
  },
  work,
  asked: () => ({ ...asked }),
  stop: () => workload.kernel.stop(),
});
