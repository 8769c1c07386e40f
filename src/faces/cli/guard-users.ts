/**
 * The clients of a guard over HTTP: one token, a file of several, the users of a proxy before the guard, or those whom
 * access tokens of OAuth name.
 *
 * 1.  However a client is known, its credential reaches the guard's address and nothing else, and its budgets are those
 *     of its principal.
 * 2.  Options that belong together are given together; else nothing is started.
 */
import { BlockList, isIP } from "node:net";
import { type Command, InvalidArgumentError } from "commander";
import type { ScopedCaller } from "../../contract/auth-context.ts";
import { clientScope } from "../guard/client-scope.ts";
import { isSecure } from "../guard/secure-address.ts";
import { type CommonOptions, callerOf, urlReader } from "./options.ts";
import { readTokens } from "./read-tokens.ts";
import { UsageError } from "./report-error.ts";
import { makeToken, readToken } from "./serve.ts";

/** The options that name the clients. */
export interface GuardUsers extends CommonOptions {
  /** The port for clients over HTTP. */
  readonly listen?: number;
  readonly token?: string;
  /** The file of several tokens. */
  readonly tokens?: string;
  /** The header in which a proxy names the user. */
  readonly trustHeader?: string;
  /** The addresses of that proxy. */
  readonly trustedProxy: readonly Network[];
  /** The authorization server whose access tokens clients bring. */
  readonly issuer?: string;
  readonly jwks?: string;
  readonly audience?: string;
  readonly scope: string;
}

interface Network {
  readonly address: string;
  /** The length of the prefix, in bits. */
  readonly prefix: number;
}

export const addGuardUsers = (command: Command): Command =>
  command
    .option("--token <token>", "over HTTP, the bearer token of clients; without any other way, one is made", readToken)
    .option("--tokens <file>", "over HTTP, the tokens of several clients, each with its principal, role and tenant")
    .option(
      "--trust-header <name>",
      "over HTTP, the header in which a proxy before the guard names the user",
      readHeader,
    )
    .option(
      "--trusted-proxy <address>",
      "the address or network of that proxy; from any other the header is refused (repeatable)",
      collectNetwork,
      [],
    )
    .option("--issuer <url>", "over HTTP, take access tokens of this OAuth authorization server", readIssuer)
    .option("--jwks <url>", "the address of the issuer's keys (default: what the issuer's metadata name)", readSecure)
    .option("--audience <url>", "the guard's address as these tokens name it (default: its own)", readAudience)
    .option("--scope <scope>", "the scope that these tokens need", readScope, "mcp:tools");

const readAudience = urlReader("https://guard.example/mcp");

function readSecure(value: string): string {
  if (isSecure(value)) return value;
  throw new InvalidArgumentError("It is an address of https, or of this machine, such as https://auth.example.");
}

