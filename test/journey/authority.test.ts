/**
 * Authority (seed 003 sections 2.2, 5.1): who a caller is, what is theirs to do, and that tenants never meet.
 */
import { describe, expect, it } from "vitest";
import type { AuthContext as Auth } from "../../src/contract/auth-context.ts";
import { AuthContext, errorToProblemDetails, type KernelError, toExecutorError } from "../../src/index.ts";
import { createTestKernel, memoryLedger, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { eventsIn } from "../ledgers/reseal.ts";
import { counted, eventsOf, intentType, listOf, ofType, oneStep, packageOf, planStep, refusalOf } from "./parts.ts";

const publicScopes = ["intent:submit", "workflow:execute", "outcome:read", "gate:approve"];
const callerOf = (role: string, tenant_id: string | number = 1) => ({
  tenant_id,
  principal: { type: "user", id: 1, role },
});
const request = { intent_hint: { intent_type: intentType, inputs: { topic: "rain" } } };

function draftAndApply(more: { readonly send?: boolean } = {}) {
  const write = counted("Notes.Write", { effect: "write_draft" });
  const file = counted("Notes.File", { effect: "final_write" });
  const send = counted("Notes.Send", { effect: "external_send" });
  const steps = [
    planStep("s1", write, { outcome: "Note", params: { text: "wet" } }),
    planStep("s2", file, { applies: "s1", depends_on: ["s1"] }),
    ...(more.send === true ? [planStep("s3", send, { depends_on: ["s2"] })] : []),
  ];
  return { write, file, send, pkg: packageOf([write, file, send], steps) };
}

const authOf = async (t: TestKernel, workflowId: string): Promise<Auth> =>
  ofType(await eventsOf(t, workflowId), "INTENT_RECEIVED")[0]?.payload["auth"] as unknown as Auth;

const expectForbidden = (error: KernelError, needs: string): void => {
  expect(error).toMatchObject({ code: "T5_AUTHZ_FORBIDDEN", category: "policy", detail: { needs } });
  expect(toExecutorError(error).category).toBe("authorization");
  expect(errorToProblemDetails(error).status).toBe(403);
};

describe("the AuthContext", () => {
  it("[ATH-01] has tenant, principal, role, scopes and data policy; a user holds the public scopes", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(counted("Notes.Write"))] });
    const { workflow_id } = await t.run(intentType);
    const auth = await authOf(t, workflow_id);
    expect(AuthContext.parse(auth)).toEqual(auth);
    expect(auth).toMatchObject({
      tenant_id: 1,
      principal_id: 1,
      role: "user",
      scopes: [...publicScopes, "event:emit"],
      data_policy: { allow_pii: true, allow_external_send: false },
    });
  });

  it("[ATH-01] is also read with data_access_policy in place of data_policy", () => {
    const { data_policy: _left, ...rest } = AuthContext.parse({ ...base, data_policy: {} });
    const policy = { allow_pii: false, allow_external_send: true };
    expect(AuthContext.parse({ ...rest, data_access_policy: policy })).toEqual({ ...rest, data_policy: policy });
  });

  it.each(["tenant_id", "principal_id", "role", "scopes", "data_policy"])("[ATH-01] is none without %s", (field) => {
    expect(AuthContext.safeParse({ ...base, [field]: undefined }).success).toBe(false);
  });

  const base = { tenant_id: 1, principal_id: 2, role: "user", scopes: [], data_policy: {} };
});

