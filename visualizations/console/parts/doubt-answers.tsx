/**
 * The answers to a call of which nobody knows whether it took effect: it happened, try again, give up.
 *
 * 1.  What the call gave is filled in by the form of its operator's result, as far as that has one; else as JSON.
 * 2.  Nothing is required: a step may count as done without a result.
 */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { AnswerForm } from "../../../src/contract/answer-form.ts";
import type { Json } from "../../../src/contract/json.ts";
import { doubtWords } from "../../../src/protocol/doubt-words.ts";
import { hasAnswered } from "../../../src/protocol/failure-lines.ts";
import { formOfSchema } from "../../../src/protocol/form-fields.ts";
import { showLine } from "../../../src/protocol/visible-text.ts";
import { FormFields, useTyping } from "./answer-form.tsx";
import type { ButtonsProps } from "./decision.tsx";
import { Line } from "./shown.tsx";

/** A result that a person states; without a member there is none. */
interface Given {
  readonly result?: Json;
}

export function DoubtButtons(props: ButtonsProps) {
  const form = formOfSchema(props.gate.doubt?.result_schema);
  return form === null ? <WithJson {...props} /> : <WithForm {...props} form={form} />;
}

function WithForm({ form, ...props }: ButtonsProps & { readonly form: AnswerForm }) {
  const typing = useTyping(form);
  const isBlank = Object.values(typing.typed.value).every((text) => text.trim() === "");
  const read = (): Given | null => {
    if (isBlank) return {};
    const reading = typing.read();
    return "answer" in reading ? { result: reading.answer as Json } : null;
  };
  return (
    <Three {...props} read={read} isReadable={true} with={isBlank ? "without a result" : "with the result below"}>
      <fieldset>
        <legend>
          What it gave <small>(if it happened; leave it empty if later steps do not need it)</small>
        </legend>
        <FormFields {...typing} />
      </fieldset>
    </Three>
  );
}

function WithJson(props: ButtonsProps) {
  const text = useSignal("");
  const given = readResult(text.value);
  const says =
    given?.result === undefined ? (
      "without a result"
    ) : (
      <>
        with the result <code>{showLine(JSON.stringify(given.result))}</code>
      </>
    );
  return (
    <Three {...props} read={() => given} isReadable={given !== null} with={says}>
      <label class="field">
        <span>
          What it gave <small>(optional, for “{doubtWords.done}”: as JSON, if later steps need it)</small>
        </span>
        <textarea class="code" rows={2} value={text.value} onInput={(e) => (text.value = e.currentTarget.value)} />
      </label>
      {given === null && <p class="problem">This is no JSON.</p>}
    </Three>
  );
}

/** Null for what is no JSON. */
function readResult(text: string): Given | null {
  try {
    return text.trim() === "" ? {} : { result: JSON.parse(text) as Json };
  } catch {
    return null;
  }
}

interface ThreeProps extends ButtonsProps {
  /** Reads the result; null if it cannot be read, which the page then says. */
  readonly read: () => Given | null;
  readonly isReadable: boolean;
  /** With what result the step would count as done. */
  readonly with: ComponentChildren;
  /** The fields for the result. */
  readonly children: ComponentChildren;
}

function Three({ gate, isHeld, answer, read, isReadable, with: says, children }: ThreeProps) {
  const { consequences, operator, doubt } = gate;
  const done = () => {
    const given = read();
    if (given !== null) answer({ decision: "approve", resolution: "done", ...given });
  };
  return (
    <div class="answers">
      <p>
        {hasAnswered(doubt?.error ?? null)
          ? "The call answered, and its answer cannot be used. Look where it takes effect, and then say how to go on:"
          : "Did it happen? Look where it would have taken effect, and then say what you found:"}
      </p>
      <div>
        <button type="button" aria-describedby="if-done" disabled={isHeld || !isReadable} onClick={done}>
          {doubtWords.done}
        </button>
        <p id="if-done">The step counts as done {says}, and the work goes on. Nothing is called again.</p>
      </div>
      <div>
        <button
          type="button"
          aria-describedby="if-retried"
          disabled={isHeld}
          onClick={() => answer({ decision: "approve", resolution: "retry" })}
        >
          {doubtWords.retry}
        </button>
        <p id="if-retried">
          <code>{operator}</code> is called once more with exactly what is shown. If the first call did happen after
          all, this may happen twice, unless the other side knows the key of the call, which is the same.
        </p>
      </div>
      <div>
        <button
          type="button"
          class="reject"
          aria-describedby="if-failed"
          disabled={isHeld}
          onClick={() => answer({ decision: "reject" })}
        >
          {doubtWords.failed}
        </button>
        <p id="if-failed">
          <Line text={consequences.reject} />
        </p>
      </div>
      {children}
    </div>
  );
}
