/** The HTTP API is a room of its own: the kernel neither imports it nor speaks to a network. */
import { describe, expect, it } from "vitest";
import { importsOf, kernelRooms, sourcesIn } from "../tidy/source-files.ts";

const network = /^(node:(http|https|http2|net|tls|dgram|dns)|hono|@hono\/.+|undici|ws|express|fastify)$/;

describe("the boundary", () => {
  it("[API-08] no room of the kernel imports a network module, and only faces the HTTP room", () => {
    const core = sourcesIn(...kernelRooms, "src/adapters", "src/hosts/embedded", "src/ledger/sqlite", "src/define");
    const spoken = core.flatMap(importsOf).filter((edge) => network.test(edge.package ?? ""));
    expect(spoken).toEqual([]);
    const users = sourcesIn("src", "machines")
      .flatMap(importsOf)
      .filter((edge) => edge.file?.startsWith("src/faces/http/") && !edge.from.startsWith("src/faces/http/"));
    const roomOf = ({ from }: { readonly from: string }): string => from.split("/").slice(0, 3).join("/");
    expect(new Set(users.map(roomOf))).toEqual(new Set(["src/faces/cli", "src/faces/events", "src/faces/protocols"]));
    // The command line loads it only for commands that serve.
    const cli = users.filter((edge) => roomOf(edge) === "src/faces/cli");
    expect(new Set(cli.map((edge) => edge.kind))).toEqual(new Set(["dynamic"]));
  });

  it("[API-08] the HTTP room calls the kernel by its public face, and no store, tier or machine", () => {
    const reached = sourcesIn("src/faces/http").flatMap(importsOf);
    const inside = reached.filter((edge) =>
      /^(src\/(tiers|engine|ledger|hosts|adapters|kernel)|machines)/.test(edge.file ?? ""),
    );
    expect(inside).toEqual([]);
    expect(reached.some((edge) => edge.file === "src/index.ts")).toBe(true);
  });
});
