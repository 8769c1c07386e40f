/** The form of an order that needs a reason, and where it cannot be taken back its words typed as well. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Problem } from "../api.ts";
import { ProblemNote } from "./problem.tsx";

interface OrderFormProps {
  /** The name of the order, which is the word of its button. */
  readonly title: string;
  /** The thing that the order concerns, where a page has several of its kind. */
  readonly of?: string;
  /** The words that are typed to confirm; none where the order can be taken back. */
  readonly confirmation?: string;
  /** Gives the order, and returns why it was refused; null if it was not. */
  readonly give: (given: { readonly reason: string }) => Promise<Problem | null>;
  readonly children: ComponentChildren;
}

const empty = { reason: "", typed: "" };

export function OrderForm({ title, of, confirmation, give, children }: OrderFormProps) {
  const form = useSignal(empty);
  const problem = useSignal<Problem | null>(null);
  const isBusy = useSignal(false);
  const { reason, typed } = form.value;
  const isConfirmed = confirmation === undefined || typed.trim().toLowerCase() === confirmation;
  const isReady = reason.trim() !== "" && isConfirmed && !isBusy.value;
  const send = async (): Promise<void> => {
    isBusy.value = true;
    problem.value = await give({ reason: reason.trim() });
    isBusy.value = false;
    if (problem.value === null) form.value = empty;
  };
  const fields = [
    ["reason", "Reason"],
    ...(confirmation === undefined ? [] : [["typed", `Type “${confirmation}” to confirm`] as const]),
  ] as const;
  return (
    <details class="more">
      <summary>{title}…</summary>
      <form
        class="card"
        aria-label={of === undefined ? title : `${title} ${of}`}
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) void send();
        }}
      >
        {children}
        {fields.map(([name, label]) => (
          <label key={name} class="field">
            <span>{label}</span>
            <input
              type="text"
              maxLength={name === "reason" ? 1024 : 256}
              value={form.value[name]}
              onInput={(event) => (form.value = { ...form.value, [name]: event.currentTarget.value })}
            />
          </label>
        ))}
        <button type="submit" class={confirmation === undefined ? undefined : "danger"} disabled={!isReady}>
          {title}
        </button>
        {problem.value !== null && <ProblemNote problem={problem.value} />}
      </form>
    </details>
  );
}
