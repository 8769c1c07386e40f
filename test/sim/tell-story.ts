/** A story in lines, for people to read. */
import type { Story } from "./story.ts";

export function tellStory(story: Story, failure: string): string {
  const { seed, store, processes, maxReplans, operators, steps, actions } = story;
  return [
    `  seed ${seed}, shortened: ${failure}`,
    `  ${processes} processes on ${store}, ${maxReplans} replans`,
    ...operators.map((operator, i) => `  op ${i} ${JSON.stringify(operator)}`),
    ...steps.map((step) => `  step ${JSON.stringify(step)}`),
    ...actions.map(({ does, at, of, by, how }) => `  ${does} at ${at} of ${of} by ${by} how ${how}`),
  ].join("\n");
}
