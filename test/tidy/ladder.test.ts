/** The ladder of rooms: imports go down or stay inside; no circles; the bus is the only way from tier to tier. */
import { describe, expect, it } from "vitest";
import { decideRooms, type Floor, floorOf, isListed, ladder, onlyIn, roomOf } from "./ladder.ts";
import { type Import, importsOf, readSource, type SourceFile, sourcesIn } from "./source-files.ts";

const sources = sourcesIn("src", "machines", "visualizations");
const imports = sources.flatMap(importsOf);
const decideFolder = "src/tiers/t4-execution/decide/";
const atPlace = (edge: Import, complaint: string): string => `${edge.from}:${edge.line}  ${complaint}`;

const declared: ReadonlySet<string> = (() => {
  const { dependencies = {}, peerDependencies = {} } = JSON.parse(readSource("package.json").text);
  return new Set(Object.keys({ ...dependencies, ...peerDependencies }));
})();

/** A file without a room is the first test's affair. */
function complaintOf(edge: Import): string | null {
  const room = roomOf(edge.from);
  const floor = floorOf(room);
  if (floor === undefined) return null;
  return edge.file === null ? packageComplaint(edge, room, floor) : roomComplaint(edge, room, floor);
}

function roomComplaint(edge: Import, room: string, floor: Floor): string | null {
  const target = roomOf(edge.file as string);
  if (target === room) return null;
  if (!isListed(floor.may, target))
    return `${room} may not import ${target} (${edge.specifier}): it may import ${floor.may.join(", ") || "nothing"}`;
  return formComplaint(edge, floor, target);
}

function packageComplaint(edge: Import, room: string, floor: Floor): string | null {
  const name = edge.package as string;
  const builtin = name.startsWith("node:");
  const allowed = builtin ? floor.builtins : floor.packages;
  const known = allowed === "any" || (allowed === "declared" ? declared.has(name) : allowed.includes(name));
  const undeclared = "package.json does not name it as a dependency";
  const why = typeof allowed === "string" ? undeclared : `it may import ${allowed.join(", ") || "none"}`;
  if (!known) return `${room} may not import ${name}: ${why}`;
  const sole = onlyIn.find(([r, what]) => r === room && what === name);
  if (sole !== undefined && sole[2] !== edge.from) return `in ${room}, ${name} is imported by ${sole[2]} only`;
  return formComplaint(edge, floor, name);
}

function formComplaint(edge: Import, floor: Floor, target: string): string | null {
  if (floor.typesOnly?.includes(target) && edge.kind !== "type" && edge.file !== floor.mayLoad)
    return `${target} may be imported as types only: write "import type"`;
  if (floor.dynamicOnly?.includes(target) && edge.kind === "runtime")
    return `${target} must be loaded by "await import(…)"`;
  return null;
}

const complaintsAbout = (edges: readonly Import[]): string[] =>
  edges.flatMap((edge) => {
    const complaint = complaintOf(edge);
    return complaint === null ? [] : [atPlace(edge, complaint)];
  });

