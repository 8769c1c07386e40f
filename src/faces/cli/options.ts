/**
 * Options that all commands share, and the readers of option values.
 *
 * Owns: the defaults (ledger file, tenant, principal) and the messages for values that cannot be read.
 * 1.  A value that cannot be read is wrong usage (exit 2), which is reported before anything is opened.
 */
import { type Command, InvalidArgumentError } from "commander";
import { defaultRoles } from "../../adapters/role-authenticator.ts";
import type { Caller } from "../../contract/auth-context.ts";
import { isPlainObject, type JsonObject, NotJson } from "../../contract/json.ts";
import { Instant } from "../../contract/list-filter.ts";
import { parseSafeJson } from "../../protocol/parse-json.ts";
import { ownOptions, sharedOptions } from "./arrange-help.ts";
import { loadHost } from "./load-host.ts";
import { readTextFile, refuseFile } from "./refuse-file.ts";
import { UsageError } from "./report-error.ts";
import type { Terminal } from "./terminal.ts";

const defaultLedger = "countersign.db";

/** The options that name the ledger and the caller. */
export interface LedgerOptions {
  /** The ledger as it was typed; absent if `--db` was not given. */
  readonly db?: string;
  readonly capabilities: readonly string[];
  readonly policies: readonly string[];
  readonly json: boolean;
  readonly tenant: string | number;
  readonly principal: string | number;
  readonly role: string;
  /** The file of approvers' public keys. */
  readonly keys?: string;
}

export interface CommonOptions extends LedgerOptions {
  /** The module whose export `host` holds the options of the kernel. */
  readonly host?: string;
  /** Whether the packages of agents' calls are loaded, so that their gates can be decided. */
  readonly agents?: boolean;
}

/** Returns the ledger that `--db` names, or the default. */
export const ledgerNamed = ({ db }: Pick<LedgerOptions, "db">): string => db ?? defaultLedger;

/** The terminal and the options of a command. */
export interface Session<O extends LedgerOptions = CommonOptions> {
  readonly terminal: Terminal;
  readonly options: O;
}

export const callerOf = ({ tenant, principal, role }: LedgerOptions): Caller => ({
  tenant_id: tenant,
  principal: { type: "user", id: principal, role },
});

/** Adds the options of commands that run a kernel. */
export const addCommonOptions = (command: Command): Command =>
  addLedgerOptions(command)
    .optionsGroup(sharedOptions)
    .option(
      "--host <module>",
      "a module that exports `host`: the options of createKernel (ledger, packages, policies, roles, budgets, …)",
    )
    .option("--agents", "the packages of agents' calls, so that gates of `guard`, `hook` and adapters can be decided")
    .optionsGroup(ownOptions);

/** Adds the options of commands that read or copy a ledger without a kernel. */
export function addLedgerOptions(command: Command): Command {
  return command
    .optionsGroup(sharedOptions)
    .option(
      "--db <ledger>",
      [
        "the ledger: a file, or postgres://user@host/database?schema=countersign",
        `(default: ${defaultLedger}, or the host's)`,
      ].join(" "),
      readLedger,
    )
    .option(
      "--capabilities <module>",
      "packages, operators and policies to load (path or package; repeatable)",
      collect,
      [],
    )
    .option(
      "--policies <file>",
      "policy rules to load: YAML, JSON, Cedar, compiled Rego, or a module that exports them (repeatable)",
      collect,
      [],
    )
    .option("--json", "one JSON document, or JSON Lines, on stdout and nothing else there", false)
    .option("--tenant <id>", "the tenant on whose behalf", readId, 1)
    .option("--principal <id>", "who acts", readId, "local")
    .option("--role <role>", "the role of who acts", "user")
    .option("--keys <file>", 'approvers\' public keys, as {"user:ann": JWK}; for signed approvals')
    .optionsGroup(ownOptions);
}

/**
 * Requires a known role for commands whose credentials act as `--role` later. If the host has an authenticator, only
 * the authenticator knows its roles.
 * @throws UsageError for a role that the kernel does not know.
 */
export async function requireKnownRole(options: CommonOptions): Promise<void> {
  const known = await knownRoles(options);
  if (known?.includes(options.role) === false)
    throw new UsageError(`--role ${options.role} is unknown; there are ${known.join(", ")}`);
}

/** Returns the roles that the kernel knows; null if only the host's authenticator knows them. */
export async function knownRoles({ host }: Pick<CommonOptions, "host">): Promise<readonly string[] | null> {
  const loaded = await loadHost(host);
  if (loaded?.options.authenticator !== undefined) return null;
  return Object.keys(loaded?.options.roles ?? defaultRoles);
}

export interface AnswerGates {
  readonly answerGates: boolean;
}

export const addAnswerGates = (command: Command): Command =>
  command.option(
    "--answer-gates",
    "let a person answer gates over MCP and A2A; the client must ask that person, not its model",
    false,
  );

export const collect = (value: string, previous: readonly string[]): readonly string[] => [...previous, value];

export function readLedger(value: string): string {
  if (value === "") throw new InvalidArgumentError("It is empty: name a file, or a database by its URL.");
  if (value.startsWith("file:")) throw new InvalidArgumentError("It is a URI: name the file by a plain path.");
  return value;
}

/** Reads the id of a tenant or principal: digits are an integer, anything else a text. Empty ones are refused later. */
export function readId(value: string): string | number {
  const number = Number(value);
  return /^-?\d+$/.test(value) && Number.isSafeInteger(number) ? number : value;
}

