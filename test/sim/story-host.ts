/**
 * What a host brings to the kernel of a process: hooks, securities, a planner, rules, keys. Each answers in the manner
 * that the story has for its turn, and at once when the story has none left.
 */
import type { GatePreview } from "../../src/contract/operator.ts";
import type { PolicyRule, RuleAnswer } from "../../src/contract/policy.ts";
import { operatorError } from "../../src/define/define-operator.ts";
import type { KernelOptions } from "../../src/kernel/options.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { Middleware, SkillExecutionContext } from "../../src/ports/middleware.ts";
import type { Security, Verdict } from "../../src/ports/perception.ts";
import type { Planner } from "../../src/ports/planner.ts";
import { type OutsideWorld, unanswered } from "./outside-world.ts";
import { publicKeyOf } from "./sign-words.ts";
import type { Story } from "./story.ts";
import { childIntent } from "./story-children.ts";
import type { StoryRelease } from "./story-deploy.ts";
import type { Verdict as Judges, Manner, Shows, StoryHooks } from "./story-features.ts";
import { maskRules } from "./story-masks.ts";
import { havingRead } from "./story-messages.ts";
import { samePersonIn } from "./story-persons.ts";
import { nameOf, plainOf, planOf, planOfChild } from "./story-plan.ts";
import { waitTokens } from "./story-tokens.ts";

/** Whose hands: the process that makes the call. */
export interface Hands {
  /** As its release has it. */
  readonly story: Story;
  /** As the first release has it. */
  readonly first: Story;
  readonly release: StoryRelease | null;
  readonly world: OutsideWorld;
  readonly process: string;
  readonly clock: Clock;
}

/** Says so in this manner. `at_once` and `nothing` are no promises. */
export function answerAs<T>(manner: Manner, { world, process }: Hands, say: () => T, of = ""): T | Promise<T> {
  world.mark(`host answers ${manner}`);
  switch (manner) {
    case "at_once":
      return say();
    case "soon":
      return new Promise((resolve) => setImmediate(resolve)).then(say);
    case "late":
      return world.wait(process).then(say);
    case "never":
      world.count(unanswered(process));
      return new Promise(() => undefined);
    default:
      throw thrownAs[manner](of);
  }
}

const thrownAs: Readonly<Record<Exclude<Manner, "at_once" | "soon" | "late" | "never">, (of: string) => unknown>> = {
  throws: (of) => new Error(`the host throws plainly${of}`),
  transient: (of) => operatorError({ code: "BUSY", message: `the host is busy${of}`, category: "transient" }),
  fatal: (of) =>
    operatorError({ code: "NO", message: `the host says no${of}`, category: "dependency", retryable: false }),
  policy: (of) => operatorError({ code: "NOT_SO", message: `the host may not${of}`, category: "policy_denied" }),
  nothing: () => undefined,
};

/** The next of a list, by how often this was asked. */
function nextOf<T>({ world }: Hands, name: string, list: readonly T[], from = 0): T | "at_once" {
  return list[from + world.count(name)] ?? "at_once";
}

const refusalOf = (stepId: string): string => `, at ${stepId} alone`;
/** Of which step this message says that a hook refused it; null where it is not of a hook. */
export const refusedIn = (message: string): string | null => /, at (\S+) alone/.exec(message)?.[1] ?? null;

const thrown: ReadonlySet<Manner> = new Set(Object.keys(thrownAs) as Manner[]);

export function storyHooks(hands: Hands): readonly Middleware[] {
  const { story, world, process } = hands;
  const hook = (name: string, phase: keyof StoryHooks, manners: readonly Manner[]) => {
    return ({ request_id, step_id, params, state }: SkillExecutionContext): void | Promise<void> => {
      world.overhear(story, { params, state });
      const where = `${request_id} ${step_id}`;
      const from = story.steps.findIndex(({ id }) => id === plainOf(step_id));
      const manner = nextOf(hands, `${name} ${phase} ${where}`, manners, from);
      if (phase === "before") world.ask(`${process} ${where}`, name, thrown.has(manner));
      return answerAs(manner, hands, () => undefined, refusalOf(step_id));
    };
  };
  return story.hooks.map((phases, i) => {
    const named = Object.entries(phases) as [keyof StoryHooks, readonly Manner[] | null][];
    const does = named.flatMap(([phase, list]) => (list === null ? [] : [[phase, hook(`hook${i}`, phase, list)]]));
    return { name: `hook${i}`, ...Object.fromEntries(does) };
  });
}

export function storySecurity(hands: Hands): Partial<Security> {
  const { story } = hands;
  const { security } = story;
  if (security === null) return {};
  const judge = (how: Judges): Verdict<never> | Promise<Verdict<never>> => {
    const refuses = how === "no" || how === "no_soon";
    const manner = how === "no" ? "at_once" : how === "no_soon" ? "soon" : how;
    return answerAs(manner, hands, () => (refuses ? { ok: false, reason: "the story refuses" } : { ok: true }));
  };
  const next = (name: "output" | "chunk") => () => judge(nextOf(hands, `security ${name}`, security[name]));
  const stepIn = (params: unknown) => story.steps.findIndex(({ id }) => id === plainOf(String(Object(params).of)));
  return {
    validateParams: (params) => judge(security.params[stepIn(params)] ?? "at_once"),
    validateOutput: next("output"),
    validateChunk: next("chunk"),
  };
}

