/** `serve`: which of its credentials decides gates. */
import { describe, expect, it } from "vitest";
import { readHere, runHere } from "./command-line.ts";
import { serveHere } from "./serve-here.ts";

const workflow = `wf_${"0".repeat(26)}`;
const decision = { gate_id: "gate-s1", decision: "approve" };

const serve = (...args: readonly string[]) => serveHere("program", ...args);

type Headers = Readonly<Record<string, string>>;
const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });

/** The code that a request is refused with. Of a workflow that is not there, who may do it learns just that. */
async function codeOf(
  { url }: Awaited<ReturnType<typeof serve>>,
  path: string,
  body: object,
  headers: Headers,
): Promise<unknown> {
  const init = {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  };
  const problem = (await (await fetch(`${url}${path}`, init)).json()) as { extensions?: { code?: string } };
  return problem.extensions?.code;
}

const gate = `/v1/kernel/workflows/${workflow}/gate`;
const rpc = { jsonrpc: "2.0", id: 1, method: "kernel/gate", params: { workflow_id: workflow, ...decision } };

/** A browser that came in by the link. */
async function signIn({ url, login }: Awaited<ReturnType<typeof serve>>): Promise<Headers> {
  const body = new URL(login).searchParams;
  const entered = await fetch(`${url}/login`, { method: "POST", body, redirect: "manual", headers: { origin: url } });
  const [cookie = ""] = (entered.headers.get("set-cookie") ?? "").split(";");
  const session = await fetch(`${url}/v1/session`, { headers: { cookie } });
  const { csrf_token } = (await session.json()) as { csrf_token: string };
  return { cookie, origin: url, "x-csrf-token": csrf_token };
}

describe("countersign serve", () => {
  it("[ATH-07] gives programs a token that submits, runs and reads, and decides no gate", async () => {
    const served = await serve();
    const as = bearer("program");
    for (const command of ["gate", "withdraw", "delegate"])
      expect(await codeOf(served, gate.replace("gate", command), decision, as)).toBe("T5_AUTHZ_FORBIDDEN");
    const told = await (
      await fetch(`${served.url}/rpc`, {
        method: "POST",
        body: JSON.stringify(rpc),
        headers: { ...as, "content-type": "application/json" },
      })
    ).text();
    expect(told).toContain("T5_AUTHZ_FORBIDDEN");
    expect(await codeOf(served, "/v1/kernel/submit", { intent_hint: { intent_type: "No.Such" } }, as)).toMatch(/^T1_/);
    for (const command of ["retry", "cancel"])
      expect(await codeOf(served, gate.replace("gate", command), {}, as)).toBe("T4_WORKFLOW_NOT_FOUND");
    expect((await fetch(`${served.url}/v1/kernel/workflows`, { headers: as })).status).toBe(200);
  });

  it("[ATH-07] lets the person decide who came in by the link", async () => {
    const served = await serve();
    expect(await codeOf(served, gate, decision, await signIn(served))).toBe("T4_WORKFLOW_NOT_FOUND");
  });

  it("[ATH-07] takes decisions of the approver's token, which submits nothing", async () => {
    const served = await serve("--approver-token", "person");
    const as = bearer("person");
    expect(await codeOf(served, gate, decision, as)).toBe("T4_WORKFLOW_NOT_FOUND");
    expect(await codeOf(served, gate, decision, bearer("program"))).toBe("T5_AUTHZ_FORBIDDEN");
    for (const path of ["/v1/kernel/submit", gate.replace("gate", "cancel")])
      expect(await codeOf(served, path, {}, as)).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await fetch(`${served.url}/v1/kernel/gates`, { headers: as })).status).toBe(200);
  });
});

describe("events", () => {
  const event = { specversion: "1.0", id: "1", source: "/shop", type: "paid", subject: "o-1", data: {} };
  const send = async ({ url }: Awaited<ReturnType<typeof serve>>, token: string) => {
    const headers = { ...bearer(token), "content-type": "application/cloudevents+json" };
    const answer = await fetch(`${url}/events`, { method: "POST", headers, body: JSON.stringify(event) });
    const { status, extensions } = (await answer.json()) as { status?: string; extensions?: { code?: string } };
    return [answer.status, extensions?.code ?? status];
  };

  it("[ATH-07] are sent with a token of their own, which does nothing else, and by no other token", async () => {
    const served = await serve("--approver-token", "person", "--event-token", "sender");
    expect(await send(served, "sender")).toEqual([200, "kept"]);
    for (const token of ["program", "person"]) expect(await send(served, token)).toEqual([403, "T5_AUTHZ_FORBIDDEN"]);
    const as = bearer("sender");
    for (const path of ["/v1/kernel/submit", gate, gate.replace("gate", "cancel")])
      expect(await codeOf(served, path, path === gate ? decision : {}, as)).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await fetch(`${served.url}/v1/kernel/workflows`, { headers: as })).status).toBe(403);
  });
});

describe("countersign login", () => {
  it("makes another link for the running server of this ledger from another process, for one use", async () => {
    const served = await serve("--principal", "ann");
    const { login } = await readHere<{ readonly login: string }>(
      ...["login", "--db", served.db, "--principal", "bob", "--origin", served.url],
    );
    expect(login.startsWith(`${served.url}/login?code=`)).toBe(true);
    const { cookie = "" } = await signIn({ ...served, login });
    const who = (await (await fetch(`${served.url}/v1/session`, { headers: { cookie } })).json()) as object;
    expect(who).toMatchObject({ principal: { id: "bob", role: "user" }, via: "session" });
    const again = await fetch(`${served.url}/login`, { method: "POST", body: new URL(login).searchParams });
    expect(again.status).toBe(401);
  });

  it("makes no ledger where there is none", async () => {
    const ran = await runHere("login", "--db", "/nowhere/at-all.db");
    expect([ran.code, ran.out]).toEqual([1, ""]);
  });
});

describe("a role that the kernel does not know", () => {
  it.each([["serve"], ["login"]])("%s prints no link for it, and names those that there are", async (command) => {
    const ran = await runHere(command, "--role", "robot", "--db", "/nowhere/at-all.db");
    const told = "error: --role robot is unknown; there are user, admin, support\n";
    expect(ran).toEqual({ code: 2, out: "", err: told });
  });
});
