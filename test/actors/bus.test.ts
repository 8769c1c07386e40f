/** The bus: one order for everybody, harm to nobody, and an answer to every ask. */
import { map } from "rxjs";
import { describe, expect, it } from "vitest";
import { metricsOf, ok } from "../../src/contract/result.ts";
import { createSignal, createTextSignal, type Signal } from "../../src/contract/signal.ts";
import { SignalBus } from "../../src/engine/actors/bus.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { allTiers, data, intentType, oneStep, testRef } from "./fixture.ts";

const signal = (text: string): Signal => createTextSignal(text, testRef, "cor_test");
const textOf = ({ body }: Signal): unknown => body["text"];

function busOf(maxWaiting = 10) {
  const errors: unknown[] = [];
  return { errors, bus: new SignalBus({ maxWaiting, onSubscriberError: (error) => void errors.push(error) }) };
}

describe("publication order", () => {
  it("[CARD-08] what a handler publishes while a Signal is delivered comes after it, for every subscriber", () => {
    const { bus, errors } = busOf();
    const [one, two]: [unknown[], unknown[]] = [[], []];
    const publish = (text: string): void => bus.publish({ to: 3, signal: signal(text), reply: null });
    bus.signals.subscribe((got) => {
      one.push(textOf(got));
      if (textOf(got) === "A") publish("B");
      throw new Error("this subscriber always throws");
    });
    bus.connect(3, ({ signal: got }) => textOf(got) === "B" && publish("C"));
    bus.signals.pipe(map(textOf)).subscribe((got) => void two.push(got));
    publish("A");
    expect(one).toEqual(["A", "B", "C"]);
    expect(two).toEqual(["A", "B", "C"]);
    expect(errors).toHaveLength(3);
  });

  it("[CARD-08] a throw behind an operator, or in the kernel's own bus, harms neither others nor work", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep()] });
    let [thrown, heard] = [0, 0];
    t.kernel.bus.signals.pipe(map(textOf)).subscribe(() => {
      thrown += 1;
      throw new Error("broken listener");
    });
    t.kernel.bus.signals.subscribe(() => {
      heard += 1;
    });
    expect((await t.run(intentType)).state).toBe("completed");
    expect(thrown).toBe(heard);
    expect(t.logged.filter(({ message }) => message === "a bus subscriber threw")).toHaveLength(thrown);
  });

  it("[CARD-08] two runs of one kernel publish the same Signals in the same order", async () => {
    const runs = [0, 1].map(async () => {
      await using t = await createTestKernel({ capabilities: [oneStep()] });
      const published: unknown[] = [];
      t.kernel.bus.signals.subscribe((got) => void published.push([got.id, got.kind, got.body, got.origin]));
      await t.run(intentType, {}, { input: { text: "an errand" } });
      return published;
    });
    const [first, second] = await Promise.all(runs);
    expect(first?.length).toBeGreaterThan(10);
    expect(JSON.stringify(second)).toBe(JSON.stringify(first));
  });
});

const rawMessage = { jsonrpc: "2.0", id: "req_1", method: "tools/call", params: { name: "rm", arguments: {} } };

describe("what is let on", () => {
  it.each(allTiers)("[BRG-01] a raw JSON-RPC object sent to T%i is refused", async (tier) => {
    await using t = await createTestKernel({ capabilities: [oneStep()] });
    const result = await t.kernel.ask(tier, rawMessage as unknown as Signal);
    expect(result).toMatchObject({ status: "error", error: { code: "T0_VALIDATION_SCHEMA_MISMATCH" }, signals: [] });
    expect((await t.run(intentType)).state).toBe("completed");
  });

  it.each(allTiers)("[BRG-01] one that reaches the inbox of T%i past the bus is refused there", async (tier) => {
    await using t = await createTestKernel({ capabilities: [oneStep()] });
    const inbox = t.kernel.system.get(`t${tier}`) as { send(event: unknown): void };
    for (const raw of [rawMessage, { ...rawMessage, kind: "data" }]) {
      inbox.send({ type: "DELIVER", item: { to: tier, signal: raw, reply: "req_1" } });
    }
    const answers = t.items.filter((item) => "result" in item && item.in_reply_to === "req_1");
    expect(answers).toHaveLength(2);
    for (const answer of answers) {
      expect(answer).toMatchObject({ from: tier, result: { error: { code: "T0_VALIDATION_SCHEMA_MISMATCH" } } });
    }
  });

  it("[VAL-03] a Signal without a body is refused like any malformed one", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep()] });
    const bodiless = createSignal("data", null as never, testRef, "cor_test");
    expect((await t.kernel.ask(2, bodiless)).error?.code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  });
});

describe("asks", () => {
  it("beyond the limit an ask is refused with a code, and every ask is answered when the bus closes", async () => {
    const { bus } = busOf(1);
    const open = bus.ask(3, signal("nobody is there"));
    expect((await bus.ask(3, signal("too many"))).error?.code).toBe("T5_IN_FLIGHT_LIMIT");
    bus.close();
    expect((await open).error?.code).toBe("T0_KERNEL_STOPPED");
    expect((await bus.ask(3, signal("too late"))).error?.code).toBe("T0_KERNEL_STOPPED");
    expect(bus.waiting()).toBe(0);
  });

  it("the first answer counts, and it goes to its own ask", async () => {
    const { bus } = busOf();
    const first = data("A", 1);
    const second = data("B", 2);
    const asks = [bus.ask(3, first), bus.ask(3, second)];
    for (const [asked, reply] of [
      [second, first],
      [first, second],
      [second, second],
    ] as const) {
      bus.publish({ from: 3, in_reply_to: asked.id, result: ok([reply], metricsOf(testRef)) });
    }
    expect((await Promise.all(asks)).map((result) => result.signals[0])).toEqual([second, first]);
  });
});
