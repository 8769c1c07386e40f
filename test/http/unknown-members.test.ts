/**
 * Unknown members over HTTP and JSON-RPC: from the document of the API, each body is made with every object that it may
 * hold, and each of these objects is given one member that the document does not know.
 */
import { describe, expect, it } from "vitest";
import { makeDocument } from "../../src/faces/http/document/make-document.ts";
import { createHttpApp } from "../../src/faces/http/index.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { intent, publishing } from "../gates/story.ts";
import { openEdge, pathOf, submitPath, tokens } from "./edge-fixture.ts";

const publish = () => ({ capabilities: [publishing().capability] });
const hint = { intent_hint: { intent_type: intent, inputs: {} } };

type Schema = Readonly<Record<string, unknown>>;
type Components = Readonly<Record<string, Schema>>;

const unknown = "no_such_member";
/** What the caller says of themselves must be true before the rest is read. */
const words: Readonly<Record<string, unknown>> = {
  tenant_id: 1,
  id: 1,
  type: "user",
  role: "user",
  rules: "version: none\nrules: []",
};

/**
 * Every alternative of the schema with all that it may hold, and with one unknown member at each of its closed objects.
 */
interface Made {
  readonly whole: unknown;
  readonly spoilt: readonly (readonly [pointer: string, value: unknown])[];
}

function makeAll(schema: Schema, components: Components, at = "#"): readonly Made[] {
  const { $ref, anyOf, oneOf, type, items, properties, default: given } = schema;
  const again = (one: Schema, place = at) => makeAll(one, components, place);
  if (typeof $ref === "string") return again(components[$ref.split("/").at(-1) as string] as Schema);
  const union = (anyOf ?? oneOf) as readonly Schema[] | undefined;
  if (union !== undefined) return union.flatMap((one) => again(one));
  if (type === "array")
    return again(items as Schema, `${at}/0`).map(({ whole, spoilt }) => ({
      whole: [whole],
      spoilt: spoilt.map(([pointer, value]) => [pointer, [value]]),
    }));
  if (type === "object" && properties !== undefined) return [makeObject(schema, components, at)];
  return [{ whole: given ?? plainOf(schema), spoilt: [] }];
}

function makeObject({ properties, additionalProperties }: Schema, components: Components, at: string): Made {
  const members = Object.entries(properties as Readonly<Record<string, Schema>>).map(([name, schema]) => {
    const alternatives = makeAll(schema, components, `${at}/${name}`);
    const made = alternatives.find(({ spoilt }) => spoilt.length > 0) ?? (alternatives[0] as Made);
    return [name, name in words ? { ...made, whole: words[name] } : made] as const;
  });
  const whole = Object.fromEntries(members.map(([name, made]) => [name, made.whole]));
  const below = members.flatMap(([name, made]) =>
    made.spoilt.map(([pointer, value]) => [pointer, { ...whole, [name]: value }] as const),
  );
  const own = [[`${at}/${unknown}`, { ...whole, [unknown]: 1 }] as const];
  return { whole, spoilt: additionalProperties === false ? [...own, ...below] : below };
}

function plainOf({ type, enum: values, const: only }: Schema): unknown {
  if (only !== undefined) return only;
  if (Array.isArray(values)) return values[0];
  if (type === "string") return "a";
  return type === "integer" || type === "number" ? 1 : type === "boolean" ? true : {};
}

async function readDocument() {
  await using t = await createTestKernel();
  const { routes } = createHttpApp(t.kernel, { tokens, sessions: {} });
  const document = makeDocument(routes, { sessionCookie: "session" }) as unknown as {
    readonly components: { readonly schemas: Components };
  };
  return { routes, components: document.components.schemas, paths: JSON.parse(JSON.stringify(document)).paths };
}

const { routes, components, paths } = await readDocument();
const bodied = routes
  // The body of an answer to a wait is the payload as it is.
  .filter(({ body, path }) => body !== undefined && path !== "/rpc" && path !== "/v1/waits/:token")
  .map(({ method, path }) => {
    const template = path.replace(/:id/g, "{workflow_id}");
    const { schema } = paths[template][method].requestBody.content["application/json"];
    return [path, makeAll(schema, components)] as const;
  });

