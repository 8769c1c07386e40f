/**
 * Plays stories for a `StoryPlayer`, on a thread of its own: what it is sent is a seed, or the wish to have the last
 * one short.
 */
import { parentPort, workerData } from "node:worker_threads";
import { type Played, playStory } from "./play-story.ts";
import { shrinkStory } from "./shrink-story.ts";
import { draws, type Story } from "./story.ts";
import { describeStory } from "./tell-story.ts";

const draw = draws[workerData as keyof typeof draws];
let last: { readonly story: Story; readonly played: Played } | undefined;

async function play(seed: number) {
  const story = draw(seed);
  const played = await playStory(story);
  last = { story, played };
  return { failure: played.failure, met: [...played.marks.keys()] };
}

async function shrink(): Promise<string> {
  if (last === undefined) throw new Error("nothing was played");
  const short = await shrinkStory(last.story, last.played);
  return describeStory(short.story, short.played);
}

parentPort?.on("message", async (asked: number | "shrink") => {
  parentPort?.postMessage(await (asked === "shrink" ? shrink() : play(asked)));
});
