/**
 * A story of the simulation as plain data, drawn from a seed: a package, who has processes open, and what happens in
 * which order. What happens names things by a number that is read modulo what there is then: any part of a story can be
 * left out.
 */
import type { GateSpec } from "../../src/contract/gate-spec.ts";
import type { Json } from "../../src/contract/json.ts";
import type { Effect } from "../../src/contract/operator.ts";
import { drawGate } from "./draw-gate.ts";
import { type Draw, drawing } from "./drawing.ts";
import { withAsks } from "./story-asks.ts";
import { withChildren } from "./story-children.ts";
import { withContests } from "./story-contest.ts";
import { type StoryDeploy, withDeploy } from "./story-deploy.ts";
import { withDesk } from "./story-desk.ts";
import { type Features, type Manner, type Shows, withFeatures } from "./story-features.ts";
import { withForks } from "./story-forks.ts";
import { withGrants } from "./story-grants.ts";
import { type StoryList, type StoryRounds, withGrowth } from "./story-growth.ts";
import { type Kind, type StoryWhen, withLifecycle } from "./story-lifecycle.ts";
import { withMasks } from "./story-masks.ts";
import { withMemory } from "./story-memory.ts";
import { withMessages } from "./story-messages.ts";
import { withModels } from "./story-models.ts";
import { withOrders } from "./story-orders.ts";
import { withPersons } from "./story-persons.ts";
import { withDebounce, withQueueLimits, withQueues } from "./story-queues.ts";
import { withSchedules } from "./story-schedules.ts";
import { withSiblings } from "./story-siblings.ts";
import { withSignedWords } from "./story-signed.ts";
import { withStages } from "./story-stages.ts";
import { withThrongs } from "./story-throng.ts";
import { withTokens } from "./story-tokens.ts";
import { type StoryUndo, withUndo } from "./story-undo.ts";
import { withWaits } from "./story-waits.ts";

/** What one call does. `sent` calls have taken effect before they throw, hang or are refused. */
export type Behaviour =
  | "ok"
  | "nothing"
  | "slow"
  | "talks"
  | "odd"
  | "throws"
  | "sent_throws"
  | "transient"
  | "fatal"
  | "never"
  | "sent_never"
  | "ok_on_abort"
  | "emits"
  | "uses"
  | "talks_much"
  | "blocked";

export interface StoryOperator {
  readonly effect: Effect;
  readonly idempotent: boolean;
  readonly honoursAbort: boolean;
  readonly retry: "NONE" | "STANDARD" | "AGGRESSIVE";
  readonly ruling: "none" | "later" | "late" | "REQUIRE_APPROVAL" | "TRANSFORM" | "late_TRANSFORM" | "REDACT" | "DENY";
  /** How its check and its preview answer, one question after another; without them where it has none. */
  readonly check?: readonly Manner[] | null;
  readonly preview?: readonly Shows[] | null;
  readonly cost?: number;
  readonly timeoutSec?: number;
  readonly version?: "1.0" | "2.0";
  /** Whether it asks for a person whatever policy says. */
  readonly asks?: boolean;
}

/** Whether its calls may be made again, by what it says of itself. */
export const mayRepeat = ({ effect = "none", idempotent }: Partial<StoryOperator> = {}): boolean =>
  idempotent === true || effect === "none" || effect === "read";

export interface StoryStep {
  readonly id: string;
  readonly depends_on: readonly string[];
  readonly operator: number;
  readonly gate: GateInput | null;
  readonly outcome: boolean;
  readonly applies: string | null;
  /** The step whose call it makes: both apply one outcome, and so share a key. */
  readonly as?: string;
  /** What its calls do, in order; afterwards they succeed. */
  readonly behaviours: readonly Behaviour[];
  /** The kind of a step that is no call of its own, and its params. */
  readonly kind?: Kind;
  readonly params?: Readonly<Record<string, Json>>;
  readonly when?: StoryWhen;
  /** The list of a step that makes one call for each item, and the rounds of one that repeats its call. */
  readonly list?: StoryList;
  readonly repeats?: StoryRounds;
  /** The call that undoes it, and whether its success ends what can be undone. */
  readonly undo?: StoryUndo;
  readonly pivot?: true;
  /** The dependencies that it waits for however they end. */
  readonly settled?: readonly string[];
}
export type GateInput = Partial<GateSpec>;

