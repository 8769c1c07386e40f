/**
 * The address of an issuer's keys, from the metadata that the issuer publishes: of OAuth (RFC 8414) or of OpenID, at
 * the addresses and in the order that the authorization specification of MCP has.
 *
 * 1.  The issuer that the metadata name is the one that was asked for, to the character; any other is refused.
 * 2.  Metadata and keys come over https, or from this machine.
 * 3.  A document that cannot be used ends the search, so that nobody who answers at a later address takes its place.
 */
import { buildDiscoveryUrls } from "@modelcontextprotocol/client";
import { z } from "zod";
import { kernelError } from "../../contract/error-codes.ts";
import { messageOf, raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { isSecure } from "./secure-address.ts";

/** Fetches a document within limits. */
export type FetchDocument = (address: URL, init: RequestInit) => Promise<Response>;

/** The members of the metadata that are read. */
const Metadata = z.looseObject({ issuer: z.string(), jwks_uri: z.string().optional() });

const discoverRef = moduleRef(0, "guard", "discover_issuer");

/** The time that all documents of an issuer may take together, in ms. */
const discoveryMs = 10_000;

/** Returns the address of the issuer's keys. @throws KernelErrorException T0_OAUTH_DISCOVERY_FAILED. */
export async function discoverKeys(issuer: string, fetchDocument: FetchDocument): Promise<URL> {
  const signal = AbortSignal.timeout(discoveryMs);
  for (const { url } of buildDiscoveryUrls(issuer)) {
    const answer = await fetchDocument(url, { headers: { accept: "application/json" }, signal }).catch((thrown) =>
      refuse(issuer, `${url} cannot be read: ${reasonOf(thrown)}`),
    );
    if (answer.status === 200) {
      const found = await readKeysOf(issuer, url, answer);
      if (found !== null) return found;
    } else if (answer.status >= 500) refuse(issuer, `${url} answers with ${answer.status}`);
  }
  return refuse(issuer, "it publishes no metadata that name its keys");
}

/** Returns the address of the keys; null if the metadata name none. @throws T0_OAUTH_DISCOVERY_FAILED. */
async function readKeysOf(issuer: string, url: URL, answer: Response): Promise<URL | null> {
  const body: unknown = await answer.json().catch(() => refuse(issuer, `${url} is no JSON`));
  const { data } = Metadata.safeParse(body);
  if (data === undefined) return refuse(issuer, `${url} has no metadata of an issuer`);
  if (data.issuer !== issuer) return refuse(issuer, `${url} has the metadata of ${data.issuer}`);
  if (data.jwks_uri === undefined) return null;
  if (!isSecure(data.jwks_uri)) return refuse(issuer, `${url} names keys that do not come over https`);
  return new URL(data.jwks_uri);
}

/** Returns why a document could not be fetched: `fetch` itself says only that it failed. */
const reasonOf = (thrown: unknown): string =>
  messageOf(thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown);

const refuse = (issuer: string, reason: string): never =>
  raise(kernelError("T0_OAUTH_DISCOVERY_FAILED", `the keys of ${issuer} are not known: ${reason}`, discoverRef));
