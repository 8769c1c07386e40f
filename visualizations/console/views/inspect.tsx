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
            {isFull(inspected) && (
              <p class="note wait">
                More runs are open than are shown: the server shows as many as make 500 actors. Further ones are left
                out until some of these end. Open one run to see all of its own.
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

/** Returns whether the server has said that there are runs which it does not show. */
const isFull = ({ messages }: Inspected): boolean => messages.some(({ type }) => type === "INSPECTOR_FULL");

interface TreeProps {
  readonly actors: ReadonlyMap<string, Actor>;
  readonly chosen: string | null;
  readonly choose: (id: string) => void;
}

/** An actor in its place of the tree. */
interface Row {
  readonly actor: Actor;
  readonly depth: number;
}

const rowsAtOnce = 100;

/** Returns the actors that a text is found in, and those around them, parents first. */
function rowsOf(actors: ReadonlyMap<string, Actor>, text: string): readonly Row[] {
  const byParent = Map.groupBy(actors.values(), ({ parent }) => parent);
  const sought = text.trim().toLowerCase();
  const isFound = ({ id, name, state }: Actor): boolean =>
    `${name} ${id} ${spaced(state)}`.toLowerCase().includes(sought);
  const branch = (parent: string | null, depth: number): readonly Row[] =>
    (byParent.get(parent) ?? []).flatMap((actor) => {
      const inner = branch(actor.id, depth + 1);
      return inner.length > 0 || isFound(actor) ? [{ actor, depth }, ...inner] : [];
    });
  return branch(null, 0);
}

function Tree({ actors, chosen, choose }: TreeProps) {
  const text = useSignal("");
  const most = useSignal(rowsAtOnce);
  const rows = useMemo(() => rowsOf(actors, text.value), [actors, text.value]);
  const shown = rows.slice(0, most.value);
  const left = rows.length - shown.length;
  return (
    <>
      <label class="field">
        <span>Find an actor by its name, its id or its state</span>
        <input
          type="search"
          value={text.value}
          onInput={(e) => {
            text.value = e.currentTarget.value;
            most.value = rowsAtOnce;
          }}
        />
      </label>
      {text.value !== "" && (
        <p class="quiet">
          {rows.length} of {count(actors.size, "actor")}
        </p>
      )}
      <ul class="plain tree">
        {shown.map(({ actor, depth }) => (
          <li key={actor.id} style={{ marginLeft: `${0.9 * depth}rem` }}>
            <button type="button" aria-pressed={actor.id === chosen} onClick={() => choose(actor.id)}>
              <Line text={actor.name} />
              {actor.state !== "" && <small> {spaced(actor.state).replaceAll(".", ": ")}</small>}
            </button>
          </li>
        ))}
      </ul>
      {left > 0 && (
        <button type="button" onClick={() => (most.value += rowsAtOnce)}>
          Show {Math.min(left, rowsAtOnce)} more of {count(left, "actor")}
        </button>
      )}
    </>
  );
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
