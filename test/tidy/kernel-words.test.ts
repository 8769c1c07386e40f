/** The kernel rooms know no business, no vendor and no shipped package: read as text, comments and all. */
import { describe, expect, it } from "vitest";
import { roomOf } from "./ladder.ts";
import {
  asNode,
  importsOf,
  kernelRooms,
  lineAt,
  listPaths,
  nameOf,
  nodesOf,
  readSource,
  type SourceFile,
  sourcesIn,
  stringOf,
} from "./source-files.ts";
import {
  exampleWords,
  interfaceWords,
  packageWords,
  promptWords,
  retrievalWords,
  vendorWords,
  wordPattern,
} from "./words.ts";

const kernel = sourcesIn(...kernelRooms);

function findWords(files: readonly SourceFile[], words: readonly string[]): string[] {
  const patterns = words.map(wordPattern);
  return files.flatMap((file) =>
    patterns.flatMap((pattern) =>
      [...file.text.matchAll(pattern)].map((match) => `${file.path}:${lineAt(file, match.index)}  ${match[0]}`),
    ),
  );
}

/** Names that a standard gives: a format of JSON Schema, and the type of an error's details in A2A. */
const standardNames: ReadonlySet<string> = new Set([
  "src/contract/answer-form.ts email",
  "src/protocol/form-fields.ts email",
  "src/protocol/a2a-rpc.ts google",
]);
const isOfStandard = (found: string): boolean => standardNames.has(found.replace(/:\d+ +/, " "));

describe("words", () => {
  it("the rooms are read at all", () => {
    const empty = kernelRooms.filter((room) => !kernel.some((file) => file.path.startsWith(room)));
    expect(empty).toEqual([]);
  });

  it("[NOT-02] no word of the seeds' examples or of a shipped package stands in a kernel room", () => {
    const found = findWords(kernel, [...exampleWords, ...packageWords]);
    expect(found.filter((one) => !isOfStandard(one))).toEqual([]);
  });

  it("[NOT-02] no prompt stands in a kernel room", () => {
    expect(findWords(kernel, promptWords)).toEqual([]);
  });

  it("[NOT-03] no vendor is named in a kernel room", () => {
    expect(findWords(kernel, vendorWords).filter((one) => !isOfStandard(one))).toEqual([]);
  });

  it("the scan reads whole words in any case, in code and in comments", () => {
    const probe = {
      path: "probe.ts",
      text: "// Send an Email\nconst digit = emailed + 'Release Notes' + GIT + x_git;\n",
    };
    expect(findWords([probe], [...exampleWords, ...packageWords])).toEqual([
      "probe.ts:1  Email",
      "probe.ts:2  Release Notes",
      "probe.ts:2  GIT",
    ]);
  });
});

describe("shipped names", () => {
  /** `Repo.ReleaseNotes.Draft`, `Git.Log`, `Draft.ReleaseNotes`: what packages and operators call themselves. */
  function shippedNames(): readonly string[] {
    const names = new Set<string>();
    for (const file of sourcesIn("src/packages/capabilities", "src/packages/operators")) {
      for (const node of nodesOf(file)) {
        const text = stringOf(node) ?? "";
        if (/^[A-Z][A-Za-z0-9]+(\.[A-Z][A-Za-z0-9]+)+$/.test(text)) names.add(text);
      }
    }
    return [...names].sort();
  }

  it("[INV-17] no name of a shipped intent, operator or outcome stands in a kernel room", () => {
    const names = shippedNames();
    expect(names).toEqual(expect.arrayContaining(["File.Write", "Git.Log"]));
    expect(
      findWords(
        kernel,
        names.map((name) => name.replaceAll(".", "\\.")),
      ),
    ).toEqual([]);
  });

  it("[INV-17] no kernel room imports a package, an operator, an adapter or a ledger", () => {
    const shipped: ReadonlySet<string> = new Set(["capabilities", "operators", "adapters"]);
    const wrong = kernel.flatMap(importsOf).filter((edge) => {
      const room = edge.file === null ? "" : roomOf(edge.file);
      return shipped.has(room) || room.startsWith("ledgers") || room.startsWith("hosts");
    });
    expect(wrong.map((edge) => `${edge.from}:${edge.line}  imports ${edge.specifier}`)).toEqual([]);
  });
});

describe("what the kernel does not own", () => {
  it("[NOT-01] no page, no retrieval and no prompt is made in a kernel room", () => {
    expect(findWords(kernel, [...interfaceWords, ...retrievalWords, ...promptWords])).toEqual([]);
    const notCode = kernelRooms.flatMap(listPaths).filter((path) => !/\.(ts|md)$/.test(path));
    expect(notCode).toEqual([]);
  });

  it("[NOT-01] planner, retrieval, operators and stores reach the kernel through ports and the contract only", () => {
    const rooms = new Set(
      kernel.flatMap(importsOf).flatMap((edge) => (edge.file === null ? [] : roomOf(edge.file).split("/")[0])),
    );
    const own = new Set(kernelRooms.map((room) => room.replace("src/", "")));
    expect([...rooms].filter((room) => !(own as ReadonlySet<string | undefined>).has(room))).toEqual([]);
  });
});

describe("the store", () => {
  /** What a ledger keeps, and nothing of what it is about. */
  const collections = [
    "append",
    "read",
    "last",
    "tail",
    "position",
    "head",
    "heads",
    "listHeads",
    "countHeads",
    "gates",
    "listGates",
    "countGates",
    "listSeats",
    "countHolds",
    "halts",
    "charges",
    "chargesOf",
    "findKey",
    "memory",
    "documents",
  ];
  const housekeeping = [
    "name",
    "open",
    "indexes",
    "sync",
    "searchHeads",
    "dataVersion",
    "heartbeat",
    "claim",
    "takeUp",
    "release",
    "held",
    "follow",
    "check",
    "lag",
    "nextDue",
    "version",
    "close",
  ];

  it("[NOT-04] the port keeps generic collections: turns, heads, gates, keys, charges, memory, documents", () => {
    const file = readSource("src/ports/ledger-store.ts");
    const store = nodesOf(file).find(
      (node) => node.type === "TSInterfaceDeclaration" && nameOf(node["id"]) === "LedgerStore",
    );
    const members = (asNode(store?.["body"])?.["body"] ?? []) as readonly { readonly key?: unknown }[];
    expect(members.map((member) => nameOf(member.key)).sort()).toEqual([...collections, ...housekeeping].sort());
  });

  it("[NOT-04] its records are made of the contract's words alone", () => {
    const port = [
      "src/ports/ledger-store.ts",
      "src/ports/wait-store.ts",
      "src/ports/schedule-index.ts",
      "src/ports/queue-index.ts",
      "src/ports/grant-index.ts",
      "src/ports/stand-in-index.ts",
      "src/ports/workflow-head.ts",
      "src/ports/gate-page.ts",
      "src/ports/decision-index.ts",
    ];
    const outside = port
      .flatMap((path) => importsOf(readSource(path)))
      .filter(({ file = "" }) => !file?.startsWith("src/contract/") && !port.includes(file ?? ""));
    expect(outside.map((edge) => edge.specifier)).toEqual([]);
    expect(findWords(sourcesIn("src/ledger"), [...exampleWords, ...packageWords])).toEqual([]);
  });
});
