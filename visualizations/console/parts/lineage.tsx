/** The runs that a run comes from, and those that come from it: its parent, its children, and its forks. */
import type { ForkOrigin } from "../../../src/contract/fork.ts";
import type { WorkflowState } from "../../../src/contract/workflow-state.ts";
import { runHref } from "../route.ts";
import { count } from "../words.ts";
import { Line } from "./shown.tsx";

/** More children than this are folded away. */
const few = 3;

export function Lineage({
  run: { parent, regenerated_from, forked_from, forks, steps },
}: {
  readonly run: WorkflowState;
}) {
  const children = steps.flatMap(({ child, name }) => (child === null ? [] : [{ child, name }]));
  return (
    <>
      {parent !== null && (
        <p>
          Child of step {parent.step_id} of <RunLink id={parent.workflow_id} />
        </p>
      )}
      {regenerated_from !== null && (
        <p>
          Does the work of <RunLink id={regenerated_from} /> again
        </p>
      )}
      {forked_from !== null && (
        <p>
          Forked from <RunLink id={forked_from.workflow_id} /> {tellPoint(forked_from)}:{" "}
          <Line text={forked_from.reason} />
        </p>
      )}
      <Links title={count(forks.length, "fork")} isOpen={forks.length <= few}>
        {forks.map((id) => ({ id, name: null }))}
      </Links>
      <Links title={children.length === 1 ? "1 child" : `${children.length} children`} isOpen={children.length <= few}>
        {children.map(({ child, name }) => ({ id: child, name }))}
      </Links>
    </>
  );
}

const tellPoint = ({ step_id, sequence }: ForkOrigin): string =>
  step_id === null ? `after event ${sequence}` : `at step ${step_id}`;

const RunLink = ({ id }: { readonly id: string }) => (
  <a href={runHref(id)}>
    <code class="id">{id}</code>
  </a>
);

interface LinksProps {
  readonly title: string;
  readonly isOpen: boolean;
  /** The runs, with the names of the steps that began them. */
  readonly children: readonly { readonly id: string; readonly name: string | null }[];
}

function Links({ title, isOpen, children }: LinksProps) {
  if (children.length === 0) return null;
  return (
    <details class="more" open={isOpen}>
      <summary>{title}</summary>
      <ul class="plain">
        {children.map(({ id, name }) => (
          <li key={id}>
            {name !== null && (
              <>
                Step <Line text={name} />:{" "}
              </>
            )}
            <RunLink id={id} />
          </li>
        ))}
      </ul>
    </details>
  );
}
