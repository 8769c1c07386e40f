/**
 * Remote: the web address of a repository, made from the address git fetches from. Pure, no network.
 *
 * Owns: the accepted forms (scp-like, ssh, git, http, https) and the removal of credentials. Never: yields a user
 * name, a password or a token: the address goes into the ledger and into documents.
 */
const scpLike = /^(?:[^@\s/]+@)?([A-Za-z0-9.-]+):(?!\/\/)([^\s]+)$/;
const webHost = /^[A-Za-z0-9.-]+(?::\d+)?$/;
const webPath = /^[A-Za-z0-9._~/+-]+$/;

/** Returns `https://host/owner/name` for a remote on a host; null for a local path, a file URL or anything unusual. */
export function toWebUrl(remote: string): string | null {
  const place = readUrl(remote.trim()) ?? readScp(remote.trim());
  if (place === null) return null;
  const path = place.path.replace(/^\/+|\/+$/g, "").replace(/\.git$/, "");
  return webHost.test(place.host) && webPath.test(path) ? `${place.scheme}://${place.host}/${path}` : null;
}

interface Place {
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly path: string;
}

function readUrl(remote: string): Place | null {
  if (!URL.canParse(remote)) return null;
  const { protocol, host, hostname, pathname } = new URL(remote);
  if (hostname === "") return null;
  if (protocol === "http:") return { scheme: "http", host, path: pathname };
  if (protocol === "https:") return { scheme: "https", host, path: pathname };
  // A port of ssh or git says nothing about where the web pages are.
  const known = protocol === "ssh:" || protocol === "git:" || protocol === "git+ssh:";
  return known ? { scheme: "https", host: hostname, path: pathname } : null;
}

function readScp(remote: string): Place | null {
  const match = scpLike.exec(remote);
  // One letter before the colon is a drive of Windows; a URL that came here was refused above.
  if (match?.[1] === undefined || match[2] === undefined || match[1].length < 2 || URL.canParse(remote)) return null;
  return { scheme: "https", host: match[1], path: match[2] };
}
