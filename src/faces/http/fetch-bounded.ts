/**
 * Documents of other servers, fetched within limits: keys of issuers and their metadata.
 *
 * 1.  An answer is read up to a size; one that is longer is refused, and nothing of it is used.
 * 2.  A redirect is followed within its origin only, and a few times; any other one is refused.
 */

import { readWithin } from "../../protocol/read-body-text.ts";

export interface FetchBounds {
  /** The largest size of the answer, in bytes. */
  readonly maxBytes: number;
  /** The number of redirects that are followed. */
  readonly redirects?: number;
}

/** Fetches a document. @throws Error if it is too large or redirected elsewhere, and as `fetch` does. */
export async function fetchBounded(
  address: string | URL,
  { maxBytes, redirects = 0 }: FetchBounds,
  init: RequestInit = {},
): Promise<Response> {
  const answer = await fetch(address, { ...init, redirect: "manual" });
  const location = answer.headers.get("location");
  if (answer.status >= 300 && answer.status < 400 && location !== null) {
    await answer.body?.cancel();
    const next = new URL(location, address);
    if (next.origin !== new URL(address).origin) throw new Error(`${address} redirects to ${next.origin}`);
    if (redirects === 0) throw new Error(`${address} redirects`);
    return fetchBounded(next, { maxBytes, redirects: redirects - 1 }, init);
  }
  const { status, headers } = answer;
  return new Response(await readBounded(answer, address, maxBytes), { status, headers });
}

async function readBounded({ body, status }: Response, address: string | URL, maxBytes: number) {
  if (body === null || status === 204 || status === 304) return null;
  return readWithin(body, maxBytes, () => {
    throw new Error(`${address} answers with more than ${maxBytes} bytes`);
  });
}
