/** What people say at gates: as they are asked to, otherwise, ahead of time, signed well, badly, or once more. */
import { digest } from "../../src/contract/digest.ts";
import { type Gate, type GateRequest, gateIdOf } from "../../src/contract/gate.ts";
import { namedTargets } from "../../src/protocol/named-targets.ts";
import { letRun } from "../../src/testing/let-run.ts";
import { ask, at, callerOf, people } from "./ask.ts";
import { judgeTold } from "./judge-told.ts";
import type { Stage } from "./play-story.ts";
import { signWord } from "./sign-words.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { Action } from "./story.ts";
import { answerTo, otherAnswer, readBy } from "./story-asks.ts";
import { foreseen } from "./story-plan.ts";

/** Who has voted takes it back and votes again, with the signature of before or a new one. */
export async function sayAgain(stage: Stage, action: Action, process: SimulatedProcess): Promise<void> {
  const gate = await findGate(process, action.of, ({ votes }) => votes.length > 0);
  const vote = at(gate?.votes ?? [], action.by);
  const by = people.findIndex(({ id }) => id === vote?.principal.id);
  if (gate === undefined || vote === undefined || by < 0) return;
  const { gate_id, workflow_id, payload_digest } = gate;
  const nonce = action.how % 2 === 0 ? "again" : "anew";
  const answered = vote.answer === undefined ? {} : { answer: vote.answer };
  const word = { decision: vote.decision, payload: { payload_digest, ...basisOf(gate), ...answered } };
  const signing = { ...signingOf(gate, word), principal: vote.principal, key: vote.principal.id, nonce };
  const used = vote.signature?.jws ?? (await signWord(stage.world, gate, signing));
  const signature = action.how % 3 === 0 ? await signWord(stage.world, gate, signing) : used;
  const { decision, payload } = gate.signed ? signWith(word, signature) : word;
  ask(stage, { process, what: "say again" }, async ({ withdrawVote, decideGate }) => {
    await withdrawVote(workflow_id, { ...callerOf(by), gate_id });
    hearSaid(stage, process, { gate, by: vote.principal.id, word: { decision, payload } });
    await decideGate(workflow_id, { ...callerOf(by), gate_id, decision, payload });
  });
}

export interface GateWord {
  readonly decision: "approve" | "reject";
  readonly payload: NonNullable<GateRequest["payload"]>;
}

/** Reads a gate from the store as this process sees it; undefined while it cannot be reached. */
export async function findGate(
  { kernel }: SimulatedProcess,
  n: number,
  isMeant: (gate: Gate) => boolean = () => true,
): Promise<Gate | undefined> {
  const found: { gates: readonly Gate[] } = { gates: [] };
  void kernel.gates({}).then(
    (gates) => {
      found.gates = gates;
    },
    () => undefined,
  );
  await letRun();
  return at(found.gates.filter(isMeant), n);
}

interface Heard {
  readonly gate: Pick<Gate, "workflow_id" | "gate_id">;
  readonly by: unknown;
  readonly word: GateWord;
  /** It is said before the gate opens: then it is not late. */
  readonly isAhead?: boolean;
}

/** What a person says to a gate, at what this process takes for now. */
export function hearSaid(
  { world }: Stage,
  { wall }: SimulatedProcess,
  { gate: { workflow_id, gate_id }, by, word: { decision, payload }, isAhead = false }: Heard,
): void {
  const named = payload.edit === undefined ? payload : null;
  world.say({ workflow_id, gate_id, by, decision, named, now: isAhead ? Number.NEGATIVE_INFINITY : wall.now() });
}

interface Saying {
  readonly action: Action;
  readonly process: SimulatedProcess;
  /** Whether the gate is named; else what it shows is. */
  readonly isNamed?: boolean;
}

/** Somebody looks at a gate of theirs and says this. */
export async function sayAt(
  stage: Stage,
  { action, process, isNamed = true }: Saying,
  wordOf: (gate: Gate, action: Action) => GateWord,
): Promise<void> {
  const gate = await findGate(process, action.of);
  if (gate === undefined) return;
  const word = await signedAs(stage, gate, { word: wordOf(gate, action), action });
  decideAt(stage, { process, gate, action, word, isNamed });
}

interface Deciding extends Omit<Saying, "isNamed"> {
  readonly gate: Gate;
  readonly word: GateWord;
  readonly isNamed?: boolean;
}

/** Says this at the gate; who is told that it counts is held to what the ledger has then. */
export function decideAt(stage: Stage, { process, gate, action, word, isNamed = true }: Deciding): void {
  const { decision, payload } = word;
  const { gate_id, workflow_id } = gate;
  const caller = callerOf(action.by);
  hearSaid(stage, process, { gate, by: caller.principal.id, word });
  ask(stage, { process, what: "decide" }, async ({ decideGate }) => {
    const named = isNamed ? { gate_id } : {};
    const answer = await decideGate(workflow_id, { ...caller, ...named, decision, payload });
    const untold = isNamed ? judgeTold(stage, { gate_id, by: caller.principal, answer }) : null;
    if (untold !== null) stage.broken.push(untold);
    stage.world.acknowledge("decide", workflow_id, (event) => event.payload["gate_id"] === gate_id);
  });
}

/**
 * Most sign what they see with their own key; some not at all, with somebody else's, or with what was signed before.
 */
