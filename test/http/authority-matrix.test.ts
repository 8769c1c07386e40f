/**
 * Who may do what, over every route there is: each role, narrowed credentials and nobody, in the own tenant and in
 * another. What is expected follows from what the route needs and from the table of roles, so that a new route is
 * covered at once.
 */
import { describe, expect, it } from "vitest";
import { commandScopes, grantsScope, hasScope, publicScopes } from "../../src/contract/auth-context.ts";
import type { Route, StaticToken } from "../../src/faces/http/index.ts";
import { defaultRoles } from "../../src/index.ts";
import { intent, publishing } from "../gates/story.ts";
import { answerJudge } from "./answer-judge.ts";
import { codeOf, type EdgeUnderTest, openEdge, pathOf, requireTold, withoutIds } from "./edge-fixture.ts";

type Expected = "let in" | 401 | 403;

const roles = [...Object.keys(defaultRoles), "nobody"] as const;
const narrowed = [[], ...publicScopes.map((scope) => [scope]), ["intent:submit", "outcome:read"], ["workflow:cancel"]];

/** Every role in two tenants, and credentials of a mighty role that reach less far than it. */
const callers: readonly StaticToken[] = [1, 2].flatMap((tenant_id) => [
  ...roles.map((role) => ({ token: `${role}-${tenant_id}`, tenant_id, principal: { type: "user", id: role, role } })),
  ...narrowed.map((scopes) => ({
    token: `admin-${tenant_id}-${scopes.join("").replaceAll(":", "-")}.`,
    tenant_id,
    principal: { type: "user", id: "admin", role: "admin" },
    scopes,
  })),
]);

const isPublic = (scope: string): boolean =>
  [...publicScopes, ...Object.values(commandScopes)].some((one) => one === scope);

function expectedOf({ needs, alsoNeeds }: Route, caller: StaticToken): Expected {
  const expected = expectedFor(needs, caller);
  return expected === "let in" && alsoNeeds !== undefined ? expectedFor(alsoNeeds, caller) : expected;
}

function expectedFor(needs: Route["needs"], { principal, scopes }: StaticToken): Expected {
  if (needs === "open" || needs === null) return "let in";
  // A scope of the edge's own is no role's: a credential must name it.
  if (!isPublic(needs)) return hasScope(scopes ?? [], needs) ? "let in" : 403;
  if (scopes !== undefined && !grantsScope(scopes, needs)) return 403;
  const role = defaultRoles[principal.role];
  if (role === undefined) return 401;
  return grantsScope(role.scopes, needs) ? "let in" : 403;
}

/** Codes by which a caller is turned away for what they are; a refusal of what they ask for has others. */
const turnedAway = ["T5_AUTHN_FAILED", "T5_AUTHZ_FORBIDDEN", "T5_IDENTITY_VIOLATION"];

interface Answered {
  readonly status: number;
  readonly text: string;
  readonly code: string | undefined;
}

/** A sound body: the document's own example. */
function bodyOf(edge: EdgeUnderTest, { operation, body }: Route): object | undefined {
  if (body === undefined) return undefined;
  if (operation === "submitIntent") return { intent_hint: { intent_type: intent, inputs: {} } };
  if (operation === "runJob") return { query: "publish a note" };
  const { schemas } = answerJudge(edge.app.routes).document.components;
  const named = Object.entries(answerJudge(edge.app.routes).document.paths).flatMap(([, methods]) =>
    Object.values(methods),
  );
  const told = named.find(({ operationId }) => operationId === operation)?.requestBody as unknown as {
    readonly content: { readonly "application/json": { readonly schema: { readonly $ref: string } } };
  };
  const schema = schemas[told.content["application/json"].schema.$ref.split("/").at(-1) as string];
  return (schema?.["examples"] as readonly object[] | undefined)?.[0] ?? {};
}

const fillPath = ({ path }: Route, workflowId: string): string =>
  path
    .replace(":id", workflowId)
    .replace(":intent_type", intent)
    .replace(":name", "gate")
    .replace(":gate_id", "gate-publish")
    .replace(":page", "start")
    .replace(":picture", "concepts.svg")
    .replace(/:\w+/g, "anything");

async function ask(
  edge: EdgeUnderTest,
  route: Route,
  { as, workflowId, query = "" }: { readonly as: string | null; readonly workflowId: string; readonly query?: string },
): Promise<Answered> {
  const path = `${fillPath(route, workflowId)}${query}`;
  const body = bodyOf(edge, route);
  const method = route.method.toUpperCase();
  const response = await edge.fetch(path, { as, method, headers: { "x-request-id": "the-same" }, body });
  const { status, headers } = response;
  const isStream = headers.get("content-type") === "text/event-stream";
  const text = isStream ? "" : await response.text();
  if (isStream) await response.body?.cancel();
  else requireTold(edge.app, { method, path, status, headers, text });
  const isProblem = headers.get("content-type") === "application/problem+json";
  const code = isProblem ? (JSON.parse(text) as { extensions: { code: string } }).extensions.code : undefined;
  return { status, text, code };
}

const openMatrix = () =>
  openEdge({ capabilities: [publishing().capability], fallbackIntent: intent }, { tokens: callers });

