/**
 * Samples and generators that the tests of contract/ and protocol/ share.
 *
 * Owns: a factory on a fixed clock and seeded ids that counts what it draws, and arbitraries of JSON, errors and
 * Signals.
 */
import fc from "fast-check";
import { createError, ErrorCategory, type KernelError, Severity } from "../../src/contract/error.ts";
import { createIdSource, type IdSource } from "../../src/contract/ids.ts";
import { moduleRef } from "../../src/contract/module-ref.ts";
import { createSignalFactory, type Signal, type SignalFactory, type SignalKind } from "../../src/contract/signal.ts";

export const ref = moduleRef(4, "ooda_loop", "act");
export const fixedNow = Date.parse("2026-03-04T05:06:07.089Z");

/** A small linear congruential source: the same draws for the same seed. */
export function seededRandom(seed = 1): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export function countingFactory(): { readonly signals: SignalFactory; readonly ids: IdSource; drawn(): number } {
  const source = createIdSource({ now: () => fixedNow, random: seededRandom() });
  let drawn = 0;
  const ids: IdSource = {
    next(entityType) {
      drawn += 1;
      return source.next(entityType);
    },
  };
  return { signals: createSignalFactory({ ids, now: () => fixedNow }), ids, drawn: () => drawn };
}

/** Conforming bodies, one per kind, with every key of the seed's table. */
export const bodies: Readonly<Record<SignalKind, Readonly<Record<string, unknown>>>> = {
  text: { text: "hi" },
  data: { data: [1, 2], schema: "list[int]", count: 2 },
  file: { file_id: "report.pdf", file_type: "pdf", path: "/tmp/report.pdf" },
  command: { action: "retry", target: { tier: 4, module: "ooda_loop", function: "act" } },
  stream: { chunk: "part", sequence: 3, final: false },
};

/** A JSON value as JSON.parse makes it: no -0, no undefined. */
export const jsonValue: fc.Arbitrary<unknown> = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)));
export const jsonObject = fc
  .dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true })
  .map((value) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>);

/** Any UTF-16 text, lone surrogates included. */
export const utf16: fc.Arbitrary<string> = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0x7f }), fc.integer({ min: 0xd7f0, max: 0xe010 }), fc.nat(0xffff)))
  .map((units) => String.fromCharCode(...units));

const word = fc.stringMatching(/^[A-Z0-9]{1,8}$/);
export const kernelCode = fc
  .record({ tier: fc.nat(7), words: fc.array(word, { minLength: 2, maxLength: 4 }) })
  .map(({ tier, words }) => `T${tier}_${words.join("_")}`);

/** Errors of every category, severity and retry decision, with causes up to three deep. */
export const kernelErrors: fc.Arbitrary<KernelError> = fc
  .array(
    fc.tuple(
      kernelCode,
      fc.constantFrom(...ErrorCategory.options),
      fc.constantFrom(...Severity.options),
      fc.string(),
      fc.boolean(),
      jsonObject,
    ),
    { minLength: 1, maxLength: 3 },
  )
  .map((links) =>
    links.reduce<KernelError | null>(
      (cause, [code, category, severity, message, retry, detail]) =>
        createError(code, category, severity, message, ref, retry, detail, cause),
      null,
    ),
  ) as fc.Arbitrary<KernelError>;

/** Signals of all kinds, made of JSON values, bytes chunks included. */
export const signals: fc.Arbitrary<Signal> = fc
  .record({
    text: utf16,
    data: jsonValue,
    payload: jsonObject,
    bytes: fc.uint8Array(),
    flag: fc.boolean(),
    path: fc.option(fc.string()),
    error: kernelErrors,
    parentId: fc.option(fc.string()),
    kind: fc.constantFrom("text", "data", "file", "command", "error", "stream", "bytes"),
  })
  .map(({ kind, text, data, payload, bytes, flag, path, error, parentId }) => {
    const { signals: make } = countingFactory();
    const options = { parentId, tags: { domain: text } };
    switch (kind) {
      case "text":
        return make.createTextSignal(text, ref, "cor_1", null, options);
      case "data":
        return make.createDataSignal(data, text, ref, "cor_1", { urgency: "high" }, options);
      case "file":
        return make.createFileSignal(text, "pdf", path, ref, "cor_1", options);
      case "command":
        return make.createCommandSignal("pivot", ref, ref, "cor_1", payload, options);
      case "error":
        return make.createErrorSignal(error, ref, "cor_1", options);
      case "stream":
        return make.createStreamSignal(text, 1, flag, ref, "cor_1", options);
      default:
        return make.createStreamSignal(bytes, 2, flag, ref, "cor_1", options);
    }
  });

export function throughJson<T>(value: T): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** An object nested to the given depth. */
export function nest(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = { a: value };
  return value;
}

/** What the call throws. */
export function thrown(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error("expected a throw");
}
