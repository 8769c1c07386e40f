/**
 * Whether a request that a browser may have been made to send was sent by a page of ours.
 *
 * Owns: the origin of this API, and what a request must show. Never: knows who calls.
 * 1.  Bearer requests are not asked: no page of another origin can send one without being let.
 * 2.  What a browser says of itself (`Sec-Fetch-Site`, `Origin`) must be right wherever it is said.
 * 3.  A cookie's request must show its CSRF token, or, where its host has none, say where it comes from.
 */
import { hash, timingSafeEqual } from "node:crypto";
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";

export const csrfHeader = "x-csrf-token";

/** The origin that pages of this API have: what the host says, or what the request was sent to. */
export const originOf = (request: Request, configured: string | undefined): string =>
  configured ?? new URL(request.url).origin;

/** What a request shows of where it comes from. */
type FetchSite = "ours" | "silent" | "elsewhere";

export function fetchSiteOf({ headers }: Request, own: string): FetchSite {
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  if (site !== null && site !== "same-origin" && site !== "none") return "elsewhere";
  // A navigation under a policy of no referrers says null; its site still tells.
  if (origin === "null") return site === null ? "elsewhere" : "ours";
  if (origin !== null) return origin === own ? "ours" : "elsewhere";
  return site === null ? "silent" : "ours";
}

export interface CookieProof {
  /** What `X-CSRF-Token` must say; null where the host has no token of its own. */
  readonly csrfToken: string | null;
}

const isSafe = (method: string): boolean => method === "GET" || method === "HEAD" || method === "OPTIONS";

/** @throws KernelErrorException T5_CSRF_REJECTED. */
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
