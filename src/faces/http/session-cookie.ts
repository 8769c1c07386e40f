/**
 * The cookie that carries a session's secret.
 *
 * 1.  Scripts cannot read it, other sites' requests do not carry it, and over https it is bound to this very host.
 * 2.  Only the name that fits the request's scheme is read, so that nobody can inject a cookie through the other.
 * 3.  Browsers send a host's cookies to all of its ports: the name identifies the server.
 */
import { secretPattern } from "./sessions.ts";

const isSecure = (origin: string): boolean => origin.startsWith("https:");

/** Returns the cookie's name: browsers accept `__Host-` only with Secure, Path=/ and no domain. */
export function nameFor(origin: string): string {
  const { port } = new URL(origin);
  const name = port === "" ? "countersign_session" : `countersign_session_${port}`;
  return isSecure(origin) ? `__Host-${name}` : name;
}

/** Returns the secret of the request's cookie; null if it has none, or more than one. */
export function readCookie({ headers }: Request, origin: string): string | null {
  const prefix = `${nameFor(origin)}=`;
  const values = (headers.get("cookie") ?? "").split(/; */).filter((pair) => pair.startsWith(prefix));
  const secret = values[0]?.slice(prefix.length) ?? "";
  return values.length === 1 && secretPattern.test(secret) ? secret : null;
}

/** Returns the header that sets it; a null secret removes it. */
export function writeCookie(secret: string | null, origin: string, maxAgeMs: number): string {
  const age = secret === null ? 0 : Math.floor(maxAgeMs / 1000);
  const flags = `Path=/; Max-Age=${age}; HttpOnly; SameSite=Strict${isSecure(origin) ? "; Secure" : ""}`;
  return `${nameFor(origin)}=${secret ?? ""}; ${flags}`;
}
