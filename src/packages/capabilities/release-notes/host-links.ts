/**
 * Host links: the addresses of a commit, a request, an issue and a comparison of two releases at the usual hosting
 * services. Pure.
 *
 * Never: guesses for a service that it does not know; a commit alone has an address nearly everywhere.
 */
type Service = "github" | "gitlab" | "bitbucket" | "gitea" | "other";

function serviceOf(remoteUrl: string): Service {
  const { hostname } = new URL(remoteUrl);
  if (hostname.includes("github")) return "github";
  if (hostname.includes("gitlab")) return "gitlab";
  if (hostname.includes("bitbucket")) return "bitbucket";
  return /codeberg|gitea|forgejo/.test(hostname) ? "gitea" : "other";
}

const commitPaths: Readonly<Record<Service, string>> = {
  github: "commit",
  gitlab: "-/commit",
  bitbucket: "commits",
  gitea: "commit",
  other: "commit",
};

export const commitUrl = (remoteUrl: string, hash: string): string =>
  `${remoteUrl}/${commitPaths[serviceOf(remoteUrl)]}/${hash}`;

const requestPaths: Readonly<Partial<Record<Service, string>>> = {
  github: "pull",
  gitlab: "-/merge_requests",
  bitbucket: "pull-requests",
  gitea: "pulls",
};
const issuePaths: Readonly<Partial<Record<Service, string>>> = {
  github: "issues",
  gitlab: "-/issues",
  bitbucket: "issues",
  gitea: "issues",
};

/**
 * Returns the address of `#12` or `!12`; null if the service is not known. A `request` occurred where hosting services
 * put the number of a request.
 */
export function referenceUrl(remoteUrl: string, reference: string, place: "request" | "text"): string | null {
  const service = serviceOf(remoteUrl);
  const isRequest = service === "gitlab" ? reference.startsWith("!") : place === "request";
  const path = (isRequest ? requestPaths : issuePaths)[service];
  return path === undefined ? null : `${remoteUrl}/${path}/${reference.slice(1)}`;
}

/** Returns the page of changes between two refs; null if the service is not known. */
export function compareUrl(remoteUrl: string, from: string, to: string): string | null {
  const [older, newer] = [from, to].map((ref) => encodeURI(ref).replaceAll("#", "%23")) as [string, string];
  switch (serviceOf(remoteUrl)) {
    case "github":
    case "gitea":
      return `${remoteUrl}/compare/${older}...${newer}`;
    case "gitlab":
      return `${remoteUrl}/-/compare/${older}...${newer}`;
    case "bitbucket":
      return `${remoteUrl}/branches/compare/${newer}%0D${older}`;
    default:
      return null;
  }
}
