/** Whatever goes wrong between a question and the answer of Rego denies, and the reason says what it was. */
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { PolicyDecision } from "../../src/contract/policy.ts";
import { evaluatePolicies, type KernelErrorException } from "../../src/index.ts";
import { assemblePolicies } from "../../src/kernel/policies.ts";
import { type OpaOptions, opa } from "../../src/packages/policies/opa/index.ts";
import { readBundle } from "../../src/packages/policies/opa/read-bundle.ts";
import { type Case, fortyCases, questionOf } from "./forty-cases.ts";
import { regoBundle } from "./rego-bundles.ts";

const small = fortyCases[0]?.[1] as Case;
const bundle = regoBundle("policies");
const { wasm } = readBundle(bundle, "orders/decisions");

const decide = async (options: OpaOptions, asked: Case = small): Promise<PolicyDecision> =>
  evaluatePolicies(assemblePolicies([opa(options)], { withDefault: false }), questionOf(asked));
const denied = (reason: string) =>
  expect.objectContaining({ decision: "DENY", decided_by: "opa", reason: expect.stringContaining(reason) });
const withPayload = (payload: unknown): Case => ({
  ...small,
  subject: { ...small.subject, payload: payload as never },
});

/** Returns the code and the message that the options are refused with. */
function refusalOf(options: object): { readonly code: string; readonly message: string } {
  try {
    opa(options as OpaOptions);
  } catch (thrown) {
    const { code, message } = (thrown as KernelErrorException).error;
    return { code, message };
  }
  throw new Error("it was taken");
}
const refused = (problem: string, code = "T5_POLICY_INVALID") => ({ code, message: expect.stringContaining(problem) });

describe("denied is a question for which", () => {
  it.each([
    ["undefined_answer", "undefined for this question"],
    ["conflict", "conflict"],
    ["boolean", "no set of decisions"],
    ["object", "no set of decisions"],
    ["unknown_member", "reson"],
    ["unknown_decision", "decision"],
    ["without_policy", "policy"],
    ["many", "more than 256 decisions"],
    ["greedy", "opa_malloc"],
  ])("the entry point %s fails; the reason names it", async (name, reason) => {
    const faulty = { bundle: regoBundle("faulty"), entrypoint: `faulty/${name}` };
    expect(await decide(faulty)).toEqual(denied(reason));
  });

  it("the entry point does not end in its time; the next question is answered", async () => {
    const limits = { evaluationMs: 20 };
    const faulty = opa({ bundle: regoBundle("faulty"), entrypoint: "faulty/endless", limits });
    const engine = assemblePolicies([faulty], { withDefault: false });
    for (const _ of [1, 2])
      expect(await evaluatePolicies(engine, questionOf(small))).toEqual(denied("more than 20 ms"));
  });

  it.each([900, 8000])("the payload is %i levels deep; the next question is decided", async (depth) => {
    let deep: object = { sum: 1 };
    for (let level = 0; level < depth; level += 1) deep = { deep };
    const engine = assemblePolicies([opa({ bundle })], { withDefault: false });
    const { decision, reason } = await evaluatePolicies(engine, questionOf(withPayload(deep)));
    // The runtime may hold so many levels; what it cannot hold denies.
    if (decision !== "ALLOW") expect(reason).toContain("policy opa failed, which denies");
    expect(await evaluatePolicies(engine, questionOf(small))).toMatchObject({ decision: "ALLOW" });
  });

  it("the payload exceeds the memory; the next question is decided", async () => {
    const engine = assemblePolicies([opa({ bundle, limits: { memoryBytes: 2 ** 20 } })], { withDefault: false });
    const huge = questionOf(withPayload({ sum: 1, to: "x".repeat(2 ** 21) }));
    expect(await evaluatePolicies(engine, huge)).toEqual(denied("failed, which denies"));
    expect(await evaluatePolicies(engine, questionOf(small))).toMatchObject({ decision: "ALLOW" });
  });

  it("the operator has the name of another action", async () => {
    const posing = { subject: { operator: "approve", effect: "none" } };
    expect(await decide({ bundle }, posing)).toEqual(denied("an operator called approve"));
  });
});

it("one question leaves nothing behind for the next", async () => {
  const engine = assemblePolicies([opa({ bundle })], { withDefault: false });
  const answers = async () =>
    Promise.all(fortyCases.map(([, asked]) => evaluatePolicies(engine, { ...questionOf(asked), stage: "action" })));
  expect(await answers()).toEqual(await answers());
});

