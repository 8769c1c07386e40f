/**
 * Several gates that are alike, approved or rejected together: one request, with a decision for each gate that names
 * the digest of what was shown.
 *
 * 1.  Gates are alike if they are of one operation with one effect, none makes something final, none is cut or not
 *     checked, none has changes or a basis that are shown at the gate alone, and none takes several votes.
 */
import { useSignal } from "@preact/signals";
import type { ListedGate } from "../../../src/contract/listed-gate.ts";
import { announce } from "../announce.ts";
import { decide } from "../decide.ts";
import { isUnsent, sendTogether } from "../unsent.ts";
import { count } from "../words.ts";
import { CommentField } from "./comment-field.tsx";
import { Line } from "./shown.tsx";

/** The number of decisions that the server takes in one request. */
const mostAtOnce = 500;

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
  readonly onDone: () => void;
}

export function Bulk({ gates, onDone }: BulkProps) {
  const isBusy = useSignal(false);
  const comment = useSignal("");
  const failed = useSignal<readonly string[]>([]);
  const all = async (decision: "approve" | "reject") => {
    isBusy.value = true;
    const messages = gates.map((gate) => decide(gate, { decision, comment: comment.value }));
    const answers = await sendTogether(messages);
    isBusy.value = false;
    const refused = answers.flatMap((answer, i) =>
      answer.ok || isUnsent(answer.problem) ? [] : [`${gates[i]?.title}: ${answer.problem.detail}`],
    );
    failed.value = refused;
    const made = answers.filter(({ ok }) => ok).length;
    // The top of the page says what was not sent, and offers to send it again.
    announce(
      `${count(made, "decision")} made, ${refused.length} refused, ${gates.length - made - refused.length} not sent`,
    );
    if (refused.length === 0) onDone();
  };
  return (
    <section class="card bulk" aria-label="Selected decisions">
      <p>
        <strong>{count(gates.length, "decision")} selected</strong>, all of <code>{gates[0]?.operator}</code>. Each is
        bound to what runs, as it is shown here; previews are at the gates.
      </p>
      <CommentField comment={comment}>Comment on each, for the record</CommentField>
      <p class="row">
        <button type="button" class="approve" disabled={isBusy.value} onClick={() => void all("approve")}>
          Approve all {gates.length}
        </button>
        <button type="button" class="reject" disabled={isBusy.value} onClick={() => void all("reject")}>
          Reject all {gates.length}
        </button>
      </p>
      {failed.value.map((problem) => (
        <p key={problem} class="problem" role="alert">
          <Line text={problem} />
        </p>
      ))}
      <ul class="plain">
        {gates.map((gate) => (
          <li key={`${gate.workflow_id}${gate.gate_id}`}>
            <Line text={gate.title} />:{" "}
            <code>
              <Line text={JSON.stringify(gate.payload)} />
            </code>
            <br />
            <small>
              digest <code>{gate.payload_digest}</code>
            </small>
          </li>
        ))}
      </ul>
    </section>
  );
}