export const deeds = [
  "submit",
  "tick",
  "next",
  "end_call",
  "decide",
  "withdraw",
  "delegate",
  "retry",
  "cancel",
  "cancel_undo",
  "crash",
  "pause",
  "wake",
  "open",
  "fail",
  "jump",
  "cut",
  "say",
  "say_again",
  "foretell",
  "report",
  "settle",
  "rebase",
  "remember",
  "edit",
  "name_none",
  "stop",
  "throng",
  "pass",
  "hold_work",
  "let_work",
  "emit",
  "end_child",
  "retry_child",
  "halt",
  "lift",
  "fork",
  "rollback",
  "limit_queue",
  "answer",
  "message",
  "grant",
  "revoke_grant",
  "set_schedule",
  "pause_schedule",
  "resume_schedule",
  "trigger_schedule",
  "delete_schedule",
  "decide_many",
  "stand_in",
  "end_stand_in",
  "fork_child",
] as const;
export type Deed = (typeof deeds)[number];

export interface Action {
  readonly does: Deed;
  /** Which process. */
  readonly at: number;
  /** Which gate, workflow, call or person. */
  readonly of: number;
  readonly by: number;
  /** How: a mode, a side of a commit, a span of time. */
  readonly how: number;
}

export interface Story extends Features {
  readonly seed: number;
  readonly store: "memory" | "sqlite" | "file" | "postgres-like" | "power-cut";
  readonly processes: number;
  readonly maxReplans: number;
  readonly operators: readonly StoryOperator[];
  readonly steps: readonly StoryStep[];
  readonly actions: readonly Action[];
  readonly durability: "full" | "effects";
  readonly deploy: StoryDeploy | null;
}

const usual: readonly Behaviour[] = ["ok", "ok", "ok", "slow", "slow", "talks", "nothing"];
const rare: readonly Behaviour[] = [
  "odd",
  "throws",
  "sent_throws",
  "transient",
  "transient",
  "fatal",
  "never",
  "sent_never",
  "ok_on_abort",
  "slow",
];

const weights: Readonly<Record<Deed, number>> = {
  submit: 4,
  tick: 28,
  next: 24,
  end_call: 28,
  decide: 32,
  withdraw: 2,
  delegate: 2,
  retry: 8,
  cancel: 1,
  cancel_undo: 0,
  crash: 6,
  pause: 4,
  wake: 6,
  open: 8,
  fail: 3,
  jump: 2,
  // On a machine that may lose its power alone.
  cut: 0,
  // Woven in between the others (`story-features.ts`).
  say: 0,
  say_again: 0,
  foretell: 0,
  report: 0,
  settle: 0,
  rebase: 0,
  remember: 0,
  edit: 0,
  name_none: 0,
  stop: 0,
  throng: 0,
  pass: 0,
  hold_work: 0,
  let_work: 0,
  emit: 0,
  end_child: 0,
  retry_child: 0,
  halt: 0,
  lift: 0,
  fork: 0,
  rollback: 0,
  limit_queue: 0,
  answer: 0,
  message: 0,
  grant: 0,
  revoke_grant: 0,
  set_schedule: 0,
  pause_schedule: 0,
  resume_schedule: 0,
  trigger_schedule: 0,
  delete_schedule: 0,
  decide_many: 0,
  stand_in: 0,
  end_stand_in: 0,
  fork_child: 0,
};

const weighted: readonly Deed[] = deeds.flatMap((deed) => Array<Deed>(weights[deed]).fill(deed));

/** As the seed has it, but on a store as in Postgres, with two to five processes. */
export function drawSharedStory(seed: number): Story {
  return { ...drawStory(seed), store: "postgres-like", processes: 2 + (seed % 4) };
}

