/** Credentials of notified addresses are encrypted in every store. */
import { expect, it } from "vitest";
import { createMemoryPushStore } from "../../src/faces/protocols/a2a/index.ts";
import { type NotifiedAddress, sealedPushes } from "../../src/faces/protocols/a2a/sealed-pushes.ts";
import type { PushStore } from "../../src/index.ts";
import { WebhookSecrets } from "../../src/observers/notifiers/standard-webhooks.ts";

const secretOf = (byte: number): string => `whsec_${Buffer.alloc(32, byte).toString("base64")}`;
const address: NotifiedAddress = {
  ...{ key: "k", id: "p", workflow_id: "wf_1", url: "https://client.example/", token: "hidden token", told: 3 },
  caller: { tenant_id: "7", principal: { type: "user", id: 7, role: "user" }, scopes: ["outcome:read"] },
  authentication: { scheme: "Bearer", credentials: "hidden credentials" },
};

function open(store: PushStore, ...bytes: readonly number[]) {
  const lost: unknown[] = [];
  const logger = { warn: (detail: object) => void lost.push(detail) };
  return { lost, ...sealedPushes({ store, secret: WebhookSecrets.parse(bytes.map(secretOf)), logger }) };
}

it("an address is read as it was kept, and its store has none of its credentials", async () => {
  const store = createMemoryPushStore();
  const addresses = open(store, 1);
  await addresses.keep(address);
  expect(await addresses.list()).toEqual([address]);
  await addresses.keep({ ...address, authentication: undefined });
  expect((await addresses.list())[0]?.authentication).toBeUndefined();
  expect(JSON.stringify(await store.list())).not.toContain("hidden");
});

it("a secret can be replaced: each of several opens, the first seals", async () => {
  const store = createMemoryPushStore();
  await open(store, 1).keep(address);
  expect(await open(store, 2, 1).list()).toEqual([address]);
  await open(store, 2, 1).keep(address);
  expect(await open(store, 2).list()).toEqual([address]);
});

it("an address that no secret opens is left in its store, and warned of", async () => {
  const store = createMemoryPushStore();
  await open(store, 1).keep(address);
  const other = open(store, 3);
  expect([await other.list(), other.lost]).toEqual([[], [{ lost: 1 }]]);
  expect(await store.list()).toHaveLength(1);
});

it("credentials that are moved to another record or address are not used", async () => {
  const store = createMemoryPushStore();
  await open(store, 1).keep(address);
  const [record] = await store.list();
  await store.keep({ ...record!, key: "other" });
  expect((await open(store, 1).list()).map(({ key }) => key)).toEqual(["k"]);
  await store.keep({ ...record!, url: "https://thief.example/" });
  expect(await open(store, 1).list()).toEqual([]);
});
