// Which token runs when: ids, priorities, dependencies, yields; and drafts that are refused before they are anything.

import { describe, expect, it } from "vitest";
import {
  contextHash,
  KernelErrorException,
  type KernelToken,
  type TokenDraft,
  type TokenExecutor,
} from "../../src/index.ts";
import { codeOf, draft, eventsOf, kindsOf, open, stateOf } from "./kernels.ts";

/** Runs the drafts and gives the ids in the order in which the executor met them. */
function orderOf(drafts: readonly TokenDraft[]): readonly number[] {
  const order: number[] = [];
  const kernel = open({ executor: ({ id }) => void order.push(id) });
  for (const each of drafts) kernel.submitToken(each);
  kernel.run();
  return order;
}

const yielding =
  (...tokens: readonly TokenDraft[]): TokenExecutor =>
  ({ payload }) =>
    payload === "yield" ? { status: "Yielded", tokens } : "Completed";

describe("ids and order", () => {
  it("[TOK-03] ids are the kernel's: they rise, and one that a caller brings along is ignored", () => {
    const kernel = open();
    const ids = [draft(), { ...draft(), id: 99 } as TokenDraft, draft()].map(kernel.submitToken);
    expect(ids).toEqual([1, 2, 3]);
    expect(codeOf(() => kernel.submitToken(draft({ cost: -1 })))).not.toBe("");
    expect(kernel.submitToken(draft())).toBe(4);
  });

  it("[TOK-04] higher priorities first, equal ones in the order of submission", () => {
    expect(orderOf([1, 5, 5, 3].map((priority) => draft({ priority })))).toEqual([2, 3, 4, 1]);
  });

  it("[TOK-05] nothing runs before what it depends on, whatever its priority", () => {
    expect(orderOf([draft({ priority: 0 }), draft({ priority: 255, dependencies: [1] })])).toEqual([1, 2]);
  });

  it("[TOK-08] the same hundred submissions run in the same order, each with a sequence number above the last", () => {
    const drafts = Array.from({ length: 100 }, (_, i) =>
      draft({ priority: (i * 7919) % 11, dependencies: i % 3 === 2 ? [i - 1, i] : [] }),
    );
    expect(orderOf(drafts)).toEqual(orderOf(drafts));
    const kernel = open();
    for (const each of drafts) kernel.submitToken(each);
    const sequences = kernel.events().map(({ detail }) => detail["sequence"] as number);
    expect(sequences.every((sequence, i) => i === 0 || sequence > (sequences[i - 1] as number))).toBe(true);
  });

  it("[TOK-07] the executor gets the payload as it was submitted, and sees handles, goal and context", () => {
    const payload = { deep: [{ a: null, b: "ä", c: [1.5, false] }] };
    const seen: KernelToken[] = [];
    const contexts: unknown[] = [];
    const kernel = open({
      executor: (token, { goal, context_hash, granted_capabilities }) => {
        seen.push(token);
        contexts.push({ goal, context_hash, granted_capabilities });
      },
    });
    const metadata = { granted_capabilities: [1, 4], goal: "find it", context_hash: contextHash({ a: 1 }) };
    kernel.submitToken(draft({ payload, ...metadata }));
    kernel.run();
    expect(seen[0]).toMatchObject({ payload, ...metadata });
    expect(seen[0]?.payload).toEqual(payload);
    expect(contexts).toEqual([metadata]);
  });

  it("[TOK-08] ten thousand tokens with dependencies are through in a moment", { timeout: 20_000 }, () => {
    let ran = 0;
    const kernel = open({
      executor: () => {
        ran += 1;
      },
    });
    for (let i = 0; i < 10_000; i += 1)
      kernel.submitToken(draft({ priority: i % 256, dependencies: i > 10 ? [i, i - 9] : [] }));
    expect(kernel.run()).toMatchObject({ completed: 10_000, waiting: 0 });
    expect(ran).toBe(10_000);
  });
});

