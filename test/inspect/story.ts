/** What the tests of the inspector share: golden ledgers, and the picture that a viewer ends with. Never: asserts. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stepPath } from "../../machines/charts.ts";
import { foldEvents } from "../../machines/fold.ts";
import type { Inspection } from "../../src/contract/inspection.ts";
import { type LedgerEvent, openTurns, type TurnRow } from "../../src/index.ts";
import { Player, type PlayerOptions } from "../../src/observers/inspect/player.ts";

const goldenRoot = join(import.meta.dirname, "../replay/golden");

const eventsIn = (path: string): readonly LedgerEvent[] =>
  openTurns(
    readFileSync(path, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as TurnRow),
  );

/** The events of every golden ledger, by its name. */
export const goldens: readonly (readonly [name: string, events: readonly LedgerEvent[]])[] = readdirSync(
  goldenRoot,
).flatMap((release) =>
  readdirSync(join(goldenRoot, release))
    .filter((file) => file.endsWith(".jsonl"))
    .map((file) => [`${release} ${file}`, eventsIn(join(goldenRoot, release, file))] as const),
);

export function playAll(events: readonly LedgerEvent[], options: PlayerOptions = {}): readonly Inspection[] {
  const player = new Player(options);
  return events.flatMap((event) => player.tell(event));
}

export interface Pictured {
  readonly name: string;
  readonly parentId: string | undefined;
  readonly definition: string;
  readonly status: string;
  readonly value: unknown;
}

/** Who there is and where they stand, after these messages. */
export function pictureOf(told: readonly Inspection[]): ReadonlyMap<string, Pictured> {
  const picture = new Map<string, Pictured>();
  for (const message of told) {
    if (message.type === "@xstate.event") continue;
    const { status, value } = message.snapshot;
    if (message.type === "@xstate.actor") {
      const { sessionId, name, parentId, definition } = message;
      picture.set(sessionId, { name, parentId, definition, status, value });
    } else picture.set(message.sessionId, { ...(picture.get(message.sessionId) as Pictured), status, value });
  }
  return picture;
}

const flatten = (value: unknown): string =>
  typeof value === "string" ? value : Object.entries(value as object).map(([k, v]) => `${k}.${flatten(v)}`)[0]!;

/** States of the workflow, its steps and gates, as a picture has them. */
export function statesIn(picture: ReadonlyMap<string, Pictured>, workflowId: string): Readonly<Record<string, string>> {
  const own = [...picture].filter(([id]) => id === workflowId || id.startsWith(`${workflowId}/`));
  return Object.fromEntries(own.map(([id, { value }]) => [id, flatten(value)]));
}

/** The same, as the fold has them. */
export function foldedStates(events: readonly LedgerEvent[]): Readonly<Record<string, string>> {
  const record = foldEvents(events);
  if (record === null) return {};
  const at = (id: string): string => `${record.workflow_id}/${id}`;
  return Object.fromEntries([
    [record.workflow_id, record.state],
    ...[...record.steps].map(([id, step]) => [at(id), stepPath(step)]),
    ...[...record.gates].map(([id, gate]) => [at(id), gate.status]),
    ...[...record.actions].map(([id, { seen }]) => [at(id), seen]),
  ]);
}
