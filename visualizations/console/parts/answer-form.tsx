/**
 * The form of a question: a field for each member of the answer, and a button that sends it.
 *
 * 1.  Each field has a label, says what fits, and names its own error; the first one with an error gets the focus when
 *     the form is sent.
 * 2.  Whether an answer follows the form the server says. What was typed stays until it is taken.
 */
import { type Signal, useSignal } from "@preact/signals";
import type { AnswerForm as Form } from "../../../src/contract/answer-form.ts";
import type { Json, JsonObject } from "../../../src/contract/json.ts";
import {
  answerOf,
  defaultOf,
  describeShown,
  fieldsOf,
  readTyped,
  type ShownField,
} from "../../../src/protocol/form-fields.ts";
import { showLine } from "../../../src/protocol/visible-text.ts";

interface AnswerFormProps {
  readonly form: Form;
  readonly isBusy: boolean;
  /** What follows from an answer. */
  readonly follows: string;
  readonly send: (answer: JsonObject) => void;
}

type Texts = Readonly<Record<string, string>>;

/** What was typed into the fields of a form, and what is wrong with it. */
export interface Typing {
  readonly fields: readonly ShownField[];
  readonly typed: Signal<Texts>;
  readonly wrong: Signal<Texts>;
  /** Reads the fields: an answer, or the name of the first one that cannot be read, whose error then stands with it. */
  readonly read: () => { readonly answer: JsonObject } | { readonly first: string };
}

export function useTyping(form: Form): Typing {
  const fields = fieldsOf(form);
  const typed = useSignal<Texts>(Object.fromEntries(fields.map(({ name, field }) => [name, textOf(defaultOf(field))])));
  const wrong = useSignal<Texts>({});
  const read = () => {
    const all = fields.map((field) => ({ name: field.name, ...readField(field, typed.value[field.name] ?? "") }));
    wrong.value = Object.fromEntries(all.flatMap(({ name, problem }) => (problem === null ? [] : [[name, problem]])));
    const first = all.find(({ problem }) => problem !== null);
    return first === undefined
      ? { answer: answerOf(all.map(({ name, value }) => [name, value])) }
      : { first: first.name };
  };
  return { fields, typed, wrong, read };
}

export const FormFields = ({ fields, typed, wrong }: Typing) => (
  <>
    {fields.map((field) => (
      <Field
        key={field.name}
        shown={field}
        value={typed.value[field.name] ?? ""}
        problem={wrong.value[field.name] ?? null}
        set={(text) => {
          typed.value = { ...typed.value, [field.name]: text };
        }}
      />
    ))}
  </>
);

export function AnswerForm({ form, isBusy, follows, send }: AnswerFormProps) {
  const typing = useTyping(form);
  const submit = (element: HTMLFormElement): void => {
    const read = typing.read();
    if ("answer" in read) send(read.answer);
    else (element.elements.namedItem(read.first) as HTMLElement | null)?.focus();
  };
  return (
    <form
      noValidate
      aria-label="Your answer"
      onSubmit={(event) => {
        event.preventDefault();
        submit(event.currentTarget);
      }}
    >
      <FormFields {...typing} />
      <p id="if-answered">{showLine(follows)}</p>
      <button type="submit" class="approve" aria-describedby="if-answered" disabled={isBusy}>
        Answer
      </button>
    </form>
  );
}

const textOf = (value: Json | undefined): string =>
  value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);

interface Read {
  readonly value: Json | undefined;
  readonly problem: string | null;
}

function readField(field: ShownField, text: string): Read {
  const read = readTyped(field, text);
  if ("problem" in read) return { value: undefined, problem: read.problem };
  const isMissing = read.value === undefined && field.isRequired;
  return { value: read.value, problem: isMissing ? `${field.label} is required` : null };
}

interface FieldProps {
  readonly shown: ShownField;
  readonly value: string;
  readonly problem: string | null;
  readonly set: (text: string) => void;
}

function Field({ shown, value, problem, set }: FieldProps) {
  const { name, label, isRequired } = shown;
  const [id, about, error] = [`answer-${name}`, `about-${name}`, `error-${name}`];
  const described = {
    ...{ id, name, required: isRequired },
    "aria-describedby": problem === null ? about : `${about} ${error}`,
    "aria-invalid": problem !== null,
  };
  return (
    <div class="field">
      <label for={id}>{showLine(label)}</label>
      <small id={about}>{showLine(describeShown(shown))}</small>
      <Control shown={shown} described={described} value={value} set={set} />
      {problem !== null && (
        <p id={error} class="problem" role="alert">
          {showLine(problem)}
        </p>
      )}
    </div>
  );
}

interface ControlProps extends Pick<FieldProps, "shown" | "value" | "set"> {
  readonly described: object;
}

const inputModes: Readonly<Record<string, "email" | "url">> = { email: "email", uri: "url" };

function Control({ shown: { kind, field }, described, value, set }: ControlProps) {
  if (kind === "choice" || kind === "boolean") {
    const choices = kind === "boolean" ? ["yes", "no"] : "enum" in field ? (field.enum ?? []).map(String) : [];
    const chosen = value === "true" ? "yes" : value === "false" ? "no" : value;
    return (
      <select {...described} value={chosen} onChange={(e) => set(e.currentTarget.value)}>
        <option value="">choose</option>
        {choices.map((one) => (
          <option key={one} value={one}>
            {showLine(one)}
          </option>
        ))}
      </select>
    );
  }
  if (kind === "number")
    return <input {...described} inputMode="decimal" value={value} onInput={(e) => set(e.currentTarget.value)} />;
  if (kind === "json")
    return <textarea {...described} class="code" rows={3} value={value} onInput={(e) => set(e.currentTarget.value)} />;
  const { format = "", maxLength = 0 } = field as { readonly format?: string; readonly maxLength?: number };
  if (format === "" && (maxLength === 0 || maxLength > 120))
    return <textarea {...described} rows={2} value={value} onInput={(e) => set(e.currentTarget.value)} />;
  const typing = { value, onInput: (e: { readonly currentTarget: HTMLInputElement }) => set(e.currentTarget.value) };
  if (format === "date") return <input {...described} {...typing} type="date" />;
  return <input {...described} {...typing} type="text" inputMode={inputModes[format] ?? "text"} />;
}
