/** Refunds to ask for, gates to decide, and each run to its end. */
import { type FormEvent, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { api, type Schemas } from "./api.ts";
import { type OpenGate, type Run, useFeed } from "./use-feed.ts";

function Page() {
  const { link, runs, gates } = useFeed();
  if (link === "closed") return <p role="alert">You are signed out: open a new link.</p>;
  return (
    <>
      <h1>Refunds</h1>
      <p role="status">{link === "live" ? "up to date" : "connecting …"}</p>
      <Ask />
      <h2>Waiting for a decision</h2>
      {[...gates].map(([key, gate]) => (
        <Decide key={key} gate={gate} />
      ))}
      <h2>Runs</h2>
      <ul aria-label="Runs">
        {[...runs.values()].map((run) => (
          <Follow key={run.workflow_id} run={run} />
        ))}
      </ul>
    </>
  );
}

function Ask() {
  const [problem, setProblem] = useState<string>();
  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const inputs = { order: String(form.get("order")), cents: Number(form.get("cents")) };
    const { error } = await api.POST("/v1/kernel/submit", {
      params: { header: { "Idempotency-Key": crypto.randomUUID() } }, // sent twice, it is one request
      body: { intent_hint: { intent_type: "Shop.Refund", inputs } },
    });
    setProblem(error?.detail);
  }
  return (
    <form onSubmit={submit}>
      <label>
        Order <input name="order" required />
      </label>
      <label>
        Cents <input name="cents" type="number" min="1" required />
      </label>
      <button type="submit">Ask for a refund</button>
      {problem && <p role="alert">{problem}</p>}
    </form>
  );
}

/** The feed says that somebody is asked; what would run is read whole, again where somebody changed it. */
function useGate(gate: OpenGate) {
  const [shown, show] = useState<Schemas["Gate"]>();
  useEffect(() => {
    let isCurrent = true;
    const path = { workflow_id: gate.workflow_id, gate_id: gate.gate_id };
    api
      .GET("/v1/kernel/workflows/{workflow_id}/gates/{gate_id}", { params: { path } })
      .then(({ data }) => isCurrent && show(data));
    return () => {
      isCurrent = false;
    };
  }, [gate]);
  return shown;
}

function Decide({ gate }: { gate: OpenGate }) {
  const shown = useGate(gate);
  const [problem, setProblem] = useState<string>();
  if (shown === undefined) return null;
  const { workflow_id, gate_id, title, payload, payload_digest } = shown;
  async function decide(decision: "approve" | "reject") {
    const { error } = await api.POST("/v1/kernel/workflows/{workflow_id}/gate", {
      params: { path: { workflow_id } },
      body: { gate_id, decision, payload: { payload_digest } }, // what was seen is what is approved
    });
    setProblem(error?.detail);
  }
  return (
    <article aria-label={title}>
      <h3>{title}</h3>
      <pre>{JSON.stringify(payload)}</pre>
      <button type="button" onClick={() => decide("approve")}>
        Approve
      </button>
      <button type="button" onClick={() => decide("reject")}>
        Reject
      </button>
      {problem && <p role="alert">{problem}</p>}
    </article>
  );
}

/** Each change of a run is one item of the feed; once it has ended, its answer is read. */
function Follow({ run: { workflow_id, intent_type, state, progress } }: { run: Run }) {
  const [answer, setAnswer] = useState<string>();
  const hasEnded = ["completed", "failed", "cancelled"].includes(state);
  useEffect(() => {
    if (!hasEnded) return;
    api
      .GET("/v1/kernel/workflows/{workflow_id}", { params: { path: { workflow_id } } })
      .then(({ data }) => setAnswer(data?.response.text ?? data?.error?.message));
  }, [workflow_id, hasEnded]);
  return (
    <li>
      {intent_type} {state} {progress && `${progress.percent} %`} {answer}
    </li>
  );
}

createRoot(document.getElementById("inbox")!).render(<Page />);
