/**
 * `npm run sim -- --seeds N --from S`: plays N stories, one of each seed, and prints how many, how fast, what was met,
 * and of each failure its seed and its shortest story. Exit code 1 when any failed; one that does not end fails.
 * `--jobs N` of them are played at once, as many as there are processors unless it says. `--shrink no` leaves the
 * stories as they are; `--store postgres-like` plays them on a store as in Postgres, with two to five processes;
 * `--store power-cut` on a machine that loses its power now and then.
 */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { draws } from "./story.ts";
import { StoryPlayer } from "./story-player.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "200" },
    from: { type: "string", default: "1" },
    jobs: { type: "string", default: String(availableParallelism()) },
    shrink: { type: "string", default: "yes" },
    most: { type: "string", default: "5" },
    store: { type: "string", default: "any" },
  },
});
const { store } = values;
const [seeds, from, jobs, most] = [values.seeds, values.from, values.jobs, values.most].map(Number) as [
  number,
  number,
  number,
  number,
];
if (![seeds, from, jobs, most].every(Number.isInteger))
  throw new RangeError("--seeds, --from, --jobs and --most take whole numbers");
if (!Object.hasOwn(draws, store)) throw new RangeError(`--store takes ${Object.keys(draws).join(", ")}`);

const met = new Map<string, number>();
let failed = 0;
let played = 0;
let next = from;

async function playOne(player: StoryPlayer, seed: number): Promise<void> {
  const { failure, met: marks } = await player.play(seed);
  played += 1;
  for (const name of marks) met.set(name, (met.get(name) ?? 0) + 1);
  if (played % 1000 === 0) console.error(`${played} stories, ${failed} failed`);
  if (failure === null) return;
  failed += 1;
  const short = values.shrink === "no" || failure.startsWith("ends: ") ? "" : `\n${await player.shrink()}`;
  console.log(`seed ${seed}: ${failure}${short}`);
}

async function playOn(): Promise<void> {
  const player = new StoryPlayer(store);
  while (next < from + seeds && failed < most) {
    next += 1;
    await playOne(player, next - 1);
  }
  await player.close();
}

const begun = performance.now();
await Promise.all(Array.from({ length: Math.max(1, jobs) }, playOn));
const seconds = (performance.now() - begun) / 1000;
const counts = [...met].sort().map(([name, n]) => `${name} ${n}`);
console.log(`met: ${counts.join(", ")}`);
console.log(`${played} stories, ${failed} failed, ${seconds.toFixed(1)} s, ${(played / seconds).toFixed(1)} stories/s`);
process.exitCode = failed === 0 ? 0 : 1;
