/** One-time addresses of waits: who can make them, what they answer, once, before, during and after the wait. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createWaitTokens } from "../../src/adapters/wait-tokens.ts";
import { defineCapability, defineOperator } from "../../src/index.ts";
import { createTestKernel, createVirtualClock, memoryLedger, type TestKernel } from "../../src/testing/index.ts";

const waitTokens = { secrets: ["the first key, which is long enough."], url: "https://work.example/v1/waits" };
const as = { tenant_id: 1, principal: { type: "service", id: "signer", role: "user" } } as const;
const ada = { by: "ada" };
const hour = 3_600_000;

const sent: string[] = [];
const mail = defineOperator({
  name: "Mail.Send",
  effect: "external_send",
  input: z.object({ link_of: z.string() }),
  output: z.null(),
  run({ input, waitUrl }) {
    sent.push(waitUrl(input.link_of));
    return null;
  },
});
const take = defineOperator({ name: "Deal.Take", input: z.object({ by: z.string() }), run: ({ input }) => input.by });

/** Mails the address of the wait, sleeps for an hour, waits for an hour, and hands on what it was answered. */
const deal = defineCapability({
  intentType: "Deal.Close",
  version: "1.0",
  input: z.looseObject({}),
  operators: [mail, take],
  plan: ({ step, sleep, wait }) => {
    const told = step({ step_id: "told", name: "Tell", operator: "Mail.Send", params: { link_of: "sign" } });
    const slept = sleep({ step_id: "slept", name: "Sleep", ms: hour, depends_on: [told] });
    const sign = wait({
      ...{ step_id: "sign", name: "Signed", event: "contract.signed", key: "c-1", token: true },
      schema: z.object({ by: z.string() }),
      within: { hours: 1 },
      depends_on: [slept],
    });
    const then = step({ step_id: "then", name: "Then", operator: "Deal.Take", params: { by: sign.output.by } });
    return { reasoning: "sign", steps: [told, slept, sign, then] };
  },
});
const options = { capabilities: [deal], waitTokens, defaultPolicies: false, limits: { maxReplans: 0 } };
const open = () => createTestKernel(options);

/** Begins the work up to its sleep; returns its id, and the token that the operator was given. */
async function begin(t: TestKernel): Promise<{ readonly id: string; readonly token: string }> {
  sent.length = 0;
  const id = await t.submit("Deal.Close");
  await t.clock.settle();
  return { id, token: sent[0]?.slice(`${waitTokens.url}/`.length) ?? "" };
}
const refusal = (code: string) => ({ error: { code } });
const identical = async (t: TestKernel, id: string) => (await t.kernel.replay(id)).identical;

