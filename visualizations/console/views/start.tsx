/** A new run, from a form made of the schema of what the work takes. */
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { CapabilityView } from "../../../src/contract/capability-view.ts";
import type { SubmitResponse } from "../../../src/contract/intent.ts";
import type { Json, JsonObject } from "../../../src/contract/json.ts";
import { ask, kernel, type Problem } from "../api.ts";
import { makeKey } from "../decide.ts";
import { Show, useLoaded } from "../loaded.tsx";
import { Field, type Schema } from "../parts/edit-form.tsx";
import { Heading } from "../parts/page.tsx";
import { ProblemNote } from "../parts/problem.tsx";
import { Line } from "../parts/shown.tsx";
import { runHref } from "../route.ts";

interface Catalogue {
  readonly capabilities: readonly CapabilityView[];
}

export function Start() {
  const loaded = useLoaded<Catalogue>(`${kernel}/capabilities`);
  const chosen = useSignal("");
  return (
    <div class="narrow">
      <Heading title="New run" />
      <Show loaded={loaded}>
        {({ capabilities }) => {
          const newest = [...new Map(capabilities.map((one) => [one.intent_type, one])).values()];
          const kind = newest.find(({ intent_type }) => intent_type === (chosen.value || newest[0]?.intent_type));
          if (kind === undefined) return <p class="empty">This server has no work to run.</p>;
          return (
            <>
              <label class="field">
                <span>Kind of work</span>
                <select value={kind.intent_type} onChange={(e) => (chosen.value = e.currentTarget.value)}>
                  {newest.map(({ intent_type }) => (
                    <option key={intent_type} value={intent_type}>
                      {intent_type}
                    </option>
                  ))}
                </select>
              </label>
              <p class="quiet">
                <Line text={kind.description} />
              </p>
              <StartForm key={kind.intent_type} kind={kind} />
            </>
          );
        }}
      </Show>
    </div>
  );
}

function StartForm({ kind: { intent_type, input } }: { readonly kind: CapabilityView }) {
  const schema = input as unknown as Schema;
  const names = Object.keys(schema.properties ?? {});
  const inputs = useSignal<JsonObject>({});
  const title = useSignal("");
  const wrong = useSignal<Readonly<Record<string, string>>>({});
  const problem = useSignal<Problem | null>(null);
  const isBusy = useSignal(false);
  // An attempt that was not answered is repeated under its key, and then begins no second run.
  const key = useMemo(makeKey, [inputs.value, title.value]);
  const problems = Object.values(wrong.value).filter((one) => one !== "");
  const send = async () => {
    isBusy.value = true;
    const text = title.value.trim();
    const body = {
      intent_hint: { intent_type, inputs: inputs.value },
      ...(text !== "" && { input: { mode: "data", text } }),
    };
    const answer = await ask<SubmitResponse>(`${kernel}/submit`, { method: "POST", body, key });
    isBusy.value = false;
    problem.value = answer.ok ? null : answer.problem;
    if (answer.ok) location.assign(runHref(answer.value.workflow_id));
  };
  return (
    <form
      class="card"
      aria-label="New run"
      onSubmit={(event) => {
        event.preventDefault();
        if (problems.length === 0 && !isBusy.value) void send();
      }}
    >
      <label class="field">
        <span>
          Title <small>(optional; the name of the run in lists)</small>
        </span>
        <input maxLength={200} value={title.value} onInput={(e) => (title.value = e.currentTarget.value)} />
      </label>
      {names.map((name) => (
        <Field
          key={name}
          name={name}
          schema={schema.properties?.[name] ?? {}}
          isOptional={schema.required?.includes(name) !== true}
          value={undefined as Json | undefined}
          set={(value, reason) => {
            wrong.value = { ...wrong.value, [name]: reason };
            if (reason === "") inputs.value = { ...inputs.value, [name]: value };
          }}
        />
      ))}
      {problems.map((one) => (
        <p key={one} class="problem" role="alert">
          {one}
        </p>
      ))}
      {problem.value !== null && <ProblemNote problem={problem.value} />}
      <button type="submit" class="primary" disabled={isBusy.value || problems.length > 0}>
        Begin the run
      </button>
    </form>
  );
}
