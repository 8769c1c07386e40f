/**
 * The form by which a person lends their seat at a gate to somebody else, and takes it back.
 *
 * 1.  The kernel keeps no list of people: an id that the gate does not name is lent to only after a second look at it.
 */
import { useSignal } from "@preact/signals";
import type { Gate } from "../../../src/contract/gate.ts";
import { isMe } from "../api.ts";
import { delegate } from "../decide.ts";
import { now } from "../loaded.tsx";
import type { Message } from "../unsent.ts";
import { tellPerson } from "../words.ts";
import { tellZoned } from "./marks.tsx";
import { Line } from "./shown.tsx";

interface DelegateFormProps {
  readonly gate: Gate;
  readonly isBusy: boolean;
  readonly say: (message: Message) => Promise<void>;
}

/** The people whom a gate names, by id. */
const knownAt = ({ approvers, votes, requesters = [], delegations }: Gate): ReadonlySet<string> =>
  new Set(
    [
      ...(approvers ?? []),
      ...votes.map(({ principal }) => principal),
      ...requesters,
      ...delegations.map(({ to }) => to),
    ].map(({ id }) => String(id)),
  );

/** The seat that whoever is signed in has lent, and the button that ends the loan. */
export function LentSeat({ gate, isBusy, say }: DelegateFormProps) {
  const lent = gate.delegations.find(({ from, expires_at }) => isMe(from) && Date.parse(expires_at) > now.value);
  if (lent === undefined) return null;
  // A seat has one loan, and the newest counts: this one is over at once.
  const end = () =>
    void say({
      ...delegate(gate, { to: lent.to, expires_at: new Date(now.value + soonMs).toISOString() }),
      words: "Take my seat back",
    });
  return (
    <p class="note">
      You lent your seat to <Line text={tellPerson(lent.to)} /> until {tellZoned(lent.expires_at)}.{" "}
      <button type="button" disabled={isBusy} onClick={end}>
        Take it back
      </button>
    </p>
  );
}

/** Long enough for the request to arrive. */
const soonMs = 3_000;

export function DelegateForm({ gate, isBusy, say }: DelegateFormProps) {
  const to = useSignal("");
  const hours = useSignal(24);
  const isSure = useSignal(false);
  const isKnown = knownAt(gate).has(to.value);
  const send = () => {
    const id = /^\d{1,15}$/.test(to.value) ? Number(to.value) : to.value;
    const expires_at = new Date(now.value + hours.value * 3_600_000).toISOString();
    void say(delegate(gate, { to: { type: "user", id }, expires_at }));
    isSure.value = false;
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isKnown || isSure.value) send();
        else isSure.value = true;
      }}
    >
      <label class="field">
        <span>Who (their user id)</span>
        <input
          required
          value={to.value}
          onInput={(e) => {
            to.value = e.currentTarget.value.trim();
            isSure.value = false;
          }}
        />
      </label>
      <label class="field">
        <span>For how many hours</span>
        <input
          type="number"
          min={1}
          max={720}
          required
          value={hours.value}
          onInput={(e) => {
            hours.value = Number(e.currentTarget.value);
          }}
        />
      </label>
      {isSure.value && (
        <div class="note wait" role="alert">
          <p>
            This gate names no user{" "}
            <strong>
              <Line text={to.value} />
            </strong>
            , and nobody checks that there is one. Your seat goes to whoever signs in under exactly this id.
          </p>
        </div>
      )}
      <button type="submit" disabled={isBusy || to.value === ""}>
        {isSure.value ? "Lend it to this id" : "Lend my seat"}
      </button>
    </form>
  );
}
