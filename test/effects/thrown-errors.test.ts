/**
 * What an operator's failure was is kept: for whoever reads the ledger, the workflow, its explanation or the gate in
 * doubt.
 */
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { describeThrown, explainThrown } from "../../src/contract/thrown.ts";
import { type OperatorErrorOptions, operatorError } from "../../src/index.ts";
import { readRetryAfterMs } from "../../src/protocol/read-retry-after.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { counted, gateOf, intent, payloads, step, story } from "../gates/story.ts";

/** A port of this machine that nobody listens on. */
async function closedPort(): Promise<number> {
  const server = createServer();
  const port = await new Promise<number>((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve((server.address() as { port: number }).port)),
  );
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function failWith(answer: () => unknown, effect: "read" | "external_send" = "read") {
  const logged: [object, string | undefined][] = [];
  const noop = (): void => undefined;
  const logger = {
    debug: (detail: object, said?: string) => logged.push([detail, said]),
    info: noop,
    warn: noop,
    error: noop,
  };
  const work = counted("Note.Work", { effect }, answer);
  const options = {
    capabilities: [story([work], [step("s1", work)])],
    defaultPolicies: false,
    limits: { maxReplans: 0 },
  };
  const t = await createTestKernel({ ...options, logger } as never);
  const state = await t.run(intent);
  return { t, work, logged, state, id: state.workflow_id };
}

describe("what an operator throws", () => {
  it("says that a fetch to a closed port was refused, and where: in ledger, workflow and explanation", async () => {
    const port = await closedPort();
    const { t, state, id, logged } = await failWith(() => fetch(`http://127.0.0.1:${port}/pay`));
    await using _ = t;
    const refused = `connect ECONNREFUSED 127.0.0.1:${port}`;
    expect(state.error?.message).toBe(`Note.Work kept throwing: fetch failed: ${refused}`);
    const [failed] = await payloads(t, id, "ACTION_FAILED");
    expect(failed?.error.detail["failure"]).toMatchObject({
      name: "TypeError",
      message: "fetch failed",
      cause: { name: "Error", code: "ECONNREFUSED", message: refused },
    });
    expect(JSON.stringify(await t.kernel.explain(id))).toContain(refused);
    const [[detail] = [{}]] = logged.filter(([, said]) => said === "a call failed");
    expect(detail).toMatchObject({
      workflow_id: id,
      step_id: "s1",
      error: { stack: expect.stringContaining("fetch failed") },
    });
    expect(JSON.stringify(failed)).not.toContain(".ts:");
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("stands at the gate in doubt", async () => {
    const cause = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    const { t, id } = await failWith(() => {
      throw new Error("the payment was lost", { cause });
    }, "external_send");
    await using _ = t;
    const { reasons } = await gateOf(t, id, "gate-s1_doubt1");
    expect(reasons[0]?.reason).toContain("the payment was lost: read ECONNRESET");
  });

  it("keeps the members of an AggregateError, and a cause of an operator error", async () => {
    const members = [new Error("first"), Object.assign(new Error("second"), { code: "E2" })];
    const all = new AggregateError(members, "none of them");
    expect(explainThrown(all)).toBe("none of them: first, second");
    expect(describeThrown(all)?.errors).toMatchObject([{ message: "first" }, { message: "second", code: "E2" }]);
    const error = operatorError({ code: "BANK_DOWN", message: "the bank is down", details: { bank: 7 }, cause: all });
    const { t, id } = await failWith(() => {
      throw error;
    });
    await using _ = t;
    const [failed] = await payloads(t, id, "ACTION_FAILED");
    expect(failed?.error.detail).toMatchObject({ bank: 7, failure: { cause: { errors: [{}, { code: "E2" }] } } });
  });

  it("is bounded, ends where causes go round, and shows no secret that can be told by its form", () => {
    let deep = new Error("root");
    for (let i = 0; i < 100; i += 1) deep = new Error("x".repeat(2_000), { cause: deep });
    expect(JSON.stringify(describeThrown(deep)).length).toBeLessThan(16 * 700);
    const wide = new AggregateError(Array.from({ length: 1_000 }, () => deep));
    expect(JSON.stringify(describeThrown(wide)).length).toBeLessThan(16 * 700);
    const [one, other] = [new Error("one"), new Error("other")];
    one.cause = other;
    other.cause = one;
    expect(describeThrown(one)).toEqual({ name: "Error", message: "one", cause: { name: "Error", message: "other" } });
    const told = new Error("failed", { cause: new Error("Bearer abc.def.ghi at https://ann:hunter2@bank.test") });
    expect(JSON.stringify([describeThrown(told), explainThrown(told)])).not.toMatch(/abc\.def|hunter2/);
    const trap = new Proxy(new Error("t"), {
      get: () => {
        throw new Error("no");
      },
    });
    expect([describeThrown(trap), explainThrown(trap)]).toEqual([null, "a value that cannot be shown"]);
  });
});

describe("an operator error with a bad member keeps its meaning, and the bad member is named", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;

  it.each<[string, Partial<Record<keyof OperatorErrorOptions, unknown>>]>([
    ["retry_after_ms", { retry_after_ms: 1500.5 }],
    ["retry_after_ms", { retry_after_ms: Number.NaN }],
    ["retry_after_ms", { retry_after_ms: 9e15 }],
    ["retry_after_ms", { retry_after_ms: -1 }],
    ["details", { details: cyclic }],
    ["details", { details: { n: 1n } }],
    ["details", { details: "words" }],
    ["retryable", { retryable: "yes" }],
    ["code", { code: 7 }],
  ])("%s: %o", async (member, bad) => {
    const said = { code: "BUSY", message: "busy", category: "transient", ...bad };
    const { t, work, state, id } = await failWith(() => {
      throw operatorError(said as OperatorErrorOptions);
    }, "external_send");
    await using _ = t;
    const [failed] = await payloads(t, id, "ACTION_FAILED");
    expect([state.state, work.calls.length, failed?.retryable, failed?.pending]).toEqual(["failed", 1, true, false]);
    expect(failed?.error.message).toMatch(new RegExp(`^busy \\(${member} was refused: `));
    expect(failed?.error.detail["refused_members"]).toEqual({ [member]: expect.any(String) });
  });

  it("an unknown category says nothing of what was done: the call is in doubt", async () => {
    const { t, state, id } = await failWith(() => {
      throw operatorError({ code: "ODD", message: "odd", category: "weather" as never });
    }, "external_send");
    await using _ = t;
    expect(state.state).toBe("waiting_for_user");
    expect((await gateOf(t, id, "gate-s1_doubt1")).reasons[0]?.reason).toContain("category was refused: weather");
  });

  it("the details are those of the throw: what is changed afterwards changes nothing that is kept", async () => {
    const details = { at: new Date(0) };
    const { t, id } = await failWith(() => {
      throw operatorError({ code: "NO", message: "no", category: "validation", details });
    });
    await using _ = t;
    const [failed] = await payloads(t, id, "ACTION_FAILED");
    expect(failed?.error.detail).toEqual({ at: "1970-01-01T00:00:00.000Z", executor: expect.anything() });
  });
});

describe("the pause that an answer asks for", () => {
  const date = "Wed, 21 Oct 2026 07:27:15 GMT";

  it.each([
    [{ "retry-after": "7" }, 7_000],
    [{ "Retry-After": "0.5" }, 500],
    [{ "retry-after-ms": "250", "retry-after": "7" }, 250],
    [{ "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT", date }, 45_000],
    [new Headers({ "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT", date }), 45_000],
    [{ "retry-after": "Wednesday, 21-Oct-26 07:28:00 GMT", date }, 45_000],
    [{ "retry-after": "Wed, 21 Oct 2026 07:00:00 GMT", date }, null],
    [{ "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" }, null],
    [{ "retry-after": "9e15" }, null],
    [{ "retry-after": "9000000000000000" }, 600_000],
    [{ "retry-after": "-5" }, null],
    [{ "retry-after": "" }, null],
    [{ "retry-after": "2026", date }, 600_000],
    [{}, null],
    [null, null],
  ])("%o is %s", (headers, pause) => {
    expect(readRetryAfterMs(headers)).toBe(pause);
  });
});