/** Reads an issuer, which has no query and no fragment (RFC 8414, section 2). */
function readIssuer(value: string): string {
  if (!/[?#]/.test(value)) return readSecure(value);
  throw new InvalidArgumentError("An issuer has no query and no fragment.");
}

function readScope(value: string): string {
  if (/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value)) return value;
  throw new InvalidArgumentError("It is one scope: printable characters without spaces, quotes and backslashes.");
}

/** Headers that mean something else already. */
const taken = /^(?:authorization|cookie|host|origin|content-.*|accept.*|mcp-.*|last-event-id)$/i;

function readHeader(value: string): string {
  if (/^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(value) && !taken.test(value)) return value;
  throw new InvalidArgumentError("It is the name of a header of its own, such as X-Forwarded-User.");
}

function collectNetwork(value: string, previous: readonly Network[]): readonly Network[] {
  const [, address = "", bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(value) ?? [];
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  const prefix = bits === undefined ? longest : Number(bits);
  if (longest > 0 && prefix <= longest) return [...previous, { address, prefix }];
  throw new InvalidArgumentError("It is an address, or a network such as 10.0.0.0/8.");
}

/** The clients as the app takes them. */
export interface KnownClients {
  /** The token that was made because nothing names the clients. */
  readonly made?: string;
  readonly tokens: readonly (ScopedCaller & { readonly token: string })[];
  readonly resource: Awaited<ReturnType<typeof readResource>>;
  readonly proxy: Awaited<ReturnType<typeof readProxy>>;
}

/** Reads who the clients are. @throws UsageError, KernelErrorException T0_CLI_FILE_INVALID. */
export async function readClients(options: GuardUsers): Promise<KnownClients> {
  const { listen, token, tokens: file } = options;
  const [resource, proxy] = [await readResource(options), await readProxy(options)];
  if (listen === undefined) {
    if (file !== undefined) throw new UsageError("--tokens is for clients over HTTP: give --listen");
    return { tokens: [], resource, proxy };
  }
  const named = file === undefined ? [] : await readTokens(file, options);
  const isNamed = token !== undefined || named.length > 0 || resource !== null || proxy !== null;
  const made = isNamed ? undefined : makeToken();
  const own = token ?? made;
  const all = [...(own === undefined ? [] : [{ token: own, ...callerOf(options) }]), ...named];
  return {
    ...(made !== undefined && { made }),
    tokens: all.map((one) => ({ ...one, scopes: [clientScope] })),
    resource,
    proxy,
  };
}

/** Makes the caller of a name that somebody else vouches for, with the tenant and the role of the options. */
function clientOf(options: GuardUsers): (id: string) => ScopedCaller {
  const { tenant_id, principal } = callerOf(options);
  return (id) => ({ tenant_id, principal: { ...principal, id }, scopes: [clientScope] });
}

/** Returns the users of a proxy. Null without `--trust-header`. @throws UsageError unless both options are there. */
async function readProxy(options: GuardUsers) {
  const { trustHeader: header, trustedProxy: networks, listen } = options;
  if (header === undefined && networks.length === 0) return null;
  if (header === undefined || networks.length === 0)
    throw new UsageError("--trust-header and --trusted-proxy go together");
  if (listen === undefined) throw new UsageError("--trust-header is for clients over HTTP: give --listen");
  const proxies = new BlockList();
  for (const { address, prefix } of networks) proxies.addSubnet(address, prefix, isIP(address) === 6 ? "ipv6" : "ipv4");
  const { createProxyIdentity } = await import("../http/proxy-identity.ts");
  return createProxyIdentity({ header, proxies, callerOf: clientOf(options) });
}

/**
 * Returns the guard as a resource of OAuth: the subject of a token is the principal. Null without `--issuer`. @throws
 * UsageError unless all that is needed is there.
 */
async function readResource(options: GuardUsers) {
  const { issuer, jwks, listen, scope, audience } = options;
  if (issuer === undefined && jwks === undefined) return null;
  if (issuer === undefined) throw new UsageError("--jwks is the address of an issuer's keys: give --issuer");
  if (listen === undefined) throw new UsageError("--issuer is for clients over HTTP: give --listen");
  if (listen === 0 && audience === undefined) throw new UsageError("the port is not known before: give --audience");
  const { createResourceServer } = await import("../http/resource-server.ts");
  return createResourceServer({
    issuer,
    scope,
    jwks: jwks === undefined ? await findKeys(issuer) : new URL(jwks),
    resource: audience ?? `http://127.0.0.1:${listen}/mcp`,
    path: "/mcp",
    callerOf: clientOf(options),
  });
}

/** The bounds of an issuer's metadata. */
const metadataBounds = { maxBytes: 1_000_000, redirects: 3 };

/** Finds the keys of an issuer by its metadata. @throws KernelErrorException T0_OAUTH_DISCOVERY_FAILED. */
async function findKeys(issuer: string): Promise<URL> {
  const [{ discoverKeys }, { fetchBounded }] = await Promise.all([
    import("../guard/discover-issuer.ts"),
    import("../http/fetch-bounded.ts"),
  ]);
  return discoverKeys(issuer, (address, init) => fetchBounded(address, metadataBounds, init));
}
