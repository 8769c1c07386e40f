/** What any host must do, shown on two processes with one ledger in Postgres: the same for each of them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshSchema, serverUrl } from "../../postgres/server.ts";
import type { NodeOptions } from "./node.ts";
import { isDone, isUnderWay, type Node, openStage, type Stage } from "./stage.ts";

/** @param optionsOf what the next process is started with, beside its ledger. */
export function hostSuite(name: string, optionsOf: () => Promise<Partial<NodeOptions>>): void {
  describe(`${name}: two processes`, () => {
    let stage: Stage;
    let first: Node;
    let second: Node;
    const ids: string[] = [];

    beforeAll(async () => {
      stage = await openStage({ url: serverUrl, schema: freshSchema() });
      const [one, other] = [await optionsOf(), await optionsOf()];
      [first, second] = await Promise.all([stage.start("first", one), stage.start("second", other)]);
    });
    afterAll(() => stage[Symbol.asyncDispose]());

    const submit = async (node: Node, type: string, count = 1) => {
      const begun = await node.submit(type, count);
      ids.push(...begun);
      return begun;
    };
    const allDone = () => stage.until(isDone(ids.length));

    it("what one of them accepts goes on to its end, each call made once", async () => {
      await submit(first, "Test.Job", 2);
      await submit(second, "Test.Job", 2);
      await allDone();
      const keys = (await stage.effects()).map(({ key }) => key);
      expect(keys).toHaveLength(16);
      expect(new Set(keys).size).toBe(16);
    });

    it("what parks is decided from either of them, and goes on", async () => {
      const [here = "", there = ""] = await submit(first, "Test.Gated", 2);
      await stage.until(isDone(2, "waiting_for_user"));
      expect(await first.approve(here)).toMatchObject({ status: "resumed" });
      expect(await second.approve(there)).toMatchObject({ status: "resumed" });
      await allDone();
    });

    it("what rests until a time goes on when it is due, whoever left it", async () => {
      await submit(second, "Test.Late");
      await stage.until("SELECT count(*) = 1 FROM workflows WHERE owner IS NULL AND due_at IS NOT NULL");
      await allDone();
    });

    it("a stopped one leaves nothing behind: its process ends, and the other continues its workflows", async () => {
      const before = (await stage.effects()).length;
      await submit(second, "Test.Job", 4);
      await stage.until(isUnderWay(before + 4));
      expect(await second.stop()).toBe(0);
      await allDone();
      second = await stage.start("second", await optionsOf());
    });

    it("the workflows of a killed one continue in the other; only running calls are done twice", async () => {
      const before = (await stage.effects()).length;
      await submit(second, "Test.Job", 6);
      await stage.until(isUnderWay(before + 8));
      second.process.kill("SIGKILL");
      await allDone();
      const done = (await stage.effects()).slice(before);
      const keys = new Set(done.map(({ key }) => key));
      expect(keys.size).toBe(24);
      expect(done.length - keys.size).toBeLessThanOrEqual(6);
    });

    it("and each of these workflows is as its ledger tells it", async () => {
      expect(await stage.isSound(ids)).toBe(true);
    });
  });
}