async function allRoutes(): Promise<readonly Route[]> {
  await using edge = await openMatrix();
  return edge.app.routes;
}
const routes = await allRoutes();
const rows = routes.map((route) => [`${route.method} ${route.path}`, route] as const);
const ofWorkflows = rows.filter(([, { path }]) => path.includes(":id") || path.endsWith("/inspect"));

/** A workflow of tenant 1 that waits at its gate. */
const waiting = async ({ t }: EdgeUnderTest): Promise<string> => (await t.run(intent)).workflow_id;

describe("the matrix of authority", () => {
  it("every route says what it needs; those that need nothing are named here, one by one", () => {
    for (const { path, needs } of routes)
      expect([path, typeof needs === "string" || needs === null]).toEqual([path, true]);
    const scopes = routes.map(({ needs }) => String(needs)).filter((needs) => needs !== "null" && needs !== "open");
    expect(scopes.filter((scope) => !isPublic(scope))).toEqual([]);
    const without = (needs: null | "open") => routes.filter((route) => route.needs === needs).map(({ path }) => path);
    expect(without("open").sort()).toEqual([
      "/docs",
      "/guide",
      "/guide/:page",
      "/guide/pictures/:picture",
      "/health",
      "/openapi.json",
      "/ready",
      "/v1/waits/:token",
    ]);
    expect(without(null).sort()).toEqual(["/rpc", "/v1/session"]);
  });

  it.each(rows)("%s: nobody is turned away where it is open, and everywhere else", async (_name, route) => {
    await using edge = await openMatrix();
    const { status, code } = await ask(edge, route, { as: null, workflowId: await waiting(edge) });
    if (route.needs === "open") expect(turnedAway).not.toContain(code);
    else expect([status, code]).toEqual([401, "T5_AUTHN_FAILED"]);
  });

  it.each(rows)(
    "%s: each role and credential gets what the table of roles and its own scopes allow",
    async (_name, route) => {
      await using edge = await openMatrix();
      // The example of a body, and the name in a path, may name a schedule, a halt, a gate or a wait that there is not.
      const mayMiss =
        route.path.includes("/schedules") || /\/(lift|grant|revoke-grant|end-stand-in|waits\/:token)$/.test(route.path);
      for (const caller of callers.filter(({ tenant_id }) => tenant_id === 1)) {
        const expected = expectedOf(route, caller);
        const { status, code } = await ask(edge, route, { as: caller.token, workflowId: await waiting(edge) });
        const got = code !== undefined && turnedAway.includes(code) ? status : "let in";
        expect([caller.token, got]).toEqual([caller.token, expected]);
        if (expected === "let in")
          expect([caller.token, status, (status === 404 && !mayMiss) || status >= 500]).toEqual([
            caller.token,
            status,
            false,
          ]);
      }
    },
  );

  it.each(ofWorkflows)("%s: another tenant's workflow is one that is not there, to the byte", async (_name, route) => {
    await using edge = await openMatrix();
    const { workflow_id: workflowId, correlation_id } = await edge.t.run(intent);
    const unknown = `${workflowId.slice(0, -4)}ZZZZ`;
    for (const caller of callers.filter(({ tenant_id }) => tenant_id === 2)) {
      const askFor = (id: string) =>
        ask(edge, route, {
          as: caller.token,
          workflowId: id,
          query: route.path.includes(":id") ? "" : `?workflow_id=${id}`,
        });
      const there = await askFor(workflowId);
      const nowhere = await askFor(unknown);
      const expected = expectedOf(route, caller);
      expect([caller.token, there.status]).toEqual([caller.token, expected === "let in" ? 404 : expected]);
      expect(withoutIds(there.text)).toBe(withoutIds(nowhere.text));
      expect(there.text).not.toContain(correlation_id);
    }
    expect((await edge.t.kernel.workflow(workflowId)).state).toBe("waiting_for_user");
  });

  it.each(["resume_failed_steps", "regenerate", "replay"])(
    "retrying as %s takes the scope of a retry, before anything is looked up",
    async (mode) => {
      const roles = { ...defaultRoles, asker: { scopes: ["intent:submit"] } };
      const asker = { token: "asker", tenant_id: 1, principal: { type: "user", id: "asker", role: "asker" } };
      await using edge = await openEdge({ capabilities: [publishing().capability], roles }, { tokens: [asker] });
      const { workflow_id } = await edge.t.run(intent);
      await edge.t.approve(workflow_id, "gate-publish");
      expect((await edge.t.rest(workflow_id)).state).toBe("completed");
      for (const id of [workflow_id, `${workflow_id.slice(0, -4)}ZZZZ`]) {
        const told = await edge.post(pathOf(id, "/retry"), { mode }, "asker");
        expect([told.status, codeOf(told)]).toEqual([403, "T5_AUTHZ_FORBIDDEN"]);
      }
    },
  );

  it("lists and feeds of another tenant hold nothing of this one", async () => {
    await using edge = await openMatrix();
    const workflowId = await waiting(edge);
    const lists = rows.filter(
      ([, { method, path, needs }]) => method === "get" && needs !== "open" && !path.includes(":"),
    );
    for (const [name, route] of lists) {
      const { text } = await ask(edge, route, { as: "admin-2", workflowId });
      expect([name, text.includes(workflowId)]).toEqual([name, false]);
    }
  });
});
