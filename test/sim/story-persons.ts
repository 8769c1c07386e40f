/**
 * Persons with two names, who ask, edit and vote as either: a host says which names are one person's, or cannot say.
 * Drawn from a stream of its own.
 */
import type { PrincipalRef } from "../../src/contract/gate-vote.ts";
import type { SamePerson } from "../../src/ports/same-person.ts";
import { drawing } from "./drawing.ts";
import type { Deed, Story } from "./story.ts";

/**
 * Two names, and what the host says when it is asked about them in this order; in the other it says that they are two.
 */
export interface StoryPerson {
  readonly names: readonly [PrincipalRef, PrincipalRef];
  readonly says: "one" | "nothing" | "later" | "throws";
}

const stream = 0x3c6ef372;
const user = (id: number): PrincipalRef => ({ type: "user", id });
const service = (id: number): PrincipalRef => ({ type: "service", id });

const pairs: readonly StoryPerson["names"][] = [
  [user(1), service(1)],
  [service(2), user(2)],
  [user(3), user(4)],
  [service(3), user(11)],
  [user(12), service(4)],
];
const spoken: ReadonlySet<Deed> = new Set(["submit", "decide", "say", "foretell", "withdraw", "delegate", "retry"]);

const manners: readonly StoryPerson["says"][] = ["one", "one", "one", "one", "nothing", "later", "throws"];

/** From here on a caller is somebody by their other name (`callerOf`). */
export const otherNames = 60;

export function withPersons(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (!draw.chance(0.15)) return story;
  const chosen = pairs.filter(() => draw.chance(0.6));
  const persons = chosen.map((names) => ({ names, says: draw.pick(manners) }));
  const actions = story.actions.map((action) =>
    spoken.has(action.does) && draw.chance(0.35) ? { ...action, by: otherNames + draw.upTo(otherNames) } : action,
  );
  const { id } = draw.pick(story.steps);
  const approvers = draw.chance(0.2) ? { approvers: [1, 2, 3].map(user) } : {};
  const quorum = draw.chance(0.6) ? { quorum: { approvals: 2 } } : {};
  const gate = { reason: "two persons look", separation: draw.chance(0.8), ...approvers, ...quorum };
  const steps = story.steps.map((step) => (step.id === id ? { ...step, gate } : step));
  return { ...story, persons, actions, steps };
}

const isName = (a: PrincipalRef, b: PrincipalRef): boolean => a.type === b.type && String(a.id) === String(b.id);

export function samePersonIn({ persons }: Pick<Story, "persons">): SamePerson {
  return (a, b) => {
    const { says } = persons.find(({ names: [one, other] }) => isName(one, a) && isName(other, b)) ?? {};
    if (says === "throws") throw new Error("the directory is away");
    return (says === "later" ? Promise.resolve(true) : says === "nothing" ? undefined : says === "one") as boolean;
  };
}

/** Whether these two may not count as two: they are one person, or nobody can say. */
export const mayBeOne =
  ({ persons }: Pick<Story, "persons">) =>
  (a: PrincipalRef, b: PrincipalRef): boolean =>
    isName(a, b) || persons.some(({ names }) => [a, b].every((who) => names.some((name) => isName(name, who))));