describe("tenants", () => {
  it("[ATH-02] another tenant's workflow does not exist, whatever is asked about it", async () => {
    await using t = await createTestKernel({ capabilities: [draftAndApply().pkg] });
    const { workflow_id: id } = await t.run(intentType, {}, { thread_id: "shared" });
    const [, other] = [testCaller, callerOf("user", 2)];
    const { kernel } = t;
    const calls = [
      kernel.workflow(id, other),
      kernel.outcomes(id, other),
      kernel.actions(id, other),
      kernel.trace(id, other),
      kernel.explain(id, other),
      listOf(kernel.events(id, { live: false }, other)),
      listOf(kernel.progress(id, { live: false }, other)),
      listOf(kernel.assistant(id, { live: false }, other)),
      listOf(kernel.export(id, other)),
      kernel.decideGate(id, { ...other, decision: "approve" }),
      kernel.cancel(id, other),
      kernel.retry(id, { ...other, mode: "regenerate" }),
    ];
    for (const { code } of await Promise.all(calls.map(refusalOf))) expect(code).toBe("T4_WORKFLOW_NOT_FOUND");
    expect(await kernel.gates({}, other)).toEqual([]);
    expect(await kernel.workflows({ thread_id: "shared" }, other)).toEqual([]);
    expect((await kernel.gates({}, testCaller)).map((g) => g.gate_id)).toEqual(["gate-s2"]);
    expect(await kernel.workflows({ thread_id: "shared" }, testCaller)).toHaveLength(1);
    expect((await kernel.workflow(id)).state).toBe("waiting_for_user");
  });

  it("[ATH-02] one thread id and one memory key in two tenants are two threads and two memories", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(counted("Notes.Write"))] });
    const memory = { thread_id: "shared", key: "mood", type: "fact", source: "host", confidence: 1 };
    await t.kernel.memory.write({ ...memory, tenant_id: 1, value: "secret of one" });
    await t.run(intentType, {}, { thread_id: "shared", input: { text: "mood" } });
    const second = await t.run(
      intentType,
      {},
      { ...callerOf("user", 2), thread_id: "shared", input: { text: "mood" } },
    );
    const [built] = ofType(await eventsOf(t, second.workflow_id), "CONTEXT_BUILT");
    expect(JSON.stringify(built)).not.toContain("secret of one");
    expect(built?.payload["bundle"]).toMatchObject({ memory: [], semantic: [], recent_events: [] });
  });

  it("[ATH-02] one tenant's result never answers another's call", async () => {
    const { pkg, write, file } = draftAndApply();
    const ledger = memoryLedger();
    await using t = await createTestKernel({ ledger, capabilities: [pkg] });
    const keys: string[] = [];
    for (const tenant of [1, 2]) {
      const caller = callerOf("user", tenant);
      const { workflow_id } = await t.run(intentType, {}, { ...caller, scope: { scope_type: "f", scope_id: 1 } });
      await t.kernel.decideGate(workflow_id, { ...caller, decision: "approve" });
      await t.rest(workflow_id);
      keys.push(...(await t.kernel.actions(workflow_id)).map((a) => a.idempotency_key));
    }
    expect(write.calls).toHaveLength(2);
    expect(file.calls).toHaveLength(2);
    expect(new Set(keys).size).toBe(4);
    const shared = keys[1] as string;
    expect(shared).toMatch(/^apply:1:/);
    expect(await ledger.findKey(1, shared)).not.toBeNull();
    expect(await ledger.findKey(2, shared)).toBeNull();
  });

  it("[ATH-06] each record of a run has its tenant id", async () => {
    const ledger = memoryLedger();
    await using t = await createTestKernel({ ledger, capabilities: [draftAndApply().pkg] });
    const document = { document_id: "d1", processed_content: { hash: "h", bytes: 1 } };
    await t.kernel.documents.record({ ...document, tenant_id: 1 });
    const { workflow_id } = await t.run(intentType, {}, { thread_id: "a" });
    const gates = await t.kernel.gates({ workflow_id });
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    const rows = (await ledger.tail(0, 1000)).map(({ row }) => row);
    const records: readonly { readonly tenant_id: unknown }[] = [
      ...eventsIn(rows),
      ...(await t.kernel.actions(workflow_id)),
      ...(await t.kernel.outcomes(workflow_id)).outcomes,
      ...gates,
      ...(await ledger.heads({})),
      ...(await ledger.memory({ tenant_id: 1, limit: 10 })),
      ...(await ledger.documents(1, ["d1"])),
      ...(await listOf(t.kernel.progress(workflow_id, { live: false }))),
    ];
    expect(records.length).toBeGreaterThan(40);
    for (const record of records) expect(record.tenant_id).toBe(1);
  });

  it("[ATH-06] a call without a tenant that can be told is refused", async () => {
    await using t = await createTestKernel({ capabilities: [draftAndApply().pkg] });
    const { workflow_id: id } = await t.run(intentType);
    const { principal } = testCaller;
    const record = { document_id: "d1", processed_content: { hash: "h", bytes: 1 } };
    const memory = { key: "k", type: "fact", value: 1, source: "host", confidence: 1 };
    for (const call of [
      t.kernel.submit({ ...request, principal } as never),
      t.kernel.decideGate(id, { principal, decision: "approve" } as never),
      t.kernel.retry(id, { principal, mode: "regenerate" } as never),
      t.kernel.cancel(id, { principal } as never),
      t.kernel.documents.record(record as never),
      t.kernel.memory.write(memory as never),
    ])
      expect((await refusalOf(call)).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    expect((await t.kernel.workflow(id)).state).toBe("waiting_for_user");
  });

  it("[ATH-06] a principal whose tenant is another than the request's is refused", async () => {
    const context = { principal_id: 1, role: "user", scopes: ["*"], data_policy: {} };
    await using t = await createTestKernel({
      capabilities: [oneStep(counted("Notes.Write"))],
      authenticator: { authorize: () => AuthContext.parse({ ...context, tenant_id: 2 }) },
    });
    expect((await refusalOf(t.submit(intentType))).code).toBe("T5_IDENTITY_VIOLATION");
  });
});

