/**
 * `npm run sim -- --seeds N --from S`: plays N stories, one of each seed, and prints how many, how fast, what was met, and of
 * each failure its seed and its shortest story. Exit code 1 when any failed. `--shrink no` leaves the stories as they are;
 * `--store postgres-like` plays them on a store as in Postgres, with two to five processes; `--store power-cut` on a machine that
 * loses its power now and then.
 */
import { parseArgs } from "node:util";
import { playStory } from "./play-story.ts";
import { shrinkStory } from "./shrink-story.ts";
import { draws } from "./story.ts";
import { describeStory } from "./tell-story.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "200" },
    from: { type: "string", default: "1" },
    shrink: { type: "string", default: "yes" },
    most: { type: "string", default: "5" },
    store: { type: "string", default: "any" },
  },
});
const [seeds, from, most] = [Number(values.seeds), Number(values.from), Number(values.most)];
if (![seeds, from, most].every(Number.isInteger)) throw new RangeError("--seeds, --from and --most take whole numbers");

if (!Object.hasOwn(draws, values.store)) throw new RangeError(`--store takes ${Object.keys(draws).join(", ")}`);
const draw = draws[values.store as keyof typeof draws];

const met = new Map<string, number>();
let failed = 0;
let played = 0;
let shrinkMs = 0;
const begun = performance.now();
for (let seed = from; seed < from + seeds && failed < most; seed += 1) {
  const story = draw(seed);
  const first = await playStory(story);
  const { failure, marks } = first;
  played += 1;
  for (const name of marks.keys()) met.set(name, (met.get(name) ?? 0) + 1);
  if (played % 1000 === 0) console.error(`${played} stories, ${failed} failed`);
  if (failure === null) continue;
  failed += 1;
  console.log(`seed ${seed}: ${failure}`);
  if (values.shrink === "no") continue;
  const since = performance.now();
  const short = await shrinkStory(story, first);
  shrinkMs += performance.now() - since;
  console.log(describeStory(short.story, short.played));
}
const seconds = (performance.now() - begun - shrinkMs) / 1000;
console.log(
  `met: ${[...met]
    .sort()
    .map(([name, n]) => `${name} ${n}`)
    .join(", ")}`,
);
console.log(`${played} stories, ${failed} failed, ${seconds.toFixed(1)} s, ${(played / seconds).toFixed(1)} stories/s`);
process.exitCode = failed === 0 ? 0 : 1;
