/**
 * Who sent what to whom: a lane for each who took part, an arrow for each message. To a screen reader it is a list of
 * sentences.
 *
 * 1.  Bounded: so many rows at a time, and as many lanes as fit.
 */
import { useSignal } from "@preact/signals";
import type { Message } from "../inspected.ts";
import { count } from "../words.ts";
import { Line } from "./shown.tsx";

const rowsAtOnce = 120;
const lane = { width: 22, height: 24 } as const;
const mostLanes = 24;

interface SequenceProps {
  readonly messages: readonly Message[];
  readonly nameOf: (id: string) => string;
}

export function Sequence({ messages, nameOf }: SequenceProps) {
  const most = useSignal(rowsAtOnce);
  const shown = messages.slice(-most.value);
  const lanes = [...new Set(shown.flatMap(({ from, to }) => [from, to]))].slice(0, mostLanes);
  const hidden = messages.length - shown.length;
  return (
    <>
      {hidden > 0 && (
        <button
          type="button"
          onClick={() => {
            most.value += 4 * rowsAtOnce;
          }}
        >
          Show earlier ones ({count(hidden, "message")})
        </button>
      )}
      <ol class="plain sequence">
        {shown.map(({ id, from, to, type }) => (
          <li key={id}>
            <Arrow lanes={lanes.length} from={lanes.indexOf(from)} to={lanes.indexOf(to)} />
            <span>
              <Line text={nameOf(from)} /> <span aria-hidden="true">→</span>
              <span class="unseen"> to </span> <Line text={nameOf(to)} />: <code>{type}</code>
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

interface ArrowProps {
  readonly lanes: number;
  readonly from: number;
  readonly to: number;
}

const middle = (at: number): number => at * lane.width + lane.width / 2;

function Arrow({ lanes, from, to }: ArrowProps) {
  const y = lane.height / 2;
  const tip = to > from ? -5 : 5;
  return (
    <svg class="lanes" width={lanes * lane.width} height={lane.height} aria-hidden="true">
      {Array.from({ length: lanes }, (_, at) => (
        <path key={middle(at)} class="rail" d={`M${middle(at)},0V${lane.height}`} />
      ))}
      {from >= 0 && to >= 0 && (
        <>
          <circle cx={middle(from)} cy={y} r={3} />
          <path d={`M${middle(from)},${y}H${middle(to)}`} />
          {from !== to && <path d={`M${middle(to) + tip},${y - 4}L${middle(to)},${y}L${middle(to) + tip},${y + 4}`} />}
        </>
      )}
    </svg>
  );
}