describe("roles and scopes", () => {
  it("[ATH-03] a role without intent:submit is refused at submit, one with it is accepted", async () => {
    const roles = { visitor: { scopes: ["outcome:read"] }, member: { scopes: publicScopes } };
    await using t = await createTestKernel({ roles, capabilities: [oneStep(counted("Notes.Write"))] });
    expectForbidden(await refusalOf(t.kernel.submit({ ...callerOf("visitor"), ...request })), "intent:submit");
    expect((await t.kernel.submit({ ...callerOf("member"), ...request })).status).toBe("accepted");
    expect((await refusalOf(t.kernel.submit({ ...callerOf("nobody"), ...request }))).code).toBe("T5_AUTHN_FAILED");
  });

  it("[ATH-04] who may draft but not apply is stopped at the apply step, after the draft", async () => {
    const { pkg, write, file } = draftAndApply();
    const roles = { drafter: { scopes: [...publicScopes, "effect:write_draft"] } };
    await using t = await createTestKernel({ roles, capabilities: [pkg] });
    const state = await t.run(intentType, {}, callerOf("drafter"));
    expect(state).toMatchObject({ state: "failed", status: "blocked" });
    expect(toExecutorError(state.error as KernelError).category).toBe("authorization");
    expect([write.calls.length, file.calls.length]).toEqual([1, 0]);
    expect(state.outcomes.map((o) => o.status)).toEqual(["draft"]);
    expect(state.gates).toEqual([]);
  });

  it.each([
    ["an effect", "effect:write_draft", { effect: "final_write" }],
    ["a capability", "capability:Words.Count", { capability: intentType }],
  ])(
    "[ATH-04] who is held to %s has nothing more done in another's name, by resuming or making anew",
    async (_what, scope, detail) => {
      const { pkg, file } = draftAndApply();
      const roles = { user: { scopes: publicScopes }, held: { scopes: [...publicScopes, scope] } };
      await using t = await createTestKernel({ roles, capabilities: [pkg] });
      const { workflow_id: id } = await t.run(intentType);
      const again = (mode: "resume_failed_steps" | "regenerate", role: string) =>
        t.kernel.retry(id, { ...callerOf(role), mode });
      for (const mode of ["resume_failed_steps", "regenerate"] as const)
        expect(await refusalOf(again(mode, "held"))).toMatchObject({ code: "T5_AUTHZ_FORBIDDEN", detail });
      expect((await again("regenerate", "user")).status).toBe("restarted");
      expect((await t.rest(id)).state).toBe("waiting_for_user");
      expect(file.calls).toEqual([]);
    },
  );

  it("[ATH-04] who is held to some effects has their own work made anew", async () => {
    const { pkg, write } = draftAndApply();
    const roles = { drafter: { scopes: [...publicScopes, "effect:write_draft"] } };
    await using t = await createTestKernel({ roles, capabilities: [pkg] });
    const { workflow_id } = await t.run(intentType, {}, callerOf("drafter"));
    await t.kernel.retry(workflow_id, { ...callerOf("drafter"), mode: "regenerate" });
    expect((await t.rest(workflow_id)).state).toBe("failed");
    expect(write.calls.length).toBe(2);
  });

  it("[ATH-04] applying does not bring sending with it", async () => {
    const { pkg, file, send } = draftAndApply({ send: true });
    const scopes = [...publicScopes, "effect:write_draft", "effect:final_write"];
    const roles = { applier: { scopes, data_policy: { allow_external_send: true } } };
    await using t = await createTestKernel({ roles, capabilities: [pkg] });
    const caller = callerOf("applier");
    const { workflow_id } = await t.run(intentType, {}, caller);
    await t.kernel.decideGate(workflow_id, { ...caller, decision: "approve" });
    const state = await t.rest(workflow_id);
    expect([file.calls.length, send.calls.length]).toEqual([1, 0]);
    expect(state.error).toMatchObject({ code: "T5_AUTHZ_FORBIDDEN", detail: { effect: "external_send" } });
  });

  it("[ATH-04] a capability that was not granted is refused at submit", async () => {
    const roles = { narrow: { scopes: [...publicScopes, "capability:Words.Count"] } };
    const count = oneStep(counted("Words.Count"), {}, { intentType: "Words.Count" });
    await using t = await createTestKernel({ roles, capabilities: [oneStep(counted("Notes.Write")), count] });
    const error = await refusalOf(t.submit(intentType, {}, callerOf("narrow")));
    expect(error).toMatchObject({ code: "T5_AUTHZ_FORBIDDEN", detail: { capability: intentType } });
    expect((await t.run("Words.Count", {}, callerOf("narrow"))).state).toBe("completed");
  });

  it.each(publicScopes)("[ATH-07] without %s exactly the operation that needs it is refused", async (missing) => {
    const roles = { user: { scopes: publicScopes }, lesser: { scopes: publicScopes.filter((s) => s !== missing) } };
    await using t = await createTestKernel({ roles, capabilities: [draftAndApply().pkg] });
    const lesser = callerOf("lesser");
    const { workflow_id: parked } = await t.run(intentType);
    const { workflow_id: aborted } = await t.run(intentType);
    const operations: Readonly<Record<string, () => Promise<unknown>>> = {
      "intent:submit": () =>
        missing === "workflow:execute" ? Promise.resolve() : t.kernel.submit({ ...lesser, ...request }),
      "workflow:execute": () => t.kernel.cancel(aborted, lesser),
      "outcome:read": () => t.kernel.outcomes(parked, lesser),
      "gate:approve": () => t.kernel.decideGate(parked, { ...lesser, decision: "approve" }),
    };
    for (const [scope, operation] of Object.entries(operations)) {
      if (scope === missing) expectForbidden(await refusalOf(operation()), missing);
      else await operation();
    }
  });

  it("[ATH-07] nothing is executed for whom may not execute", async () => {
    const write = counted("Notes.Write");
    const roles = { asker: { scopes: publicScopes.filter((s) => s !== "workflow:execute") } };
    await using t = await createTestKernel({ roles, capabilities: [oneStep(write)] });
    expectForbidden(await refusalOf(t.submit(intentType, {}, callerOf("asker"))), "workflow:execute");
    await t.clock.settle();
    expect(write.calls).toEqual([]);
  });
});

