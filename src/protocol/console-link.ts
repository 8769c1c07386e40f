/** The address of the console, and links to its pages. Opening one decides nothing. */
import { z } from "zod";

const httpUrl = /^https?$/;

/** The address of the console, as people's browsers know it. */
export const ConsoleUrl = z
  .url({ protocol: httpUrl, error: "is the console's address, such as https://gates.example" })
  .refine((text) => !/[?#]/.test(text), "has neither query nor fragment")
  .transform((text) => (text.endsWith("/") ? text : `${text}/`));

interface RunPlace {
  readonly workflow_id: string;
}
interface GatePlace extends RunPlace {
  readonly gate: { readonly gate_id: string };
}

/** Returns the address at which the gate is decided, after signing in. */
export const linkTo = (consoleUrl: string, place: GatePlace): string =>
  `${linkToRun(consoleUrl, place)}/g/${encodeURIComponent(place.gate.gate_id)}`;

/** Returns the address of the page of a workflow. */
export const linkToRun = (consoleUrl: string, { workflow_id }: RunPlace): string =>
  `${consoleUrl}#/w/${encodeURIComponent(workflow_id)}`;
