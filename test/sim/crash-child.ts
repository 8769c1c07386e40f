/** The process that is killed: does what crash-run does, and dies where its environment says. */
import { flushCompileCache } from "node:module";
import { dying, liveToTheEnd, type Side } from "./crash-run.ts";

const { CRASH_DB, CRASH_EFFECTS, CRASH_SCENARIO, CRASH_LIFE, CRASH_AT, CRASH_SIDE } = process.env;

flushCompileCache(); // which only a process that ends by itself would do
await liveToTheEnd(
  { db: String(CRASH_DB), effects: String(CRASH_EFFECTS), scenario: Number(CRASH_SCENARIO) },
  { life: Number(CRASH_LIFE), wrap: (store) => dying(store, { n: Number(CRASH_AT), side: CRASH_SIDE as Side }) },
);