describe("a member that the document does not know", () => {
  it("cannot be sent to any address: each object of each body is closed, or free by name", () => {
    expect(bodied.length).toBeGreaterThan(7);
    const free = bodied.flatMap(([path, alternatives]) =>
      alternatives.flatMap(({ spoilt }) => (spoilt.length === 0 ? [path] : [])),
    );
    expect(free).toEqual([]);
    const text = JSON.stringify(Object.values(paths).map((path) => path));
    expect(text).not.toContain('"additionalProperties":{}');
  });

  it.each(bodied)("is refused in a body of %s at each of its objects, with a pointer to it", async (path, made) => {
    await using edge = await openEdge(publish());
    const { workflow_id } = await edge.t.run(intent);
    const before = await edge.t.kernel.workflow(workflow_id);
    const address = path.replace(":id", workflow_id);
    for (const [pointer, body] of made.flatMap(({ spoilt }) => spoilt)) {
      const told = await edge.post<{ errors: { pointer: string; detail: string }[] }>(address, body);
      const found = told.body.errors?.find((one) => one.pointer === pointer)?.detail;
      expect([pointer, told.status, found]).toEqual([pointer, 400, expect.stringContaining("there is no such key")]);
    }
    expect(await edge.t.kernel.workflow(workflow_id)).toEqual(before);
    expect(await edge.t.kernel.workflows()).toHaveLength(1);
  });

  it.each(routes.filter(({ method, body, form }) => method !== "get" && body === undefined && form === undefined))(
    "is refused as a body of $path, which takes none",
    async ({ method, path }) => {
      await using edge = await openEdge(publish(), { sessions: {} });
      const { workflow_id } = await edge.t.run(intent);
      const told = await edge.ask<{ errors: object[] }>(path.replace(":id", workflow_id), {
        method: method.toUpperCase(),
        body: { at: 3 },
      });
      expect([told.status, told.body.errors]).toEqual([400, [{ pointer: "#/at", detail: "there is no such key" }]]);
    },
  );

  it.each(routes.map(({ method, path }) => [method, path] as const))(
    "is refused in the query of %s %s",
    async (method, path) => {
      await using edge = await openEdge(publish(), { sessions: {} });
      const { workflow_id } = await edge.t.run(intent);
      const address = `${path.replace(":id", workflow_id).replace(/:\w+/g, "a")}?${unknown}=1`;
      const response = await edge.fetch(address, { method: method.toUpperCase() });
      expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(unknown)]);
    },
  );

  it("is refused in the params of each method of JSON-RPC, and beside them", async () => {
    await using edge = await openEdge(publish());
    const { workflow_id } = await edge.t.run(intent);
    const call = (method: string, params: object, more = {}) =>
      edge.post<{ error?: { data?: { kernel?: { code: string } } } }>(
        "/rpc",
        { jsonrpc: "2.0", id: "1", method, params, ...more },
        "admin",
      );
    const commands = ["gate", "withdraw", "delegate", "retry", "cancel"];
    const views = ["workflow", "outcomes", "trace", "explain", "audit", "verify", "events"];
    const named = [...commands, ...views].map((name) => [`kernel/${name}`, { workflow_id }] as const);
    const lists = ["workflows", "gates", "budgets"].map((name) => [`kernel/${name}`, {}] as const);
    for (const [method, params] of [...named, ...lists, ["kernel/submit", hint] as const]) {
      const { body } = await call(method, { ...params, decision: "approve", gate_id: "gate-publish", [unknown]: 1 });
      expect([method, body.error?.data?.kernel?.code]).toEqual([method, "T0_VALIDATION_SCHEMA_MISMATCH"]);
      expect(JSON.stringify(body)).toContain(`${unknown}: there is no such key`);
    }
    expect((await call("kernel/workflows", {}, { [unknown]: 1 })).body.error).toBeDefined();
  });

  it("does not pay the unedited sum: `edits` beside a right digest is refused, and the gate stays open", async () => {
    await using edge = await openEdge(publish());
    const { workflow_id } = await edge.t.run(intent);
    const [gate] = await edge.t.kernel.gates({ workflow_id });
    const { payload_digest, gate_id } = gate as NonNullable<typeof gate>;
    const payload = { payload_digest, edits: { title: "other" } };
    const told = await edge.post(pathOf(workflow_id, "/gate"), { gate_id, decision: "approve", payload }, "admin");
    expect(told.body["errors"]).toEqual([
      { pointer: "#/payload/edits", detail: 'there is no such key; did you mean "edit"?' },
    ]);
    expect((await edge.t.kernel.gates({ workflow_id })).map(({ status }) => status)).toEqual(["open"]);
  });

  it("begins no second workflow: `idempotencyKey` in a body is refused with the key that was meant", async () => {
    await using edge = await openEdge(publish());
    const body = { ...hint, idempotencyKey: "k" };
    for (const told of [await edge.post(submitPath, body), await edge.post(submitPath, body)])
      expect(told.body["errors"]).toEqual([
        { pointer: "#/idempotencyKey", detail: 'there is no such key; did you mean "idempotency_key"?' },
      ]);
    expect(await edge.t.kernel.workflows()).toEqual([]);
  });
});