describe("yielding", () => {
  it("[TOK-12] the parent has yielded, then the child is scheduled under its own id by the same rules", () => {
    const kernel = open({ executor: yielding(draft({ priority: 1, goal: "child" })) });
    kernel.submitToken(draft({ payload: "yield" }));
    kernel.run();
    expect(kernel.events().map(({ token_id, kind }) => `${kind} ${token_id}`)).toEqual([
      "scheduled 1",
      "started 1",
      "yielded 1",
      "scheduled 2",
      "started 2",
      "completed 2",
    ]);
    expect(eventsOf(kernel, 2)[0]?.detail).toMatchObject({ parent: 1, goal: "child" });
  });

  it("[TOK-12] a child is refused by the same rules", () => {
    const kernel = open({ executor: yielding(draft({ cost: 3, budget: { limit: 2 } })) });
    kernel.submitToken(draft({ payload: "yield" }));
    kernel.run();
    expect(kindsOf(kernel, 2)).toEqual(["scheduled", "budget_violation"]);
  });

  it("[TOK-05] [TOK-12] a dependent of a token that yielded waits for its child, submitted before or after", () => {
    const order: number[] = [];
    const executor: TokenExecutor = (token, context) => {
      order.push(token.id);
      return yielding(draft(), draft({ payload: "yield" }))(token, context);
    };
    let yields = 0;
    const kernel = open({
      executor: (token, context) => {
        if (token.payload !== "yield" || yields++ < 2) return executor(token, context);
        order.push(token.id);
        return "Completed";
      },
    });
    kernel.submitToken(draft({ payload: "yield" }));
    kernel.submitToken(draft({ priority: 255, dependencies: [1] }));
    kernel.processNext();
    kernel.submitToken(draft({ priority: 255, dependencies: [1] }));
    kernel.run();
    expect(order).toEqual([1, 3, 4, 6, 7, 2, 5]);
  });

  it("[A-20] when what it yielded fails, so does everything that waited for it", () => {
    const kernel = open({
      executor: ({ payload }) => {
        if (payload === "yield") return { status: "Yielded", tokens: [draft({ payload: "throw" })] };
        if (payload === "throw") throw new Error("no");
        return "Completed";
      },
    });
    kernel.submitToken(draft({ payload: "yield" }));
    kernel.submitToken(draft({ dependencies: [1] }));
    kernel.run();
    expect(kindsOf(kernel, 2)).toEqual(["scheduled", "dependency_cancelled"]);
  });

  it.each([
    ["on its parent", (parent: number) => [parent]],
    ["on what waits for its parent", (parent: number) => [parent + 1]],
  ])("[A-23] a yielded token that depends %s would wait for ever: the yield fails whole", (_how, dependsOn) => {
    const kernel = open({
      executor: ({ id, payload }) =>
        payload === "yield"
          ? { status: "Yielded", tokens: [draft(), draft({ dependencies: dependsOn(id) })] }
          : "Completed",
    });
    kernel.submitToken(draft({ payload: "yield" }));
    kernel.submitToken(draft({ dependencies: [1] }));
    kernel.run();
    expect(eventsOf(kernel, 1).at(-1)?.detail).toMatchObject({
      status: "failed",
      error: { code: "T4_TOKEN_DEPENDENCY_INVALID" },
    });
    expect(kernel.events().some(({ token_id }) => token_id === 3)).toBe(false);
    expect(kindsOf(kernel, 2)).toEqual(["scheduled", "dependency_cancelled"]);
  });

  it("a chain of tokens that yield for ever ends at its limit, with a coded failure", () => {
    const kernel = open({ limits: { max_submitted: 50 }, executor: yielding(draft({ payload: "yield" })) });
    kernel.submitToken(draft({ payload: "yield" }));
    expect(kernel.run()).toMatchObject({ yielded: 49, failed: 1, waiting: 0 });
    expect(kernel.events().at(-1)?.detail).toMatchObject({ error: { code: "T4_TOKEN_LIMIT_REACHED" } });
  });
});

describe("failing", () => {
  it.each(["throws", "rejects", "answers nonsense", "answers what is not JSON", "yields nothing"])(
    "[A-20] an executor that %s: completed with status failed, and all dependents are removed, however far",
    async (how) => {
      const fail: Readonly<Record<string, () => unknown>> = {
        throws: () => {
          throw new Error("no");
        },
        rejects: () => Promise.reject(new Error("no")),
        "answers nonsense": () => ({ status: "Fine" }),
        "answers what is not JSON": () => ({ status: "Completed", output: () => 1 }),
        "yields nothing": () => ({ status: "Yielded", tokens: [] }),
      };
      const kernel = open({ executor: (({ id }) => (id === 1 ? fail[how]?.() : undefined)) as TokenExecutor });
      kernel.submitToken(draft());
      kernel.submitToken(draft({ dependencies: [1] }));
      kernel.submitToken(draft({ dependencies: [2] }));
      kernel.submitToken(draft());
      expect(await kernel.run()).toMatchObject({ failed: 1, cancelled: 2, completed: 1, waiting: 0 });
      expect(kindsOf(kernel, 1)).toEqual(["scheduled", "started", "completed"]);
      expect(eventsOf(kernel, 1).at(-1)?.detail).toMatchObject({
        status: "failed",
        error: { code: expect.any(String) },
      });
      expect(kindsOf(kernel, 3)).toEqual(["scheduled", "dependency_cancelled"]);
      expect(eventsOf(kernel, 3).at(-1)?.detail).toEqual({ dependency: 2 });
      expect(kernel.queueLength()).toBe(0);
    },
  );

  it("[A-20] dependents of a refused token are removed too, and so is one that is submitted too late", () => {
    const kernel = open();
    kernel.submitToken(draft({ capability: 999 }));
    kernel.submitToken(draft({ dependencies: [1] }));
    kernel.run();
    kernel.submitToken(draft({ dependencies: [2] }));
    expect([2, 3].map((id) => kindsOf(kernel, id))).toEqual([
      ["scheduled", "dependency_cancelled"],
      ["scheduled", "dependency_cancelled"],
    ]);
    expect(kernel.queueLength()).toBe(0);
  });
});

