/**
 * The events of a run in their order: each with the time since the first one, what it is about and who caused it.
 *
 * 1.  The filters hide events, and the heading says how many are shown.
 * 2.  Bounded: so many events at a time, from the newest back.
 */
import { useSignal } from "@preact/signals";
import type { LedgerEvent } from "../../../src/contract/event.ts";
import { count, tellDuration, tellPerson } from "../words.ts";
import { tellInstant } from "./marks.tsx";
import { Block, Line } from "./shown.tsx";

const shownAtOnce = 200;

/** Groups of events, by the beginning of their type. */
const groups = {
  Everything: /^/,
  "People and gates": /^(USER|GATE|INTENT)_/,
  Calls: /^(ACTION|ARTIFACT|TOOL)_/,
  Steps: /^(STEP|STEPS|OUTCOME|OUTPUT|WAIT|EVENT)_/,
  "Workflow and plan": /^(WORKFLOW|PLAN|INTENT|CONTEXT|WORK)_/,
  Rules: /^(POLICY|BUDGET)_/,
} as const;
type Group = keyof typeof groups;

interface HistoryProps {
  readonly events: readonly LedgerEvent[];
  /** The names of steps, by their ids. */
  readonly names: ReadonlyMap<string, string>;
}

export function History({ events, names }: HistoryProps) {
  const most = useSignal(shownAtOnce);
  const group = useSignal<Group>("Everything");
  const step = useSignal("");
  const chosen = events.filter(
    ({ event_type, step_id }) =>
      groups[group.value].test(event_type) && (step.value === "" || (step_id ?? "") === step.value),
  );
  const shown = chosen.slice(-most.value);
  const hidden = chosen.length - shown.length;
  const from = Date.parse(events[0]?.timestamp ?? "");
  const title =
    chosen.length === events.length
      ? count(events.length, "event")
      : `${chosen.length} of ${count(events.length, "event")}`;
  return (
    <section class="card" aria-labelledby="history">
      <h2 id="history">{title}</h2>
      <div class="row filters">
        <Choice
          name="Kind"
          options={Object.keys(groups)}
          chosen={group.value}
          choose={(v) => (group.value = v as Group)}
        />
        <Choice
          name="Step"
          options={["", ...names.keys()]}
          chosen={step.value}
          choose={(v) => (step.value = v)}
          nameOf={(id) => (id === "" ? "All" : (names.get(id) ?? id))}
        />
      </div>
      {hidden > 0 && (
        <button type="button" onClick={() => (most.value += 5 * shownAtOnce)}>
          Show earlier ones ({count(hidden, "event")})
        </button>
      )}
      <ol class="plain events">
        {shown.map((event) => (
          <li key={event.sequence}>
            <Event event={event} from={from} name={names.get(event.step_id ?? "") ?? event.step_id} />
          </li>
        ))}
      </ol>
    </section>
  );
}

interface ChoiceProps {
  readonly name: string;
  readonly options: readonly string[];
  readonly chosen: string;
  readonly choose: (option: string) => void;
  readonly nameOf?: (option: string) => string;
}

const Choice = ({ name, options, chosen, choose, nameOf = (one) => one }: ChoiceProps) => (
  <label class="field">
    <span>{name}</span>
    <select value={chosen} onChange={(e) => choose(e.currentTarget.value)}>
      {options.map((one) => (
        <option key={one} value={one}>
          {nameOf(one)}
        </option>
      ))}
    </select>
  </label>
);

interface EventProps {
  readonly event: LedgerEvent;
  /** The instant of the first event, in epoch ms. */
  readonly from: number;
  readonly name: string | null;
}

function Event({ event, from, name }: EventProps) {
  const { sequence, event_type, timestamp, actor, payload, event_id } = event;
  const isOpen = useSignal(false);
  return (
    <details onToggle={(e) => (isOpen.value = e.currentTarget.open)}>
      <summary>
        <small class="sequence-number">{sequence}</small>
        <small class="offset" title={tellInstant(timestamp)}>
          +{tellDuration(Date.parse(timestamp) - from)}
        </small>
        <code>{event_type}</code> {name !== null && <Line text={name} />}
        {actor.type !== "system" && (
          <small>
            {" "}
            <Line text={tellPerson(actor)} />
          </small>
        )}
      </summary>
      {isOpen.value && (
        <>
          <p class="quiet">
            {tellInstant(timestamp)}, <Line text={tellPerson(actor)} />, <code>{event_id}</code>
          </p>
          <Block text={JSON.stringify(payload, null, 2)} />
        </>
      )}
    </details>
  );
}
