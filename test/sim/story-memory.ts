/**
 * What a host writes into the memory of two tenants, and requests that are about something, in a thread: drawn from a
 * stream of its own. Each record says in its value where it belongs.
 */
import { ask, at, people } from "./ask.ts";
import { drawing } from "./drawing.ts";
import type { Stage } from "./play-story.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { Action, Story } from "./story.ts";
import { weave } from "./story-features.ts";

const stream = 0x510e527f;

export function withMemory(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (!draw.chance(0.15)) return story;
  return { ...story, memory: true, actions: weave(draw, story.actions, ["remember"]) };
}

const threads = [null, "t1", "t1", "t2"] as const;
const scopes = [null, "a", "a", "b"] as const;
const keys = [...people.map(({ id }) => `profile:${id}`), "scope:story:a", "scope:story:b", "note:1", "note:2"];

/** What a request is about; who asks under a key asks about one thing. */
export function placeOf({ memory }: Story, { of, by, how }: Action): object {
  if (!memory) return {};
  const [thread, about] = how % 5 === 0 ? [of % 2, of % 2] : [of, by];
  const scope_id = at(scopes, about) ?? null;
  const scope = scope_id === null ? null : { scope_type: "story", scope_id };
  return { thread_id: at(threads, thread), scope, input: { text: thread % 3 === 0 ? "tell it again" : "" } };
}

export function remember(stage: Stage, { of, by, how }: Action, process: SimulatedProcess): undefined {
  const { story, world } = stage;
  if (!story.memory) return undefined;
  const [tenant_id, thread_id = null, key = ""] = [by % 4 === 3 ? 2 : 1, at(threads, of), at(keys, how)];
  const n = world.count("remembered");
  const value = { tenant_id, thread_id, n, said: of % 2 === 0 ? "again" : "once" };
  return ask(stage, { process, what: "remember" }, async ({ memory }) => {
    await memory.write({ tenant_id, thread_id, key, type: "fact", value, source: "story", confidence: 1 });
    world.remembered.add(n);
  });
}
