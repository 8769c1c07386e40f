/** The depth of each step in a plan: the maximum number of steps before it. */
interface Dependent {
  readonly id: string;
  readonly dependsOn: readonly string[];
}

/** Returns the depths by id. A dependency of a step on itself, direct or indirect, is ignored. */
export function depthsOf(nodes: readonly Dependent[]): ReadonlyMap<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const depths = new Map<string, number>();
  const depthOf = (node: Dependent, seen: ReadonlySet<string>): number => {
    const known = depths.get(node.id);
    if (known !== undefined) return known;
    const before = node.dependsOn.flatMap((id) => (seen.has(id) ? [] : (byId.get(id) ?? [])));
    const depth = Math.max(0, ...before.map((one) => depthOf(one, new Set([...seen, one.id])) + 1));
    depths.set(node.id, depth);
    return depth;
  };
  for (const node of nodes) depthOf(node, new Set([node.id]));
  return depths;
}

/**
 * Returns the steps that a step of a run follows in a picture: those that it depends on, or for a step that undoes
 * another one that step, which the id names: `undo:pay`, `undo:pay:2`, `undo:pay:ask`.
 */
export function stepsBefore(
  { step_id, depends_on }: { readonly step_id: string; readonly depends_on: readonly string[] },
  isKnown: (id: string) => boolean,
): readonly string[] {
  if (depends_on.length > 0 || !step_id.startsWith("undo:")) return depends_on;
  const named = step_id.slice("undo:".length);
  const undone = [named, named.replace(/:[^:]+$/, "")].find(isKnown);
  return undone === undefined ? [] : [undone];
}
