/**
 * The errors of a request, part by part (RFC 9457, section 3: the member `errors`), made from a schema's issues.
 *
 * Owns: the shape, JSON pointers (RFC 6901, as a URI fragment), the number that is reported. Never: repeats a value
 * that was sent.
 */
import { z } from "zod";

/**
 * One error: the place, as a `pointer` (into the body, such as `#/scope/scope_id`) or a `parameter` (of the query), and
 * the problem.
 */
export const FieldError = z
  .object({ pointer: z.string().optional(), parameter: z.string().optional(), detail: z.string() })
  .readonly();
export type FieldError = z.infer<typeof FieldError>;

export const FieldErrors = z.array(FieldError).readonly();

const maxErrors = 32;

type Path = readonly PropertyKey[];
type Issue = z.core.$ZodIssue;
interface Place {
  readonly path: Path;
  readonly detail: string;
}

/**
 * Returns the errors of a request. `at`: the path of the checked value in the body. An unknown key is named itself, not
 * the object that has it.
 */
export function fieldErrorsOf(error: z.ZodError, at: Path = []): readonly FieldError[] {
  const places = error.issues.flatMap((issue) => placesOf(issue, at)).slice(0, maxErrors);
  return places.map(({ path, detail }) => ({ pointer: pointerTo(path), detail }));
}

/** Returns the places of an issue. For a union these are the issues of the alternative that was read the furthest. */
function placesOf(issue: Issue, at: Path): readonly Place[] {
  const path = [...at, ...issue.path];
  if (issue.code === "unrecognized_keys") {
    const lines = issue.message.split("\n");
    return issue.keys.map((key, i) => ({ path: [...path, key], detail: lines[i] ?? issue.message }));
  }
  if (issue.code === "invalid_union") {
    const deepest = issue.errors.toSorted((a, b) => depthOf(b) - depthOf(a))[0] ?? [];
    if (depthOf(deepest) > 0) return deepest.flatMap((inner) => placesOf(inner, path));
  }
  return [{ path, detail: issue.message }];
}

const depthOf = (issues: readonly Issue[]): number => Math.max(0, ...issues.map(({ path }) => path.length));

const pointerTo = (path: Path): string => `#${path.map((key) => `/${pointerPartOf(String(key))}`).join("")}`;

const pointerPartOf = (key: string): string =>
  encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1").toWellFormed());
