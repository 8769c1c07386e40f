/**
 * What a compact JWS may look like, and what is none for us: headers, keys and spellings that others would let pass.
 */
import { CompactSign, exportJWK, FlattenedSign, generateKeyPair } from "jose";
import { describe, expect, it } from "vitest";
import { jwsVerifier } from "../../src/adapters/jws-verifier.ts";
import type { PublicJwk } from "../../src/index.ts";

const text = '{"decision":"approve"}';
const bytes = (of: string) => new TextEncoder().encode(of);
const pair = () => generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
const [ours, theirs] = [await pair(), await pair()];
const publicOf = async (of: typeof ours): Promise<PublicJwk> => (await exportJWK(of.publicKey)) as PublicJwk;
const [key, other] = [await publicOf(ours), await publicOf(theirs)];

const sign = (header: object = {}, of = ours, signed: Uint8Array = bytes(text)) =>
  new CompactSign(signed)
    .setProtectedHeader({ alg: "EdDSA", ...header })
    .sign(of.privateKey, { crit: { "urn:x": true } });
const base64 = (of: string) => Buffer.from(of).toString("base64url");
const withHead = async (head: string) => (await sign()).replace(/^[^.]+/, base64(head));
const asJson = async () =>
  JSON.stringify(await new FlattenedSign(bytes(text)).setProtectedHeader({ alg: "EdDSA" }).sign(ours.privateKey));

describe("a compact JWS", () => {
  it("is good with the key that made it, and tells which", async () => {
    expect(await jwsVerifier.verify(await sign(), [other, key])).toEqual({ text, jwk: key, kid: null });
    const named = { ...key, kid: "mine" };
    expect(await jwsVerifier.verify(await sign(), [named])).toEqual({ text, jwk: named, kid: "mine" });
    expect(await jwsVerifier.verify(await sign({ kid: "mine" }), [named])).toEqual({ text, jwk: named, kid: "mine" });
    expect((await jwsVerifier.verify(await sign({ kid: "mine" }), [key]))?.kid).toBe("mine");
  });

  it.each([
    ["brings its key in the header", () => sign({ jwk: other }, theirs)],
    ["asks for an extension that we do not know", () => sign({ crit: ["urn:x"], "urn:x": 1 })],
    ["is of unencoded payload", async () => `${base64('{"alg":"EdDSA","b64":false,"crit":["b64"]}')}.{}.AA`],
    ["names a key of another name", () => sign({ kid: "theirs" })],
    ["names a key by what is no name", () => sign({ kid: { $ne: 1 } })],
    ["names a key by a number", () => sign({ kid: 7 })],
    ["spells its algorithm otherwise", () => withHead('{"alg":"eddsa"}')],
    ["is of no algorithm", () => withHead('{"alg":"none"}')],
    ["has a header with more than was signed", () => withHead('{"alg":"EdDSA","x":1}')],
    ["is written as JSON", asJson],
    ["is signed over what is no UTF-8", () => sign({}, ours, Uint8Array.of(0xff))],
  ] as const)("is none of ours where it %s", async (_title, make) => {
    expect(await jwsVerifier.verify(await make(), [{ ...key, kid: "mine" }])).toBe(null);
  });

  it("is taken to the byte: a mark before the text is part of it", async () => {
    const marked = `\uFEFF${text}`;
    expect((await jwsVerifier.verify(await sign({}, ours, bytes(marked)), [key]))?.text).toBe(marked);
  });
});
