/**
 * The plan as a graph: each step a button, in the order in which they may run, with lines from what it waits for.
 *
 * Owns: the places. On a narrow page it is the list that it is to a screen reader.
 */
import type { Gate } from "../../../src/contract/gate.ts";
import type { StepView } from "../../../src/contract/workflow-state.ts";
import { depthsOf, stepsBefore } from "../../../src/observers/drawing/step-depths.ts";
import { showLine } from "../../../src/protocol/visible-text.ts";
import { isUndo, tellDecided, tellKind } from "../words.ts";
import { State } from "./marks.tsx";
import { Line } from "./shown.tsx";

const box = { width: 190, height: 104, across: 16, down: 26 } as const;

interface Place {
  readonly column: number;
  readonly row: number;
}

/** A step stands one row below the last of those that it waits for. */
function placeSteps(steps: readonly StepView[]): ReadonlyMap<string, Place> {
  const depths = depthsOf(steps.map(({ step_id, depends_on }) => ({ id: step_id, dependsOn: depends_on })));
  const places = new Map<string, Place>();
  const taken: number[] = [];
  for (const { step_id } of steps) {
    const row = depths.get(step_id) ?? 0;
    const column = taken[row] ?? 0;
    taken[row] = column + 1;
    places.set(step_id, { column, row });
  }
  return places;
}

const left = ({ column }: Place): number => column * (box.width + box.across);
const top = ({ row }: Place): number => row * (box.height + box.down);

/** Returns the steps with what they stand below: a step that undoes another one stands below that. */
function placedSteps(steps: readonly StepView[]): readonly StepView[] {
  const known = new Set(steps.map(({ step_id }) => step_id));
  return steps.map((step) => ({ ...step, depends_on: stepsBefore(step, (id) => known.has(id)) }));
}

interface StepGraphProps {
  readonly steps: readonly StepView[];
  readonly gates: readonly Gate[];
  readonly chosen: string | null;
  readonly choose: (stepId: string) => void;
}

export function StepGraph({ steps: given, gates, chosen, choose }: StepGraphProps) {
  const steps = placedSteps(given);
  const places = placeSteps(steps);
  const all = [...places.values()];
  const width = Math.max(0, ...all.map((place) => left(place) + box.width + 2 * box.across));
  const height = Math.max(0, ...all.map((place) => top(place) + box.height));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
    <section class="scrolls" tabIndex={0} aria-label="Steps of the plan">
      <div class="graph" style={{ "--width": `${width}px`, "--height": `${height}px` }}>
        <svg width={width} height={height} aria-hidden="true">
          {steps.flatMap((step) =>
            step.depends_on.map((id) => (
              <Edge key={`${id} ${step.step_id}`} from={places.get(id)} to={places.get(step.step_id)} />
            )),
          )}
        </svg>
        <ol>
          {steps.map((step) => {
            const place = places.get(step.step_id) ?? { column: 0, row: 0 };
            return (
              <li key={step.step_id} style={{ left: `${left(place)}px`, top: `${top(place)}px` }}>
                <StepButton
                  step={step}
                  gate={gates.findLast(({ step_id }) => step_id === step.step_id) ?? null}
                  isChosen={step.step_id === chosen}
                  choose={choose}
                />
              </li>
            );
          })}
        </ol>
      </div>
    </section>
  );
}

function Edge({ from, to }: { readonly from: Place | undefined; readonly to: Place | undefined }) {
  if (from === undefined || to === undefined) return null;
  if (to.column === from.column && to.row - from.row > 1) return <path d={aside(from, to)} />;
  const [x1, y1] = [left(from) + box.width / 2, top(from) + box.height];
  const [x2, y2] = [left(to) + box.width / 2, top(to)];
  const bend = (y2 - y1) / 2;
  return <path d={`M${x1},${y1}C${x1},${y1 + bend} ${x2},${y2 - bend} ${x2},${y2}`} />;
}

/** Beside the boxes between, the further the more of them there are. */
function aside(from: Place, to: Place): string {
  const x = left(from) + box.width;
  const [y1, y2] = [top(from) + box.height / 2, top(to) + box.height / 2];
  const out = x + Math.min(14 + 7 * (to.row - from.row), 2 * box.across + 14);
  return `M${x},${y1}C${out},${y1} ${out},${y2} ${x},${y2}`;
}

interface StepButtonProps {
  readonly step: StepView;
  /** The newest gate of the step. */
  readonly gate: Gate | null;
  readonly isChosen: boolean;
  readonly choose: (stepId: string) => void;
}

function StepButton({ step, gate, isChosen, choose }: StepButtonProps) {
  const after = step.depends_on.length === 0 ? "" : `, after ${step.depends_on.join(", ")}`;
  return (
    <button
      type="button"
      class={step.kind === "ask" ? "step asks" : "step"}
      aria-pressed={isChosen}
      title={showLine(`${step.operator}${after}`)}
      onClick={() => choose(step.step_id)}
    >
      <span class="step-name">
        <Line text={step.name} />
      </span>
      <State state={step.state} phase={step.state === "running" ? step.phase : null} />
      <small class="step-people">
        {isUndo(step) ? "undoes earlier work" : tellKind(step.kind)}
        {step.depends_on.length > 1 && `, joins ${step.depends_on.length}`}
        {step.items !== undefined && `, ${step.items.done} of ${step.items.total}`}
        {step.attempts > 1 && `, ${step.attempts} attempts`}
      </small>
      {gate !== null && <small class="step-people">Gate: {tellDecided(gate)}</small>}
    </button>
  );
}
