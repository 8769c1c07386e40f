/** A story in lines, for people to read: what there was, what happened, and what it left in the ledger and outside. */
import type { Durable, OutsideWorld } from "./outside-world.ts";
import type { Played } from "./play-story.ts";
import type { Story } from "./story.ts";
import { featuresOf } from "./story-features.ts";

export function describeStory(story: Story, { failure, world }: Played): string {
  const { seed, store, processes, maxReplans, operators, steps, actions, durability } = story;
  const used = new Set(steps.map(({ operator }) => operator));
  return [
    `  seed ${seed}, shortened: ${failure}`,
    `  ${processes} processes on ${store}, durability ${durability}, ${maxReplans} replans`,
    ...Object.entries(featuresOf(story)).map(([name, value]) => `  ${name} ${JSON.stringify(value)}`),
    ...(story.deploy === null ? [] : [`  deploy ${JSON.stringify(story.deploy)}`]),
    ...operators.flatMap((operator, i) => (used.has(i) ? [`  op ${i} ${JSON.stringify(operator)}`] : [])),
    ...steps.map((step) => `  step ${JSON.stringify(step)}`),
    ...actions.map(({ does, at, of, by, how }) => `  ${does} at ${at} of ${of} by ${by} how ${how}`),
    ...describeRows(world),
  ].join("\n");
}

/** Row by row, with the calls that were made when that many rows were durable. */
function describeRows({ durable, calls, writers }: OutsideWorld): readonly string[] {
  const rows = Map.groupBy(durable, ({ at }) => at);
  return [...rows].flatMap(([at, events]) => [
    `    ${at} ${writers[at - 1]} ${events[0]?.event.workflow_id?.slice(-4)}: ${events.map(emitEvent).join(", ")}`,
    ...calls
      .filter((call) => call.at === at)
      .map(
        (call) =>
          `      ${call.process} calls ${call.step_id} of ${call.workflow_id.slice(-4)}${call.sent ? ", sent" : ""}`,
      ),
  ]);
}

const emitEvent = ({ event }: Durable): string =>
  event.step_id === null ? event.event_type : `${event.event_type} ${event.step_id}`;