/** Returns a reader of addresses whose refusal names an example. */
export const urlReader =
  (example: string) =>
  (value: string): string => {
    if (URL.canParse(value) && /^https?:/.test(value)) return value;
    throw new InvalidArgumentError(`It is an address such as ${example}.`);
  };

/** Reads the name of a server or an agent. */
export function readName(value: string): string {
  if (/^[A-Za-z0-9][\w-]{0,63}$/.test(value)) return value;
  throw new InvalidArgumentError("It has letters, digits, - and _, at most 64.");
}

export function readCount(value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw new InvalidArgumentError("It must be a whole number from 0.");
  return Number(value);
}

export function readInteger(value: string): number {
  if (!/^-?\d{1,9}$/.test(value)) throw new InvalidArgumentError("It must be a whole number.");
  return Number(value);
}

export function readLimit(value: string): number {
  const limit = readCount(value);
  if (limit === 0) throw new InvalidArgumentError("It must be a whole number from 1.");
  return limit;
}

export function readPort(value: string): number {
  const port = readCount(value);
  if (port > 65_535) throw new InvalidArgumentError("It must be a port, from 0 to 65535.");
  return port;
}

export function readOrigin(value: string): string {
  if (URL.canParse(value) && /^https?:/.test(value) && new URL(value).origin === value) return value;
  throw new InvalidArgumentError("It is a scheme and a host, such as https://api.example.");
}

const isInstant = (text: string): boolean => Instant.safeParse(text).success;

/** Reads an instant; returns it in UTC, to the millisecond. @throws InvalidArgumentError. */
export function readInstant(value: string): string {
  if (isInstant(value)) return new Date(value).toISOString();
  throw new InvalidArgumentError("It must be an instant such as 2026-12-31T18:00:00Z, or a day such as 2026-12-31.");
}

const durationPattern = /^(\d{1,6})([smhd])$/;
const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Returns a reader of an ISO instant, or of a duration before now such as `2h`. */
export const readTime =
  ({ now }: Pick<Terminal, "now">) =>
  (value: string): string => {
    const isDuration = durationPattern.test(value);
    const instant = isDuration ? new Date(now() - readDuration(value)).toISOString() : value;
    if (isInstant(instant)) return new Date(instant).toISOString();
    throw new InvalidArgumentError("It must be an instant such as 2026-11-01T08:00:00Z, or a duration such as 7d.");
  };

/** Reads a duration, such as 90s, 15m, 6h or 7d, and returns it in ms. @throws InvalidArgumentError. */
export function readDuration(value: string): number {
  const [, count, unit] = durationPattern.exec(value) ?? [];
  if (unit === undefined) throw new InvalidArgumentError("It must be a duration such as 90s, 15m, 6h or 7d.");
  return Number(count) * unitMs[unit as keyof typeof unitMs];
}

export const readList = (value: string): readonly string[] =>
  value
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

/**
 * Reads a JSON object, which is given directly or as `@FILE`. @throws InvalidArgumentError; of a file
 * KernelErrorException T0_CLI_FILE_INVALID.
 */
export function readJsonObject(value: string): JsonObject {
  const parsed = readJson(value);
  if (isPlainObject(parsed)) return parsed as JsonObject;
  return refusalOf(value)('It must be a JSON object, such as {"repo":"."}.');
}

/** Reads JSON, which is given directly or as `@FILE`. @throws as `readJsonObject` does. */
export const readJson = (value: string): unknown =>
  value.startsWith("@") ? readJsonFile(value.slice(1), value) : parseText(value, refusalOf(value));

/** Reads a file of JSON. @throws KernelErrorException T0_CLI_FILE_INVALID, which names the file as `what`. */
export const readJsonFile = (path: string, what: string): unknown =>
  parseText(readTextFile(path, what), (reason) => refuseFile(what, reason));

function parseText(text: string, refuse: (reason: string) => never): unknown {
  try {
    return parseSafeJson(text);
  } catch (error) {
    if (error instanceof NotJson) return refuse(`It loses its meaning: ${error.message}.`);
    const what = (error as Error).message.replace(/ (in JSON )?at position .*$/, "");
    return refuse(`${what} at ${describePosition(text)}.`);
  }
}

/** Returns the function that refuses a value: the file that it names, or the argument itself. */
const refusalOf =
  (value: string) =>
  (reason: string): never => {
    if (value.startsWith("@")) return refuseFile(value, reason);
    throw new InvalidArgumentError(reason);
  };

function describePosition(text: string): string {
  const position = findJsonError(text);
  const lines = text.slice(0, position).split("\n");
  return `position ${position}, line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}`;
}

/**
 * Returns the index of the first character that cannot belong to a JSON text, or the length of the text if only its end
 * is missing.
 */
export function findJsonError(text: string): number {
  let low = 0;
  let high = text.length + 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (middle > text.length || isBroken(text.slice(0, middle))) high = middle;
    else low = middle + 1;
  }
  return low - 1;
}

/**
 * Returns whether no further characters can make the prefix valid JSON. The engine does not always state the position
 * of the error.
 */
function isBroken(prefix: string): boolean {
  try {
    JSON.parse(prefix);
    return false;
  } catch (error) {
    const { message } = error as Error;
    const stated = /at position (\d+)/.exec(message)?.[1];
    return stated === undefined ? !message.startsWith("Unexpected end") : Number(stated) < prefix.length;
  }
}
