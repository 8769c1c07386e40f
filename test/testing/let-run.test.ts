/** Letting run: a wait that ends when nothing is under way any more, and not before. */
import { readFile, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { createVirtualClock, letRun } from "../../src/testing/index.ts";

const here = fileURLToPath(import.meta.url);

/** So many turns of the event loop, one after another. */
async function turns(count: number): Promise<string> {
  for (let turn = 0; turn < count; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
  return `${count} turns`;
}

async function sign(): Promise<string> {
  const { subtle } = globalThis.crypto;
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const { privateKey, publicKey } = await subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const signature = await subtle.sign(algorithm, privateKey, new Uint8Array(8));
  return `verified ${await subtle.verify(algorithm, publicKey, signature, new Uint8Array(8))}`;
}

const readTwice = async (): Promise<string> => `${(await readFile(here)).length === (await stat(here)).size}`;

describe("letting run", () => {
  it.each([
    ["long chains of turns", () => turns(2_000), "2000 turns"],
    ["files", readTwice, "true"],
    ["cryptography", sign, "verified true"],
  ])("[CARD-22] waits for %s, however long they take", async (_what, work, told) => {
    const ended: string[] = [];
    void work().then((text) => ended.push(text));
    await letRun();
    expect(ended).toEqual([told]);
  });

  it("[CARD-22] twice at once ends: the waits do not wait for one another", async () => {
    const order: string[] = [];
    void turns(100).then(() => order.push("work"));
    await Promise.all([letRun().then(() => order.push("one")), letRun().then(() => order.push("two"))]);
    expect(order).toEqual(["work", "one", "two"]);
  });

  it("[CARD-22] what goes on for ever is not waited for", async () => {
    let goesOn = true;
    const spin = (): void => void (goesOn && setImmediate(spin));
    spin();
    await letRun();
    goesOn = false;
  });

  it("[CARD-22] a virtual clock fires a timer only once what came before it has run", async () => {
    const clock = createVirtualClock();
    const order: string[] = [];
    clock.setTimer(clock.now() + 1, () => void readTwice().then(() => order.push("first, to its end")));
    clock.setTimer(clock.now() + 2, () => order.push("second"));
    await clock.advance(2);
    expect(order).toEqual(["first, to its end", "second"]);
  });
});
