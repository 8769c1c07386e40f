/**
 * Asks the person at the terminal about one gate: on a screen of its own, or with a typed line if the terminal cannot
 * be redrawn.
 *
 * Owns: the keys and their actions. Never: decides; the answer goes to the kernel with the digest that was shown.
 * 1.  A decision takes two keys: the second one follows after the consequence of the decision is shown.
 * 2.  An edit counts once it has been shown as the change that it makes, and has been approved after that.
 * 3.  An unsent edit is dropped only after the person has confirmed it, or has pressed Ctrl-C.
 */
import { InvalidArgumentError } from "commander";
import type { Gate, GateRequest } from "../../contract/gate.ts";
import { confirmWord } from "../../contract/gate-status.ts";
import type { JsonObject } from "../../contract/json.ts";
import { formOfGate } from "../../protocol/form-fields.ts";
import { namedTargets } from "../../protocol/named-targets.ts";
import { askForm } from "./ask-form.ts";
import { type Begun, describeEdit, editGate, UnreadableText } from "./edit-gate.ts";
import { readJson } from "./options.ts";
import { isFileRefusal } from "./refuse-file.ts";
import { gateSections, renderGate, renderSections } from "./render-gate.ts";
import { layOut, renderScreen } from "./review-screen.ts";
import type { Screen } from "./screen.ts";
import type { Terminal } from "./terminal.ts";
import { isYes } from "./yes-no.ts";

export interface Question {
  readonly gate: Gate;
  /** The position of the gate in the review, such as `2 of 7`. */
  readonly place: string;
  readonly terminal: Terminal;
  /** An edit that was sent and refused. */
  readonly kept: JsonObject | null;
}

/**
 * The person's answer at a gate: a decision, or a move to another gate. `stop` means that the person pressed Ctrl-C.
 */
export type GateAnswer =
  | { readonly to: "decide"; readonly decision: "approve" | "reject"; readonly payload: GateRequest["payload"] }
  | { readonly to: "next" | "back" | "quit" | "stop" };

/** The action that a key or a word stands for. */
type Act = "approve" | "reject" | "done" | "retry" | "failed" | "edit" | "undo" | "next" | "back" | "quit" | "stop";

interface Draft extends Begun {
  /** A message that is shown before the keys, such as the error of an edit. */
  readonly note: string;
}

/**
 * Asks until the person decides or leaves the gate. @throws the abort reason of the terminal's signal if it was aborted
 * while the person edited.
 */
export async function askGate(question: Question): Promise<GateAnswer> {
  let draft = beginDraft(question);
  for (;;) {
    const act = await findAct(question, draft);
    if (act === "undo") draft = { edit: null, unread: null, note: "Your edit is gone." };
    else if (act === "edit") draft = await edit(question, draft);
    else if (act === "next" || act === "back" || act === "quit" || act === "stop") return { to: act };
    else {
      const answer = await say(question, draft, act);
      if (typeof answer !== "string") return answer;
      draft = { ...draft, note: answer };
    }
  }
}

function beginDraft({ gate, kept }: Question): Draft {
  const edit = kept === null ? null : describeEdit(gate, kept);
  return { edit, unread: null, note: edit === null ? "" : "Your edit is kept; it is shown on the gate as it is now." };
}

async function edit({ gate, terminal }: Question, draft: Draft): Promise<Draft> {
  try {
    const edited = await editGate(gate, terminal, draft);
    terminal.signal.throwIfAborted();
    return { edit: edited, unread: null, note: edited === null ? "Nothing is changed." : "" };
  } catch (error) {
    if (!(error instanceof UnreadableText)) throw error;
    return {
      ...draft,
      unread: error.text,
      note: `Not taken: ${error.message}. What you wrote is kept: [e] opens it again.`,
    };
  }
}

const why = "Why? (kept with the decision; Enter for none) ";
const questions: { readonly [A in Act]?: string } = {
  reject: why,
  failed: why,
  done: "Optional: what did the call give, as JSON or @FILE? (its step's result; Enter for none) ",
};

/**
 * Asks for what the act still needs: the reason of a rejection, the result of a call that happened, or the form of a
 * question. Returns the answer, or a text that says what was wrong with it.
 */
