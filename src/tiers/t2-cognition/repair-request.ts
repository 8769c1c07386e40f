/**
 * Curiosity: repairs a refused request once, from the message of the refusal. It knows no tool; it drops parameters
 * that were called unknown and converts those that were called of the wrong type.
 */
import type { Json } from "../../contract/json.ts";
import type { Repaired, RepairQuestion } from "../../contract/messages/t2.ts";

/** Returns the repaired params; `changed` is false if nothing could be repaired. */
export function repairRequest({ params, input_schema, message }: RepairQuestion): Repaired {
  const properties = (input_schema?.["properties"] ?? {}) as Readonly<
    Record<string, { readonly type?: string; readonly default?: Json }>
  >;
  const known = Object.keys(properties);
  const fitted = Object.fromEntries(
    Object.entries(params)
      .filter(([key]) => (known.length === 0 ? !message.includes(key) : known.includes(key)))
      .map(([key, value]) => [key, convert(value as Json, properties[key]?.type)]),
  );
  for (const key of (input_schema?.["required"] ?? []) as string[]) {
    const preset = properties[key]?.default;
    if (!(key in fitted) && preset !== undefined) fitted[key] = preset;
  }
  return { params: fitted, changed: JSON.stringify(fitted) !== JSON.stringify(params) };
}

function convert(value: Json, type: string | undefined): Json {
  if (
    (type === "number" || type === "integer") &&
    typeof value === "string" &&
    value.trim() !== "" &&
    Number.isFinite(Number(value))
  )
    return Number(value);
  if (type === "string" && typeof value !== "string") return JSON.stringify(value);
  if (type === "boolean" && (value === "true" || value === "false")) return value === "true";
  if (type === "array" && !Array.isArray(value)) return [value];
  return value;
}