export function storyPlanner(hands: Hands): Planner | null {
  const { planner } = hands.story;
  if (planner === null) return null;
  return {
    plan({ situation, intent: { intent_id, type, inputs } }) {
      const how = nextOf(hands, `planner ${intent_id}`, planner);
      if (how === "nonsense") return { plan: { nonsense: true }, usage: { total_cost: -1 } } as never;
      return answerAs(how, hands, () => ({
        plan: (type === childIntent
          ? planOfChild(hands.story, Number(inputs["depth"]), hands.release)
          : havingRead(hands.story, planOf(hands.story, situation.round, hands.release), situation)) as never,
        usage: { total_cost: situation.round },
      }));
    },
  };
}

/** What a person is shown of a call of this operator. */
export function showAs(hands: Hands, operator: number, list: readonly Shows[]): GatePreview | Promise<GatePreview> {
  const how = nextOf(hands, `preview ${operator}`, list);
  if (how === "odd") return { nothing: "to see" } as never;
  const rests = how === "basis" || how === "moved";
  const digest = how === "moved" ? String(hands.world.basis) : "1";
  return answerAs(rests ? "at_once" : how, hands, () => ({
    preview: "what it will do",
    ...(rests ? { diff: "a line", basis: [{ name: "it", digest }] } : {}),
  }));
}

export function checkAs(hands: Hands, operator: number, list: readonly Manner[]): void | Promise<void> {
  return answerAs(nextOf(hands, `check ${operator}`, list), hands, () => undefined);
}

/** A rule is asked again where a story is replayed, and says the same: late as it is, it answers in time. */
function inTime({ world, process, clock }: Hands): Promise<void> {
  if (world.isOver) return Promise.resolve();
  for (let timers = 0; timers < 2; timers += 1) world.count(unanswered(process));
  return new Promise((resolve) => clock.setTimer(clock.now() + 300, resolve));
}

type Ruled = RuleAnswer | null;

/** One rule a stage: at once, soon or late it says what the story has. */
export function storyRules(hands: Hands): PolicyRule[] {
  const { operators, planRuling, outcomeRuling, gateRuling } = hands.story;
  const rulings = new Map(operators.map(({ ruling }, i) => [nameOf(i), ruling]));
  const say = (ruling: string, payload: unknown, path: string): Ruled | Promise<Ruled> => {
    if (ruling === "none") return null;
    if (ruling === "soon" || ruling === "later") return Promise.resolve(null);
    const decision = ruling.replace("late_", "");
    const answer: Ruled =
      decision === "late" ? null : { decision: decision as never, reason: `the story says ${ruling}` };
    if (answer !== null && decision === "TRANSFORM") answer.transform = { ...(payload as object), transformed: true };
    if (answer !== null && decision === "REDACT") answer.redactions = [path];
    return ruling.startsWith("late") ? inTime(hands).then(() => answer) : answer;
  };
  return [
    {
      name: "story",
      stages: ["action"],
      evaluate: ({ subject }) => say(rulings.get(subject.operator ?? "") ?? "none", subject.payload, "from"),
    },
    { name: "story plans", stages: ["plan"], evaluate: () => say(planRuling, null, "") },
    {
      name: "story outcomes",
      stages: ["outcome"],
      evaluate: ({ subject }) => (subject.payload === null ? null : say(outcomeRuling, subject.payload, "by")),
    },
    {
      name: "story gates",
      stages: ["gate"],
      evaluate: ({ auth }) => (gateRuling === "DENY" && auth.principal_id !== 4 ? null : say(gateRuling, null, "")),
    },
  ];
}

/** All that the story's host brings beside packages. */
export function hostOptions(hands: Hands): Partial<KernelOptions> {
  const planner = storyPlanner(hands);
  const { budgets, models } = hands.story;
  return {
    policies: [...storyRules(hands), ...maskRules(hands.first)],
    middleware: storyHooks(hands),
    security: storySecurity(hands),
    approverKeys: ({ id }) => (Number(id) % 2 === 0 ? publicKeyOf(id) : Promise.resolve([publicKeyOf(id)])),
    ...(hands.story.persons.length === 0 ? {} : { samePerson: samePersonIn(hands.story) }),
    waitTokens,
    ...(planner === null ? {} : { planner }),
    ...(models === null ? {} : { models: { endpoints: [...models.endpoints] } }),
    ...(hands.release?.policyVersion == null ? {} : { policyVersion: hands.release.policyVersion }),
    ...(budgets === null ? {} : { budgets }),
  };
}
