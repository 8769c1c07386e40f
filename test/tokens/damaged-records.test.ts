// A record of tokens that was cut, flipped or forged: a code or an answer, never a raw error, never a hang.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createTokenKernel,
  KernelErrorException,
  parseTokenEvents,
  replayTokens,
  type TokenExecutor,
  verifySnapshots,
} from "../../src/index.ts";
import { draft } from "./kernels.ts";

const executor: TokenExecutor = ({ id }, { memory, emit, checkpoint }) => {
  memory.write(`k${id}`, { id });
  emit("seen", { id });
  checkpoint({ id });
  return id === 2 ? { status: "Yielded", tokens: [draft({ cost: 1 })] } : { status: "Completed", output: id };
};

function record() {
  const kernel = createTokenKernel({ seed: 1, limits: { cpu_time: 5 }, executor });
  const capability = kernel.registerCapability("search", { max_invocations: 2 });
  for (let i = 0; i < 5; i += 1)
    kernel.submitToken(draft({ capability: i % 2 ? capability : null, cost: i, resources: { cpu_time: i } }));
  kernel.run();
  return { jsonl: kernel.toJsonl(), chain: kernel.snapshots() };
}
const sound = record();

const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(undefined, Number.NaN, 2 ** 60, -1, "__proto__", [], {}, null, "x".repeat(99)),
) as fc.Arbitrary<unknown>;

/** Every place of a JSON value, as a path. */
function placesOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, member]) => placesOf(member, [...path, key]))];
}

function replaceAt(value: unknown, [key, ...rest]: readonly string[], by: unknown): unknown {
  if (key === undefined) return by;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, unknown>;
  copy[key] = replaceAt(copy[key], rest, by);
  return copy;
}

async function answered(act: () => unknown): Promise<void> {
  try {
    await act();
  } catch (thrown) {
    if (!(thrown instanceof KernelErrorException)) throw thrown;
  }
}

describe("replayTokens", () => {
  it("[EVT-13] answers or refuses with a code whatever is cut off or flipped in its text", () =>
    fc.assert(
      fc.asyncProperty(fc.nat(sound.jsonl.length - 1), fc.nat(255), fc.boolean(), async (at, byte, cut) => {
        const rest = cut ? "" : String.fromCharCode(byte) + sound.jsonl.slice(at + 1);
        await answered(() => replayTokens(sound.jsonl.slice(0, at) + rest, { seed: 1, executor }));
      }),
      { numRuns: 300 },
    ));

  it("[EVT-13] answers or refuses with a code whatever stands in the place of something", () => {
    const events = sound.jsonl.split("\n").map((line) => JSON.parse(line) as unknown);
    const places = placesOf(events);
    return fc.assert(
      fc.asyncProperty(fc.constantFrom(...places), anything, async (place, by) => {
        const damaged = replaceAt(events, place, by);
        const lines = (Array.isArray(damaged) ? damaged : [damaged]).map((event) => JSON.stringify(event) ?? "");
        await answered(() => replayTokens(lines.join("\n"), { seed: 1, executor }));
        await answered(() => parseTokenEvents(lines.join("\n")));
      }),
      { numRuns: 600 },
    );
  });

  it("[EVT-13] a detail of 100,000 levels, a line that is no text, and no record at all", async () => {
    const [first] = sound.jsonl.split("\n");
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const line = (first as string).replace('"detail":{', `"detail":{"payload2":${deep},`);
    await answered(() => replayTokens(line, { seed: 1, executor }));
    for (const none of [null, 7, {}, undefined])
      await expect(replayTokens(none as never, { seed: 1, executor })).rejects.toBeInstanceOf(KernelErrorException);
  });
});

/** Takes its time as its payload says, in turns of the event loop, so that several tokens are open at once. */
const slow: TokenExecutor = async (token, context) => {
  for (let turns = (token.id * 3) % 5; turns > 0; turns -= 1) await Promise.resolve();
  return executor(token, context);
};

