/**
 * Callers whom a trusted proxy before the app names in a header, such as `X-Forwarded-User`.
 *
 * 1.  The header counts from the named addresses alone, as the connection itself has them. From any other address, and
 *     where the address is not known, a request that carries it is refused: nobody can tell whether a client wrote it.
 * 2.  A header that stands there twice, is empty, or holds more than one name is refused, and never read in part.
 * 3.  A request without the header is none of the proxy's: other credentials may identify it.
 */
import type { IncomingMessage } from "node:http";
import { type BlockList, isIPv6 } from "node:net";
import { type ErrorCode, kernelError } from "../../contract/error-codes.ts";
import { generateId } from "../../contract/ids.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { answerProblem, errorOf } from "./answer.ts";
import type { Authenticate, HttpCaller } from "./http-options.ts";

export interface ProxyIdentityOptions {
  /** The name of the header. */
  readonly header: string;
  /** The addresses of the proxies. */
  readonly proxies: BlockList;
  /** Makes the caller of a name. */
  readonly callerOf: (name: string) => HttpCaller;
}

/** The connection of a request, as the server hands it over. */
interface Connection {
  readonly incoming?: Pick<IncomingMessage, "rawHeaders" | "socket">;
}

export interface ProxyIdentity {
  /** The option of `createHttpApp` by which the app knows these callers. */
  readonly authenticate: Authenticate;
  /** Returns the app's `fetch` behind the check of the header. */
  readonly admit: (
    fetch: (request: Request) => Promise<Response>,
  ) => (request: Request, connection?: Connection) => Promise<Response>;
}

const proxyRef = moduleRef(0, "http", "proxy_identity");

/** The names that a header may hold: visible ASCII without a comma, which joins several. */
const namePattern = /^[\x21-\x2b\x2d-\x7e]{1,256}$/;

/** Creates the parts by which an app knows callers of a trusted proxy. */
export function createProxyIdentity({ header, proxies, callerOf }: ProxyIdentityOptions): ProxyIdentity {
  const named = new WeakMap<Request, string>();
  const known = header.toLowerCase();
  const readName = ({ rawHeaders, socket }: NonNullable<Connection["incoming"]>): string | null => {
    const values = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === known);
    if (values.length === 0) return null;
    if (!isFrom(proxies, socket.remoteAddress))
      return refuse("T0_HTTP_PROXY_UNTRUSTED", `${header} is taken from no other address than those of the proxy`);
    const [value = ""] = values;
    if (values.length === 1 && namePattern.test(value)) return value;
    const fault = values.length > 1 ? "stands there twice" : "does not hold one name in visible ASCII";
    return refuse("T0_HTTP_PROXY_HEADER", `${header} ${fault}`);
  };
  return {
    authenticate: (request) => {
      const name = named.get(request);
      return name === undefined ? null : callerOf(name);
    },
    admit:
      (fetch) =>
      async (request, { incoming } = {}) => {
        try {
          if (incoming === undefined && request.headers.has(header))
            refuse("T0_HTTP_PROXY_UNTRUSTED", `the address from which ${header} came is not known`);
          const name = incoming === undefined ? null : readName(incoming);
          if (name !== null) named.set(request, name);
        } catch (thrown) {
          return answerProblem(errorOf(thrown, undefined), generateId("request"));
        }
        return fetch(request);
      },
  };
}

const isFrom = (proxies: BlockList, address: string | undefined): boolean =>
  address !== undefined && proxies.check(address, isIPv6(address) ? "ipv6" : "ipv4");

const refuse = (code: ErrorCode, message: string): never => raise(kernelError(code, message, proxyRef));
