/**
 * Runs and open gates as the feed tells them: first all that is there, then each change, and after a lost connection
 * what was missed.
 */
import { useEffect, useReducer, useState } from "react";
import type { Schemas } from "./api.ts";

export type Run = Extract<Schemas["FeedItem"], { type: "workflow" }>;
export type OpenGate = Run["gates"][number] & Pick<Run, "workflow_id">;

interface Known {
  readonly runs: ReadonlyMap<string, Run>;
  readonly gates: ReadonlyMap<string, OpenGate>;
}
const nothing: Known = { runs: new Map(), gates: new Map() };

/** Null: what is told next is told from the beginning. */
function takeItem({ runs, gates }: Known, run: Run | null): Known {
  if (run === null) return nothing;
  const { workflow_id } = run;
  const open = new Map(gates);
  for (const gate of run.gates)
    if (gate.change === "closed") open.delete(`${workflow_id}/${gate.gate_id}`);
    else open.set(`${workflow_id}/${gate.gate_id}`, { ...gate, workflow_id });
  return { runs: new Map(runs).set(workflow_id, run), gates: open };
}

export function useFeed() {
  const [known, take] = useReducer(takeItem, nothing);
  const [link, setLink] = useState<"connecting" | "live" | "closed">("connecting");
  useEffect(() => {
    const source = new EventSource("/v1/kernel/stream/feed"); // it connects again by itself, after what it heard last
    let isWhole = false;
    source.addEventListener("open", () => {
      if (isWhole) setLink("live");
      else take(null); // a snapshot that was cut off
    });
    source.addEventListener("kernel.feed", ({ data }) => {
      const item = JSON.parse(data) as Schemas["FeedItem"];
      if (item.type === "workflow") return take(item);
      isWhole = true;
      setLink("live");
    });
    source.addEventListener("error", () => setLink(source.readyState === EventSource.CLOSED ? "closed" : "connecting"));
    return () => source.close();
  }, []);
  return { ...known, link };
}
