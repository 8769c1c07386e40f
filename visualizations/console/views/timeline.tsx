/** Where the time of a run went, step by step, and below it every event of its ledger. */
import type { WorkflowState } from "../../../src/contract/workflow-state.ts";
import { workflowPath } from "../api.ts";
import { Show, useLoaded } from "../loaded.tsx";
import { History } from "../parts/history.tsx";
import { LostEvents } from "../parts/lost-events.tsx";
import { RunHead } from "../parts/run-head.tsx";
import { TimeSpent } from "../parts/time-spent.tsx";
import { useRunEvents } from "../run-events.ts";
import { nameSteps } from "../words.ts";

export function Timeline({ workflow }: { readonly workflow: string }) {
  const read = useRunEvents(workflow);
  const { events } = read;
  const loaded = useLoaded<WorkflowState>(workflowPath(workflow));
  return (
    <Show loaded={loaded}>
      {(run) => (
        <>
          <RunHead run={run} tab="time" />
          <LostEvents run={read} />
          <TimeSpent events={events.value} end={run.finished_at} names={nameSteps(run)} />
          <History events={events.value} names={nameSteps(run)} />
        </>
      )}
    </Show>
  );
}
