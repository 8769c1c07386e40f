/** What the package depends on, why, and what its root entry really loads. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { guardedEntries, namedPeers } from "../package/entry-peers.ts";
import { importsOf, readSource, root, sourcesIn } from "./source-files.ts";

type Dependencies = Readonly<Record<string, string>>;

interface Manifest {
  readonly dependencies?: Dependencies;
  readonly devDependencies?: Dependencies;
  readonly peerDependencies?: Dependencies;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

const manifest = JSON.parse(readSource("package.json").text) as Manifest;
const namesIn = (list: Dependencies | undefined): readonly string[] => Object.keys(list ?? {});
const core = ["xstate", "zod", "rxjs", "ulid"] as const;
/**
 * The root verifies signed approvals with the first; the program `countersign` reads its words and prints with the
 * others.
 */
const alsoInstalled = ["croner", "jose", "commander", "fast-wrap-ansi"] as const;

/** The first column of the table headed `| Dependency |`, with its reason. */
function dependencyTable(): ReadonlyMap<string, string> {
  const path = "ARCHITECTURE.md";
  if (!existsSync(join(root, path))) throw new Error(`${path} does not exist yet: it holds the table of dependencies`);
  const lines = readSource(path).text.split("\n");
  const head = lines.findIndex((line) => /^\|\s*Dependency\s*\|/.test(line));
  if (head < 0) throw new Error(`${path} has no table headed "| Dependency |"`);
  const rest = lines.slice(head + 2);
  const end = rest.findIndex((line) => !line.startsWith("|"));
  const rows = rest.slice(0, end < 0 ? rest.length : end).map((line) => line.split("|").map((cell) => cell.trim()));
  return new Map(
    rows.flatMap(([, names = "", ...cells]) => packagesIn(names).map((name) => [name, cells.join(" ").trim()])),
  );
}

/** A row may name several: "`vitest`, `@xstate/graph` 3". */
const packagesIn = (cell: string): readonly string[] =>
  cell.split(/[,;]|\band\b/).flatMap((part) => /(?:@[\w.-]+\/)?[\w.-]+/.exec(part)?.[0] ?? []);

describe("dependencies", () => {
  it("[CARD-01] package.json names the six packages of the design in their places", () => {
    expect(namesIn(manifest.dependencies)).toEqual(expect.arrayContaining([...core]));
    expect(namesIn(manifest.devDependencies)).toEqual(expect.arrayContaining(["vitest", "@xstate/graph"]));
  });

  it("[CARD-01] every dependency has a row with a reason in ARCHITECTURE.md", () => {
    const table = dependencyTable();
    const lists = [manifest.dependencies, manifest.devDependencies, manifest.peerDependencies];
    const without = lists.flatMap(namesIn).filter((name) => (table.get(name) ?? "") === "");
    expect(without.map((name) => `${name} has no row with a reason`)).toEqual([]);
  });

  it("[CARD-01] @xstate/graph and the clients of Postgres and Restate are optional peers, if peers at all", () => {
    const mustNotComeAlong = ["@xstate/graph", "pg", "postgres", "@restatedev/restate-sdk"];
    expect(namesIn(manifest.dependencies).filter((name) => mustNotComeAlong.includes(name))).toEqual([]);
    const forced = namesIn(manifest.peerDependencies).filter(
      (name) => manifest.peerDependenciesMeta?.[name]?.optional !== true,
    );
    expect(forced).toEqual([]);
  });

  it("only what the root and the program `countersign` need to start is installed with the package", () => {
    expect([...namesIn(manifest.dependencies)].sort()).toEqual([...core, ...alsoInstalled].sort());
  });

  it("every dependency is used, and what the product loads is one", () => {
    const used = new Set(
      sourcesIn("src", "machines")
        .flatMap(importsOf)
        .flatMap((edge) => edge.package ?? []),
    );
    expect(namesIn(manifest.dependencies).filter((name) => !used.has(name))).toEqual([]);
    const shipped = new Set([...namesIn(manifest.dependencies), ...namesIn(manifest.peerDependencies)]);
    expect([...used].filter((name) => !name.startsWith("node:") && !shipped.has(name))).toEqual([]);
  });
});

