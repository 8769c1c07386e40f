/** The law of stores of addresses that are notified of tasks: a record is kept as it was given, until it is dropped. */
import { expect } from "vitest";
import type { PushRecord, PushStore } from "../../src/index.ts";

export const pushRecord = (key: string, more: Partial<PushRecord> = {}): PushRecord => ({
  ...{ key, id: "p", workflow_id: "wf_1", url: "https://client.example/é?a='b'", sealed: 's"1', told: 3 },
  caller: { tenant_id: "7", principal: { type: "user", id: 7, role: "user" }, scopes: ["outcome:read"] },
  ...more,
});

/** Expects the law of an empty store. */
export async function expectPushLaw(store: PushStore): Promise<void> {
  expect(await store.list()).toEqual([]);
  await store.keep(pushRecord("b"));
  await store.keep(pushRecord("B", { sealed: "" }));
  expect(await store.list()).toEqual([pushRecord("B", { sealed: "" }), pushRecord("b")]);
  await store.keep(pushRecord("b", { told: 9 }));
  expect((await store.list()).map(({ key, told }) => [key, told])).toEqual([
    ["B", 3],
    ["b", 9],
  ]);
  expect([await store.drop("B"), await store.drop("B")]).toEqual([true, false]);
  expect(await store.list()).toEqual([pushRecord("b", { told: 9 })]);
}