describe("refused when the set is made is a policy that", () => {
  it("wants what no question holds; all of it is named", () => {
    const { code, message } = refusalOf({ bundle: regoBundle("ambient"), entrypoint: "ambient/clock" });
    expect(code).toBe("T5_POLICY_INVALID");
    const named = ["time.now_ns reads a clock", "rand.intn reads randomness", "http.send reads the network"];
    for (const problem of [...named, "opa.runtime reads the process", "crypto.sha256 is no function"])
      expect(message).toContain(problem);
  });

  it("has no such entry point", () => {
    expect(refusalOf({ bundle, entrypoint: "shop/decisions" })).toEqual(
      refused("it has no entry point shop/decisions, but countersign/decisions, orders/decisions, past/decisions"),
    );
    expect(refusalOf({ wasm, entrypoint: "shop/decisions" })).toEqual(refused("no entry point shop/decisions, but"));
  });

  it.each([
    ["no module", { wasm: Buffer.from("allow := true") }, "magic"],
    ["a module of another kind", { wasm: Buffer.from("0061736d01000000", "hex") }, "it is no policy"],
    ["data beyond its memory", { wasm, data: { x: "y".repeat(2 ** 20) }, limits: { memoryBytes: 2 ** 19 } }, "malloc"],
    ["no archive", { bundle: Buffer.from("PK") }, "cannot be unpacked"],
    ["an empty archive", { bundle: gzipSync(Buffer.alloc(1024)) }, "it holds no policy.wasm"],
    ["an archive that is cut off", { bundle: gzipSync(wasm.buffer.slice(0, 20_000) as never) }, "no whole tar archive"],
  ])("is %s", (_name, options, problem) => {
    expect(refusalOf(options)).toEqual(refused(problem));
  });

  it.each([
    [{}, "give wasm"],
    [{ wasm, bundle }, "give wasm"],
    [{ bundle, data: {} }, "give wasm"],
    [{ bundle, stage: ["action"] }, "stage"],
    [{ bundle, stages: [] }, "stages"],
    [{ wasm: "AGFzbQE=" }, "bytes"],
    [{ bundle, limits: { evaluationMs: 0 } }, "evaluationMs"],
    [{ bundle, limits: { time: 3 } }, "time"],
  ])("has options that nobody knows: %#", (options, problem) => {
    expect(refusalOf(options)).toEqual(refused(problem, "T0_VALIDATION_SCHEMA_MISMATCH"));
  });
});

describe("a bundle", () => {
  const file = (name: string, content: string | Uint8Array, kind = "0"): Buffer => {
    const bytes = Buffer.from(content as string);
    const header = Buffer.alloc(512);
    header.write(name, 0);
    header.write(bytes.length.toString(8).padStart(11, "0"), 124);
    header.write(kind, 156);
    header.write("ustar", 257);
    return Buffer.concat([header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);
  };
  const pack = (...files: readonly Buffer[]): Buffer => gzipSync(Buffer.concat([...files, Buffer.alloc(1024)]));
  const policy = file("./policy.wasm", wasm);

  it("needs no manifest, and its folders and other files are passed over", () => {
    const packed = pack(file("/rules/", "", "5"), policy, file("/rules/a.rego", "package a"));
    expect(opa({ bundle: packed }).version).toBe(opa({ wasm }).version);
  });

  it.each([
    ["a file twice", pack(policy, file("policy.wasm", wasm)), "holds this file twice"],
    ["data that opa build has not merged", pack(policy, file("/shop/data.json", "{}")), "bundle:shop/data.json"],
    ["data that are no JSON", pack(policy, file("/data.json", "{")), "bundle:data.json"],
    ["data that are no object", pack(policy, file("/data.json", "[]")), "bundle:data.json"],
    ["a manifest that is none", pack(policy, file("/.manifest", '{"wasm":3}')), "bundle:.manifest"],
  ])("with %s is refused", (_name, packed, problem) => {
    expect(refusalOf({ bundle: packed })).toEqual(refused(problem));
  });
});

describe("the version", () => {
  it("changes with the module, the data, the entry point, the stages and the name, and with nothing else", () => {
    const data = readBundle(bundle, "orders/decisions").data as never;
    const versions = [
      opa({ wasm }).version,
      opa({ wasm, data }).version,
      opa({ wasm, entrypoint: "orders/decisions" }).version,
      opa({ wasm, stages: ["action", "gate"] }).version,
      opa({ wasm, name: "shop" }).version,
      opa({ bundle: regoBundle("faulty"), entrypoint: "faulty/object" }).version,
    ];
    expect(new Set(versions).size).toBe(versions.length);
    expect(opa({ bundle }).version).toBe(versions[1]);
    expect(versions[0]).toMatch(/^opa-[0-9a-f]{12}$/);
  });
});
