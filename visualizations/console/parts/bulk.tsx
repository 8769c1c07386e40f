/**
 * Several gates that are alike, approved or rejected together: a table of what they are about, its sums, one comment,
 * and requests that name the digest of each.
 *
 * 1.  Gates are alike if they are of one operation with one effect, none makes something final, none is cut or not
 *     checked, none has changes or a basis that are shown at the gate alone, and none takes several votes.
 * 2.  What came of each is said beside it, and stays until one has seen it.
 * 3.  They are held as one decision is, but for those that are due soon, which are sent at once.
 */
import { useSignal } from "@preact/signals";
import type { ListedGate } from "../../../src/contract/listed-gate.ts";
import { sumFacts, tellMoney } from "../../../src/protocol/present-facts.ts";
import { announce } from "../announce.ts";
import { decide } from "../decide.ts";
import { holdBatch, isHeldAt, mayHold } from "../held.ts";
import { gateKey, mostAtOnce } from "../listing.ts";
import { isUnsent, type Message, sendTogether } from "../unsent.ts";
import { count, tellAsker } from "../words.ts";
import { CommentField } from "./comment-field.tsx";
import { HeldNote } from "./held-bar.tsx";
import { keyFacts, sharedNames, sumsOf, tellFact } from "./key-facts.ts";
import { useFocus } from "./page.tsx";
import { Line } from "./shown.tsx";

/** The decisions that go in one request, so that one sees them come back. */
const perRequest = 25;
const mostColumns = 4;

/** Returns whether the gate may be chosen beside those that are. */
export function mayJoin(gate: ListedGate, picked: readonly ListedGate[]): boolean {
  const [first] = picked;
  if (gate.effect === "final_write" || gate.truncated || !gate.checked || gate.signed || gate.kind !== "approval")
    return false;
  if (gate.target !== null || gate.quorum !== null || gate.diff !== null || gate.basis_digest !== undefined)
    return false;
  if (gate.seat?.may !== true) return false;
  return (
    first === undefined ||
    (picked.length < mostAtOnce && first.operator === gate.operator && first.effect === gate.effect)
  );
}

interface BulkProps {
  readonly gates: readonly ListedGate[];
  /** Null while all that are alike are chosen. */
  readonly chooseAll: (() => void) | null;
  readonly clear: () => void;
  /** Called with the gates that were to be decided, and with those that were. */
  readonly onDone: (asked: readonly ListedGate[], decided: readonly ListedGate[]) => void;
}

interface Result {
  readonly isGood: boolean;
  readonly text: string;
}

type Word = "approve" | "reject";

/** Sends decisions in parts, all at once if the page is being left, and tells what came of each as it is known. */
async function sendAll(
  messages: readonly Message[],
  { isLeaving, tell }: { readonly isLeaving: boolean; readonly tell: (at: number, answers: Answers) => void },
): Promise<void> {
  const starts = Array.from({ length: Math.ceil(messages.length / perRequest) }, (_, i) => i * perRequest);
  const send = async (at: number) => tell(at, await sendTogether(messages.slice(at, at + perRequest), isLeaving));
  if (isLeaving) return void (await Promise.all(starts.map(send)));
  for (const at of starts) await send(at);
}

type Answers = Awaited<ReturnType<typeof sendTogether>>;

const resultOf = (decision: Word, answer: Answers[number]): Result => {
  if (answer.ok) return { isGood: true, text: decision === "approve" ? "approved" : "rejected" };
  return { isGood: false, text: isUnsent(answer.problem) ? notSent : answer.problem.detail };
};

const notSent = "not sent";

/** Decides gates together: those that are due soon at once, the others once the time is over to undo it. */
function useDecideAll({ gates, onDone }: Pick<BulkProps, "gates" | "onDone">) {
  const sent = useSignal<number | null>(null);
  const results = useSignal<ReadonlyMap<string, Result>>(new Map());
  const sendThese = async (part: readonly ListedGate[], decision: Word, [messages, isLeaving]: Sending) => {
    const found = new Map<string, Result>();
    sent.value = 0;
    await sendAll(messages, {
      isLeaving,
      tell(at, answers) {
        for (const [i, answer] of answers.entries())
          found.set(gateKey(part[at + i] as ListedGate), resultOf(decision, answer));
        results.value = new Map([...results.peek(), ...found]);
        sent.value = found.size;
      },
    });
    sent.value = null;
    const texts = [...found.values()];
    const decided = part.filter((gate) => found.get(gateKey(gate))?.isGood === true);
    const unsent = texts.filter(({ text }) => text === notSent).length;
    const refused = texts.length - decided.length - unsent;
    onDone(part, decided);
    const words = `${count(decided.length, "decision")} made, ${refused} refused, ${unsent} not sent`;
    return { words, isGood: decided.length === part.length };
  };
  const decideAll = (decision: Word, comment: string) => {
    results.value = new Map();
    const messagesOf = (part: readonly ListedGate[]) => part.map((gate) => decide(gate, { decision, comment }));
    const [later, soon] = [gates.filter(mayHold), gates.filter((gate) => !mayHold(gate))];
    // The top of the page says what was not sent, and offers to send it again.
    if (soon.length > 0) void sendThese(soon, decision, [messagesOf(soon), false]).then(({ words }) => announce(words));
    if (later.length === 0) return;
    const messages = messagesOf(later);
    holdBatch({ messages, send: (isLeaving) => sendThese(later, decision, [messages, isLeaving]) });
  };
  return { decideAll, sent: sent.value, results: results.value };
}