describe("the ladder", () => {
  it("every file stands in a room of the table", () => {
    const homeless = sources.filter((file) => floorOf(roomOf(file.path)) === undefined);
    expect(
      homeless.map((file) => `${file.path} is in ${roomOf(file.path)}, which has no row in test/tidy/ladder.ts`),
    ).toEqual([]);
  });

  it("imports go down the table or stay in their room", () => {
    expect(complaintsAbout(imports)).toEqual([]);
  });

  it("the table itself only points down", () => {
    const heights = new Map(ladder.map((floor, height) => [floor.room.replace("/*", ""), height]));
    // A circle stands as high as the highest of its rooms.
    const inCircle = (circle: string) => [...heights].find(([room]) => room.startsWith(`${circle}/`))?.[1];
    const heightOf = (room: string) => heights.get(room) ?? inCircle(room) ?? heights.get(room.split("/")[0] as string);
    const up = ladder.flatMap((floor, height) =>
      floor.may.filter((target) => (heightOf(target) ?? -1) <= height).map((target) => `${floor.room} → ${target}`),
    );
    expect(up).toEqual([]);
  });

  it("the check catches a tier that imports a tier, a machine that loads a word, and RxJS outside its room", () => {
    const edge = (from: string, file: string | null, name: string | null): Import => ({
      from,
      file,
      package: name,
      specifier: file ?? name ?? "",
      kind: "runtime",
      line: 1,
    });
    const wrong = [
      edge("src/tiers/t4-execution/x.ts", "src/tiers/t5-ego/y.ts", null),
      edge("machines/step.ts", "src/contract/step.ts", null),
      edge("src/tiers/t4-execution/x.ts", null, "rxjs"),
      edge("src/contract/signal.ts", null, "node:crypto"),
      edge("src/create-kernel.ts", "src/ledger/sqlite/index.ts", null),
    ];
    expect(complaintsAbout(wrong)).toHaveLength(wrong.length);
  });
});

describe("tiers", () => {
  it("[CARD-07] no tier folder imports another tier folder", () => {
    const tierOf = (path: string) => /^src\/tiers\/([^/]+)\//.exec(path)?.[1];
    const crossings = imports.filter((edge) => {
      const [from, to] = [tierOf(edge.from), tierOf(edge.file ?? "")];
      return from !== undefined && to !== undefined && from !== to;
    });
    expect(crossings.map((edge) => atPlace(edge, `imports ${edge.specifier}: send a Signal`))).toEqual([]);
  });

  it("the rooms of deciding import themselves and rooms to their left", () => {
    const heightOf = (path: string): number =>
      decideRooms.findIndex((room) => path.startsWith(`${decideFolder}${room}/`));
    const inside = imports.filter((edge) => edge.from.startsWith(decideFolder) && edge.file?.startsWith(decideFolder));
    expect(inside.length).toBeGreaterThan(100);
    const wrong = inside.filter(({ from, file }) => heightOf(from) < 0 || heightOf(file as string) > heightOf(from));
    expect(wrong.map((edge) => atPlace(edge, `imports ${edge.specifier}`))).toEqual([]);
  });

  it("RxJS is loaded by the engine's actors alone", () => {
    const strays = imports.filter(
      (e) => e.package === "rxjs" && e.kind !== "type" && roomOf(e.from) !== "engine/actors",
    );
    expect(strays.map((edge) => atPlace(edge, "imports rxjs"))).toEqual([]);
  });
});

describe("circles", () => {
  it("no file imports itself over others, at run time", () => {
    expect(findCircles(sources, imports)).toEqual([]);
  });

  it("the check finds a circle and shows its way", () => {
    const file = (path: string): SourceFile => ({ path, text: "" });
    const edge = (from: string, to: string): Import => ({
      from,
      file: to,
      package: null,
      specifier: to,
      kind: "runtime",
      line: 1,
    });
    const edges = [edge("a", "b"), edge("b", "c"), edge("c", "a"), edge("d", "a")];
    expect(findCircles(["a", "b", "c", "d"].map(file), edges)).toEqual(["a → b → c → a"]);
  });
});

/** Depth first; a file met again while it is still open closes a circle. */
function findCircles(files: readonly SourceFile[], edges: readonly Import[]): string[] {
  const next = Map.groupBy(
    edges.filter((edge) => edge.kind === "runtime" && edge.file !== null),
    (edge) => edge.from,
  );
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, open: readonly string[]): void => {
    if (open.includes(path)) circles.push([...open.slice(open.indexOf(path)), path].join(" → "));
    if (done.has(path)) return;
    done.add(path);
    for (const edge of next.get(path) ?? []) visit(edge.file as string, [...open, path]);
  };
  for (const file of files) visit(file.path, []);
  return circles;
}
