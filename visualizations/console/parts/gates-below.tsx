/** What waits for people in the workflows that a run has as its children, at every level. */
import { useEffect } from "preact/hooks";
import type { GatePage } from "../../../src/contract/page.ts";
import type { WorkflowState } from "../../../src/contract/workflow-state.ts";
import { kernel } from "../api.ts";
import { followFeed } from "../live.ts";
import { useLoaded } from "../loaded.tsx";
import { gateHref } from "../route.ts";
import { Line } from "./shown.tsx";

interface GatesBelowProps {
  readonly run: WorkflowState;
}

const hasChildren = ({ steps }: WorkflowState): boolean =>
  steps.some(({ child, items }) => child !== null || items !== undefined);

export function GatesBelow({ run }: GatesBelowProps) {
  const { workflow_id } = run;
  const asks = hasChildren(run);
  const { answer, reload } = useLoaded<GatePage>(
    asks ? `${kernel}/gates?under=${encodeURIComponent(workflow_id)}` : null,
  );
  useEffect(
    () => (asks ? followFeed(({ gates }) => (gates.length === 0 ? undefined : void reload())) : undefined),
    [asks, reload],
  );
  const page = answer.value;
  if (page?.ok !== true) return null;
  return (
    <>
      {page.value.gates
        .filter((gate) => gate.workflow_id !== workflow_id)
        .map((gate) => (
          <p key={`${gate.workflow_id}/${gate.gate_id}`} class="note wait">
            A person decides below step {(gate.path ?? []).map(({ step_id }) => step_id).join(" / ")}:{" "}
            <a href={gateHref(gate.workflow_id, gate.gate_id)}>
              <Line text={gate.title} />
            </a>
          </p>
        ))}
    </>
  );
}