type Sending = readonly [messages: readonly Message[], isLeaving: boolean];

export function Bulk({ gates, chooseAll, clear, onDone }: BulkProps) {
  const comment = useSignal("");
  const { decideAll, sent, results } = useDecideAll({ gates, onDone });
  const isHeld = gates.some(isHeldAt);
  const heading = useFocus<HTMLHeadingElement>(isHeld ? "held" : results.size > 0 && sent === null ? "answered" : null);
  const isBusy = sent !== null || isHeld;
  const facts = gates.map(keyFacts);
  const names = sharedNames(facts, mostColumns);
  return (
    <section class="bulk" aria-label="Selected decisions">
      <h2 id="bulk" tabIndex={-1} ref={heading}>
        {count(gates.length, "decision")} selected
      </h2>
      <p class="quiet">
        All of <code>{gates[0]?.operator}</code>. Each is bound to what runs, as it is shown here.
      </p>
      {isHeld && <HeldNote words="Your decisions are about to be sent; until then they can be undone." />}
      <Sums gates={gates} facts={facts} />
      <CommentField comment={comment}>Comment on each, for the record</CommentField>
      <p class="row">
        <button type="button" class="approve" disabled={isBusy} onClick={() => decideAll("approve", comment.value)}>
          Approve all {gates.length}
        </button>
        <button type="button" class="reject" disabled={isBusy} onClick={() => decideAll("reject", comment.value)}>
          Reject all {gates.length}
        </button>
        {chooseAll !== null && (
          <button type="button" disabled={isBusy} onClick={chooseAll}>
            Select all like these
          </button>
        )}
        <button type="button" class="text" disabled={isBusy} onClick={clear}>
          Clear the selection
        </button>
      </p>
      {sent !== null && (
        <p>
          <progress max={gates.length} value={sent} aria-label="Decisions sent" /> {sent} of {gates.length}
        </p>
      )}
      <BulkTable gates={gates} names={names} results={results} />
    </section>
  );
}

interface SumsProps {
  readonly gates: readonly ListedGate[];
  readonly facts: readonly ReturnType<typeof keyFacts>[];
}

/** The sums that the operator presents; without any, those of the numbers that all payloads have. */
function Sums({ gates, facts }: SumsProps) {
  const presented = sumFacts(gates).map(({ label, currency, amount, count: of }) => ({
    name: of === gates.length ? label : `${label}, of ${of}`,
    text: tellMoney(amount, currency),
  }));
  const sums = presented.length > 0 ? presented : sumsOf(facts).map((sum) => ({ name: sum.name, text: tellFact(sum) }));
  if (sums.length === 0) return null;
  return (
    <dl class="sums">
      {sums.map(({ name, text }) => (
        <div key={`${name} ${text}`}>
          <dt>
            Sum of <Line text={name} />
          </dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

interface TableProps {
  readonly gates: readonly ListedGate[];
  readonly names: readonly string[];
  readonly results: ReadonlyMap<string, Result>;
}

const BulkTable = ({ gates, names, results }: TableProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
  <section class="scrolls" tabIndex={0} aria-label="What is decided">
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">What</th>
          {names.map((name) => (
            <th key={name} scope="col">
              <Line text={name} />
            </th>
          ))}
          <th scope="col">Asked by</th>
          <th scope="col">Digest</th>
          {results.size > 0 && <th scope="col">Answer</th>}
        </tr>
      </thead>
      <tbody>
        {gates.map((gate) => (
          <BulkRow
            key={gateKey(gate)}
            gate={gate}
            names={names}
            result={results.get(gateKey(gate))}
            isAnswered={results.size > 0}
          />
        ))}
      </tbody>
    </table>
  </section>
);

interface BulkRowProps extends Pick<TableProps, "names"> {
  readonly gate: ListedGate;
  readonly result: Result | undefined;
  readonly isAnswered: boolean;
}

function BulkRow({ gate, names, result, isAnswered }: BulkRowProps) {
  const facts = keyFacts(gate);
  return (
    <tr>
      <td>
        <Line text={gate.title} />
      </td>
      {names.map((name) => {
        const fact = facts.find((one) => one.name === name) ?? { value: "" };
        return (
          <td key={name} class={typeof fact.value === "number" ? "number" : undefined}>
            <Line text={tellFact(fact)} />
          </td>
        );
      })}
      <td>{tellAsker(gate)}</td>
      <td>
        <code title={gate.payload_digest}>{gate.payload_digest.slice(0, 8)}</code>
      </td>
      {isAnswered && (
        <td class={result === undefined || result.isGood ? undefined : "problem"}>
          <Line text={result?.text ?? "…"} />
        </td>
      )}
    </tr>
  );
}
