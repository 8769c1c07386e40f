/**
 * Several gates that are alike, approved or rejected together: one request each, each with the digest of what was
 * shown.
 *
 * 1.  Alike: of one operation with one effect, none that makes something final, none that is cut or not checked, none
 *     with changes or a basis that are shown at the gate alone, no quorum's, at most 20.
 */
import { useSignal } from "@preact/signals";
import type { ListedGate } from "../../../src/contract/listed-gate.ts";
import { announce } from "../announce.ts";
import { decide } from "../decide.ts";
import { isUnsent, sendMessage } from "../unsent.ts";
import { count } from "../words.ts";
import { Line } from "./shown.tsx";

const mostAtOnce = 20;

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
  const failed = useSignal<readonly string[]>([]);
  const all = async (decision: "approve" | "reject") => {
    isBusy.value = true;
    const problems: string[] = [];
    let notSent = 0;
    for (const gate of gates) {
      const answer = await sendMessage(decide(gate, { decision }));
      if (answer.ok) continue;
      // What was not sent is said at the top of the page, where it can be sent again.
      if (isUnsent(answer.problem)) notSent += 1;
      else problems.push(`${gate.title}: ${answer.problem.detail}`);
    }
    isBusy.value = false;
    failed.value = problems;
    const made = gates.length - problems.length - notSent;
    announce(`${count(made, "decision")} made, ${problems.length} refused, ${notSent} not sent`);
    if (problems.length === 0) onDone();
  };
  return (
    <section class="card bulk" aria-label="Selected decisions">
      <p>
        <strong>{count(gates.length, "decision")} selected</strong>, all of <code>{gates[0]?.operator}</code>. Each is
        bound to what runs, as it is shown here; previews are at the gates:
      </p>
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
      {failed.value.map((problem) => (
        <p key={problem} class="problem" role="alert">
          <Line text={problem} />
        </p>
      ))}
      <p class="row">
        <button type="button" class="approve" disabled={isBusy.value} onClick={() => void all("approve")}>
          Approve all {gates.length}
        </button>
        <button type="button" class="reject" disabled={isBusy.value} onClick={() => void all("reject")}>
          Reject all {gates.length}
        </button>
      </p>
    </section>
  );
}
