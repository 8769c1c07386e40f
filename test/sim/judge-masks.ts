/**
 * What a rule masks of what a person wrote stands nowhere: in no row, no call, no log, and no hook is told of it. What
 * is always masked reaches no operator, whoever it is of.
 */

import { isDeepStrictEqual } from "node:util";
import { redact } from "../../src/contract/redact.ts";
import type { Called, OutsideWorld } from "./outside-world.ts";
import type { Story } from "./story.ts";
import { covers, type Written } from "./story-masks.ts";
import { findStep, nameOf } from "./story-plan.ts";

export function judgeMasks(story: Story, world: OutsideWorld): readonly string[] {
  const { masks } = story;
  if (masks.length === 0) return [];
  const isMasked = ({ stage, operator, path }: Written): boolean =>
    masks.some(
      (mask) =>
        mask.stage === stage &&
        (stage === "outcome" || nameOf(mask.operator) === operator) &&
        mask.paths.some((masked) => covers(masked, path)),
    );
  const hidden = world.texts.filter(isMasked);
  const told = hidden.length === 0 ? [] : toldIn(world);
  return [
    ...hidden.flatMap(({ text, path }) => {
      const where = told.find(([, said]) => said.includes(text))?.[0];
      return where === undefined ? [] : [`masked: what a person wrote as ${path} stands in ${where}`];
    }),
    ...masks
      .filter(({ stage, where }) => stage === "action" && where === "always")
      .flatMap(({ operator, paths }) => {
        const own = world.calls.filter(({ step_id }) => findStep(story, step_id)?.operator === operator);
        const open = own.filter((call) => !isAsMasked(call, paths));
        return open.map(({ step_id, workflow_id }) => `masked: ${step_id} of ${workflow_id} was called with it`);
      }),
  ];
}

const isAsMasked = ({ input }: Called, paths: readonly string[]): boolean =>
  isDeepStrictEqual(redact(input as never, paths), input);

/** All that is told, with where. */
const toldIn = ({ durable, calls, overheard }: OutsideWorld): readonly (readonly [string, string])[] => [
  ...durable.map(({ event }) => [`${event.event_type} of ${event.workflow_id}`, JSON.stringify(event)] as const),
  ...calls.map((call) => [`the call of ${call.step_id}`, JSON.stringify(call.input)] as const),
  ...overheard.map((said) => ["what a host was told", said] as const),
];
