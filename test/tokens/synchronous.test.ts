// A kernel whose executor answers at once answers at once, by type and by value; one whose executor may not, may not.
import { describe, expect, expectTypeOf, it } from "vitest";
import { createTokenKernel, type Processed, type RunSummary, type TokenExecutor } from "../../src/index.ts";
import { draft } from "./kernels.ts";

describe("a token kernel with a synchronous executor", () => {
  it("[TOK-01] run and processNext give what they give, and no promise of it", () => {
    const kernel = createTokenKernel({ seed: 1, executor: ({ id }) => ({ status: "Completed", output: id }) as const });
    expectTypeOf(kernel.run()).toEqualTypeOf<RunSummary>();
    expectTypeOf(kernel.processNext()).toEqualTypeOf<Processed | null>();
    kernel.submitToken(draft());
    kernel.submitToken(draft());
    expect(kernel.processNext()?.status).toBe("completed");
    expect(kernel.run().completed).toBe(1);
  });

  it("[TOK-01] so do those of an executor that answers nothing", () => {
    const kernel = createTokenKernel({ seed: 1, executor: () => undefined });
    expectTypeOf(kernel.run()).toEqualTypeOf<RunSummary>();
    const silent = createTokenKernel({ seed: 1, executor: (_token, context) => context.emit("seen") });
    silent.submitToken(draft());
    expect(silent.run().completed).toBe(1);
  });
});

describe("a token kernel with an asynchronous executor, or with one that nobody knows", () => {
  it("[TOK-01] may give a promise", async () => {
    const kernel = createTokenKernel({ seed: 1, executor: async () => undefined });
    expectTypeOf(kernel.run()).toEqualTypeOf<RunSummary | Promise<RunSummary>>();
    const any: TokenExecutor = () => undefined;
    expectTypeOf(createTokenKernel({ seed: 1, executor: any }).run()).toEqualTypeOf<RunSummary | Promise<RunSummary>>();
    kernel.submitToken(draft());
    const running = kernel.run();
    expect(running).toBeInstanceOf(Promise);
    expect((await running).completed).toBe(1);
  });
});