describe("credentials", () => {
  const token = "token-8461";
  const asking = { principal: { type: "user", id: 1, role: "admin" } };
  const seen = ({ calls }: ReturnType<typeof counted>): string =>
    JSON.stringify(calls.map(({ input, context }) => ({ input, context })));

  it("[ATH-05] a secret that a caller sends is refused, and reaches neither an operator nor the refusal", async () => {
    const write = counted("Notes.Write");
    await using t = await createTestKernel({ capabilities: [oneStep(write)] });
    const brought = { principal: { ...asking.principal, token, password: token } };
    const error = await refusalOf(t.run(intentType, {}, brought));
    expect(error.detail["issues"]).toEqual(["principal.token", "principal.password"]);
    expect(JSON.stringify(error)).not.toContain(token);
    await t.run(intentType, {}, asking);
    expect(write.calls).toHaveLength(1);
    expect(write.calls[0]?.context.credential).toBeUndefined();
  });

  it("[ATH-05] an explicit grant gives a scoped handle, never the credential itself", async () => {
    const read = counted("Mail.Read", { effect: "credential_use" });
    await using t = await createTestKernel({ capabilities: [oneStep(read)] });
    await t.run(intentType, {}, { ...asking, constraints: { allow_credential_use: true } });
    expect(read.calls[0]?.context.credential).toEqual({ handle: expect.any(String), scopes: ["credential:use"] });
    expect(seen(read)).not.toContain(token);
  });

  it("[ATH-05] a handle is one principal's of one tenant: not of another's whose ids read alike", async () => {
    const read = counted("Mail.Read", { effect: "credential_use" });
    await using t = await createTestKernel({ capabilities: [oneStep(read)] });
    const people = [
      [1, "user", 7],
      ["1", "user", 7],
      [1, "user", "7"],
      [1, "agent", 7],
      ["a:b", "user", "c"],
      ["a", "user", "b:c"],
    ] as const;
    for (const [tenant_id, type, id] of people) {
      const of = { tenant_id, principal: { type, id, role: "admin" } };
      await t.run(intentType, {}, { ...of, constraints: { allow_credential_use: true } });
    }
    expect(new Set(read.calls.map(({ context }) => context.credential?.handle)).size).toBe(people.length);
  });

  it("[ATH-05] an operator that declares no use of a credential gets none, whatever the role holds", async () => {
    const write = counted("Notes.Write");
    await using t = await createTestKernel({ capabilities: [oneStep(write)] });
    await t.run(intentType, {}, { ...asking, constraints: { allow_credential_use: true } });
    expect(write.calls[0]?.context.credential).toBeUndefined();
  });
});
