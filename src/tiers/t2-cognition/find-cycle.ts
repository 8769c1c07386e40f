/** Finds a cycle of dependencies: its ids, with the first one repeated at the end; null if there is none. */
export interface Dependent {
  readonly id: string;
  readonly depends_on: readonly string[];
}

export function findCycle(nodes: readonly Dependent[]): readonly string[] | null {
  const byId = new Map(nodes.map((n) => [n.id, n]));
  const finished = new Set<string>();
  for (const { id } of nodes) {
    const cycle = walk(id, { byId, finished, path: [] });
    if (cycle !== null) return cycle;
  }
  return null;
}

interface Walk {
  readonly byId: ReadonlyMap<string, Dependent>;
  readonly finished: Set<string>;
  readonly path: readonly string[];
}

function walk(id: string, at: Walk): readonly string[] | null {
  if (at.path.includes(id)) return [...at.path.slice(at.path.indexOf(id)), id];
  if (at.finished.has(id)) return null;
  for (const next of at.byId.get(id)?.depends_on ?? []) {
    const cycle = walk(next, { ...at, path: [...at.path, id] });
    if (cycle !== null) return cycle;
  }
  at.finished.add(id);
  return null;
}