describe("asynchronous executors", () => {
  it("[A-22] are admitted and started at once and in order; only their ends come when they come", async () => {
    const release: (() => void)[] = [];
    const kernel = open({ executor: () => new Promise<void>((resolve) => release.push(resolve)) });
    for (let i = 0; i < 3; i += 1) kernel.submitToken(draft());
    const ends = [kernel.processNext(), kernel.processNext(), kernel.processNext()];
    expect(kernel.events().map(({ kind }) => kind)).toEqual([
      ...Array(3).fill("scheduled"),
      ...Array(3).fill("started"),
    ]);
    expect(kernel.processNext()).toBeNull();
    for (const end of release.toReversed()) end();
    expect(await Promise.all(ends)).toEqual([1, 2, 3].map((token_id) => ({ token_id, status: "completed" })));
  });

  it("[A-22] a synchronous executor makes processNext and run synchronous", () => {
    const kernel = open();
    kernel.submitToken(draft());
    kernel.submitToken(draft());
    expect(kernel.processNext()).toEqual({ token_id: 1, status: "completed" });
    expect(kernel.run()).toMatchObject({ completed: 1, waiting: 0 });
  });
});

describe("what is refused at submit", () => {
  const lone = { a: "\ud800" };
  it.each<[string, unknown, string]>([
    ["a dependency on an id that nobody has", draft({ dependencies: [7] }), "T4_TOKEN_DEPENDENCY_INVALID"],
    ["a dependency on itself", draft({ dependencies: [2] }), "T4_TOKEN_DEPENDENCY_INVALID"],
    ["a circle over a token to come", draft({ dependencies: [3] }), "T4_TOKEN_DEPENDENCY_INVALID"],
    ["a negative cost", draft({ cost: -1 }), "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["a cost that is not whole", draft({ cost: 0.5 }), "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["a negative resource", draft({ resources: { memory_bytes: -1 } }), "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["a resource that is not whole", draft({ resources: { tokens: 1.5 } }), "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["a priority of 256", draft({ priority: 256 }), "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["a payload that is a function", { ...draft(), payload: () => 1 }, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["a payload that is too large", draft({ payload: "x".repeat(100) }), "T0_VALIDATION_PAYLOAD_TOO_LARGE"],
    ["a draft without a context", {}, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["nothing", null, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["more tokens than may wait", draft({ payload: lone }), "T4_TOKEN_LIMIT_REACHED"],
  ])("[A-23] %s: a coded error, and nothing is recorded or counted", (_what, bad, code) => {
    const kernel = open({ limits: { max_payload_chars: 50, max_queued: code === "T4_TOKEN_LIMIT_REACHED" ? 1 : 9 } });
    kernel.submitToken(draft());
    const before = stateOf(kernel);
    expect(codeOf(() => kernel.submitToken(bad as TokenDraft))).toBe(code);
    expect(stateOf(kernel)).toEqual(before);
  });

  it("[A-23] the error of a bad dependency names it and says why", () => {
    try {
      open().submitToken(draft({ dependencies: [1] }));
      expect.unreachable();
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(KernelErrorException);
      expect((thrown as KernelErrorException).error).toMatchObject({
        category: "input",
        detail: { dependency: 1, reason: "itself" },
      });
    }
  });

  it("a limit that is none, and a name that no limit has, are refused with the kernel", () => {
    for (const limits of [{ cpu_time: -1 }, { tokens: 0.5 }, { max_queued: "many" }, { cpu: 12 }])
      expect(codeOf(() => open({ limits: limits as object }))).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  });

  it("an executor may submit, and may not process: it yields", () => {
    const codes: string[] = [];
    const kernel = open({
      executor: ({ id }) => {
        if (id === 1) kernel.submitToken(draft());
        codes.push(codeOf(kernel.processNext), codeOf(kernel.run));
      },
    });
    kernel.submitToken(draft());
    expect(kernel.run()).toMatchObject({ completed: 2 });
    expect(new Set(codes)).toEqual(new Set(["T4_TOKEN_STATE_CONFLICT"]));
  });
});
