/** The operator boundary alone: what a call by key is given, and what a key that is known answers. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { toExecutorError } from "../../src/contract/error.ts";
import type { Json } from "../../src/contract/json.ts";
import { defineOperator, operatorError } from "../../src/index.ts";
import { createVirtualClock, trialContext } from "../../src/testing/index.ts";
import {
  createInvoker,
  type Invocation,
  type KeyBook,
  type KeyState,
} from "../../src/tiers/t4-execution/invoke-operator.ts";
import { anyObject, type Counted, counted, held, refusalOf } from "../gates/story.ts";

/** A book of keys in a Map: what the ledger says of them, without a workflow. */
function mapBook(maxAttempts = 3): KeyBook {
  const states = new Map<string, KeyState>();
  const attempts = new Map<string, number>();
  const keyOf = (actionId: string): string => actionId.slice("act:".length);
  return {
    consult: () => undefined,
    find: (key) => states.get(key) ?? { seen: "unseen" },
    async begin(key) {
      const action_id = `act:${key}`;
      if (states.get(key)?.seen !== "succeeded") {
        attempts.set(key, (attempts.get(key) ?? 0) + 1);
        states.set(key, { seen: "running", action_id, handle: null });
      }
      return action_id;
    },
    succeed: (action_id, result, { usage }) =>
      void states.set(keyOf(action_id), { seen: "succeeded", action_id, result, usage }),
    fail(action_id, error) {
      const mayTryAgain = error.retry_eligible && (attempts.get(keyOf(action_id)) ?? 0) < maxAttempts;
      states.set(keyOf(action_id), { seen: mayTryAgain ? "failed_retryable" : "failed_final", action_id, error });
    },
    hold(key, handle) {
      const state = states.get(key);
      if (state?.seen === "running") states.set(key, { ...state, handle });
    },
    release: () => undefined,
  };
}

const auth = { ...trialContext.auth, principal_id: "p7", scopes: ["gate:approve"] };

function invocation({ operator }: Counted, more: Partial<Invocation> = {}): Invocation {
  const payload: Json = { text: "a" };
  return {
    operator,
    payload,
    input: operator.input.parse(payload),
    auth,
    idempotencyKey: "key 1",
    correlationId: "cor_1",
    timeoutMs: 1000,
    signal: new AbortController().signal,
    call: {
      emit: () => undefined,
      checkpoint: () => undefined,
      restored: null,
      capabilityUsage: () => ({ invocations: 1, tokens: 0 }),
      attempt: 1,
      isRetry: false,
      context: { ...trialContext, auth, correlation_id: "cor_1" },
      report: () => undefined,
      stream: () => undefined,
      route: () => Promise.reject(new Error("no model endpoints")),
    },
    perform: operator.run,
    screen: (raw) => raw,
    ...more,
  };
}

const OperatorResult = z.object({
  status: z.literal("succeeded"),
  action_id: z.string().min(1),
  result: z.json(),
  usage: z.object({}),
  cached: z.boolean(),
});

