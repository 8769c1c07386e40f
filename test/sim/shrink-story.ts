/** Makes a failing story short: parts are left out for as long as the same law stays broken. */
import { type Played, playStory } from "./play-story.ts";
import type { Story } from "./story.ts";
import type { StoryRelease } from "./story-deploy.ts";
import { noFeatures } from "./story-features.ts";

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
        settled: step.settled?.filter((other) => other !== id),
        when: step.when?.of === id ? undefined : step.when,
      }));
    if (steps.length > 0 && (await take({ ...now(), steps }))) moved = true;
  }
  return moved;
}

/** One process, no replans, memory, no gate, no feature: whatever is not needed is not told. */
async function plainer(now: Now, take: Take): Promise<boolean> {
  let moved = false;
  const changes: Change[] = [
    ...featureless(now()),
    (story) => ({ ...story, processes: 1 }),
    (story) => ({ ...story, maxReplans: 0 }),
    (story) => ({ ...story, store: "memory" }),
    (story) => ({ ...story, durability: "full" }),
    (story) => ({ ...story, deploy: null }),
    ...changeless(now()),
    ...now().operators.flatMap((_, i) => [
      (story: Story) => alterOperator(story, i, { ruling: "none" }),
      (story: Story) => alterOperator(story, i, { check: null }),
      (story: Story) => alterOperator(story, i, { preview: null }),
      (story: Story) => alterOperator(story, i, { cost: 0 }),
    ]),
    ...now().steps.flatMap(({ id, gate }) => [
      (story: Story) => alter(story, id, { gate: null }),
      ...Object.keys(gate ?? {}).map((name) => (story: Story) => alter(story, id, { gate: without(gate, name) })),
      (story: Story) => alter(story, id, { behaviours: [] }),
      (story: Story) => alter(story, id, { outcome: false, applies: null }),
      (story: Story) => alter(story, id, { depends_on: [], when: undefined, settled: undefined }),
      (story: Story) => alter(story, id, { when: undefined }),
      (story: Story) => alter(story, id, { settled: undefined }),
      (story: Story) => alter(story, id, { as: undefined }),
    ]),
  ];
  for (const change of changes) {
    const shorter = change(now());
    if (JSON.stringify(shorter) !== JSON.stringify(now()) && (await take(shorter))) moved = true;
  }
  return moved;
}

type Change = (story: Story) => Story;

/** The same release, with each of its changes left out. */
function changeless({ deploy }: Story): readonly Change[] {
  if (deploy === null) return [];
  const alter = (changed: Partial<StoryRelease>): Change => {
    return (story) => ({
      ...story,
      deploy: { ...deploy, release: { ...(story.deploy ?? deploy).release, ...changed } },
    });
  };
  const whole = {
    lacks: [],
    omits: [],
    gates: {},
    rulings: {},
    operators: {},
    policyVersion: null,
    version: "1.0",
  } as const;
  const parts = Object.entries(whole).map(([name, value]) => alter({ [name]: value }));
  const { operators } = deploy.release;
  const each = Object.entries(operators).flatMap(([i, changed]) => [
    alter({ operators: without(operators, i) }),
    ...Object.keys(changed).map((name) => alter({ operators: { ...operators, [i]: without(changed, name) } })),
  ]);
  return [...parts, alter({ pins: false }), ...each];
}

/** Each feature left out, and then each part of it. */
function featureless({ hooks, security, limits, budgets }: Story): readonly Change[] {
  const none = Object.entries(noFeatures).map(
    ([name, value]): Change =>
      (story) => ({ ...story, [name]: value }),
  );
  const one = hooks.map(
    (_, i): Change =>
      (story) => ({ ...story, hooks: story.hooks.filter((_, j) => j !== i) }),
  );
  const phases = (["before", "after", "onError"] as const).map((phase): Change => {
    return (story) => ({ ...story, hooks: story.hooks.map((hook) => ({ ...hook, [phase]: null })) });
  });
  const sizes = Object.keys(limits).map(
    (name): Change =>
      (story) => ({ ...story, limits: without(story.limits, name) }),
  );
  const ceilings = (budgets?.limits ?? []).map(
    (limit): Change =>
      (story) => {
        return {
          ...story,
          budgets: { ...story.budgets, limits: story.budgets?.limits?.filter((other) => other !== limit) },
        };
      },
  );
  const judged = Object.keys(security ?? {}).map((name): Change => {
    return (story) => ({ ...story, security: story.security === null ? null : { ...story.security, [name]: [] } });
  });
  return [...none, ...one, ...phases, ...sizes, ...ceilings, ...judged];
}

function without<T extends object>(from: T | null, name: string): T {
  return Object.fromEntries(Object.entries(from ?? {}).filter(([key]) => key !== name)) as T;
}

function alterOperator(story: Story, index: number, changed: Partial<Story["operators"][number]>): Story {
  return { ...story, operators: story.operators.map((one, i) => (i === index ? { ...one, ...changed } : one)) };
}

const alter = (story: Story, id: string, changed: Partial<Story["steps"][number]>): Story => ({
  ...story,
  steps: story.steps.map((step) => (step.id === id ? { ...step, ...changed } : step)),
});
