/**
 * JSON texts in which something is changed: a value, a member, an item, or how one of them is spelled.
 *
 * Owns: the tree of a text, the changes, and the text of the changed tree, which may be no JSON at all.
 */
import fc from "fast-check";

/** A value of a text: a list, an object with the names as they are spelled, or the text of anything else. */
type Node = string | { readonly items: readonly Node[] } | { readonly members: readonly Member[] };
type Member = readonly [name: string, value: Node];

function toNode(value: unknown): Node {
  if (Array.isArray(value)) return { items: value.map(toNode) };
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return { members: Object.entries(value).map(([name, member]) => [JSON.stringify(name), toNode(member)]) };
}

function toText(node: Node): string {
  if (typeof node === "string") return node;
  if ("items" in node) return `[${node.items.map(toText).join()}]`;
  return `{${node.members.map(([name, value]) => `${name}:${toText(value)}`).join()}}`;
}

const childrenOf = (node: Node): readonly Node[] => {
  if (typeof node === "string") return [];
  return "items" in node ? node.items : node.members.map(([, value]) => value);
};

const countNodes = (node: Node): number => childrenOf(node).reduce((sum, child) => sum + countNodes(child), 1);

/** Returns the tree with the node at this place changed; places are counted from the root, parents first. */
function changeAt(node: Node, place: number, change: (node: Node) => Node): Node {
  if (place === 0) return change(node);
  let next = place - 1;
  const changeChild = (child: Node): Node => {
    const size = countNodes(child);
    const found = next >= 0 && next < size ? changeAt(child, next, change) : child;
    next -= size;
    return found;
  };
  if (typeof node === "string") return node;
  if ("items" in node) return { items: node.items.map(changeChild) };
  return { members: node.members.map(([name, value]) => [name, changeChild(value)]) };
}

const nested = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;

/** Values of every type, in every spelling. `$` stands for the text that was there. */
const values = [
  ...["null", "true", "false", "0", "1", "2", "3", "-1", "1.5", "1e2", "100", "1.0", "-0", "3.0", "1E5", "1e400", "01"],
  ...["9007199254740991", "9007199254740993", "1e+21", "1000000000000000000000", "NaN", "9".repeat(400)],
  ...['""', '"x"', '"0"', '"3"', '"\\u0041"', '"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"', '"\ud83d\ude00"', '"\\/"'],
  ...[
    '"__proto__"',
    '"closing"',
    '"audit_entry"',
    '"evidence"',
    "[]",
    "{}",
    '["audit_entry"]',
    '{"a":1}',
    "[$]",
    "[[$]]",
  ],
  ...['{"a":$}', " $", "$ ", "\t$", "\r$", "\ufeff$", "$\u0000", "\u00a0$", "$,$", '"$"', "-$", "$.0", "$e0", "+$"],
  ...['{"hash":$}', '{"__proto__":$}', '{"toString":$}', '{"1":$,"0":1}', '{"0":$,"1":1}', nested(2400), nested(2600)],
];
const names = [
  ...[
    '"x"',
    '"hash"',
    '"evidence"',
    '"stream"',
    '"body"',
    '"__proto__"',
    '"constructor"',
    '"length"',
    '"0"',
    '"\\u0061"',
  ],
  ...['"events"', '"count"', '"rows"', '""', "x", '"\\ud800"', '"actor"', '"step_id"', '"thread_id"', '"inputs"'],
];

/** A change of a node. What it needs of randomness are a number, a value and a name. */
type Change = (node: Node, drawn: { readonly nr: number; readonly value: string; readonly name: string }) => Node;

const changeList =
  (change: (list: readonly Member[], at: number, drawn: Member) => readonly Member[]): Change =>
  (node, { nr, value, name }) => {
    if (typeof node === "string") return value;
    const list: readonly Member[] = "items" in node ? node.items.map((item) => ["", item]) : node.members;
    const changed = change(list, nr % Math.max(1, list.length), [name, value]);
    return "items" in node ? { items: changed.map(([, item]) => item) } : { members: changed };
  };

const fill = (value: string, node: Node): string => value.replaceAll("$", () => toText(node));

const changes: readonly Change[] = [
  (node, { value }) => fill(value, node),
  (node, { value }) => fill(value, node),
  changeList((list, at, drawn) => list.toSpliced(at, 0, drawn)),
  changeList((list, _, drawn) => [...list, drawn]),
  changeList((list, at) => list.toSpliced(at, 1)),
  changeList((list, at) => list.toSpliced(at, 0, ...list.slice(at, at + 1))),
  changeList((list, at) => [...list, ...list.slice(at, at + 1)]),
  changeList((list, at, [name]) => list.map(([was, value], i) => [i === at ? name : was, value])),
  changeList((list, at, [, value]) =>
    list.map(([name, was], i) => [name, i === at ? fill(value as string, was) : was]),
  ),
  changeList((list) => list.toReversed()),
];

/** Changes a text of JSON in one place. */
export type Mutation = (text: string) => string;

/** Draws a change. Half of all changes are near the root, where the members of the format are. */
export const mutations: fc.Arbitrary<Mutation> = fc
  .record({
    place: fc.oneof(fc.constant(0), fc.nat(20), fc.nat()),
    change: fc.constantFrom(...changes),
    nr: fc.nat(),
    value: fc.constantFrom(...values),
    name: fc.constantFrom(...names),
  })
  .map(({ place, change, ...drawn }) => (text) => {
    const root = toNode(JSON.parse(text));
    return toText(changeAt(root, place % countNodes(root), (node) => change(node, drawn)));
  });
