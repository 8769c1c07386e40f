/**
 * The file of `guard --servers`: several MCP servers by name, in the form of clients' configurations.
 *
 * 1.  A file that cannot be read, or that has a key that nobody reads, is refused with a code and starts nothing.
 */
import { z } from "zod";
import type { UpstreamPlace } from "../guard/upstream.ts";
import { readJsonFile } from "./options.ts";
import { refuseFile } from "./refuse-file.ts";

/** The places of servers, by their names. */
export type Upstreams = Readonly<Record<string, UpstreamPlace>>;

/** A server's name; two underscores would end it where it stands before the name of a tool. */
const ServerName = z
  .string()
  .regex(/^[A-Za-z0-9](?:_?[A-Za-z0-9-])*$/, "letters, digits and -, single _")
  .max(64);
const Servers = z.strictObject({ mcpServers: z.record(ServerName, z.looseObject({})) });

const Program = z.strictObject({
  type: z.literal("stdio").optional(),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
});
const Remote = z.strictObject({
  type: z.literal("http").optional(),
  url: z.url({ protocol: /^https?$/ }),
  headers: z.record(z.string(), z.string()).default({}),
});

/** Returns the environment of servers that the guard starts: its own, as a client would have given it. */
export const environment = (): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined));

/** Reads a file of servers. @throws KernelErrorException T0_CLI_FILE_INVALID. */
export function readServers(path: string): Upstreams {
  const what = `--servers ${path}`;
  const { mcpServers } = parse(Servers, readJsonFile(path, what), what);
  const servers = Object.entries(mcpServers).map(
    ([name, server]) => [name, readServer(server, `${what}, ${name}`)] as const,
  );
  if (servers.length === 0) return refuseFile(what, "It names no server.");
  return Object.fromEntries(servers);
}

function readServer(server: object, what: string): UpstreamPlace {
  if ("url" in server) return parse(Remote, server, what);
  const { env, ...program } = parse(Program, server, what);
  return { ...program, env: { ...environment(), ...env } };
}

function parse<T extends z.ZodType>(schema: T, value: unknown, what: string): z.output<T> {
  const read = schema.safeParse(value);
  return read.success ? read.data : refuseFile(what, z.prettifyError(read.error));
}
