/**
 * The token lifecycle, each declared transition taken by a token of a running token kernel: submitted, started or
 * refused for each of three reasons, at work, ended in each way, or cancelled with what it depends on.
 */
import { describe, expect, it } from "vitest";
import { tokenMachine } from "../../machines/index.ts";
import {
  contextHash,
  createTokenKernel,
  type ExecutionStatus,
  type TokenContext,
  type TokenDraft,
  type TokenEvent,
} from "../../src/index.ts";
import { titleOf } from "./driver.ts";
import { type ChartEvent, type ChartPath, createModel, eventsOf, follow, missingOf, nameOf } from "./paths.ts";

const model = createModel(tokenMachine);
const covered = new Set<string>();
const visited = new Set<string>();

const plain: TokenDraft = { context_hash: contextHash(null), priority: 5 };
/** What a draft must be for the kernel to bring the event about. */
const drafts: Readonly<Record<string, Partial<TokenDraft>>> = {
  capability_violation: { capability: 999 },
  resource_violation: { resources: { tokens: 9 } },
  budget_violation: { cost: 1, budget: { limit: 0 } },
  "custom(dependency_cancelled)": { dependencies: [1] },
};
const ends: Readonly<Record<string, () => ExecutionStatus>> = {
  completed: () => "Completed",
  yielded: () => ({ status: "Yielded", tokens: [{ ...plain, priority: 0 }] }),
  "completed(failed)": () => {
    throw new Error("no");
  },
};
const works: Readonly<Record<string, (context: TokenContext) => unknown>> = {
  memory_write: ({ memory }) => memory.write("key", 1),
  memory_read: ({ memory }) => memory.read("key"),
  snapshot_created: ({ checkpoint }) => checkpoint("here"),
  custom: ({ emit }) => emit("told"),
};

/** The part of a token event that the chart reads. */
const wordOf = ({ kind, label, detail }: TokenEvent): ChartEvent =>
  model.wordFor(kind, { label, status: detail["status"] ?? null }) ?? { type: kind };

/** Token 1 fails, so that who depends on it is cancelled; token 2 is the subject. */
class Subject {
  readonly #route: readonly ChartEvent[];
  #context: TokenContext | undefined;
  #end: { readonly resolve: (status: ExecutionStatus) => void; readonly reject: (thrown: unknown) => void } | undefined;
  #running: unknown;
  readonly kernel = createTokenKernel({
    seed: 1,
    limits: { tokens: 8 },
    executor: ({ id }, context) => {
      if (id !== 2) throw new Error("no");
      this.#context = context;
      return new Promise((resolve, reject) => {
        this.#end = { resolve, reject };
      });
    },
  });

  constructor(route: readonly ChartEvent[]) {
    this.#route = route;
    this.kernel.submitToken({ ...plain, priority: 0 });
  }

  trace(): readonly ChartEvent[] {
    return this.kernel.events().flatMap((event) => (event.token_id === 2 ? [wordOf(event)] : []));
  }

  /** By what the kernel would keep. */
  state(): string {
    const { state } = this.kernel.snapshot().snapshots.at(-1) ?? {};
    if (state === undefined || state.last_id < 2) return "submitted";
    if (state.queue.some(({ token }) => token.id === 2)) return "scheduled";
    if (state.running.some(({ token }) => token.id === 2)) return "running";
    if (state.yielded.some(({ token_id }) => token_id === 2)) return "yielded";
    return (["failed", "refused", "cancelled"] as const).find((name) => state[name].includes(2)) ?? "completed";
  }

  async bring(event: ChartEvent): Promise<void> {
    const name = nameOf(event);
    const work = works[name];
    const end = ends[name];
    if (name === "scheduled") {
      const wanted = this.#route.map(nameOf).find((each) => each in drafts);
      this.kernel.submitToken({ ...plain, ...drafts[wanted ?? ""] });
    } else if (work !== undefined) work(this.#context as TokenContext);
    else if (end !== undefined) await this.#finish(end);
    else this.#running = this.kernel.processNext();
  }

  async #finish(end: () => ExecutionStatus): Promise<void> {
    try {
      this.#end?.resolve(end());
    } catch (thrown) {
      this.#end?.reject(thrown);
    }
    await this.#running;
  }
}

async function walkPath(path: ChartPath): Promise<void> {
  const route = eventsOf(path);
  const subject = new Subject(route);
  let at = 0;
  const bring = async (): Promise<void> => {
    at += 1;
    await subject.bring(route[at - 1] as ChartEvent);
  };
  const compare = (): void => {
    const { state, pairs } = follow(model, subject.trace());
    expect(subject.state()).toBe(state);
    for (const pair of pairs) covered.add(pair);
    visited.add(state);
  };
  await path.test({ events: Object.fromEntries(model.all.map(({ type }) => [type, bring])), states: { "*": compare } });
  expect(missingOf(model, path, subject.trace())).toEqual([]);
}

describe("[CARD-10] each path through the token lifecycle, on a token kernel", () => {
  it.each(model.paths.map((path) => [titleOf(path), path] as const))("%s", (_title, path) => walkPath(path));
});

describe("what these walks have covered", () => {
  it("[CARD-10] [EVT-01] every transition that the token lifecycle declares was taken, and left its event", () => {
    expect(model.pairs.filter((pair) => !covered.has(pair))).toEqual([]);
    expect(model.pairs.length).toBeGreaterThan(10);
  });

  it("[CARD-10] every state was read back", () => {
    expect(model.states.filter((state) => !visited.has(state))).toEqual([]);
  });
});
