/** The people of a run: what each of them did, at which step, and when. */
import type { LedgerEvent } from "../../../src/contract/event.ts";
import type { RecordedMessage } from "../../../src/contract/recording.ts";
import { tellInstant } from "./marks.tsx";
import { Line } from "./shown.tsx";

interface PeopleProps {
  readonly messages: readonly RecordedMessage[];
  /** The names of the actors, by their ids. */
  readonly names: Readonly<Record<string, string>>;
  /** The names of the steps, by their ids. */
  readonly steps: ReadonlyMap<string, string>;
  readonly events: readonly LedgerEvent[];
}

/** Ids of actors outside of the kernel that are no operators: `user:ann`. */
const isPerson = (id: string): boolean => /^[a-z_]+:/i.test(id) && !id.startsWith("op:");

export function People({ messages, names, steps, events }: PeopleProps) {
  const bySequence = new Map(events.map((event) => [event.sequence, event]));
  const acts = Map.groupBy(
    messages.filter(({ from }) => isPerson(from)),
    ({ from }) => from,
  );
  if (acts.size === 0) return null;
  return (
    <section class="card" aria-labelledby="people">
      <h2 id="people">People</h2>
      <ul class="plain">
        {[...acts].map(([id, own]) => (
          <li key={id}>
            <strong>
              <Line text={names[id] ?? id} />
            </strong>
            <ol class="plain quiet">
              {own.map(({ id: message, sequence, type }) => {
                const event = bySequence.get(sequence);
                const step = event?.step_id ?? null;
                return (
                  <li key={message}>
                    <code>{type}</code> {step !== null && <Line text={steps.get(step) ?? step} />}{" "}
                    {event !== undefined && <small>{tellInstant(event.timestamp)}</small>}
                    {typeof event?.payload["comment"] === "string" && (
                      <q>
                        <Line text={event.payload["comment"]} />
                      </q>
                    )}
                  </li>
                );
              })}
            </ol>
          </li>
        ))}
      </ul>
    </section>
  );
}