describe("invoke", () => {
  it("[OPR-01] hands operator, payload, authority, key and correlation on, and gives an operator result", async () => {
    const work = counted("Note.Work", {}, ({ input }) => ({ got: input["text"] }));
    const result = await createInvoker(mapBook(), createVirtualClock()).invoke(invocation(work));
    expect(OperatorResult.parse(result)).toEqual(result);
    expect(result).toMatchObject({ status: "succeeded", result: { got: "a" }, cached: false });
    expect(work.calls).toHaveLength(1);
    expect(work.calls[0]).toMatchObject({
      input: { text: "a" },
      idempotencyKey: "key 1",
      context: { auth: { principal_id: "p7", scopes: ["gate:approve"] }, correlation_id: "cor_1" },
    });
  });

  it("[IDM-01] without a key is refused before the operator is called", async () => {
    const work = counted("Note.Work");
    const invoker = createInvoker(mapBook(), createVirtualClock());
    for (const idempotencyKey of ["", undefined as never, null as never]) {
      const refused = await refusalOf(invoker.invoke(invocation(work, { idempotencyKey })));
      expect(refused.code).toBe("T4_IDEMPOTENCY_KEY_MISSING");
    }
    expect(work.calls).toHaveLength(0);
  });

  it("[IDM-02] [IDM-03] [EXE-03] calls once for a key, and answers from the record after that", async () => {
    const work = counted("Note.Work", {}, () => ({ n: work.calls.length, deep: [{ a: 1 }] }));
    const book = mapBook();
    const invoker = createInvoker(book, createVirtualClock());
    const first = await invoker.invoke(invocation(work));
    expect(book.find("key 1", null)).toMatchObject({ seen: "succeeded", result: { n: 1, deep: [{ a: 1 }] } });
    const second = await invoker.invoke(invocation(work));
    expect(second).toEqual({ ...first, cached: true });
    expect(work.calls).toHaveLength(1);
    await invoker.invoke(invocation(work, { idempotencyKey: "key 2" }));
    expect(work.calls).toHaveLength(2);
  });

  it("[IDM-04] answers in_progress for a key under way, with a handle that resolves to the first result", async () => {
    const end = held<object>();
    const work = counted("Note.Work", {}, () => end.promise);
    const clock = createVirtualClock();
    const invoker = createInvoker(mapBook(), clock);
    const first = invoker.invoke(invocation(work));
    const second = await invoker.invoke(invocation(work));
    expect(second).toMatchObject({ status: "in_progress", action_id: "act:key 1" });
    await clock.settle();
    end.release({ n: 1 });
    const ended = await first;
    expect(ended).toMatchObject({ status: "succeeded", result: { n: 1 } });
    expect(second.status === "in_progress" ? await second.handle : null).toEqual(ended);
    expect(work.calls).toHaveLength(1);
  });

  it("[IDM-04] waits for a call under way no longer than the caller's own timeout", async () => {
    const work = counted("Note.Work", {}, () => new Promise(() => undefined));
    const clock = createVirtualClock();
    const invoker = createInvoker(mapBook(), clock);
    void invoker.invoke(invocation(work, { timeoutMs: 60_000 }));
    const second = await invoker.invoke(invocation(work, { timeoutMs: 500 }));
    await clock.advance(500);
    const waited = second.status === "in_progress" ? await second.handle : null;
    expect(waited).toMatchObject({ status: "failed", pending: true, error: { code: "T4_TOOL_TIMEOUT" } });
    expect(work.calls).toHaveLength(1);
  });

  it("[IDM-05] gives a final failure again without a call", async () => {
    const work = counted("Note.Work", {}, () => {
      throw operatorError({ code: "BAD", message: "bad input", category: "validation" });
    });
    const invoker = createInvoker(mapBook(), createVirtualClock());
    const first = await invoker.invoke(invocation(work));
    const second = await invoker.invoke(invocation(work));
    expect([first.status, second.status]).toEqual(["failed", "failed"]);
    expect("error" in first && "error" in second ? second.error : null).toEqual("error" in first ? first.error : 0);
    expect(work.calls).toHaveLength(1);
  });

  it("[IDM-05] calls again after a retryable failure up to the limit, then gives the stored one", async () => {
    const work = counted("Note.Work", {}, () => {
      throw operatorError({ code: "BUSY", message: `busy ${work.calls.length}`, category: "transient" });
    });
    const invoker = createInvoker(mapBook(3), createVirtualClock());
    const messages: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      const ended = await invoker.invoke(invocation(work));
      messages.push(ended.status === "failed" ? ended.error.message : ended.status);
    }
    expect(messages).toEqual(["busy 1", "busy 2", "busy 3", "busy 3", "busy 3"]);
    expect(work.calls).toHaveLength(3);
  });
});

describe("what an operator throws", () => {
  const thrown: readonly (readonly [string, unknown, string, boolean])[] = [
    ["an Error", new Error("broken"), "broken", true],
    ["a text", "just words", "just words", true],
    ["nothing at all", undefined, "undefined", true],
    ["an object", { odd: true }, "", true],
    ["its own error", operatorError({ code: "X", message: "no board", category: "validation" }), "no board", false],
    [
      "a hint",
      operatorError({ code: "X", message: "later", category: "transient", retry_after_ms: 70 }),
      "later",
      true,
    ],
  ];

  it.each(thrown)(
    "[OPR-03] %s becomes an error with category, retryable and message",
    async (_what, value, message, retryable) => {
      const work = counted("Note.Work", {}, () => {
        throw value;
      });
      const ended = await createInvoker(mapBook(), createVirtualClock()).invoke(invocation(work));
      const error = ended.status === "failed" ? toExecutorError(ended.error) : null;
      expect(error?.retryable).toBe(retryable);
      expect(error?.message).toContain(message);
      expect(error?.category).toMatch(/^(validation|transient|dependency|operator_bug)$/);
      if (_what === "a hint") expect(error?.retry_after_ms).toBe(70);
    },
  );

  it("[OPR-03] a rejected promise is no different", async () => {
    const work = defineOperator({ name: "Note.Work", input: anyObject, run: () => Promise.reject(new Error("later")) });
    const ended = await createInvoker(mapBook(), createVirtualClock()).invoke(
      invocation({ operator: work, name: "Note.Work", calls: [] }),
    );
    expect(ended).toMatchObject({ status: "failed", error: { message: "later" } });
  });
});
