/**
 * Stopping work: the halts that hold, and the form that sets one.
 *
 * 1.  A halt takes effect at once, for everybody: it is set only after its word was typed. One press lifts it.
 */
import { useSignal } from "@preact/signals";
import type { HaltFilter, HaltStanding } from "../../../src/contract/halt.ts";
import { announce } from "../announce.ts";
import { ask, kernel, type Problem } from "../api.ts";
import { Show, useLoaded } from "../loaded.tsx";
import { Ago } from "../parts/marks.tsx";
import { Heading } from "../parts/page.tsx";
import { ProblemNote } from "../parts/problem.tsx";
import { Line } from "../parts/shown.tsx";
import { count, tellPerson } from "../words.ts";

export function Halts() {
  const loaded = useLoaded<{ readonly halts: readonly HaltStanding[] }>(`${kernel}/halts`);
  const problem = useSignal<Problem | null>(null);
  const give = async (word: "halt" | "lift", body: object, done: string): Promise<boolean> => {
    const answer = await ask(`${kernel}/${word}`, { method: "POST", body });
    problem.value = answer.ok ? null : answer.problem;
    if (answer.ok) announce(done);
    await loaded.reload();
    return answer.ok;
  };
  return (
    <>
      <Heading title="Stop work" />
      {problem.value !== null && <ProblemNote problem={problem.value} />}
      <Show loaded={loaded}>
        {({ halts }) =>
          halts.length === 0 ? (
            <p class="empty">Nothing is stopped.</p>
          ) : (
            halts.map((halt) => (
              <Standing
                key={halt.halt_id}
                halt={halt}
                lift={() => void give("lift", { halt_id: halt.halt_id }, "The halt is lifted; its work goes on")}
              />
            ))
          )
        }
      </Show>
      <HaltForm set={(body) => give("halt", body, "Work is stopped")} />
    </>
  );
}

/** What a halt concerns, in words. */
function tellOf({ capability, operator, principal }: HaltFilter): string {
  const named = [
    ...(capability === undefined ? [] : [`work of ${capability}`]),
    ...(operator === undefined ? [] : [`calls of ${operator}`]),
    ...(principal === undefined ? [] : [`what ${tellPerson(principal)} asked for`]),
  ];
  return named.length === 0 ? "All work is stopped" : `Stopped: ${named.join(", ")}`;
}

const Standing = ({ halt, lift }: { readonly halt: HaltStanding; readonly lift: () => void }) => (
  <section class="card">
    <h2>
      <Line text={tellOf(halt.of)} />
    </h2>
    <p>
      <Line text={halt.reason} />
    </p>
    <p class="quiet">
      Set by {tellPerson(halt.by)}, <Ago at={halt.at} />. It holds {count(halt.held.workflows, "run")} and{" "}
      {count(halt.held.steps, "single step")}.
    </p>
    <button type="button" onClick={lift}>
      Lift
    </button>
  </section>
);

/** The word that is typed before work is stopped. */
const confirmation = "stop";
const empty = { capability: "", operator: "", reason: "", typed: "" };

const fields = [
  ["capability", "Only work of this type"],
  ["operator", "Only calls of this operator"],
  ["reason", "Reason"],
  ["typed", `Type “${confirmation}” to confirm`],
] as const;

function HaltForm({ set }: { readonly set: (body: object) => Promise<boolean> }) {
  const form = useSignal(empty);
  const { capability, operator, reason, typed } = form.value;
  const isReady = reason.trim() !== "" && typed.trim().toLowerCase() === confirmation;
  const give = async (): Promise<void> => {
    const of = {
      ...(capability !== "" && { capability }),
      ...(operator !== "" && { operator }),
    };
    if (await set({ of, reason })) form.value = empty;
  };
  return (
    <form
      class="card"
      aria-label="Stop work"
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) void give();
      }}
    >
      <h2>Stop work</h2>
      <p>
        Nothing new begins, in any process. Calls under way end, and nothing fails: what is held goes on once the halt
        is lifted. Where nothing is named, everything is stopped.
      </p>
      {fields.map(([name, title]) => (
        <label key={name} class="field">
          <span>{title}</span>
          <input
            type="text"
            maxLength={name === "reason" ? 1024 : 256}
            value={form.value[name]}
            onInput={(event) => (form.value = { ...form.value, [name]: event.currentTarget.value })}
          />
        </label>
      ))}
      <button type="submit" class="danger" disabled={!isReady}>
        Stop
      </button>
    </form>
  );
}
