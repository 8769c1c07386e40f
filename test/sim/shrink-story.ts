/** Makes a failing story short: parts are left out for as long as the same law stays broken. */
import { type Played, playStory } from "./play-story.ts";
import type { Story } from "./story.ts";

const mostTries = 400;

const lawOf = (failure: string | null): string | null => failure?.slice(0, failure.indexOf(":")) ?? null;

/** The shortest story found, and what fails in it. */
export async function shrinkStory(
  story: Story,
  first: Played,
): Promise<{ readonly story: Story; readonly played: Played }> {
  const law = lawOf(first.failure);
  const best = { story, played: first };
  let tries = 0;
  const take = async (shorter: Story): Promise<boolean> => {
    tries += 1;
    if (tries > mostTries) return false;
    const played = await playStory(shorter);
    if (played.failure === null || lawOf(played.failure) !== law) return false;
    best.story = shorter;
    best.played = played;
    return true;
  };
  for (let moved = true; moved && tries <= mostTries; ) {
    moved = await dropActions(() => best.story, take);
    moved = (await dropSteps(() => best.story, take)) || moved;
    moved = (await plainer(() => best.story, take)) || moved;
  }
  return best;
}

type Now = () => Story;
type Take = (shorter: Story) => Promise<boolean>;

async function dropActions(now: Now, take: Take): Promise<boolean> {
  let moved = false;
  for (let size = Math.ceil(now().actions.length / 2); size >= 1; size = Math.floor(size / 2))
    for (let from = now().actions.length - size; from >= 0; from -= size) {
      const actions = now().actions.filter((_, i) => i < from || i >= from + size);
      if (await take({ ...now(), actions })) moved = true;
    }
  return moved;
}

async function dropSteps(now: Now, take: Take): Promise<boolean> {
  let moved = false;
  for (const { id } of [...now().steps].reverse()) {
    const steps = now()
      .steps.filter((step) => step.id !== id)
      .map((step) => ({
        ...step,
        depends_on: step.depends_on.filter((other) => other !== id),
        applies: step.applies === id ? null : step.applies,
      }));
    if (steps.length > 0 && (await take({ ...now(), steps }))) moved = true;
  }
  return moved;
}

/** One process, no replans, memory, no gate: whatever is not needed is not told. */
async function plainer(now: Now, take: Take): Promise<boolean> {
  let moved = false;
  const changes: ((story: Story) => Story)[] = [
    (story) => ({ ...story, processes: 1 }),
    (story) => ({ ...story, maxReplans: 0 }),
    (story) => ({ ...story, store: "memory" }),
    (story) => ({ ...story, durability: "full" }),
    (story) => ({ ...story, operators: story.operators.map((operator) => ({ ...operator, ruling: "none" })) }),
    ...now().steps.flatMap(({ id }) => [
      (story: Story) => alter(story, id, { gate: null }),
      (story: Story) => alter(story, id, { behaviours: [] }),
      (story: Story) => alter(story, id, { outcome: false, applies: null }),
      (story: Story) => alter(story, id, { depends_on: [] }),
    ]),
  ];
  for (const change of changes) {
    const shorter = change(now());
    if (JSON.stringify(shorter) !== JSON.stringify(now()) && (await take(shorter))) moved = true;
  }
  return moved;
}

const alter = (story: Story, id: string, changed: Partial<Story["steps"][number]>): Story => ({
  ...story,
  steps: story.steps.map((step) => (step.id === id ? { ...step, ...changed } : step)),
});
