/**
 * The second question before an approval: of lines that were not shown, and of a gate that asks for care.
 *
 * 1.  Nothing is sent before the person has done what is asked here: typed the word, or pressed the second button.
 */
import { useSignal } from "@preact/signals";
import type { Gate } from "../../../src/contract/gate.ts";
import type { GivenDecision } from "../decide.ts";
import { count } from "../words.ts";

interface ConfirmApprovalProps {
  readonly recorded: GivenDecision;
  readonly confirm: Gate["confirm"];
  readonly unseen: number;
  readonly isHeld: boolean;
  readonly send: (recorded: GivenDecision) => void;
  readonly giveUp: () => void;
}

/** The word that is typed; the command line asks for the same. */
const word = "approve";

export function ConfirmApproval({ recorded, confirm, unseen, isHeld, send, giveUp }: ConfirmApprovalProps) {
  const typed = useSignal("");
  const isTyped = confirm !== "type" || typed.value.trim().toLowerCase() === word;
  const verb = recorded.answer !== undefined ? "Answer" : recorded.resolution === undefined ? "Approve" : "Say so";
  return (
    <form
      class="note wait"
      onSubmit={(event) => {
        event.preventDefault();
        if (isTyped && !isHeld) send(recorded);
      }}
    >
      <p role="alert">
        <strong>
          {unseen === 0
            ? "This gate asks for a second step."
            : `${count(unseen, "line")} of this ${unseen === 1 ? "was" : "were"} not shown to you yet.`}
        </strong>{" "}
        Nothing is decided so far. {unseen > 0 && "“Show the rest” shows what is folded."}
      </p>
      {confirm === "type" && (
        <label class="field">
          <span>
            Type <strong>{word}</strong> to go on
          </span>
          <input autocomplete="off" value={typed.value} onInput={(e) => (typed.value = e.currentTarget.value)} />
        </label>
      )}
      <p class="row">
        <button type="submit" disabled={isHeld || !isTyped}>
          {unseen > 0 ? `${verb} with ${count(unseen, "line")} not shown` : `${verb}, I am sure`}
        </button>
        <button type="button" class="text" onClick={giveUp}>
          Not yet
        </button>
      </p>
    </form>
  );
}
