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
