/**
 * `npm run crash`: the fixed scenario cut at every commit on both sides, then random scenarios (`-- --seeds N`, 10 by
 * default) cut everywhere, each also with a second death on the way back. Exit code 1 when any cut run ends otherwise
 * than the unhurt one; the line then names scenario and point.
 */
import { parseArgs } from "node:util";
import { seededRandom } from "../../src/adapters/seeded-random.ts";
import { type Cut, cutAt, type Ground, inPairs, makeGround, type Point, runUnhurt } from "./crash-at.ts";

const { values } = parseArgs({ options: { seeds: { type: "string", default: "10" } } });
const seeds = Number(values.seeds);
if (!Number.isInteger(seeds) || seeds < 0) throw new RangeError("--seeds takes a whole number");

const isSound = (cut: Cut): boolean => cut.killed && cut.same && cut.doubled.length === 0;

function pointsOf(commits: number, scenario: number): readonly Point[] {
  const random = seededRandom(scenario);
  const once = (["before", "after"] as const).flatMap((side) =>
    Array.from({ length: commits }, (_, i): Point => ({ n: i + 1, side })),
  );
  const twice = once.map((point): Point => ({ ...point, again: 1 + Math.floor(random() * 4) }));
  return scenario === 1 ? [...once, ...twice] : twice;
}

async function crashScenario(ground: Ground, scenario: number): Promise<number> {
  const unhurt = await runUnhurt(ground, scenario);
  const points = pointsOf(unhurt.commits, scenario);
  const cuts = await inPairs(points, (point) => cutAt(ground, unhurt, { scenario, point }));
  const broken = cuts.filter((cut) => !isSound(cut));
  console.log(`scenario ${scenario}: ${unhurt.commits} commits, ${cuts.length} crashes, ${broken.length} broken`);
  for (const { point, ending, killed, doubled } of broken)
    console.log(JSON.stringify({ scenario, point, killed, doubled, ending, unhurt: unhurt.ending }));
  return broken.length;
}

using ground = makeGround();
let broken = 0;
for (let scenario = 1; scenario <= seeds + 1; scenario += 1) broken += await crashScenario(ground, scenario);
process.exitCode = broken === 0 ? 0 : 1;
