/** Words on gates as earlier releases signed and recorded them replay as they were taken. */
import { CompactSign, exportJWK, generateKeyPair, importJWK } from "jose";
import { expect, it } from "vitest";
import { canonicalJson } from "../../src/contract/digest.ts";
import type { TurnEvent } from "../../src/contract/turn.ts";
import { replayRows, type Signing, signApproval, signingInput } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { ann, approve, bob, type Person, person, waiting } from "../gates/people.ts";
import { counted, gateOf, publishing, step, story } from "../gates/story.ts";
import { reseal } from "../ledgers/reseal.ts";

const { publicKey, privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
const [known, key] = [await exportJWK(publicKey), await exportJWK(privateKey)];
const approverKeys = () => known;
const coach = person("coach", "support");

type Said = Partial<Omit<Signing, "principal">>;

/** A word with its signature, and what an earlier release would have had in its place. */
async function say(t: TestKernel, id: string, gateId: string, who: Person, { decision = "approve", ...said }: Said) {
  const gate = await gateOf(t, id, gateId);
  const signing = { principal: who, decision, ...said };
  const signature = await signApproval(gate, { ...signing, key });
  const claims = JSON.parse(signingInput(gate, signing));
  for (const name of ["result_digest", "apply_targets_digest"]) delete claims[name];
  const sign = new CompactSign(new TextEncoder().encode(canonicalJson(claims))).setProtectedHeader({ alg: "EdDSA" });
  const then = await sign.sign(await importJWK(key, "EdDSA"));
  await approve(t, id, who, { ...said, signature } as object);
  return { signature, then };
}

type Word = Awaited<ReturnType<typeof say>>;

/** An event as an earlier release wrote it. */
const asEarlier = (words: readonly Word[]) => (event: TurnEvent) => {
  const { result_digest: _1, ...payload } = event.payload as Record<string, unknown>;
  if (event.type === "GATE_VOTED") for (const name of ["apply_targets", "resolution", "result"]) delete payload[name];
  const signature = payload["signature"] as { readonly jws: string } | null | undefined;
  const word = words.find((one) => one.signature === signature?.jws);
  return {
    ...event,
    payload: { ...payload, ...(word && { signature: { ...signature, jws: word.then } }) },
  } as TurnEvent;
};

async function expectSame(t: TestKernel, id: string, words: readonly Word[], capabilities: object[]): Promise<void> {
  const rows = await Array.fromAsync(t.kernel.export(id));
  const options = { capabilities, approverKeys } as never;
  expect((await replayRows(rows, options)).difference).toBeNull();
  const earlier = reseal(rows, { event: asEarlier(words) });
  expect(earlier.at(-1)?.hash).not.toBe(rows.at(-1)?.hash);
  expect((await replayRows(earlier, options)).difference).toBeNull();
}

it.each([
  ["done", { resolution: "done", result: { by: "hand" } }],
  ["done, with nothing said of its result", { resolution: "done" }],
  ["to be made again", { resolution: "retry" }],
] as const)("a signed answer and advice on a call in doubt: %s", async (_title, said) => {
  const send = counted("Note.Send", { effect: "write_draft", timeoutSec: 1 }, () =>
    send.calls.length === 1 ? new Promise(() => undefined) : { sent: send.calls.length },
  );
  const capabilities = [story([send], [step("send", send, { gate: { signed: true, advisors: ["support"] } })])];
  await using t = await createTestKernel({ capabilities, approverKeys });
  const id = await waiting(t);
  const words = [await say(t, id, "gate-send", ann, {})];
  await t.clock.advance(2_000);
  await t.rest(id);
  // What advice on a call was, an earlier release kept no word of: it is unsigned here.
  await approve(t, id, coach, said);
  words.push(await say(t, id, "gate-send_doubt1", ann, said));
  expect((await t.rest(id)).state).toBe("completed");
  await expectSame(t, id, words, capabilities);
});

it.each([[null], [{ approvals: 2 }]])("where an outcome is applied, with the quorum %j", async (quorum) => {
  const { capability } = publishing({ gate: { signed: true, ...(quorum !== null && { quorum }) } });
  await using t = await createTestKernel({ capabilities: [capability], approverKeys });
  const id = await waiting(t);
  const words: Word[] = [];
  for (const who of quorum === null ? [ann] : [ann, bob])
    words.push(await say(t, id, "gate-publish", who, { apply_targets: ["board"] }));
  expect((await t.rest(id)).state).toBe("completed");
  await expectSame(t, id, words, [capability]);
});

/** What 0.1.0 wrote in the place of sentences of this release. */
const earlierSentences: readonly (readonly [now: RegExp, earlier: string])[] = [
  [/a final write waits for a person's approval/g, "a write to final records needs an approved apply"],
  [/the role user may not have [^"]+ of your own/g, "sending to the outside is not allowed for this principal"],
  [/, and the outcome that step (\w+) drafted becomes final/g, " and makes the outcome of $1 final"],
  [/ is not called and the workflow/g, " is not called; 0 dependent step(s) are skipped and the workflow"],
];

const wordedEarlier = (event: TurnEvent): TurnEvent =>
  JSON.parse(
    earlierSentences.reduce((text, [now, earlier]) => text.replaceAll(now, earlier), JSON.stringify(event)),
  ) as TurnEvent;

async function expectSameWording(t: TestKernel, id: string, capabilities: object[]): Promise<void> {
  const rows = await Array.fromAsync(t.kernel.export(id));
  const earlier = reseal(rows, { event: wordedEarlier });
  expect(earlier.at(-1)?.hash).not.toBe(rows.at(-1)?.hash);
  expect((await replayRows(earlier, { capabilities } as never)).difference).toBeNull();
}

it("a gate of a default rule in the sentences of 0.1.0, edited and approved, replays to the same bytes", async () => {
  const { capability } = publishing({});
  await using t = await createTestKernel({ capabilities: [capability] });
  const id = await waiting(t);
  await approve(t, id, ann, { edit: { text: "edited" } } as object);
  await t.rest(id);
  await expectSameWording(t, id, [capability]);
});

it("a denial of an external send in the sentence of 0.1.0 replays to the same bytes", async () => {
  const send = counted("Note.Send", { effect: "external_send" });
  const capability = story([send], [step("send", send)]);
  await using t = await createTestKernel({ capabilities: [capability] });
  const { workflow_id, state } = await t.run(capability.intentType);
  expect(state).toBe("failed");
  await expectSameWording(t, workflow_id, [capability]);
});