describe("a one-time address", () => {
  it("is given to operators before the wait begins, answers it once, and stands nowhere in the ledger", async () => {
    await using t = await open();
    const { id, token } = await begin(t);
    await t.clock.advance(hour);
    expect((await t.kernel.workflow(id)).state).toBe("waiting");
    const answer = { token, payload: ada };
    await expect(t.kernel.answerWait({ token, payload: { by: 7 } })).rejects.toMatchObject(refusal("T4_EVENT_INVALID"));
    expect(await t.kernel.answerWait(answer)).toEqual({ status: "received", duplicate: false });
    const state = await t.rest(id);
    expect([state.state, state.response.text]).toEqual(["completed", "ada"]);
    expect(await t.kernel.answerWait(answer)).toEqual({ status: "received", duplicate: true });
    const other = t.kernel.answerWait({ token, payload: { by: "bo" } });
    await expect(other).rejects.toMatchObject(refusal("T4_WAIT_TOKEN_USED"));
    const { why } = await t.kernel.explain(id);
    expect(why.join("\n")).toContain("sign: it was answered by its token, and it went on");
    const rows = JSON.stringify(await Array.fromAsync(t.kernel.export(id)));
    expect(rows).not.toContain(token.split(".")[1]);
    expect(await identical(t, id)).toBe(true);
  });

  it("takes an answer that comes before the wait, also in another process, and keeps it over a pause", async () => {
    const ledger = memoryLedger();
    const first = await createTestKernel({ ...options, ledger, seed: 1 });
    const { id, token } = await begin(first);
    await first.kernel.pause(id, as);
    const clock = createVirtualClock(first.clock.now());
    const secrets = ["a new key, which is long enough too.", ...waitTokens.secrets];
    await using t = await createTestKernel({
      ...options,
      waitTokens: { ...waitTokens, secrets },
      ledger,
      clock,
      seed: 2,
    });
    await t.kernel.answerWait({ token, payload: ada });
    await t.clock.advance(hour);
    expect((await t.kernel.workflow(id)).steps[2]).toMatchObject({ state: "queued" });
    await t.kernel.resume(id, as);
    expect((await t.rest(id)).state).toBe("completed");
    expect(await identical(t, id)).toBe(true);
    await first[Symbol.asyncDispose]();
  });

  it("is over with its wait, and answers the wait that a retry begins", async () => {
    await using t = await open();
    const { id, token } = await begin(t);
    await t.clock.advance(2 * hour);
    expect((await t.rest(id)).error).toMatchObject({ code: "T4_WAIT_EXPIRED" });
    const over = refusal("T4_WAIT_TOKEN_OVER");
    await expect(t.kernel.answerWait({ token, payload: ada })).rejects.toMatchObject(over);
    await t.kernel.retry(id, { ...as, mode: "resume_failed_steps" });
    await t.clock.settle();
    await t.kernel.answerWait({ token, payload: ada });
    expect((await t.rest(id)).state).toBe("completed");
    const later = await begin(t);
    await t.clock.advance(hour);
    // A pause keeps the wait from its end, and its time goes on.
    await t.kernel.pause(later.id, as);
    await t.clock.advance(hour);
    await expect(t.kernel.answerWait({ token: later.token, payload: ada })).rejects.toMatchObject(over);
    await t.kernel.cancel(later.id, as);
    await expect(t.kernel.answerWait({ token: later.token, payload: ada })).rejects.toMatchObject(over);
  });

  it("is refused in the same words whatever it names, unless a kernel with the secret made it", async () => {
    await using t = await open();
    const { id, token } = await begin(t);
    const foreign = createWaitTokens({ ...waitTokens, secrets: ["another secret, of somebody else's."] });
    const mine = createWaitTokens(waitTokens);
    const tokenOf = (url: string) => url.slice(`${waitTokens.url}/`.length);
    const bad = [
      "x",
      `${token}x`,
      `${token}.x`,
      `${token}=`,
      token.split(".")[0] as string,
      tokenOf(foreign.urlOf({ workflow_id: id, step_id: "sign" })),
      tokenOf(mine.urlOf({ workflow_id: id, step_id: "slept" })),
      tokenOf(mine.urlOf({ workflow_id: id.replace(/.$/, "0"), step_id: "sign" })),
    ];
    const answers = await Promise.all(
      bad.map((one) => t.kernel.answerWait({ token: one }).catch(({ error }) => JSON.stringify(error))),
    );
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toContain("T4_WAIT_TOKEN_UNKNOWN");
  });

  it("is read by those who may send events of its tenant, and there is none without the option", async () => {
    await using t = await open();
    const { id, token } = await begin(t);
    const ask = { ...as, step_id: "sign" };
    const url = `${waitTokens.url}/${token}`;
    expect(await t.kernel.tokenUrl(id, ask)).toEqual({ workflow_id: id, step_id: "sign", url });
    await expect(t.kernel.tokenUrl(id, { ...ask, tenant_id: 2 })).rejects.toMatchObject(
      refusal("T4_WORKFLOW_NOT_FOUND"),
    );
    const viewer = { ...ask, principal: { ...as.principal, role: "viewer" } };
    await expect(t.kernel.tokenUrl(id, viewer)).rejects.toMatchObject({ error: { category: "policy" } });
    const none = refusal("T4_WAIT_TOKEN_NONE");
    await expect(t.kernel.tokenUrl(id, { ...ask, step_id: "slept" })).rejects.toMatchObject(none);
    await using plain = await createTestKernel({ ...options, waitTokens: undefined });
    const ended = await plain.rest(await plain.submit("Deal.Close"));
    expect(ended.steps[0]?.error).toMatchObject(none.error);
  });
});
