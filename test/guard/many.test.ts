/** Many calls at once through a guard in a process of its own: each is answered once, with the answer to itself. */
import { expect, it } from "vitest";
import { callMany } from "./call-many.ts";

it.each(["http", "stdio"] as const)("answers each of 120 calls at once over %s, and makes each once", async (face) => {
  const { answers, called, open } = await callMany({ face, calls: 120, sessions: 3 });
  expect(answers).toEqual(Array.from({ length: 120 }, (_, n) => `called act ${n}`));
  expect(called.toSorted()).toEqual(answers.map((answer) => answer.slice("called ".length)).toSorted());
  expect(open).toBe(0);
});
