/** What a caller without types may pass where something else is meant: each made anew, none of it JSON of a request. */
const refuse = (): never => {
  throw new Error("hands off");
};

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function cyclic(): object {
  const made: Record<string, unknown> = { a: 1 };
  made["self"] = made;
  return made;
}

class Own {
  readonly x = 1;
}

/** Throws at whoever looks at it. */
export const untouchable = (): object =>
  new Proxy(
    {},
    { get: refuse, getPrototypeOf: refuse, ownKeys: refuse, has: refuse, getOwnPropertyDescriptor: refuse },
  );

export const hostileValues: readonly (readonly [string, () => unknown])[] = [
  ["undefined", () => undefined],
  ["null", () => null],
  ["NaN", () => Number.NaN],
  ["-1", () => -1],
  ["1.5", () => 1.5],
  ["Infinity", () => Number.POSITIVE_INFINITY],
  ["true", () => true],
  ["an empty text", () => ""],
  ["a text", () => "x"],
  ["a long text", () => "x".repeat(30_000)],
  ["half a surrogate pair", () => "\ud800"],
  ["a NUL", () => "a\0b"],
  ["a list", () => []],
  ["a list of null", () => [null]],
  ["an empty object", () => ({})],
  ["an unknown key", () => ({ nope: 1 })],
  ["a frozen object", () => Object.freeze({ a: 1 })],
  ["an object without prototype", () => Object.create(null)],
  ["an own __proto__", () => JSON.parse('{"__proto__": {"polluted": 1}}')],
  ["a symbol as key", () => ({ [Symbol("k")]: 1 })],
  ["a proxy that throws", untouchable],
  ["a revoked proxy", revoked],
  ["a getter that throws", () => Object.defineProperty({}, "a", { enumerable: true, get: refuse })],
  ["a toString that throws", () => ({ toString: refuse, toJSON: refuse })],
  // biome-ignore lint/suspicious/noThenProperty: that is what is passed
  ["a then that throws", () => ({ then: refuse })],
  ["a circle", cyclic],
  ["a bigint", () => 1n],
  ["a symbol", () => Symbol("s")],
  ["a Date", () => new Date(0)],
  ["a Date of no time", () => new Date(Number.NaN)],
  ["a promise", () => Promise.resolve(1)],
  ["an instance", () => new Own()],
  ["a function", () => () => 1],
  ["a function that throws", () => refuse],
  ["a class", () => Own],
  ["a Map", () => new Map([[1, 2]])],
  ["bytes", () => new Uint8Array(3)],
  ["an Error", () => new Error("e")],
];
