/** The actors of the kernel as an inspector sees them: who there is, in which state, and who sent what to whom. */
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { type Actor, type Inspected, useInspected } from "../inspected.ts";
import { LitChart } from "../parts/lit-chart.tsx";
import { Heading } from "../parts/page.tsx";
import { Sequence } from "../parts/sequence.tsx";
import { Line } from "../parts/shown.tsx";
import { runHref } from "../route.ts";
import { count, spaced } from "../words.ts";

export function Inspect({ workflow }: { readonly workflow: string | null }) {
  const inspected = useInspected(workflow).value;
  const chosen = useSignal<string | null>(null);
  const actor = inspected.actors.get(chosen.value ?? workflow ?? "kernel") ?? null;
  const choose = (id: string) => {
    chosen.value = id;
  };
  return (
    <>
      <Heading title="Inspect">
        <p class="lede">
          {workflow === null ? (
            "All runs that have not ended, as they go on."
          ) : (
            <>
              One run from its first event on: <a href={runHref(workflow)}>{workflow}</a>
            </>
          )}
        </p>
      </Heading>
      <div class="board">
        <div class="content">
          <section class="card" aria-labelledby="actors">
            <h2 id="actors">{count(inspected.actors.size, "actor")}</h2>
            {inspected.hidden.size > 0 && (
              <p class="note wait">
                {count(inspected.hidden.size, "more actor")} {inspected.hidden.size === 1 ? "is" : "are"} not shown.
                Open one run to see all of its own.
              </p>
            )}
            <Tree actors={inspected.actors} chosen={actor?.id ?? null} choose={choose} />
          </section>
        </div>
        {actor !== null && <Chosen actor={actor} />}
      </div>
      <Messages inspected={inspected} />
    </>
  );
}

interface TreeProps {
  readonly actors: ReadonlyMap<string, Actor>;
  readonly chosen: string | null;
  readonly choose: (id: string) => void;
}

function Tree({ actors, chosen, choose }: TreeProps) {
  const byParent = Map.groupBy(actors.values(), ({ parent }) => parent);
  const branch = (parent: string | null) => {
    const own = byParent.get(parent) ?? [];
    if (own.length === 0) return null;
    return (
      <ul class={parent === null ? "plain tree" : "tree"}>
        {own.map((actor) => (
          <li key={actor.id}>
            <button type="button" aria-pressed={actor.id === chosen} onClick={() => choose(actor.id)}>
              <Line text={actor.name} />
              {actor.state !== "" && <small> {spaced(actor.state).replaceAll(".", ": ")}</small>}
            </button>
            {branch(actor.id)}
          </li>
        ))}
      </ul>
    );
  };
  return branch(null);
}

function Chosen({ actor: { name, state, status, definition, last } }: { readonly actor: Actor }) {
  const chart = useMemo(() => JSON.parse(definition) as object, [definition]);
  return (
    <section class="card charts" aria-labelledby="chosen-actor">
      <h2 id="chosen-actor">
        <Line text={name} />
      </h2>
      <p class="quiet">{status === "active" ? "It is alive." : "It has come to its end."}</p>
      {"states" in chart ? (
        <LitChart definition={chart} state={state} last={last} name={name} />
      ) : (
        <p>A person or an operation: it has no lifecycle of its own.</p>
      )}
    </section>
  );
}

function Messages({ inspected: { messages, gone, actors } }: { readonly inspected: Inspected }) {
  return (
    <section class="card" aria-labelledby="messages">
      <h2 id="messages">{count(messages.length + gone, "message")}, in their order</h2>
      <Sequence messages={messages} nameOf={(id) => actors.get(id)?.name ?? id} />
    </section>
  );
}