/** What importing a file of the repository loads, asked of a process of its own. */
function loadedBy(path: string): readonly string[] {
  if (!existsSync(join(root, path))) throw new Error(`${path} does not exist yet`);
  const script = join(root, "test/tidy/list-loaded.ts");
  return JSON.parse(
    execFileSync(process.execPath, [script, join(root, path)], { encoding: "utf8" }),
  ) as readonly string[];
}

/** The four packages and all that they depend on. */
function allowedPackages(): ReadonlySet<string> {
  const allowed = new Set<string>(core);
  for (const name of allowed) {
    const path = join("node_modules", name, "package.json");
    for (const inner of namesIn((JSON.parse(readSource(path).text) as Manifest).dependencies)) allowed.add(inner);
  }
  return allowed;
}

describe("the root entry", () => {
  it("[CARD-01] loads no package but xstate, zod, rxjs, ulid and their own", () => {
    const allowed = allowedPackages();
    const packages = loadedBy("src/index.ts").filter((name) => !name.startsWith("node:"));
    expect(packages).toEqual(expect.arrayContaining([...core]));
    expect(packages.filter((name) => !allowed.has(name))).toEqual([]);
  });

  it("[CARD-01] loads neither a database nor a network", () => {
    const heavy =
      /^node:(sqlite|http|https|http2|net|tls|dgram|dns|child_process|cluster|worker_threads|inspector|repl)$/;
    expect(loadedBy("src/index.ts").filter((name) => heavy.test(name))).toEqual([]);
  });

  it("the machines load xstate and nothing else", () => {
    expect(loadedBy("machines/index.ts")).toEqual(["xstate"]);
  });
});

describe("optional packages", () => {
  const installed: ReadonlySet<string> = new Set(namesIn(manifest.dependencies));

  it.each([...guardedEntries])("%s names each optional package that it loads", (_entry, path) => {
    const named = namedPeers(path);
    const peers = namesIn(manifest.peerDependencies);
    const loaded = loadedBy(path.replace("entry.ts", "index.ts")).filter((name) => peers.includes(name));
    const brought = [...named.keys()].flatMap((name) => {
      const inner = JSON.parse(readSource(join("node_modules", name, "package.json")).text) as Manifest;
      return namesIn(inner.dependencies);
    });
    expect(loaded.filter((name) => !named.has(name) && !brought.includes(name))).toEqual([]);
    expect(loaded.length).toBeGreaterThan(0);
  });

  it.each([...guardedEntries])("%s exports what its index exports", async (_entry, path) => {
    const entry = (await import(join(root, path))) as object;
    const index = (await import(join(root, path.replace("entry.ts", "index.ts")))) as object;
    expect(Object.keys(entry).sort()).toEqual(Object.keys(index).sort());
  });

  it("no other entry loads one when it is imported", () => {
    const others = ["src/ledger/sqlite", "src/ledger/postgres", "src/packages/operators/llm", "src/testing"];
    const observers = ["src/observers/inspect", "src/observers/notifiers"];
    for (const room of [...others, ...observers]) {
      const loaded = loadedBy(`${room}/index.ts`).filter((name) => namesIn(manifest.peerDependencies).includes(name));
      expect([room, loaded]).toEqual([room, []]);
    }
  });

  it("an error asks npm for a version that package.json accepts", () => {
    const files = sourcesIn("src").map(({ path }) => path);
    const named = files.flatMap((path) => [...namedPeers(path)].map(([name, version]) => ({ path, name, version })));
    const isIn = (range: string | undefined, version: string) => `${range}.`.startsWith(`^${version}.`);
    expect(named.filter(({ name, version }) => !isIn(manifest.peerDependencies?.[name], version))).toEqual([]);
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter(({ name }) => installed.has(name))).toEqual([]);
  });

  it("the guide says what to install for each of them", () => {
    const guide = readSource("src/guide/start.md").text;
    for (const path of guardedEntries.values()) {
      const command = [...namedPeers(path)].map(([name, version]) => `${name}@${version}`).join(" ");
      expect(guide).toContain(`\`npm install ${command}\``);
    }
    // The package of the models' interface has types alone.
    const named = namesIn(manifest.peerDependencies).filter((name) => guide.includes(`${name}@`));
    expect([...named, "@ai-sdk/provider"].sort()).toEqual([...namesIn(manifest.peerDependencies)].sort());
  });
});