export async function signedAs(
  { world }: Stage,
  gate: Gate,
  { word, action }: { readonly word: GateWord; readonly action: Action },
): Promise<GateWord> {
  const { by, how, of } = action;
  if (!gate.signed || how % 9 === 8 || (word.payload.edit !== undefined && how % 9 > 0)) return word;
  const used = at([...world.signed.keys()], of);
  if (how % 9 === 7 && used !== undefined) return signWith(word, used);
  const { principal } = callerOf(by);
  const key = how % 9 === 6 ? callerOf(by + 1).principal.id : principal.id;
  return signWith(word, await signWord(world, gate, { ...signingOf(gate, word), principal, key, nonce: `${how % 3}` }));
}

export const signWith = ({ decision, payload }: GateWord, signature: string): GateWord => ({
  decision,
  payload: { ...payload, signature },
});

/**
 * All of a word that changes what happens: of a call in doubt what became of it and what it gave, else where it is
 * applied.
 */
export function signingOf(gate: Gate, { decision, payload }: GateWord) {
  const { result, apply_targets } = payload;
  const answer = payload.answer === undefined ? undefined : readBy(gate, payload.answer);
  const resolution = gate.kind !== "in_doubt" ? null : decision === "reject" ? "failed" : (payload.resolution ?? null);
  return { decision, resolution, result, answer, apply_targets } as const;
}

/** What a person says who does as they are asked; most say what they looked at. */
export function wordOn(gate: Gate, { how }: Pick<Action, "how">): GateWord {
  const seen = how % 5 === 4 ? {} : { payload_digest: gate.payload_digest, ...basisOf(gate) };
  if (how % 6 === 0) return { decision: "reject", payload: seen };
  if (gate.kind === "in_doubt") return { decision: "approve", payload: { ...seen, ...resolutionOf(how) } };
  if (gate.kind === "ask") return { decision: "approve", payload: { ...seen, answer: answerTo(gate, how) } };
  const edit = how % 6 === 1 ? { edit: { of: "an editor" } } : {};
  return { decision: "approve", payload: { ...seen, ...edit, ...namedTargets(gate.votes) } };
}

const basisOf = ({ basis_digest }: Gate) => (basis_digest === undefined ? {} : { basis_digest });

const resolutionOf = (how: number) =>
  how % 2 === 0 ? { resolution: "retry" as const } : { resolution: "done" as const, result: { by: "a person" } };

const edits = [{ of: "an editor" }, { from: [] }, { more: 1 }, {}, { of: "an editor", from: ["nobody"] }] as const;
export const elsewhere = digest("something else");

/** What a person says who looked at something else, knows better, or says more than was asked. */
export function otherWordOn(gate: Gate, { how, of }: Action): GateWord {
  const named = [gate.payload_digest, gate.payload_digest, elsewhere, gate.revised_from?.[0]][how % 4];
  const seen = {
    ...(named === undefined ? {} : { payload_digest: named }),
    ...(how % 5 === 0 ? { basis_digest: elsewhere } : how % 5 === 1 ? {} : basisOf(gate)),
    ...(how % 3 === 0 ? { comment: "as I see it", apply_targets: ["there"] } : {}),
  };
  if (how % 7 === 0) return { decision: "reject", payload: seen };
  if (gate.kind === "ask" && how % 9 > 1)
    return { decision: how % 17 === 0 ? "reject" : "approve", payload: { ...seen, answer: otherAnswer(how) } };
  const edit = how % 7 > 2 ? { edit: { ...(at(edits, of) as object) } as never } : {};
  const settles = gate.kind === "in_doubt" ? otherResolution(how) : how % 13 === 0 ? resolutionOf(how) : {};
  return { decision: "approve", payload: { ...seen, ...edit, ...settles } };
}

const results = [{ by: "a person" }, null, "in words", { by: 7 }] as const;
const otherResolution = (how: number) =>
  how % 2 === 0 ? { resolution: "retry" as const } : { resolution: "done" as const, result: results[how % 4] as never };

/** A decision before its gate opens, on what somebody takes it to show. */
export function foretell(stage: Stage, action: Action, process: SimulatedProcess): undefined {
  const { story, workflows } = stage;
  const { of, by, how } = action;
  const workflow_id = at(workflows, of);
  const step = at(
    story.steps.filter(({ gate }) => gate !== null),
    by,
  );
  if (workflow_id === undefined || step === undefined) return undefined;
  const { step_id, payload } = foreseen(story, step, how % (story.rounds + 1));
  const seen = how % 8 === 7 ? elsewhere : digest(payload);
  const word = {
    ...(how % 9 === 8 ? {} : { payload_digest: seen }),
    ...(how % 3 === 0 ? { comment: "ahead of time" } : {}),
    ...(how % 7 === 6 ? { edit: { of: "an editor" } } : {}),
    ...(how % 11 === 10 ? resolutionOf(how) : {}),
  };
  return ask(stage, { process, what: "foretell" }, async ({ decideGate }) => {
    const decision = how % 5 === 4 ? "reject" : "approve";
    const gate_id = gateIdOf(step_id);
    const { principal } = callerOf(by);
    hearSaid(stage, process, {
      gate: { workflow_id, gate_id },
      by: principal.id,
      word: { decision, payload: word },
      isAhead: true,
    });
    const { status } = await decideGate(workflow_id, { ...callerOf(by), gate_id, decision, payload: word });
    stage.world.mark(`foretell ${status}`);
    if (status === "kept" && (word.edit !== undefined || word.payload_digest === undefined))
      stage.broken.push(`kept: ${gate_id} of ${workflow_id} ahead of time, though nobody will know on what`);
  });
}
