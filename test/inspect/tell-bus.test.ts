/** What is told of the bus while Signals are passed over. */
import { expect, it } from "vitest";
import { ActorList } from "../../src/observers/inspect/actor-list.ts";
import { BusEmitter } from "../../src/observers/inspect/emit-bus.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { errand, intentType, operator, step } from "../actors/fixture.ts";

it("an answer is told of its question; of what was asked before Signals were passed over nothing is kept", async () => {
  await using t = await createTestKernel({ capabilities: [errand([step("s1", "Test.Act")], [operator("Test.Act")])] });
  await t.run(intentType);
  const questions = t.items.filter((item) => "to" in item && item.reply === item.signal.id);
  const answers = t.items.filter((item) => "in_reply_to" in item);
  expect(answers.length).toBeGreaterThan(1);

  const all = () => true;
  const teller = new BusEmitter(new ActorList());
  for (const asked of questions) expect(teller.tell(asked, all)).toHaveLength(1);
  expect(teller.tell(answers[0] as (typeof answers)[number], all)).toHaveLength(1);
  teller.forget();
  for (const answer of answers) expect(teller.tell(answer, all)).toEqual([]);
});