/** Returns the story of the seed on a machine that loses its power now and then, with the durability that was drawn. */
export function drawCutStory(seed: number): Story {
  const plain = drawPlain(seed);
  const actions = plain.actions.map((action, i) =>
    (i + seed) % 9 === 8 ? { ...action, does: "cut" as const } : action,
  );
  return enrich({ ...plain, store: "power-cut", actions });
}

/** How a story is drawn, by what `--store` says. */
export const draws = { any: drawStory, "postgres-like": drawSharedStory, "power-cut": drawCutStory };

export function drawStory(seed: number): Story {
  return enrich(drawPlain(seed));
}

/** Each draws from a stream of its own: what one of them adds leaves the others as they are. */
const enrich = (plain: Parameters<typeof withFeatures>[0]): Story =>
  layers.reduce((story, add) => add(story), withFeatures(plain));

const layers: readonly ((story: Story) => Story)[] = [
  withContests,
  withSiblings,
  withDeploy,
  withSignedWords,
  withPersons,
  withMemory,
  withModels,
  withMasks,
  withThrongs,
  withLifecycle,
  withOrders,
  withWaits,
  withChildren,
  withAsks,
  withGrowth,
  withUndo,
  withQueues,
  withForks,
  withStages,
  withQueueLimits,
  withTokens,
  withMessages,
  withGrants,
  withDebounce,
  withSchedules,
  withDesk,
];

function drawPlain(seed: number): Omit<Story, keyof Features> {
  const draw = drawing(seed);
  const operators = Array.from({ length: 2 + draw.upTo(4) }, () => drawOperator(draw));
  const size = draw.chance(0.1) ? 11 + draw.upTo(20) : 1 + draw.upTo(7);
  return {
    seed,
    store: draw.pick(["memory", "memory", "sqlite", "sqlite", "sqlite", "file"]),
    processes: 1 + draw.upTo(3),
    maxReplans: draw.upTo(3),
    operators,
    steps: drawSteps(draw, { size, operators: operators.length }),
    actions: [drawAction(draw, "submit"), ...Array.from({ length: 5 + draw.upTo(45) }, () => drawAction(draw))],
    durability: draw.chance(0.3) ? "full" : "effects",
    deploy: null,
  };
}

function drawOperator(draw: Draw): StoryOperator {
  return {
    effect: draw.pick(["none", "read", "write_draft", "write_draft", "write_draft", "final_write", "external_send"]),
    idempotent: draw.chance(0.3),
    honoursAbort: draw.chance(0.35),
    retry: draw.pick(["NONE", "STANDARD", "AGGRESSIVE"]),
    ruling: draw.chance(0.25) ? draw.pick(["later", "later", "REQUIRE_APPROVAL", "TRANSFORM", "DENY"]) : "none",
  };
}

function drawSteps(draw: Draw, { size, operators }: { readonly size: number; readonly operators: number }) {
  const steps: StoryStep[] = [];
  for (let i = 0; i < size; i += 1) {
    const depends_on = steps.map(({ id }) => id).filter(() => draw.chance(Math.min(0.4, 1.6 / size)));
    const drafted = steps.find(({ id, outcome }) => outcome && depends_on.includes(id));
    steps.push({
      id: `s${i + 1}`,
      depends_on,
      operator: draw.upTo(operators),
      gate: draw.chance(0.25) ? drawGate(draw) : null,
      outcome: draw.chance(0.25),
      applies: drafted !== undefined && draw.chance(0.5) ? drafted.id : null,
      behaviours: Array.from({ length: draw.upTo(3) }, () => draw.pick(draw.chance(0.55) ? usual : rare)),
    });
  }
  return steps;
}

function drawAction(draw: Draw, does: Deed = drawDeed(draw)): Action {
  return { does, at: draw.upTo(60), of: draw.upTo(60), by: draw.upTo(60), how: draw.upTo(60) };
}

function drawDeed({ pick }: Draw): Deed {
  return pick(weighted);
}
