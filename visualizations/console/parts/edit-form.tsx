/**
 * What may be changed before it is approved: fields from the JSON Schema of whoever defines it, or JSON where a schema
 * says more than fields can.
 *
 * 1.  What is sent are the members that were changed, and no others.
 * 2.  It is shown as the change it makes, each character by name that nobody sees, before it can be sent.
 */
import { useSignal } from "@preact/signals";
import type { GateEditable } from "../../../src/contract/gate.ts";
import type { Json, JsonObject } from "../../../src/contract/json.ts";
import { labelOf } from "../../../src/protocol/present-facts.ts";
import { showLine } from "../../../src/protocol/visible-text.ts";
import { Diff, diffLines } from "./diff.tsx";

export interface Schema {
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly format?: string;
  readonly enum?: readonly Json[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
}

interface EditFormProps {
  readonly editable: GateEditable;
  readonly isBusy: boolean;
  readonly send: (edit: JsonObject) => void;
}

const asRecord = (value: Json): JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};

export function EditForm({ editable: { value, schema }, isBusy, send }: EditFormProps) {
  const before = asRecord(value);
  const edited = useSignal<JsonObject>({});
  const wrong = useSignal<Readonly<Record<string, string>>>({});
  const fields = (schema ?? {}) as Schema;
  const names = [...new Set([...Object.keys(fields.properties ?? {}), ...Object.keys(before)])];
  const changed = Object.entries(edited.value).filter(
    ([name, now]) => JSON.stringify(now) !== JSON.stringify(before[name]),
  );
  const problems = Object.values(wrong.value).filter((problem) => problem !== "");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (changed.length > 0 && problems.length === 0) send(Object.fromEntries(changed));
      }}
    >
      {names.map((name) => (
        <Field
          key={name}
          name={name}
          schema={fields.properties?.[name] ?? {}}
          value={before[name] as Json | undefined}
          set={(now, problem) => {
            wrong.value = { ...wrong.value, [name]: problem };
            if (problem === "") edited.value = { ...edited.value, [name]: now };
          }}
        />
      ))}
      {problems.map((problem) => (
        <p key={problem} class="problem" role="alert">
          {problem}
        </p>
      ))}
      {changed.length > 0 && (
        <>
          <h3>Your changes</h3>
          <Diff diff={diffLines(textOf(changed.map(([name]) => [name, before[name]])), textOf(changed))} />
        </>
      )}
      <button type="submit" disabled={isBusy || changed.length === 0 || problems.length > 0}>
        Approve with these changes
      </button>
    </form>
  );
}

/** A text as it is, all else as JSON. */
const textOf = (members: readonly (readonly [string, unknown])[]): string =>
  members
    .flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}: ${typeof value === "string" ? value : JSON.stringify(value, null, 2)}`],
    )
    .join("\n");

interface FieldProps {
  readonly name: string;
  readonly schema: Schema;
  readonly value: Json | undefined;
  readonly isOptional?: boolean;
  readonly set: (value: Json, problem: string) => void;
}

export function Field({ name, schema, value, isOptional = false, set }: FieldProps) {
  const label = showLine(schema.title ?? labelOf(name));
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is inside
    <label class="field">
      <span>
        {label} {isOptional && <small>(optional)</small>}
      </span>
      {schema.description !== undefined && <small>{showLine(schema.description)}</small>}
      <Control name={name} schema={schema} value={value} set={set} />
    </label>
  );
}

function Control({ name, schema, value, set }: FieldProps) {
  const { type, minimum, maximum, minLength, maxLength } = schema;
  if (schema.enum !== undefined) return <Choice choices={schema.enum} value={value} set={set} />;
  if (type === "boolean")
    return <input type="checkbox" checked={value === true} onChange={(e) => set(e.currentTarget.checked, "")} />;
  if (type === "number" || type === "integer") {
    const step = type === "integer" ? 1 : "any";
    const read = (text: string) => {
      const number = Number(text);
      const fits = text.trim() !== "" && Number.isFinite(number) && (type !== "integer" || Number.isInteger(number));
      set(number, fits ? "" : `${name} is a number`);
    };
    return (
      <input
        type="number"
        {...{ min: minimum, max: maximum, step }}
        defaultValue={String(value ?? "")}
        onInput={(e) => read(e.currentTarget.value)}
      />
    );
  }
  if (type === "string" && schema.format === "date")
    return <input type="date" defaultValue={String(value ?? "")} onInput={(e) => set(e.currentTarget.value, "")} />;
  if (isListOfTexts(schema, value)) return <TextList value={value} set={set} />;
  if (type === "string" && !String(value ?? "").includes("\n") && String(value ?? "").length <= 60)
    return (
      <input
        type="text"
        {...{ minLength, maxLength }}
        defaultValue={String(value ?? "")}
        onInput={(e) => set(e.currentTarget.value, "")}
      />
    );
  if (type === "string" || (type === undefined && typeof value === "string"))
    return (
      <textarea
        rows={Math.min(16, Math.max(2, String(value ?? "").split("\n").length))}
        {...{ minLength, maxLength }}
        defaultValue={String(value ?? "")}
        onInput={(e) => set(e.currentTarget.value, "")}
      />
    );
  return <JsonText name={name} value={value} set={set} />;
}

const isListOfTexts = ({ type, items }: Schema, value: Json | undefined): boolean =>
  type === "array" &&
  items?.type === "string" &&
  (value === undefined ||
    (Array.isArray(value) && value.every((one) => typeof one === "string" && !one.includes("\n"))));

/** A list of texts, one a line; empty lines are no items. */
function TextList({ value, set }: ControlProps) {
  const items = (value ?? []) as readonly string[];
  return (
    <>
      <small>one a line</small>
      <textarea
        rows={Math.min(16, Math.max(3, items.length + 1))}
        defaultValue={items.join("\n")}
        onInput={(e) =>
          set(
            e.currentTarget.value.split("\n").filter((line) => line.trim() !== ""),
            "",
          )
        }
      />
    </>
  );
}

type ControlProps = Pick<FieldProps, "value" | "set">;

function Choice({ choices, value, set }: ControlProps & { readonly choices: readonly Json[] }) {
  const at = choices.findIndex((one) => JSON.stringify(one) === JSON.stringify(value));
  return (
    <select value={String(at)} onChange={(e) => set(choices[Number(e.currentTarget.value)] ?? null, "")}>
      {choices.map((one, i) => (
        <option key={JSON.stringify(one)} value={String(i)}>
          {typeof one === "string" ? showLine(one) : JSON.stringify(one)}
        </option>
      ))}
    </select>
  );
}

function JsonText({ name, value, set }: ControlProps & { readonly name: string }) {
  const read = (text: string) => {
    try {
      set(JSON.parse(text) as Json, "");
    } catch (thrown) {
      set(null, `${name} is no JSON: ${(thrown as Error).message}`);
    }
  };
  const text = value === undefined ? "" : JSON.stringify(value, null, 2);
  const rows = Math.min(20, Math.max(3, text.split("\n").length));
  return <textarea class="code" rows={rows} defaultValue={text} onInput={(e) => read(e.currentTarget.value)} />;
}