async function recordSlow(): Promise<readonly string[]> {
  const kernel = createTokenKernel({ seed: 1, executor: slow });
  for (const dependencies of [[], [], [1], [2, 3], [], [4]]) kernel.submitToken(draft({ dependencies }));
  await Promise.all([kernel.processNext(), kernel.processNext(), kernel.processNext()]);
  await kernel.run();
  return kernel.toJsonl().trimEnd().split("\n");
}

describe("replayTokens with executors that take their time", () => {
  it("[EVT-13] waits for open ones and names the difference if the end that a dependent needs is missing", async () => {
    const lines = await recordSlow();
    expect(await replayTokens(lines.join("\n"), { seed: 1, executor: slow })).toMatchObject({ identical: true });
    const ends = lines.filter((line) => line.includes('"kind":"completed"'));
    for (const end of ends) {
      const { identical, difference } = await replayTokens(lines.filter((line) => line !== end).join("\n"), {
        seed: 1,
        executor: slow,
      });
      expect(identical).toBe(false);
      expect(difference).toMatchObject({ timestamp: lines.indexOf(end) + 1, actual: JSON.parse(end) });
    }
  });

  it("[EVT-13] comes to an end whatever lines are dropped, doubled, renumbered, exchanged or cut", async () => {
    const lines = await recordSlow();
    const place = fc.nat(lines.length - 1);
    const damage = fc.record({
      what: fc.constantFrom("drop", "double", "renumber", "exchange", "cut"),
      at: place,
      to: place,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(damage, { minLength: 1, maxLength: 3 }), fc.boolean(), async (damages, inTurn) => {
        const damaged = damages.reduce(damageLines, lines);
        const text = inTurn ? damaged.map(renumber).join("\n") : damaged.join("\n");
        await answered(() => replayTokens(text, { seed: 1, executor: slow }));
        await answered(() => replayTokens(text, { seed: 1, executor }));
      }),
      { numRuns: 500 },
    );
  });
});

interface Damage {
  readonly what: string;
  readonly at: number;
  readonly to: number;
}

function damageLines(lines: readonly string[], { what, at, to }: Damage): readonly string[] {
  const line = lines[at];
  if (line === undefined) return lines;
  if (what === "drop") return lines.toSpliced(at, 1);
  if (what === "double") return lines.toSpliced(to, 0, line);
  if (what === "renumber") return lines.with(at, renumber(line, to));
  if (what === "exchange") return lines[to] === undefined ? lines : lines.with(at, lines[to]).with(to, line);
  return [...lines.slice(0, at), line.slice(0, to)];
}

/** A line that says another place in the stream. A line that is cut has none. */
const renumber = (line: string, at: number): string => line.replace(/"timestamp":\d+/, `"timestamp":${at + 1}`);

describe("verifySnapshots", () => {
  it("[EVT-14] names a break, or finds none, whatever stands in the place of something", () => {
    const places = placesOf(sound.chain).filter((place) => place.length > 0);
    fc.assert(
      fc.property(fc.constantFrom(...places), anything, (place, by) => {
        const found = verifySnapshots(replaceAt(sound.chain, place, by) as never);
        expect(found === null || Number.isInteger(found.index)).toBe(true);
      }),
      { numRuns: 600 },
    );
  });

  it("[EVT-14] what is no chain, holes, cycles and depth are breaks of format", () => {
    const cyclic: Record<string, unknown> = { ...sound.chain[0] };
    cyclic["executor_state"] = cyclic;
    let deep: unknown = null;
    for (let i = 0; i < 100_000; i += 1) deep = [deep];
    const holes: unknown[] = [];
    holes[2] = sound.chain[0];
    for (const chain of [null, 7, {}, "x", [null], holes, [cyclic], [{ ...sound.chain[0], executor_state: deep }]])
      expect(verifySnapshots(chain as never)).toEqual({ index: 0, reason: "format" });
    expect(verifySnapshots(sound.chain)).toBeNull();
  });
});
