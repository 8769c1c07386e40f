/**
 * A path of the app as a resource of OAuth 2.0 (RFC 9728, RFC 6750), as the authorization specification of MCP has it:
 * access tokens of one issuer, for this resource and with its scope.
 *
 * 1.  A token for another audience, of another issuer, out of date or without `sub` is refused with 401, and the answer
 *     names the metadata and the scope. One without the scope is refused with 403.
 * 2.  A token is read here and passed on to nobody.
 */
import type { ScopedCaller } from "../../contract/auth-context.ts";
import type { Callback, JwtOptions, Mount } from "./http-options.ts";

export interface ResourceOptions {
  /** The authorization server: the claim `iss` of its tokens. */
  readonly issuer: string;
  /** The address of its keys. */
  readonly jwks: URL;
  /** The address of the resource as its tokens name it, to the character: the claim `aud`. */
  readonly resource: string;
  /** The path of the app at which the resource is asked; a proxy may serve it at another one. */
  readonly path: string;
  /** The scope that a token needs. */
  readonly scope: string;
  /** Makes the caller of the subject of a token. */
  readonly callerOf: (subject: string) => ScopedCaller;
}

export interface ResourceServer {
  /** The rule by which the app verifies tokens. */
  readonly jwt: JwtOptions;
  /** The metadata of the resource, which clients read before they have a token. */
  readonly callbacks: Readonly<Record<string, Callback>>;
  /** Returns the mount that answers 403 to tokens without the scope. */
  readonly requireScope: (mount: Mount) => Mount;
  /** Returns the app's `fetch`, whose 401 at the resource names the metadata. */
  readonly challenge: (fetch: (request: Request) => Promise<Response>) => (request: Request) => Promise<Response>;
}

const wellKnown = "/.well-known/oauth-protected-resource";

/** Creates the parts of a resource for `createHttpApp`. */
export function createResourceServer(options: ResourceOptions): ResourceServer {
  const { issuer, jwks, resource, path, scope, callerOf } = options;
  const { origin, pathname } = new URL(resource);
  // The metadata of a resource without a path lie at the address without a path (RFC 9728, section 3.1).
  const metadataPath = pathname === "/" ? wellKnown : `${wellKnown}${pathname}`;
  const metadata = {
    resource,
    authorization_servers: [issuer],
    scopes_supported: [scope],
    bearer_methods_supported: ["header"],
  };
  const named = `resource_metadata="${origin}${metadataPath}", scope="${scope}"`;
  const tellMetadata: Callback = async ({ method }) =>
    method === "GET" || method === "HEAD"
      ? Response.json(metadata)
      : new Response(null, { status: 405, headers: { allow: "GET, HEAD" } });
  return {
    jwt: {
      jwks,
      issuer,
      audience: resource,
      readCaller: ({ sub = "", scope: given }) => {
        const has = typeof given === "string" && given.split(" ").includes(scope);
        const caller = callerOf(sub);
        return has ? caller : { ...caller, scopes: [] };
      },
    },
    callbacks: Object.fromEntries(
      [wellKnown, metadataPath, `${wellKnown}${path}`].map((at) => [at, tellMetadata] as const),
    ),
    requireScope: (mount) => async (request, caller, trace) =>
      caller.scopes?.length === 0
        ? refuse(403, `Bearer error="insufficient_scope", ${named}`)
        : mount(request, caller, trace),
    challenge: (fetch) => async (request) => {
      const answer = await fetch(request);
      if (answer.status !== 401 || new URL(request.url).pathname !== path) return answer;
      // Without a bearer the client did not know that it needs one, and no error is named (RFC 6750, section 3.1).
      const isBad = /^bearer /i.test(request.headers.get("authorization") ?? "");
      return refuse(401, `Bearer ${isBad ? 'error="invalid_token", ' : ""}${named}`, answer);
    },
  };
}

/** Returns the refusal with its challenge; the body and the other headers are those of `answer`. */
function refuse(status: number, challenge: string, answer?: Response): Response {
  const headers = new Headers(answer?.headers);
  headers.set("www-authenticate", challenge);
  return new Response(answer?.body ?? null, { status, headers });
}
