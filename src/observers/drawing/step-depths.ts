/**
 * How far down a plan each step stands: how many steps come before it at most.
 */
interface Dependent {
  readonly id: string;
  readonly dependsOn: readonly string[];
}

/** By id. A step that waits for itself, by whatever way, does not wait there. */
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