async function say({ terminal, gate }: Question, { edit: made }: Draft, act: Act): Promise<GateAnswer | string> {
  if (gate.confirm === "type" && isApproval(act) && !(await isTyped(terminal)))
    return `Not sent: an approval of this gate takes the word "${confirmWord}".`;
  const form = act === "approve" ? formOfGate(gate) : null;
  if (form !== null) {
    const answer = await askForm(form, terminal);
    return answer === null ? { to: "stop" } : { to: "decide", decision: "approve", payload: { answer } };
  }
  const question = questions[act];
  const typed = question === undefined ? "" : await terminal.ask(question);
  if (typed === null) return { to: "stop" };
  const text = typed.trim();
  if (act === "reject" || act === "failed")
    return { to: "decide", decision: "reject", payload: text === "" ? {} : { comment: text } };
  try {
    const settled = act === "done" || act === "retry" ? { resolution: act } : {};
    const payload = {
      ...(made !== null && { edit: made.edit }),
      ...settled,
      ...(text !== "" && { result: readJson(text) }),
      ...namedTargets(gate.votes),
    };
    return { to: "decide", decision: "approve", payload };
  } catch (error) {
    return describeWrong(error);
  }
}

const isApproval = (act: Act): boolean => act === "approve" || act === "done" || act === "retry";

/** Asks for the word by which a person confirms an approval. */
async function isTyped(terminal: Pick<Terminal, "ask">): Promise<boolean> {
  const typed = await terminal.ask(`Type ${confirmWord} to send it: `);
  return typed?.trim().toLowerCase() === confirmWord;
}

function describeWrong(error: unknown): string {
  const isWrong = error instanceof InvalidArgumentError || isFileRefusal(error);
  if (isWrong) return `Not taken: ${error.message}`;
  throw error;
}

interface Choice {
  readonly key: string;
  readonly act: Act;
  readonly word: string;
}

/** Lists the keys at a gate in the order in which they are shown. */
export function listChoices(gate: Gate, draft: Begun): readonly Choice[] {
  const { edit: made } = draft;
  const decide: readonly Choice[] =
    gate.kind === "in_doubt"
      ? [
          { key: "d", act: "done", word: "it happened" },
          { key: "t", act: "retry", word: "it did not: try again" },
          { key: "f", act: "failed", word: "it did not: give up" },
        ]
      : [
          { key: "a", act: "approve", word: approveWord(gate, made !== null) },
          { key: "r", act: "reject", word: "reject" },
        ];
  const editing: readonly Choice[] = gate.editable == null ? [] : [{ key: "e", act: "edit", word: "edit" }];
  const undoing: readonly Choice[] = !isBegun(draft) ? [] : [{ key: "u", act: "undo", word: "undo the edit" }];
  const going: readonly Choice[] = [
    { key: "n", act: "next", word: "next" },
    { key: "p", act: "back", word: "previous" },
    { key: "q", act: "quit", word: "quit" },
  ];
  return [...decide, ...editing, ...undoing, ...going];
}

const approveWord = ({ kind }: Gate, isEdited: boolean): string =>
  kind === "ask" ? "answer" : isEdited ? "approve your edit" : "approve";

/** Describes what an answer will do, in the words of the gate. */
function describeConsequence({ consequences }: Gate, act: Act, draft: Begun): string {
  const dropped = isBegun(draft) ? " Your edit was not sent and is dropped." : "";
  if (leaving.includes(act)) return dropped.trim();
  if (act === "reject" || act === "failed") return `${consequences.reject}${dropped}`;
  const unread = draft.unread === null ? "" : " What you wrote last could not be read and is dropped.";
  return `${draft.edit === null ? consequences.approve : consequences.edit}${unread}`;
}

/** Returns whether the person has written something that leaving the gate would lose. */
const isBegun = ({ edit, unread }: Begun): boolean => edit !== null || unread !== null;

const decisive: readonly Act[] = ["approve", "reject", "done", "retry", "failed"];
const leaving: readonly Act[] = ["next", "back", "quit"];

/** Returns whether the person must confirm: before a decision, and before an edit is dropped. */
const asksAgain = (act: Act, draft: Draft): boolean =>
  decisive.includes(act) || (isBegun(draft) && leaving.includes(act));

