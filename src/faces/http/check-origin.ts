/**
 * Checks whether a request that a browser may have been made to send was sent by a page of ours.
 *
 * Owns: the origin of this API, and the required proof. Never: knows who calls.
 * 1.  Bearer requests are exempt: no page of another origin can send one without permission.
 * 2.  The browser's own headers (`Sec-Fetch-Site`, `Origin`) must be right if they are present.
 * 3.  A request with a cookie must carry its CSRF token, or, if its host has none, a header that shows its origin.
 */
import { hash, timingSafeEqual } from "node:crypto";
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";

export const csrfHeader = "x-csrf-token";

/** Returns the origin of this API's pages: the configured one, or that of the request. */
export const originOf = (request: Request, configured: string | undefined): string =>
  configured ?? new URL(request.url).origin;

/** The site of a request, as its headers show it. */
type FetchSite = "ours" | "silent" | "elsewhere";

export function fetchSiteOf({ headers }: Request, own: string): FetchSite {
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  if (site !== null && site !== "same-origin" && site !== "none") return "elsewhere";
  // A navigation under a no-referrer policy sends null; its site still shows.
  if (origin === "null") return site === null ? "elsewhere" : "ours";
  if (origin !== null) return origin === own ? "ours" : "elsewhere";
  return site === null ? "silent" : "ours";
}

export interface CookieProof {
  /** The required value of `X-CSRF-Token`; null if the host has no token of its own. */
  readonly csrfToken: string | null;
}

const isSafe = (method: string): boolean => method === "GET" || method === "HEAD" || method === "OPTIONS";

/** Checks the proof. @throws KernelErrorException T5_CSRF_REJECTED. */
export function requireOwnPage(request: Request, { csrfToken }: CookieProof, own: string): void {
  if (isSafe(request.method)) return;
  const site = fetchSiteOf(request, own);
  if (site === "elsewhere") refuse("the request comes from a page of another origin");
  if (csrfToken === null) {
    if (site === "silent") refuse("the request does not say where it comes from");
  } else if (!isSame(request.headers.get(csrfHeader) ?? "", csrfToken))
    refuse(`the request carries no valid ${csrfHeader} header`);
}

const isSame = (a: string, b: string): boolean =>
  timingSafeEqual(hash("sha256", a, "buffer"), hash("sha256", b, "buffer"));

const refuse = (reason: string): never =>
  raise(kernelError("T5_CSRF_REJECTED", reason, moduleRef(0, "http", "check_origin")));
