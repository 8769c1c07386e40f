/** A signed bundle is used if one of the given keys has signed all of it, and not otherwise. */
import { exportJWK, exportPKCS8, generateKeyPair } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { cedar, openBundle, signBundle } from "../../src/packages/policies/cedar/index.ts";
import * as rego from "../../src/packages/policies/opa/index.ts";
import { readBundle } from "../../src/packages/policies/opa/read-bundle.ts";
import { refusalOf } from "../fixtures.ts";
import { cedarSchema, cedarText, stages } from "./one-policy.ts";
import { regoBundle } from "./rego-bundles.ts";

const bundle = { name: "shop", policies: cedarText, schema: cedarSchema, stages };
interface Pair {
  readonly secret: Record<string, unknown>;
  readonly pem: string;
  readonly known: Record<string, unknown>;
}
async function makePair(kid?: string): Promise<Pair> {
  const { privateKey, publicKey } = await generateKeyPair("EdDSA", { extractable: true });
  const known = { ...(await exportJWK(publicKey)), ...(kid !== undefined && { kid }) };
  return { secret: { ...(await exportJWK(privateKey)) }, pem: await exportPKCS8(privateKey), known };
}
let mine: Pair;
let theirs: Pair;
beforeAll(async () => {
  [mine, theirs] = [await makePair("mine"), await makePair()];
});

describe("a bundle", () => {
  it("comes back as it was signed, and is the same version of the policies", async () => {
    const jws = await signBundle(bundle, { key: mine.secret, kid: "mine" });
    const opened = await openBundle(jws, { keys: [theirs.known, mine.known] });
    expect(opened).toEqual(bundle);
    expect(cedar(opened).version).toBe(cedar(bundle).version);
    const withPem = await signBundle(bundle, { key: mine.pem });
    expect(await openBundle(withPem, { keys: [mine.known] })).toEqual(bundle);
  });

  it("is refused under another key, under a key of another name, and if a byte of it was changed", async () => {
    const jws = await signBundle(bundle, { key: mine.secret, kid: "mine" });
    const [head = "", body = "", signature = ""] = jws.split(".");
    const other = Buffer.from(Buffer.from(body, "base64url").toString().replace("above 5000", "above 9000")).toString(
      "base64url",
    );
    for (const [text, keys] of [
      [jws, [theirs.known]],
      [jws, [{ ...mine.known, kid: "other" }]],
      [`${head}.${other}.${signature}`, [mine.known]],
      [cedarText, [mine.known]],
      ["", [mine.known]],
    ] as const)
      expect(await refusalOf(openBundle(text, { keys }))).toMatchObject({ code: "T5_POLICY_UNSIGNED" });
  });

  it("is no other text that the same key has signed", async () => {
    const { CompactSign, importJWK } = await import("jose");
    const sign = async (text: string) =>
      new CompactSign(Buffer.from(text))
        .setProtectedHeader({ alg: "EdDSA" })
        .sign(await importJWK({ ...mine.secret }, "EdDSA"));
    for (const text of [
      "approve",
      JSON.stringify(bundle),
      JSON.stringify({ format: "countersign-cedar-1", bundle: { ...bundle, entities: [] } }),
    ])
      expect(await refusalOf(openBundle(await sign(text), { keys: [mine.known] }))).toMatchObject({
        code: "T5_POLICY_UNSIGNED",
      });
  });

  it("is neither signed nor opened with what is no Ed25519 key, or with none", async () => {
    const mismatch = { code: "T0_VALIDATION_SCHEMA_MISMATCH" };
    expect(await refusalOf(signBundle(bundle, { key: { kty: "RSA" } }))).toMatchObject(mismatch);
    expect(await refusalOf(signBundle({ ...bundle, entities: [] } as never, { key: mine.pem }))).toMatchObject(
      mismatch,
    );
    const jws = await signBundle(bundle, { key: mine.pem });
    expect(await refusalOf(openBundle(jws, { keys: [] }))).toMatchObject(mismatch);
    expect(await refusalOf(openBundle(jws, { keys: [{ kty: "RSA", n: "x", e: "AQAB" }] }))).toMatchObject(mismatch);
  });
});

describe("a bundle of Rego", () => {
  const packed = regoBundle("policies");
  const { wasm, data } = readBundle(packed, "orders/decisions");

  it("comes back as it was signed, packed or as module and data, and is the same version", async () => {
    for (const one of [
      { bundle: packed, stages },
      { wasm, data: data as never, name: "shop", entrypoint: "orders/decisions" },
    ]) {
      const opened = await rego.openBundle(await rego.signBundle(one, { key: mine.secret }), { keys: [mine.known] });
      expect(opened).toEqual(one);
      expect(rego.opa(opened).version).toBe(rego.opa(one).version);
    }
  });

  it("is refused under another key, and is no bundle of Cedar, nor one of Cedar a bundle of Rego", async () => {
    const jws = await rego.signBundle({ bundle: packed }, { key: mine.secret });
    const unsigned = { code: "T5_POLICY_UNSIGNED" };
    expect(await refusalOf(rego.openBundle(jws, { keys: [theirs.known] }))).toMatchObject(unsigned);
    expect(await refusalOf(openBundle(jws, { keys: [mine.known] }))).toMatchObject(unsigned);
    const other = await signBundle(bundle, { key: mine.secret });
    expect(await refusalOf(rego.openBundle(other, { keys: [mine.known] }))).toMatchObject(unsigned);
  });

  it("with an unknown member, or with text in place of bytes, is not signed", async () => {
    for (const one of [{ bundle: packed, limits: {} }, { wasm: "AGFzbQE=" }, null])
      expect(await refusalOf(rego.signBundle(one as never, { key: mine.secret }))).toMatchObject({
        code: "T0_VALIDATION_SCHEMA_MISMATCH",
      });
  });
});
