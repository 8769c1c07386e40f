/**
 * A lifecycle as a picture, with the state it is in lit and the arrow that led there thick.
 *
 * Owns: marks on the page; where they stand is src/observers/drawing/layout-chart.ts's. What it shows is said in words
 * as well.
 */
import { useEffect, useMemo, useRef } from "preact/hooks";
import { type ChartModel, type ChartState, readDefinition } from "../../../src/observers/drawing/chart-model.ts";
import { type Box, type Lane, type Level, layoutLevel, metrics } from "../../../src/observers/drawing/layout-chart.ts";
import { spaced } from "../words.ts";

interface LitChartProps {
  readonly definition: object;
  /** The state it is in, as the record says it: a path, or a state and the phase inside it. */
  readonly state: string;
  readonly phase?: string | null;
  /** The event that came last, of those that this chart takes. */
  readonly last?: string | null;
  readonly name: string;
}

const margin = 14;
/** It is made smaller to fit, down to this; then it scrolls. */
const smallest = 0.82;

export function LitChart({ definition, state, phase = null, last = null, name }: LitChartProps) {
  const chart = useMemo(() => readDefinition(definition, { notes: false }), [definition]);
  const level = useMemo(() => layoutLevel(chart.states, chart.arrows, chart.initial), [chart]);
  const lit = findState(chart, state, phase);
  const view = useRef<HTMLElement>(null);
  useEffect(() => {
    const box = view.current?.querySelector(".lit > .box")?.getBoundingClientRect();
    const frame = view.current?.getBoundingClientRect();
    if (box && frame) view.current?.scrollBy({ left: box.left - frame.left - (frame.width - box.width) / 2 });
  }, [lit]);
  const width = Math.ceil(level.width) + 2 * margin;
  const height = Math.ceil(level.height) + 2 * margin + metrics.gap;
  const words = `${name}: ${spaced(phase ?? state)}${last === null ? "" : `, since ${last}`}`;
  return (
    <figure class="chart">
      <figcaption>{words}</figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys */}
      <section class="scrolls" ref={view} tabIndex={0} aria-label={`Chart of ${name}`}>
        <svg
          width={width}
          style={{ minWidth: `${Math.round(smallest * width)}px` }}
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          aria-label={words}
        >
          <defs>
            <Head side="right" />
            <Head side="left" />
          </defs>
          <g transform={`translate(${margin},${margin + metrics.gap / 2})`}>
            <Drawn level={level} lit={lit} last={last} />
          </g>
        </svg>
      </section>
    </figure>
  );
}

const flat = (states: readonly ChartState[]): readonly ChartState[] => states.flatMap((s) => [s, ...flat(s.children)]);

/** The path that is lit; a phase is a state inside, however deep. */
export function findState({ states }: ChartModel, state: string, phase: string | null): string {
  const inside = flat(states).filter(({ path }) => path === state || path.startsWith(`${state}.`));
  return inside.find(({ name }) => name === phase)?.path ?? inside[0]?.path ?? state;
}

const Head = ({ side }: { readonly side: "right" | "left" }) => (
  <marker
    id={side}
    class={`head-${side}`}
    viewBox="0 0 8 8"
    refX="8"
    refY="4"
    markerWidth="8"
    markerHeight="8"
    markerUnits="userSpaceOnUse"
    orient="auto"
  >
    <path d="M0,0L8,4L0,8Z" />
  </marker>
);

interface DrawnProps {
  readonly level: Level;
  readonly lit: string;
  readonly last: string | null;
}

const Drawn = ({ level, lit, last }: DrawnProps) => (
  <>
    {level.lanes.map((lane) => (
      <LaneMarks key={`${lane.side}${lane.x}`} lane={lane} isTaken={isTaken(level, lane, lit)} last={last} />
    ))}
    {level.boxes.map((box) => (
      <BoxMarks key={box.state.path} box={box} isInitial={box.state.path === level.initial} lit={lit} last={last} />
    ))}
  </>
);

/** Returns whether the lane leads into what is lit. */
const isTaken = ({ boxes }: Level, { target }: Lane, lit: string): boolean =>
  boxes.some(
    ({ state, x, y, width }) =>
      isIn(lit, state.path) && target.y === y + metrics.header / 2 && (target.x === x || target.x === x + width),
  );

const isIn = (lit: string, path: string): boolean => lit === path || lit.startsWith(`${path}.`);

interface BoxMarksProps {
  readonly box: Box;
  readonly isInitial: boolean;
  readonly lit: string;
  readonly last: string | null;
}

function BoxMarks({ box: { state, x, y, width, height, inner, innerTop }, isInitial, lit, last }: BoxMarksProps) {
  const tone = lit === state.path ? " lit" : isIn(lit, state.path) ? " around" : "";
  return (
    <g class={`chart-state${tone}`}>
      <rect class="box" x={x} y={y} width={width} height={height} rx={6} />
      {state.isFinal && <rect class="end" x={x + 3} y={y + 3} width={width - 6} height={height - 6} rx={4} />}
      {isInitial && <circle class="start" cx={x + width / 2} cy={y - 10} r={4} />}
      <text class="name" x={x + metrics.pad} y={y + 18}>
        {state.name}
      </text>
      {state.stays.map((label, row) => (
        <text key={label} class="stay" x={x + metrics.pad} y={y + metrics.header + row * metrics.row + 8}>
          {label}
        </text>
      ))}
      {inner !== null && (
        <g transform={`translate(${x + metrics.pad},${y + innerTop})`}>
          <Drawn level={inner} lit={lit} last={last} />
        </g>
      )}
    </g>
  );
}

interface LaneMarksProps {
  readonly lane: Lane;
  readonly isTaken: boolean;
  readonly last: string | null;
}

const names = (label: string, last: string | null): boolean =>
  last !== null && (label === last || label.startsWith(`${last} `));

function LaneMarks({ lane: { x, side, target, sources, shared }, isTaken: taken, last }: LaneMarksProps) {
  const ys = sources.map((source) => source.y);
  const far = side === "right" ? Math.min(...ys) : Math.max(...ys);
  const thick = taken && [...shared, ...sources.flatMap(({ labels }) => labels)].some((label) => names(label, last));
  return (
    <g class={`lane ${side}${thick ? " taken" : ""}`}>
      <path d={`M${x},${far}V${target.y}H${target.x}`} marker-end={`url(#${side})`} />
      {shared.map((label, i) => (
        <text
          key={label}
          class={taken && names(label, last) ? "taken" : undefined}
          x={target.x + (side === "right" ? 12 : -12)}
          y={target.y - i * metrics.row - 4}
          text-anchor={side === "right" ? "start" : "end"}
        >
          {label}
        </text>
      ))}
      {sources.map((source) => (
        <g key={source.y}>
          <path d={`M${source.x},${source.y}H${x}`} />
          {source.labels.map((label, i) => (
            <text
              key={label}
              class={taken && names(label, last) ? "taken" : undefined}
              x={source.x + (side === "right" ? 8 : -8)}
              y={source.y - (source.labels.length - 1 - i) * metrics.row - 4}
              text-anchor={side === "right" ? "start" : "end"}
            >
              {label}
            </text>
          ))}
        </g>
      ))}
    </g>
  );
}
