/**
 * The cookie that carries a session's secret.
 *
 * C1  Scripts cannot read it, other sites' requests do not carry it, and over https it is bound to this very host.
 * C2  Only the name that fits the way the request came is read, so that nobody can slip a cookie in by the other.
 */
import { secretPattern } from "./sessions.ts";

const plainName = "countersign_session";

/** `__Host-` is taken by browsers only with Secure, Path=/ and no domain. */
const nameFor = (secure: boolean): string => (secure ? `__Host-${plainName}` : plainName);

/** The secret of the request's cookie; null where it has none, or more than one. */
export function readCookie({ headers }: Request, secure: boolean): string | null {
  const prefix = `${nameFor(secure)}=`;
  const values = (headers.get("cookie") ?? "").split(/; */).filter((pair) => pair.startsWith(prefix));
  const secret = values[0]?.slice(prefix.length) ?? "";
  return values.length === 1 && secretPattern.test(secret) ? secret : null;
}

/** The header that sets it; a secret of null takes it away. */
export function writeCookie(secret: string | null, secure: boolean, maxAgeMs: number): string {
  const age = secret === null ? 0 : Math.floor(maxAgeMs / 1000);
  const flags = `Path=/; Max-Age=${age}; HttpOnly; SameSite=Strict${secure ? "; Secure" : ""}`;
  return `${nameFor(secure)}=${secret ?? ""}; ${flags}`;
}