function findAct(question: Question, draft: Draft): Promise<Act> {
  const screen = question.terminal.openScreen?.();
  if (screen === undefined) return askByLine(question, draft);
  return askOnScreen(screen, question, draft).finally(() => screen.close());
}

/**
 * The state of the screen: the first line of the middle, the number of lines shown so far, and the choice that waits
 * for confirmation.
 */
interface Spot {
  readonly at: number;
  readonly seen: number;
  readonly total: number;
  readonly asked: Choice | null;
}

async function askOnScreen(screen: Screen, { gate, place, terminal }: Question, draft: Draft): Promise<Act> {
  const { paint, now } = terminal;
  const layout = layOut(draft.edit?.sections ?? gateSections(gate, terminal), paint);
  const choices = listChoices(gate, draft);
  let spot: Spot = { at: 0, seen: 0, total: 0, asked: null };
  for (;;) {
    const foot = spot.asked === null ? describeKeys(choices, draft) : describeAsked(gate, draft, spot.asked, spot);
    const view = { ...screen.size(), paint, now, place, at: spot.at, foot };
    const { lines, at, total, height } = renderScreen(gate, layout, view);
    spot = { ...spot, at, total, seen: Math.max(spot.seen, Math.min(total, at + height)) };
    screen.show(lines);
    const pressed = pressKey(await screen.nextKey(), spot, { choices, height, draft });
    if (typeof pressed === "string") return pressed;
    spot = pressed;
  }
}

/** Formats the keys as `[a]approve [r]reject`. A choice is one word, so that no line is broken inside it. */
const describeKeys = (choices: readonly Choice[], { note }: Draft): string =>
  [note, choices.map(({ key, word }) => `[${key}]${word.replaceAll(" ", "-")}`).join(" ")].join(" ").trim();

function describeAsked(gate: Gate, draft: Draft, { act, word }: Choice, { seen, total }: Spot): string {
  const unseen = seen < total && !leaving.includes(act) ? ` ${total - seen} lines below were not shown yet.` : "";
  return `${describeConsequence(gate, act, draft)}${unseen} [y]${word.replaceAll(" ", "-")}, any other key: no`;
}

interface Keys {
  readonly choices: readonly Choice[];
  readonly height: number;
  readonly draft: Draft;
}

/** Returns the act that a key stands for, or the next state of the screen. */
function pressKey(key: string, spot: Spot, { choices, height, draft }: Keys): Act | Spot {
  if (key === "ctrl-c") return "stop";
  if (key === "resize") return spot;
  if (spot.asked !== null) return key === "y" ? spot.asked.act : { ...spot, asked: null };
  const choice = choices.find((one) => one.key === key);
  if (choice === undefined) return { ...spot, at: spot.at + stepOf(key, height) };
  return asksAgain(choice.act, draft) ? { ...spot, asked: choice } : choice.act;
}

/** Returns the number of lines by which a key scrolls; negative values scroll up. */
function stepOf(key: string, height: number): number {
  const page = Math.max(1, height - 1);
  const steps: Readonly<Record<string, number>> = {
    space: page,
    pagedown: page,
    b: -page,
    pageup: -page,
    down: 1,
    j: 1,
    up: -1,
    k: -1,
    home: Number.NEGATIVE_INFINITY,
    end: Number.MAX_SAFE_INTEGER,
  };
  return steps[key] ?? 0;
}

/** Prints the whole gate, then asks questions that are answered with a typed line. */
async function askByLine({ gate, place, terminal }: Question, draft: Draft): Promise<Act> {
  const shown = draft.edit === null ? renderGate(gate, terminal) : renderSections(draft.edit.sections, terminal.paint);
  const choices = listChoices(gate, draft);
  terminal.print(`\n${place}\n${shown}\n${draft.note}`);
  for (;;) {
    const answer = await terminal.ask(`${choices.map(({ key, word }) => `${key} ${word}`).join(", ")}: `);
    if (answer === null) return "stop";
    const word = answer.trim().toLowerCase();
    const choice = choices.find((one) => one.key === word || one.word === word);
    if (choice === undefined) continue;
    if (!asksAgain(choice.act, draft)) return choice.act;
    const sure = await terminal.ask(`${describeConsequence(gate, choice.act, draft)} Sure? y or n: `);
    if (sure === null) return "stop";
    if (isYes(sure)) return choice.act;
  }
}
